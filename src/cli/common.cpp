#include "cli/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/confinement.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/recorded_problems.h"
#include "foreign/t1.h"
#include "output/display.h"
#include "search/strategies.h"

namespace tiletune {

namespace {

/// The compiler needs about 32 MiB for the smallest kernel.
constexpr std::uint64_t kLeastCompileMemory = std::uint64_t{64} << 20;

std::uint64_t compile_memory(const std::string& text) {
  const Where where{"--max-compile-memory", ""};
  const auto bytes = bytes_from_text(text);
  if (!bytes) {
    throw UserError(fmt::format("'{}' is not a size", text), where,
                    "Write a number and its unit, such as 512MiB or 4GiB.");
  }
  if (*bytes < kLeastCompileMemory) {
    throw UserError(fmt::format("{} is too little for the compiler", human_bytes(*bytes)), where,
                    fmt::format("Allow at least {}.", human_bytes(kLeastCompileMemory)));
  }
  return *bytes;
}

}  // namespace

void ConfigOptions::add_to(CLI::App& command) {
  command
      .add_option("CONFIG", config,
                  "Search space, e.g. configs/sgemm.json, or a tuning problem in T1 format (docs/files.md)")
      ->required();
  CLI::Option* problem = command.add_option(
      "--problem", problems,
      "Problem instead of the config's, e.g. 4096x4096x4096, 1000x77x513,lda=520 or 1x8192x8192,layout=nt "
      "(repeatable)");
  command
      .add_option(
          "--problems", problem_file,
          "File of problems instead of the config's: a JSON list as in a config, or CSV with a header of "
          "dimensions, such as M,N,K. Problems may be repeated")
      ->type_name("FILE")
      ->excludes(problem);
  command.add_option("--template", templates, "Only this template of the config (repeatable)");
  command.add_flag("--allow-outside-paths", allow_outside_paths,
                   "Let the config and its templates name files outside their folders");
}

TuneSpec ConfigOptions::load(std::vector<UserError>* faults) const {
  LoadOptions options;
  options.faults = faults;
  options.template_folders = {home_folder() / "kernel_templates"};
  options.allow_outside_paths = allow_outside_paths;
  options.problems = problems;
  options.problem_file = problem_file;
  options.templates = templates;
  options.read_other = read_t1;
  TuneSpec spec = load_tune_spec(config, options);
  find_strategy(spec.strategy);
  return spec;
}

TuneSpec ConfigOptions::load_all(std::vector<UserError>& faults) const {
  try {
    return load(&faults);
  } catch (const UserError& error) {
    faults.push_back(error);
    return {};
  }
}

void refuse_all(const std::vector<UserError>& errors) {
  for (const UserError& error : errors) {
    if (&error == &errors.back()) throw UserError(error);
    fmt::print(stderr, "tiletune: error: {}\n", printable_message(error.what()));
  }
}

void CompileOptions::add_to(CLI::App& command) {
  command.add_option("-j,--jobs", jobs, "Compile workers (default: one per core)")
      ->check(CLI::Range(1, 1024));
  command
      .add_option_function<std::string>(
          "--max-compile-memory",
          [this](const std::string& text) { max_memory_bytes = compile_memory(text); },
          "Memory limit of one compilation, e.g. 512MiB; beyond it the configuration fails")
      ->type_name("SIZE")
      ->default_str("4GiB");
  command.add_flag("--confined", confined,
                   "Refuse to run where the system cannot confine kernels to their folders");
  command
      .add_option("--include", include_folders,
                  "Folder of headers that kernels may include, such as cutlass/include (repeatable)")
      ->allow_extra_args(false)
      ->type_name("FOLDER");
}

std::vector<std::filesystem::path> CompileOptions::resolved_include_folders() const {
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path& folder : include_folders) {
    std::error_code error;
    folders.push_back(std::filesystem::canonical(folder, error));
    if (error || !std::filesystem::is_directory(folders.back(), error)) {
      throw UserError(fmt::format("there is no folder '{}'", folder.string()), Where{"--include", ""},
                      "Name a folder of headers, such as cutlass/include.");
    }
  }
  return folders;
}

void CompileOptions::add_include_folders(TuneSpec& spec) const {
  const std::vector<std::filesystem::path> folders = resolved_include_folders();
  const auto add = [&](TemplateSpec& kernel) {
    kernel.include_folders.insert(kernel.include_folders.begin(), folders.begin(), folders.end());
  };
  for (TemplateSpec& kernel : spec.templates) {
    add(kernel);
    for (TemplateSpec& reference : kernel.reference) add(reference);
    for (TemplateSpec& baseline : kernel.baselines) add(baseline);
  }
}

