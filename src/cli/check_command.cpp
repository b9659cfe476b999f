#include <unistd.h>

#include "author/check.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "output/progress.h"
#include "spec/problem.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

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
  std::string text = fmt::format("{}: ", finding.is_error ? "error" : "note");
  const std::string where = finding.what.where().text();
  if (!where.empty()) text += printable(where) + ": ";
  if (!place.empty()) text += printable(place) + ": ";
  return text + printed_text(finding.what.message()) + "\n  " + printable(finding.what.remedy()) + "\n";
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

}  // namespace

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
      "compute inputs and a few configurations of each template, and runs functions of Python. Exit code 1:\n"
      "something would fail.\n"
      "Examples:\n  tiletune check configs/softmax.json\n"
      "  tiletune check my_kernel.json --gpu A100-80GB --problem 4096x4096\n"
      "  tiletune check my_kernel.json --format json | jq '.findings[].message'");
}

}  // namespace tiletune
