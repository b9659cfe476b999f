#include <unistd.h>

#include "author/check.h"
#include "author/init.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "output/display.h"
#include "output/progress.h"
#include "output/table.h"
#include "spec/problem.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

struct InitOptions {
  InitRequest request;
  std::string gpu = "H100";
  std::string format = "table";
  CompileOptions compile;
};

/// The commands that follow.
std::vector<std::string> next_commands(const Written& written, const InitOptions& options) {
  const std::string file = shell_quoted(written.config.string());
  std::string include;
  for (const std::filesystem::path& folder : options.compile.include_folders)
    include += " --include " + shell_quoted(folder.string());
  return {fmt::format("tiletune check {} --gpu {}{}", file, shell_quoted(options.gpu), include),
          "tiletune space " + file,
          fmt::format("tiletune inspect {} --gpu {}{}", file, shell_quoted(options.gpu), include),
          fmt::format("tiletune sweep {}{}", file, include)};
}

std::string as_table(const Written& written, const InitOptions& options) {
  TextTable table;
  table.add_column("found", Align::left);
  table.add_column("name", Align::left);
  table.add_column("guess", Align::left);
  table.add_column("line", Align::right);
  for (const SourceFinding& finding : written.draft.findings)
    table.add_row({finding.what, finding.name, finding.guess, std::to_string(finding.line)});
  std::string out = fmt::format("kernel {} of {}\n\n{}\nto decide:\n", written.kernel,
                                options.request.file.string(), table.text(stdout_style()));
  for (const Decision& decision : launch_first(decisions_in(written.draft.manifest)))
    out += fmt::format("  {}:{}: {}\n", written.manifest.string(), decision.line, decision.text);
  out += fmt::format("\nwrote {} and {}\n", written.manifest.string(), written.config.string());
  if (!written.copy.empty()) out += fmt::format("copied the source to {}\n", written.copy.string());
  for (const std::filesystem::path& header : written.headers)
    out += fmt::format("copied the header to {}\n", header.string());
  out += "next:\n";
  for (const std::string& command : next_commands(written, options)) out += "  " + command + "\n";
  return printable_message(out) + "\n";
}

Json as_json(const Written& written, const InitOptions& options) {
  Json found = Json::array();
  for (const SourceFinding& finding : written.draft.findings)
    found.push_back(
        {{"found", finding.what}, {"name", finding.name}, {"guess", finding.guess}, {"line", finding.line}});
  Json decide = Json::array();
  for (const Decision& decision : launch_first(decisions_in(written.draft.manifest)))
    decide.push_back({{"line", decision.line}, {"text", decision.text}});
  Json headers = Json::array();
  for (const std::filesystem::path& header : written.headers) headers.push_back(header.string());
  Json copy;
  if (!written.copy.empty()) copy = written.copy.string();
  return {{"kernel", written.kernel},
          {"manifest", written.manifest.string()},
          {"config", written.config.string()},
          {"source_copy", copy},
          {"header_copies", headers},
          {"findings", found},
          {"decide", decide},
          {"next", next_commands(written, options)}};
}