CompilePoolOptions CompileOptions::pool_options(const TuneSpec& spec) const {
  if (const std::string why = why_not_confinable(); confined && !why.empty()) {
    throw UserError(fmt::format("kernels cannot be confined here: {}", why), Where{"--confined", ""},
                    "Use Linux 5.13 or newer with Landlock (in the kernel's lsm= list), or leave out "
                    "--confined for kernels that you trust.");
  }
  CompilePoolOptions options;
  options.workers = jobs;
  options.timeout_s = spec.compile.timeout_s;
  options.max_memory_bytes = max_memory_bytes;
  options.cache_folder = cache_folder() / "cubin";
  options.must_be_confined = confined;
  options.program = executable_path();
  return options;
}

void tell_if_not_confined(const std::function<void(const std::string& line)>& tell) {
  if (const std::string why = why_not_confinable(); !why.empty())
    tell(fmt::format("kernels are not confined here: {}", why));
}

std::vector<Source> parse_sources(const std::vector<std::string>& texts) {
  std::vector<Source> sources;
  for (const std::string& text : texts) {
    const auto source = from_name<Source>(text);
    if (!source) {
      throw UserError(fmt::format("unknown source '{}'", text), Where{"--source", ""},
                      "Known: measured, predicted, replayed, imported.");
    }
    sources.push_back(*source);
  }
  return sources;
}

void FilterOptions::add_to(CLI::App& command) {
  command.add_option("--db", database, "Results database")->capture_default_str();
  command.add_option("--gpu", gpus,
                     "Only rows of this GPU: its full name, or whole words of it, such as H100 (repeatable)");
  command.add_option("--template", templates, "Only rows of this template (repeatable)");
  command.add_option(
      "--problem", problems,
      "Only rows of this problem, e.g. 4096x4096x4096, 512, 1000x77x513,lda=520 or 1x8192x8192,layout=nt "
      "(repeatable)");
  command.add_option("--source", sources,
                     "Only rows of this source: measured, predicted, replayed or imported (repeatable)");
  command.add_option("--sweep", sweep,
                     "Only rows of the sweep with this number, including those of earlier sources");
  command.add_flag("--any-source", any_source, kAnySourceHelp);
}

namespace {

void check_sweep(std::int64_t sweep, const Database& rows) {
  const std::vector<SweepRecord> sweeps = rows.sweeps();
  const auto is_it = [&](const SweepRecord& record) { return record.id == sweep; };
  if (std::any_of(sweeps.begin(), sweeps.end(), is_it)) return;
  std::string known = "It has none.";
  if (!sweeps.empty()) known = fmt::format("Its sweeps are {} to {}.", sweeps.front().id, sweeps.back().id);
  throw UserError(fmt::format("{} has no sweep {}", rows.file().string(), sweep), Where{"--sweep", ""},
                  known);
}

}  // namespace

TrialFilter FilterOptions::filter(const Database& rows) const {
  TrialFilter filter;
  if (sweep) check_sweep(*sweep, rows);
  filter.gpus = gpus;
  filter.templates = templates;
  filter_problems(problems, {&rows}, filter);
  filter.sources = parse_sources(sources);
  filter.sweep_id = sweep;
  filter.source_age = any_source || sweep ? SourceAge::any : SourceAge::newest;
  return filter;
}

std::string recorded_text(const Database& database) {
  const std::vector<std::string> gpus = database.gpus();
  if (gpus.empty()) return "Nothing is recorded yet: run 'tiletune sweep'.";
  return fmt::format("Loosen the filters. Recorded are the GPUs {}; the problems {}; the templates {}.",
                     printable(first_of(gpus)), printable(first_of(database.problems())),
                     printable(first_of(database.templates())));
}

void note_earlier_sources(const Database& database, const TrialFilter& filter) {
  const std::uint64_t hidden = database.rows_hidden_by(filter);
  if (hidden == 0) return;
  const bool one = hidden == 1;
  fmt::print(stderr, "note: {} of an earlier source {} hidden (--any-source shows {})\n",
             counted(hidden, "row"), one ? "is" : "are", one ? "it" : "them");
}

void show_rows(const Database& database, const TrialFilter& filter, const std::function<void()>& show) {
  database.at_one_state([&] {
    try {
      show();
    } catch (const NothingToDo& nothing) {
      const std::uint64_t hidden = database.rows_hidden_by(filter);
      if (hidden == 0) throw;
      throw NothingToDo(fmt::format("{}, but {} of an earlier source {} hidden", nothing.message(),
                                    counted(hidden, "row"), hidden == 1 ? "is" : "are"),
                        nothing.where(), "Include them: --any-source.");
    }
    note_earlier_sources(database, filter);
  });
}

