#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "compile/source.h"
#include "draft/manifest.h"
#include "output/display.h"
#include "output/table.h"
#include "space/scope.h"
#include "spec/load.h"
#include "spec/paths.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct InitOptions {
  fs::path file;
  std::string kernel;
  fs::path folder;
  std::string gpu = "H100";
  std::string format = "table";
  bool force = false;
  CompileOptions compile;
};

/// What was drafted, and where it goes.
struct Written {
  std::string kernel;
  fs::path manifest, config;
  fs::path copy;  ///< of the source; empty where that lies in the template's folder
  Draft draft;

  std::vector<Lines> host_code;  ///< lines of the source; the copy has #ifndef __CUDACC_RTC__ around them

  std::vector<std::string> next(const InitOptions& options) const {
    const std::string file = shell_quoted(config.string());
    std::string include;
    for (const fs::path& folder : options.compile.include_folders)
      include += " --include " + shell_quoted(folder.string());
    return {fmt::format("tiletune check {} --gpu {}{}", file, shell_quoted(options.gpu), include),
            "tiletune space " + file,
            fmt::format("tiletune inspect {} --gpu {}{}", file, shell_quoted(options.gpu), include),
            fmt::format("tiletune sweep {}{}", file, include)};
  }
};

void check_free(const fs::path& file, bool force) {
  if (file.empty() || force || !fs::exists(file)) return;
  throw UserError("it exists already", Where{file.string(), ""},
                  "Name another folder with --out, or replace it with --force.");
}

/// The folder's name is the template's, so it has to be an identifier.
fs::path template_folder(const InitOptions& options, const std::string& kernel) {
  if (options.folder.empty()) {
    std::filesystem::path own = options.file.lexically_normal().parent_path();
    if (own.filename() == kernel) return own;
    const fs::path home = fs::canonical(options.file).parent_path();
    return own.empty() && home.filename() == kernel ? home : options.file.parent_path() / kernel;
  }
  fs::path folder = options.folder.lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // without a slash at its end
  if (folder == "." || folder.filename() == "..") folder = fs::weakly_canonical(folder);
  check_identifier(folder.filename().string(), Where{"--out", ""});
  return folder;
}

/// Loads the draft before anything is written where a person wants it: a manifest has reserved words, and
/// holds so many buffers and sizes at most. `source` is in the template's folder, with that text.
void check_draft(const Draft& draft, const std::string& name, const std::string& config,
                 const std::string& source, const std::string& text, const Where& kernel) {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path() / name;
  write_file_atomically(folder / source, text);
  write_file_atomically(folder / kManifestName, draft.manifest);
  write_file_atomically(scratch.path() / "config.json", config);
  try {
    const TuneSpec spec = load_tune_spec(scratch.path() / "config.json", {});
    const space::Scope names(spec.templates.front(), spec.problems.front());
  } catch (const UserError& error) {
    throw UserError(fmt::format("no manifest can be drafted of this kernel: {}", error.message()), kernel,
                    "Change the kernel's parameters or macros, or write the manifest by hand "
                    "(docs/write_a_template.md).");
  }
}

