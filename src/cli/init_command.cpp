#include "author/init.h"
#include "cli/common.h"
#include "output/display.h"
#include "output/table.h"

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
  if (!written.host_code.empty()) {
    const std::string lines = lines_text(written.host_code);
    out +=
        written.copy.empty()
            ? fmt::format("put host code, {}, between #ifndef __CUDACC_RTC__ and #endif\n", lines)
            : fmt::format("its host code, {}, is between #ifndef __CUDACC_RTC__ and #endif there\n", lines);
  }
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
  Json host = Json::array();
  for (const LineRange& lines : written.host_code) host.push_back({lines.first, lines.last});
  Json copy;
  if (!written.copy.empty()) copy = written.copy.string();
  return {{"kernel", written.kernel},
          {"manifest", written.manifest.string()},
          {"config", written.config.string()},
          {"source_copy", copy},
          {"host_code", host},
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

}  // namespace

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

}  // namespace tiletune
