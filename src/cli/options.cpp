#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <type_traits>

#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/common.h"
#include "foreign/t1.h"
#include "search/strategies.h"
#include "spec/load.h"
#include "spec/problem.h"
#include "spec/reader.h"

namespace tiletune {

void ConfigOptions::add_to(CLI::App& command) {
  command
      .add_option("CONFIG", config,
                  "Search space, e.g. configs/sgemm.json, or a tuning problem in T1 format (docs/files.md)")
      ->required();
  CLI::Option* problem = command.add_option("--problem", problems,
                                            "Problem instead of the config's, e.g. 4096x4096x4096, "
                                            "1000x77x513,lda=520 or 1x8192x8192,layout=nt (repeatable)");
  add_option(command, "--problems", problem_file,
             "File of problems instead of the config's: a JSON list as in a config, or CSV with a header of "
             "dimensions, such as M,N,K. Problems may be repeated",
             {.type = "FILE"})
      ->excludes(problem);
  command.add_option("--template", templates, "Only this template of the config (repeatable)");
  command.add_flag("--allow-outside-paths", allow_outside_paths,
                   "Let the config and its templates name files outside their folders");
  command.add_flag("--allow-loose", allow_loose, kAllowLoose);
}

TuneSpec ConfigOptions::load(std::vector<UserError>* faults) const {
  LoadOptions options;
  options.faults = faults;
  options.template_folders = {home_folder() / "kernel_templates"};
  options.allow_outside_paths = allow_outside_paths;
  options.allow_loose = allow_loose;
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

namespace {

/// The compiler needs about 32 MiB for the smallest kernel.
constexpr std::uint64_t kLeastCompileMemory = std::uint64_t{64} << 20;

std::uint64_t compile_memory(const std::string& text) {
  const Where where{"--max-compile-memory", ""};
  const auto bytes = bytes_from_text(text);
  if (!bytes)
    throw UserError(fmt::format("'{}' is not a size", text), where,
                    "Write a number and its unit, such as 512MiB or 4GiB.");
  if (*bytes < kLeastCompileMemory)
    throw UserError(fmt::format("{} is too little for the compiler", human_bytes(*bytes)), where,
                    fmt::format("Allow at least {}.", human_bytes(kLeastCompileMemory)));
  return *bytes;
}

}  // namespace

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
  add_option(command, "--include", include_folders,
             "Folder of headers that kernels may include, such as cutlass/include (repeatable)",
             {.type = "FOLDER", .one_each = true});
}

std::vector<std::filesystem::path> CompileOptions::resolved_include_folders() const {
  std::vector<std::filesystem::path> folders;
  for (const std::filesystem::path& folder : include_folders) {
    std::error_code error;
    folders.push_back(std::filesystem::canonical(folder, error));
    if (error || !std::filesystem::is_directory(folders.back(), error))
      throw UserError(fmt::format("there is no folder '{}'", folder.string()), Where{"--include", ""},
                      "Name a folder of headers, such as cutlass/include.");
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
  if (const std::string why = why_not_confinable(); confined && !why.empty())
    throw UserError(fmt::format("kernels cannot be confined here: {}", why), Where{"--confined", ""},
                    "Use Linux 5.13 or newer with Landlock (in the kernel's lsm= list), or leave out "
                    "--confined for kernels that you trust.");
  CompilePoolOptions options;
  options.workers = jobs;
  options.timeout_s = spec.compile.timeout_s;
  options.max_memory_bytes = max_memory_bytes;
  options.cache_folder = cache_folder() / "cubin";
  options.must_be_confined = confined;
  options.program = executable_path();
  return options;
}

namespace {

constexpr std::string_view kOff = "off";
constexpr std::string_view kBaseline = "--baseline";
constexpr std::string_view kSustained = "--sustained";
constexpr std::string_view kHostCopies = "--host-copies";
constexpr std::string_view kRegime = "--regime";

[[noreturn]] void refuse(const std::string& text, const Flag& flag, const std::string& remedy) {
  throw UserError(fmt::format("'{}' is not a {}", text, flag.kind), Where{std::string(flag.name), ""},
                  remedy);
}

template <Spelled Enum>
Enum choice(const std::string& text, const Flag& flag) {
  if (const auto value = from_name<Enum>(text)) return *value;
  refuse(text, flag, std::string(trim(suggestion(text, spellings<Enum>()))));
}

/// The unit is in the option's name: "2s", "1.5", "0.5%" of a percentage, or "off".
template <typename Policy, typename T>
T value_from(const std::string& text, const OptionOf<Policy, T>& option) {
  const Flag& flag = option.flag;
  if constexpr (Spelled<T>) {
    return choice<T>(text, flag);
  } else if constexpr (requires { typename T::value_type; }) {
    T values;
    for (const std::string& one : split(text, ','))
      values.push_back(choice<typename T::value_type>(one, flag));
    return values;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text != "on" && text != kOff) refuse(text, flag, "Write on or off.");
    return text != kOff;
  } else {
    const auto& bounds = option.bounds;
    if constexpr (std::is_same_v<T, double>) {
      if (option.name.ends_with("_s")) {
        const auto seconds = seconds_from_text(text);
        if (seconds && bounds.contain(*seconds)) return *seconds;
        refuse(text, flag, fmt::format("Write a time such as 2s or 1min, at most {:.0f}s.", bounds.max));
      }
    }
    if (flag.or_off && text == kOff) return 0;
    std::string_view digits = text;
    if (option.name.ends_with("_percent") && digits.ends_with('%')) digits.remove_suffix(1);
    if (const auto number = parsed_number<T>(digits); number && bounds.contain(*number)) return *number;
    refuse(text, flag,
           fmt::format("Write a {} from {} to {}, such as {}{}.", flag.kind, bounds.min, bounds.max,
                       Policy().*option.member, flag.or_off ? ", or off" : ""));
  }
}

/// What help says of the value.
template <typename Policy, typename T>
std::string type_of(const OptionOf<Policy, T>& option) {
  if constexpr (Spelled<T>) {
    return join(spellings<T>(), "|");
  } else if constexpr (requires { typename T::value_type; }) {
    return join(spellings<typename T::value_type>(), "|") + ",...";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "on|off";
  } else if constexpr (std::is_same_v<T, double>) {
    return option.name.ends_with("_s") ? "TIME" : "NUMBER";
  } else {
    return fmt::format("INT in [{} - {}]", option.bounds.min, option.bounds.max);
  }
}

bool is_given(const CLI::App& command, std::string_view flag) {
  const CLI::Option* option = flag.empty() ? nullptr : command.get_option_no_throw(std::string(flag));
  return option != nullptr && option->count() > 0;
}

}  // namespace

void MeasureFlags::add_to(CLI::App& command, Flag::Of of) {
  command.add_option(std::string(kBaseline), texts_[std::string(kBaseline)],
                     "Compare with none, cublas, or lt: also the fastest of cuBLASLt's heuristics");
  const MeasurePolicy usual;
  for_each_option(usual, [&](const auto& option, const auto& value) {
    const Flag& flag = option.flag;
    if (flag.name.empty() || (flag.of != Flag::Of::all && flag.of != of)) return;
    const std::string name(flag.name);
    CLI::Option* const added = command.add_option(name, texts_[name], flag.help)->type_name(type_of(option));
    // A config may say otherwise; bench reads none.
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>) {
      if (flag.of == Flag::Of::bench) added->default_str(fmt::format("{}", value));
    }
  });
}

