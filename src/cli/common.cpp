#include "cli/common.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace tiletune {

void ConfigOptions::add_to(CLI::App& command) {
  command.add_option("CONFIG", config, "Search space, e.g. configs/sgemm.json")->required();
  command.add_option("--problem", problems,
                     "Problem size instead of the config's, e.g. 4096x4096x4096 (repeatable)");
  command.add_option("--template", templates, "Only this template of the config (repeatable)");
  command.add_flag("--allow-outside-paths", allow_outside_paths,
                   "Let the config and its templates name files outside their folders");
}

TuneSpec ConfigOptions::load() const {
  LoadOptions options;
  options.template_folders = {home_folder() / "kernel_templates"};
  options.allow_outside_paths = allow_outside_paths;
  options.problems = problems;
  options.templates = templates;
  return load_tune_spec(config, options);
}

void CompileOptions::add_to(CLI::App& command) {
  command.add_option("-j,--jobs", jobs, "Compile workers (default: all cores but one)")
      ->check(CLI::Range(1, 1024));
}

CompilePoolOptions CompileOptions::pool_options(const TuneSpec& spec) const {
  CompilePoolOptions options;
  options.workers = jobs;
  options.timeout_s = spec.compile.timeout_s;
  options.cache_folder = cache_folder() / "cubin";
  options.program = executable_path();
  return options;
}

void FilterOptions::add_to(CLI::App& command) {
  command.add_option("--db", database, "Results database")->capture_default_str();
  command.add_option("--gpu", gpus, "Only rows of this GPU; part of its name will do (repeatable)");
  command.add_option("--template", templates, "Only rows of this template (repeatable)");
  command.add_option("--problem", problems, "Only rows of this problem, e.g. 4096x4096x4096 (repeatable)");
  command.add_option("--source", sources,
                     "Only rows that are measured, predicted, replayed or imported (repeatable)");
  command.add_option("--sweep", sweep, "Only rows of the sweep with this number");
}

TrialFilter FilterOptions::filter() const {
  TrialFilter filter;
  filter.gpus = gpus;
  filter.templates = templates;
  filter.problems = problems;
  for (const std::string& text : sources) {
    const auto source = source_from_name(text);
    if (!source) {
      throw UserError(fmt::format("unknown source '{}'", text), Where{"--source", ""},
                      "Known: measured, predicted, replayed, imported.");
    }
    filter.sources.push_back(*source);
  }
  if (sweep > 0) filter.sweep_id = sweep;
  return filter;
}

std::vector<GpuModel> shipped_gpu_models() { return load_gpu_models(home_folder() / "configs" / "gpus"); }

void check_output(const std::filesystem::path& file, const std::filesystem::path& database) {
  std::error_code ignored;
  if (file.empty() || !std::filesystem::equivalent(file, database, ignored)) return;
  throw UserError("the output would replace the database it comes from", Where{file.string(), ""},
                  "Write to another file.");
}

void write_output(const std::filesystem::path& file, const std::string& text) {
  if (!file.empty() && file != "-") return write_file(file, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw UserError("standard output cannot be written", "Is the disk full, or the reader gone?");
  }
}

void stream_output(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write) {
  if (!file.empty() && file != "-") return stream_to_file(file, write);
  try {
    std::cout.exceptions(std::ios::badbit | std::ios::failbit);
    write(std::cout);
    std::cout.flush();
  } catch (const std::ios_base::failure&) {
    throw UserError("standard output cannot be written", "Is the disk full, or the reader gone?");
  }
}

}  // namespace tiletune