Written draft_into(const InitOptions& options) {
  std::error_code missing;
  const fs::path source_file = fs::canonical(options.file, missing);
  if (missing || !fs::is_regular_file(source_file, missing))
    throw UserError("not a file", Where{options.file.string(), ""}, "Name a CUDA source, such as kernel.cu.");
  const fs::path home = source_file.parent_path();
  const KernelSource source =
      read_kernel_source(source_file, home, options.compile.resolved_include_folders(), home, false);
  const SourceFacts facts = read_source_facts(source.text, options.file.string());
  const KernelText& kernel = choose_kernel(facts, options.kernel, options.file.string());
  const GpuModel gpu = find_gpu_model(shipped_gpu_models(), options.gpu);
  const fs::path folder = template_folder(options, kernel.name);
  Written written;
  written.kernel = kernel.name;
  written.manifest = folder / kManifestName;
  const std::string name = folder.filename().string();
  written.config = folder.parent_path() / (name + ".json");
  const fs::path place = fs::weakly_canonical(fs::absolute(folder));
  if (options.folder.empty() && !is_within(place, home))
    throw UserError("it is a link to a folder elsewhere", Where{folder.string(), ""},
                    "Name a folder with --out.");
  if (place != home) written.copy = folder / source.name;
  for (const fs::path& file : {written.manifest, written.config, written.copy})
    check_free(file, options.force);
  const Signature signature = read_signature(options.compile.pool_options({}), source,
                                             architecture_for(gpu.compute_major, gpu.compute_minor), facts,
                                             kernel, first_defines(facts));
  written.draft = draft_manifest(name, source.name, facts, kernel, signature,
                                 operation_names(home_folder() / "kernel_templates"));
  written.host_code = signature.host_code;
  const std::string config =
      json_text(Json{{"templates", {name}}, {"problems", {written.draft.problem}}}, 2) + "\n";
  check_draft(written.draft, name, config, source.name, signature.guarded,
              Where{options.file.string(), fmt::format("line {}", kernel.line)});
  if (!written.copy.empty()) write_file_atomically(written.copy, signature.guarded);
  write_file_atomically(written.manifest, written.draft.manifest);
  write_file_atomically(written.config, config);
  return written;
}

/// A name that is too long, or links in a circle, are the file system's to find.
Written drafted(const InitOptions& options) {
  try {
    return draft_into(options);
  } catch (const fs::filesystem_error& error) {
    throw UserError(error.code().message(), Where{error.path1().string(), ""},
                    "Name another folder with --out.");
  }
}

std::string as_table(const Written& written, const InitOptions& options) {
  TextTable table;
  table.add_column("found", Align::left);
  table.add_column("name", Align::left);
  table.add_column("guess", Align::left);
  table.add_column("line", Align::right);
  for (const SourceFinding& finding : written.draft.findings)
    table.add_row({finding.what, finding.name, finding.guess, std::to_string(finding.line)});
  std::string out = fmt::format("kernel {} of {}\n\n{}\nto decide:\n", written.kernel, options.file.string(),
                                table.text(stdout_style()));
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
  for (const std::string& command : written.next(options)) out += "  " + command + "\n";
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
  for (const Lines& lines : written.host_code) host.push_back({lines.first, lines.last});
  Json copy;
  if (!written.copy.empty()) copy = written.copy.string();
  return {{"kernel", written.kernel},
          {"manifest", written.manifest.string()},
          {"config", written.config.string()},
          {"source_copy", copy},
          {"host_code", host},
          {"findings", found},
          {"decide", decide},
          {"next", written.next(options)}};
}

int run(const InitOptions& options) {
  const bool json = format_from_name(options.format, {Format::table, Format::json}) == Format::json;
  tell_if_not_confined([](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  const Written written = drafted(options);
  write_output("", json ? json_text(as_json(written, options), 2) + "\n" : as_table(written, options));
  return 0;
}

}  // namespace

void add_init_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* command = app.add_subcommand("init", "Draft a template and a config from a kernel's source");
  command->add_option("FILE", options->file, "CUDA source with the kernel")->required();
  command->add_option("--kernel", options->kernel, "The kernel, where the file has several");
  command->add_option("--out", options->folder,
                      "Folder of the template, which gives it its name (default: FILE's own if it has the "
                      "kernel's name, else "
                      "one of that name beside FILE)");
  command->add_flag("--force", options->force, "Replace files that exist");
  command->add_option("--gpu", options->gpu, "GPU model to compile for; no GPU is needed")
      ->capture_default_str();
  command->add_option("--format", options->format, "table or json")->capture_default_str();
  options->compile.add_to(*command);
  command->footer(
      "Examples:\n  tiletune init saxpy.cu\n"
      "  tiletune init filters.cu --kernel blur --out templates/blur");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tiletune