void MeasureFlags::apply(TuneSpec& spec) const {
  const auto given = [&](std::string_view flag) -> const std::string* {
    const auto found = texts_.find(flag);
    return found == texts_.end() || found->second.empty() ? nullptr : &found->second;
  };
  if (const std::string* text = given(kBaseline)) {
    spec.baseline = choice<Baseline>(*text, {.name = kBaseline, .kind = "baseline"});
    const Operation& operation = spec.templates.front().operation;
    if (!operation.baseline_library && spec.baseline != Baseline::none)
      throw UserError(fmt::format("cuBLAS is not a baseline of the operation {}", operation.name),
                      Where{std::string(kBaseline), ""}, "Leave the flag out, or write --baseline none.");
  }
  for_each_option(spec.measure, [&](const auto& option, auto& value) {
    if (const std::string* text = given(option.flag.name)) value = value_from(*text, option);
  });
  // A number that a double holds exactly, as figures are.
  constexpr std::uint64_t kSeeds = std::uint64_t{1} << 52;
  std::random_device random;
  spec.drawn_seed = 1 + (std::uint64_t{random()} << 32 | random()) % kSeeds;
  FinalsPolicy& finals = spec.measure.finals;
  constexpr double kUsualSustainedS = 2;
  if (std::ranges::find(finals.regimes, Regime::sustained) != finals.regimes.end() && finals.sustained_s == 0)
    finals.sustained_s = kUsualSustainedS;
  if (finals.configurations > 0) return;
  const auto refuse_without_finals = [](std::string_view flag, const std::string& what) {
    throw UserError(what, Where{std::string(flag), ""}, "Leave the flag out, or run finals: --finals 10.");
  };
  if (given(kSustained) != nullptr)
    refuse_without_finals(kSustained, "nothing runs back to back without finals");
  if (given(kRegime) != nullptr) refuse_without_finals(kRegime, "launch regimes are timed only after finals");
  if (given(kHostCopies) != nullptr && finals.host_copies)
    refuse_without_finals(kHostCopies, "nothing is timed with copies without finals");
}