void require_rows(const Database& database, const TrialFilter& filter) {
  if (!database.outcome_counts(filter).empty()) return;
  throw NothingToDo("no row matches", Where{database.file().string(), ""}, recorded_text(database));
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size() && number >= 0;
    return whole ? "" : fmt::format("{} is not a whole number from 0 to 2^63 - 1", text);
  };
  return {check, "UINT"};
}

std::vector<GpuModel> shipped_gpu_models() { return load_gpu_models(home_folder() / "configs" / "gpus"); }

std::string alias_of(const std::vector<GpuModel>& models, const std::string& gpu) {
  const GpuModel* model = model_called(models, gpu);
  return model == nullptr ? gpu : model->name;
}

StaticModel shipped_static_model() {
  return load_static_model(home_folder() / "configs" / "model" / "static_model.json");
}

void check_output(const std::filesystem::path& file, const std::filesystem::path& database) {
  std::error_code ignored;
  if (file.empty() || !std::filesystem::equivalent(file, database, ignored)) return;
  throw UserError("the output would replace the database it comes from", Where{file.string(), ""},
                  "Write to another file.");
}

UserError named_by(const std::string& option, const UserError& error) {
  static const std::string kUsual = " with --db FILE";
  std::string remedy = error.remedy();
  const std::size_t at = remedy.find(kUsual);
  if (at != std::string::npos) remedy.replace(at, kUsual.size(), option.empty() ? "" : " with " + option);
  return {error.message(), error.where(), remedy};
}

namespace {

/// The reader has left, as in `| head -1`: a quiet end, also where the signal was ignored until now.
void end_as_filters_do() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

}  // namespace

void write_output(const std::filesystem::path& file, const std::string& text) {
  if (!file.empty() && file != "-") return write_file(file, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    if (errno == EPIPE) end_as_filters_do();
    throw UserError("standard output cannot be written", "Is the disk full, or did the reader exit?");
  }
}

void stream_output(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write) {
  if (!file.empty() && file != "-") return stream_to_file(file, write);
  try {
    std::cout.exceptions(std::ios::badbit | std::ios::failbit);
    write(std::cout);
    std::cout.flush();
  } catch (const std::ios_base::failure&) {
    if (errno == EPIPE) end_as_filters_do();
    throw UserError("standard output cannot be written", "Is the disk full, or did the reader exit?");
  }
}

CLI::Option* add_shard_option(CLI::App& command, std::string& text) {
  return command
      .add_option("--shard", text,
                  "Only one of N disjoint parts of the space, such as 3/16; /16: the part numbered "
                  "SLURM_ARRAY_TASK_ID")
      ->type_name("I/N");
}

void apply_shard(const std::string& text, Shard& shard) {
  if (text.empty()) return;
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string number = text.substr(0, slash);
  const char* const task = std::getenv("SLURM_ARRAY_TASK_ID");
  if (slash == 0 && task == nullptr)
    throw UserError(fmt::format("'{}' leaves the number to SLURM_ARRAY_TASK_ID, which is not set", text),
                    Where{"--shard", ""}, "Write the part and the number of parts, such as 3/16.");
  if (slash == 0) number = task;
  const auto parsed = [](const std::string& digits, std::uint64_t& value) {
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && rest == end && value > 0;
  };
  const std::string count = slash < text.size() ? text.substr(slash + 1) : "";
  if (parsed(number, shard.number) && parsed(count, shard.count) && shard.number <= shard.count &&
      shard.count <= kMostShards)
    return;
  throw UserError(
      slash == 0 ? fmt::format("SLURM_ARRAY_TASK_ID is {}, and shards are numbered 1 to {}", number, count)
                 : fmt::format("'{}' is not a shard", text),
      Where{"--shard", ""},
      fmt::format("Write the part and the number of parts, such as 3/16; at most {} parts.", kMostShards));
}

namespace {

volatile std::sig_atomic_t interrupts = 0;

void note_interrupt(int signal) {
  interrupts = interrupts + 1;
  constexpr int kSignalExit = 128;
  if (interrupts > 1) {
    remove_unfinished_file();
    ::_exit(kSignalExit + signal);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  // No SA_RESTART: a sleeping poll() must return.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() { return interrupts > 0; }

}  // namespace tiletune