int run(InitOptions& options) {
  const bool json = asks_for_json(options.format);
  tell_if_not_confined([](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  const Written written =
      write_draft(options.request, options.compile.resolved_include_folders(),
                  find_gpu_model(shipped_gpu_models(), options.gpu), options.compile.pool_options({}));
  print_either(json, as_json(written, options), as_table(written, options));
  return 0;
}

struct CheckCommand {
  ConfigOptions config;
  CompileOptions compile;
  std::string gpu;
  std::string format = "table";
  bool quiet = false;
};

std::string as_text(const CheckFinding& finding) {
  std::string place = finding.template_name;
  if (!finding.problem.empty()) place += " " + finding.problem;
  if (finding.more_problems > 0)
    place += fmt::format(" and {}", counted(finding.more_problems, "more problem"));
  if (!place.empty()) place += ": ";
  const UserError what(place + finding.what.message(), finding.what.where(), finding.what.remedy());
  return fmt::format("{}: {}\n", finding.is_error ? "error" : "note", printable_message(what.what()));
}

Json as_json(const CheckFinding& finding) {
  return {{"severity", finding.is_error ? "error" : "note"},
          {"file", finding.what.where().file},
          {"place", finding.what.where().pointer},
          {"template", finding.template_name},
          {"problem", finding.problem},
          {"more_problems", finding.more_problems},
          {"message", finding.what.message()},
          {"remedy", finding.what.remedy()}};
}

std::string summary(const CheckReport& report, const TuneSpec& spec, const Target& target,
                    std::size_t errors) {
  const std::string problems = spec.problems.empty() ? "" : " at " + problems_text(spec.problems);
  return fmt::format("{}{}: {}, {} compiled, {} compiled or run: {}, {}\n", target.name, problems,
                     counted(report.valid, "valid configuration"), report.compiled,
                     counted(report.references_run, "reference"), counted(errors, "error"),
                     counted(report.findings.size() - errors, "note"));
}

int run(CheckCommand& options) {
  const bool json = asks_for_json(options.format);
  std::vector<UserError> faults;
  TuneSpec spec = options.config.load_all(faults);
  options.compile.add_include_folders(spec);
  const Target target = target_from_model(
      find_gpu_model(shipped_gpu_models(), model_or_default(options.gpu.empty() ? spec.gpu : options.gpu)));
  catch_interrupts();
  Progress progress(options.quiet, ::isatty(STDERR_FILENO) != 0);
  tell_if_not_confined([&](const std::string& line) { progress.note(line); });
  CheckOptions check;
  check.interrupted = interrupted;
  check.progress = [&](const char* doing, std::size_t done, std::size_t total) {
    progress.update({doing, done, total, ""});
  };
  CheckReport report = check_spec(spec, target, options.compile.pool_options(spec), check);
  progress.finish();
  for (const UserError& fault : faults)
    report.findings.insert(report.findings.begin(), {true, "", "", fault});
  std::size_t errors = 0;
  Json list = Json::array();
  std::string text;
  for (const CheckFinding& finding : report.findings) {
    errors += finding.is_error ? 1 : 0;
    list.push_back(as_json(finding));
    text += as_text(finding);
  }
  print_either(json,
               {{"gpu", target.name},
                {"valid", report.valid},
                {"compiled", report.compiled},
                {"references", report.references_run},
                {"errors", errors},
                {"findings", list}},
               text + summary(report, spec, target, errors));
  if (interrupted()) return kInterrupted;
  return errors > 0 ? 1 : 0;
}

/// For the Python package that runs Kernel Tuner scripts.
int run_argument_uses(CheckCommand& options) {
  TuneSpec spec = options.config.load();
  options.compile.add_include_folders(spec);
  const Target target =
      target_from_model(find_gpu_model(shipped_gpu_models(), model_or_default(options.gpu)));
  const std::vector<bool> read_only =
      read_only_arguments(spec, plan_tasks(spec), target, options.compile.pool_options(spec));
  print_either(true, {{"read_only", read_only}}, "");
  return 0;
}

}  // namespace

void add_argument_uses_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<CheckCommand>(app, action, "argument-uses", "", run_argument_uses);
  command.group("");
  options.config.add_to(command);
  options.compile.add_to(command);
}

void add_init_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<InitOptions>(
      app, action, "init", "Draft a template and a config from a kernel's source", run);
  command.add_option("FILE", options.request.file, "CUDA source with the kernel")->required();
  command.add_option("--kernel", options.request.kernel, "The kernel, where the file has several");
  command.add_option("--out", options.request.folder,
                     "Folder of the template, which gives it its name (default: FILE's own if it has the "
                     "kernel's name, else one of that name beside FILE)");
  command.add_flag("--force", options.request.force, "Replace files that exist");
  command.add_option("--gpu", options.gpu, "GPU model to compile for; no GPU is needed")
      ->capture_default_str();
  command.add_option("--format", options.format, "table or json")->capture_default_str();
  options.compile.add_to(command);
  command.footer(
      "Examples:\n  tiletune init saxpy.cu\n"
      "  tiletune init filters.cu --kernel blur --out templates/blur");
}

void add_check_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<CheckCommand>(
      app, action, "check", "Find, without a GPU, what would make a sweep fail", run);
  options.config.add_to(command);
  options.compile.add_to(command);
  command.add_option("--gpu", options.gpu,
                     "GPU model that it is checked for (default: the config's, or H100)");
  command.add_option("--format", options.format, "table or json")->capture_default_str();
  command.add_flag("-q,--quiet", options.quiet, "No progress, only results");
  command.footer(
      "Reads every template, builds every space, evaluates launches, compiles references, kernels that\n"
      "compute inputs and a few configurations of each template, and runs Python functions. Exit code 1:\n"
      "something would fail.\n"
      "Examples:\n  tiletune check configs/softmax.json\n"
      "  tiletune check my_kernel.json --gpu A100-80GB --problem 4096x4096\n"
      "  tiletune check my_kernel.json --format json | jq '.findings[].message'");
}

}  // namespace tiletune