void check_flags_beside_model(const CLI::App& command) {
  const bool replays = is_given(command, "--replay");
  if (!replays && !is_given(command, "--gpu")) return;
  const auto check = [&](std::string_view flag) {
    // A recording may hold rows of several.
    const bool chooses_rows = replays && flag == "--cache";
    if (chooses_rows || !is_given(command, flag)) return;
    throw UserError(replays ? "has no effect with --replay: times are as they were recorded"
                            : "has no effect with --gpu: times are predicted",
                    Where{std::string(flag), ""},
                    replays ? "Leave the flag out."
                            : "Leave the flag out, or leave out --gpu to measure on a GPU of this machine.");
  };
  check(kBaseline);
  const MeasurePolicy policy;
  for_each_option(policy, [&](const auto& option, const auto& /*value*/) { check(option.flag.name); });
}

void FilterOptions::add_to(CLI::App& command) {
  command.add_option("--db", database, "Results database")->capture_default_str();
  command.add_option("--gpu", gpus,
                     "Only rows of this GPU: its full name, or whole words of it, such as H100 (repeatable)");
  command.add_option("--template", templates, "Only rows of this template (repeatable)");
  command.add_option("--problem", problems,
                     "Only rows of this problem, e.g. 4096x4096x4096, 512, 1000x77x513,lda=520 or "
                     "1x8192x8192,layout=nt (repeatable)");
  command.add_option("--source", sources,
                     "Only rows of this source: measured, predicted, replayed or imported (repeatable)");
  command.add_option("--sweep", sweep,
                     "Only rows of the sweep with this number, including those of earlier sources");
  command.add_flag("--any-source", any_source, kAnySourceHelp);
  command.add_flag("--skip-bad", skip_bad, kSkipBadHelp);
}

Database FilterOptions::open() const { return open_rows(database, skip_bad); }

TrialFilter FilterOptions::filter(const std::vector<const Database*>& databases) const {
  TrialFilter filter;
  for (const Database* rows : sweep ? databases : std::vector<const Database*>()) {
    const auto sweeps = rows->sweeps();
    if (std::ranges::find(sweeps, *sweep, &SweepRecord::id) != sweeps.end()) continue;
    throw UserError(fmt::format("{} has no sweep {}", rows->file().string(), *sweep), Where{"--sweep", ""},
                    sweeps.empty()
                        ? "It has none."
                        : fmt::format("Its sweeps are {} to {}.", sweeps.front().id, sweeps.back().id));
  }
  filter.gpus = gpus;
  filter.templates = templates;
  filter_problems(problems, databases, filter);
  filter.sources = parse_sources(sources);
  filter.sweep_id = sweep;
  filter.source_age = any_source || sweep ? SourceAge::any : SourceAge::newest;
  return filter;
}

namespace {

void check_problem(const std::string& text) {
  auto words = problem_words(text);
  const auto sizes = written_sizes(words.front());
  // As they are recorded: neither a sign nor zeros in front.
  const auto is_value = [](const std::string& value) {
    return !value.empty() && value.front() != '-' && value.front() != '0';
  };
  const auto is_setting = [&](const std::string& word) {
    const auto parts = split(word, '=');
    return parts.size() == 2 && is_identifier(parts.front()) && is_value(parts.back());
  };
  if (sizes && std::all_of(sizes->begin(), sizes->end(), is_value) &&
      std::all_of(words.begin() + 1, words.end(), is_setting))
    return;
  throw UserError(fmt::format("'{}' is not a problem", text), Where{"--problem", ""},
                  "Write it as it is recorded: 4096x4096x64, 1000x77x513,lda=520 or 1x8192x8192,layout=nt.");
}

/// Whether a problem's row states "layout=nt" among its options, or "A=f16" among its types.
bool states(const StatedProblem& recorded, std::string setting) {
  const auto has = [&](const std::string& text) {
    const auto words = split(text, ' ');
    return std::find(words.begin(), words.end(), setting) != words.end();
  };
  if (has(recorded.options)) return true;
  std::replace(setting.begin(), setting.end(), '=', ':');
  return has(recorded.element_types);
}

/// Whether a text names a problem: in full, or `with_defaults` by leading dimensions that its label leaves
/// out because they are as large as a row, which is one of the sizes. `stated` is set where the text states
/// options or types of the row.
bool names(const std::string& text, const StatedProblem& problem, bool with_defaults, bool& stated) {
  const auto asked = problem_words(text);
  const auto recorded = problem_words(problem.problem);
  const auto sizes = split(recorded.front(), 'x');
  const auto is_asked = [&](const std::string& size) { return size == asked.front(); };
  if (asked.front() != recorded.front() && !std::all_of(sizes.begin(), sizes.end(), is_asked)) return false;
  std::set<std::string> leading(asked.begin() + 1, asked.end());
  stated = std::erase_if(leading, [&](const std::string& word) { return states(problem, word); }) > 0;
  std::erase_if(leading, [&](const std::string& setting) {
    const std::string elements = setting.substr(setting.find('=') + 1);
    return with_defaults && std::find(sizes.begin(), sizes.end(), elements) != sizes.end();
  });
  return leading == std::set<std::string>(recorded.begin() + 1, recorded.end());
}

template <typename T>
void add_new(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

void filter_problems(const std::vector<std::string>& texts, const std::vector<const Database*>& databases,
                     TrialFilter& filter) {
  for (const std::string& text : texts) check_problem(text);
  // Where no text has more than sizes, not all rows need be read for options and types.
  const bool with_more = std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text.find('=') != std::string::npos;
  });
  std::vector<StatedProblem> recorded;
  for (const Database* database : texts.empty() ? std::vector<const Database*>() : databases) {
    const auto stated = with_more ? database->stated_problems() : std::vector<StatedProblem>();
    recorded.insert(recorded.end(), stated.begin(), stated.end());
    if (with_more) continue;
    for (const std::string& problem : database->distinct("problem")) recorded.push_back({problem});
  }
  for (const std::string& text : texts) {
    bool is_found = false;
    for (const bool with_defaults : {false, true}) {
      if (is_found) continue;
      for (const StatedProblem& problem : recorded) {
        bool stated = false;
        if (!names(text, problem, with_defaults, stated)) continue;
        is_found = true;
        if (stated)
          add_new(filter.stated_problems, problem);
        else
          add_new(filter.problems, problem.problem);
      }
    }
    if (!is_found) filter.problems.push_back(text);
  }
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) {
    const bool is_one = parsed_number<std::int64_t>(text).value_or(-1) >= 0;
    return is_one ? "" : fmt::format("{} is not a whole number from 0 to 2^63 - 1", text);
  };
  return {check, "UINT"};
}

CLI::Option* add_shard_option(CLI::App& command, std::string& text) {
  return add_option(
      command, "--shard", text,
      "Only one of N disjoint parts of the space, such as 3/16; /16: the part numbered SLURM_ARRAY_TASK_ID",
      {.type = "I/N"});
}

void apply_shard(const std::string& text, Shard& shard) {
  if (text.empty()) return;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const char* const task = std::getenv("SLURM_ARRAY_TASK_ID");
  if (slash == 0 && task == nullptr)
    throw UserError(fmt::format("'{}' leaves the number to SLURM_ARRAY_TASK_ID, which is not set", text),
                    Where{"--shard", ""}, "Write the part and the number of parts, such as 3/16.");
  const std::string number = slash == 0 ? task : text.substr(0, slash);
  const std::string count = slash < text.size() ? text.substr(slash + 1) : "";
  shard.number = parsed_number<std::uint64_t>(number).value_or(0);
  shard.count = parsed_number<std::uint64_t>(count).value_or(0);
  if (shard.number > 0 && shard.number <= shard.count && shard.count <= kMostShards) return;
  throw UserError(
      slash == 0 ? fmt::format("SLURM_ARRAY_TASK_ID is {}, and shards are numbered 1 to {}", number, count)
                 : fmt::format("'{}' is not a shard", text),
      Where{"--shard", ""},
      fmt::format("Write the part and the number of parts, such as 3/16; at most {} parts.", kMostShards));
}

}  // namespace tiletune
