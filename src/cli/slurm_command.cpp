#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "cli/shard.h"
#include "cli/signals.h"
#include "cli/slurm_scripts.h"
#include "cli/slurm_status.h"
#include "output/display.h"
#include "output/table.h"
#include "space/space.h"
#include "tune/task.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostNodes = 100000;
constexpr std::uint64_t kMostGpus = 64;

struct SlurmCommand {
  ConfigOptions config;
  CompileOptions compile;
  std::vector<std::string> sweep;
  std::vector<std::string> config_words;  ///< options that all commands take, as typed
  std::uint64_t nodes = 1;
  std::uint64_t gpus_per_node = 1;
  std::uint64_t array = 0;
  std::vector<std::string> gpu_types;
  std::string model;
  std::uint64_t cpus = 0;
  std::string time;
  std::vector<std::string> sbatch;
  std::string compile_for;
  std::uint64_t compile_tasks = 8;
  fs::path cache;
  fs::path local;
  fs::path output;
  bool submit = false;
};

struct StatusCommand {
  fs::path folder;
  std::string format = "table";
};

constexpr const char* kBefore = "it applies to all jobs";

/// Options of sweeps that the scripts give themselves, and why.
const std::map<std::string, std::string>& reserved_options() {
  static const std::map<std::string, std::string> options{
      {"--db", "each shard has a database of its own"},
      {"--shard", "the array's tasks are the shards"},
      {"--gpus", "a task measures on all its GPUs"},
      {"--gpu", kBefore},
      {"--recorded", "the last job does it"},
      {"--replay", "recordings are replayed without Slurm"},
      {"--remeasure", "a shard that is queued again would start over"},
      {"--problem", kBefore},
      {"--problems", kBefore},
      {"--template", kBefore},
      {"--include", kBefore}};
  return options;
}

/// As `tiletune sweep` takes them, so that no task fails for a slip of the pen; --finals is taken out: shards
/// hold none.
void add_sweep_options(const SlurmCommand& options, SlurmArray& array) {
  CLI::App app;
  Action unused;
  add_sweep_command(app, unused, "");
  std::vector<std::string> words{"sweep", options.config.config.string()};
  words.insert(words.end(), options.sweep.begin(), options.sweep.end());
  std::reverse(words.begin(), words.end());
  const Where where{"--", ""};
  const std::string remedy = "Write options of 'tiletune sweep' after it.";
  try {
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    refuse_extras(app);
  } catch (const CLI::ParseError& error) {
    throw UserError(error.what(), where, remedy);
  }
  const CLI::App& sweep = *app.get_subcommands().front();
  for (const auto& [name, why] : reserved_options()) {
    if (sweep.get_option(name)->count() > 0)
      throw UserError(fmt::format("{} cannot be given here: {}", name, why), where,
                      why == kBefore ? "Write it before the --." : "Leave it out.");
  }
  if (sweep.get_option("--finals")->count() > 0)
    array.finals = sweep.get_option("--finals")->as<std::string>();
  array.has_lessons = sweep.get_option("--learn-from")->count() > 0;
  for (std::size_t i = 0; i < options.sweep.size(); ++i) {
    const std::string& word = options.sweep[i];
    if (word == "--finals") ++i;
    if (word == "--finals" || word.starts_with("--finals=")) continue;
    array.sweep.push_back(word);
  }
}

/// What was typed of the options that `compile` and `sweep` take too.
std::vector<std::string> shared_words(const CLI::App& command) {
  std::vector<std::string> words;
  for (const char* name : {"--problem", "--problems", "--template", "--allow-outside-paths", "--jobs",
                           "--max-compile-memory", "--confined", "--include"}) {
    const CLI::Option* option = command.get_option(name);
    for (const std::string& value : option->results())
      words.push_back(option->get_items_expected_max() == 0 ? std::string(name)
                                                            : fmt::format("{}={}", name, value));
  }
  return words;
}

SlurmArray array_of(const SlurmCommand& options, const TuneSpec& spec) {
  SlurmArray array;
  array.program = executable_path();
  array.working_folder = fs::current_path();
  array.name = spec.name;
  array.shards = options.array > 0 ? options.array : options.nodes;
  const bool measures = options.model.empty();
  const std::uint64_t on_node =
      std::min((array.shards + options.nodes - 1) / options.nodes, options.gpus_per_node);
  array.gpus = measures ? options.gpus_per_node / on_node : 0;
  array.at_once = measures ? options.nodes * (options.gpus_per_node / array.gpus) : options.nodes;
  array.cpus = options.cpus;
  array.time = options.time;
  array.sbatch = options.sbatch;
  array.model = measures ? options.compile_for : options.model;
  array.compile_tasks = options.compile_for.empty() ? 0 : options.compile_tasks;
  if (!options.cache.empty()) array.cache = fs::absolute(options.cache);
  if (!options.local.empty()) array.local = fs::absolute(options.local);
  array.config = {options.config.config.string()};
  array.config.insert(array.config.end(), options.config_words.begin(), options.config_words.end());
  add_sweep_options(options, array);
  return array;
}

/// Of a space: what decides which configurations a shard has.
struct Division {
  std::uint64_t configurations = 0;
  std::string hash;  ///< of the config, of the options that narrow it, and of the way it is divided
};

Division division_of(const SlurmArray& array, const TuneSpec& spec) {
  Division division;
  Hasher hasher;
  hasher.add(std::int64_t{kShardDivision}).add(spec.config_json);
  for (const std::string& word : array.config) hasher.add(word);
  for (const Task& task : plan_tasks(spec, interrupted)) {
    division.configurations += task.space.size();
    hasher.add(task.spec->label()).add(task.problem.label());
    hasher.add(static_cast<std::int64_t>(task.space.size()));
  }
  division.hash = hasher.hex();
  return division;
}

Json plan_of(const SlurmArray& array, const Division& division) {
  return {{"tiletune", kVersion},      {"name", array.name},
          {"shards", array.shards},    {"configurations", division.configurations},
          {"division", division.hash}, {"gpu_type", array.gpu_type},
          {"model", array.model}};
}

constexpr const char* kPlan = "plan.json";

/// Shards of another division would be neither disjoint nor complete, and files of others are not replaced.
void check_folder(const fs::path& folder, const Json& plan) {
  std::error_code error;
  if (!fs::exists(folder / kPlan, error)) {
    if (!fs::exists(folder, error) || fs::is_empty(folder, error)) return;
    throw UserError("it exists already, and 'tiletune slurm' did not write it", Where{folder.string(), ""},
                    "Name another folder with -o FOLDER.");
  }
  const Json present = read_json(folder / kPlan);
  for (const char* name : {"name", "shards", "configurations", "division"}) {
    if (present.contains(name) && present[name] == plan[name]) continue;
    throw UserError(fmt::format("the array in this folder has {} {}, and this one {}", name,
                                present.contains(name) ? present[name].dump() : "unknown", plan[name].dump()),
                    Where{(folder / kPlan).string(), ""},
                    "Name another folder with -o FOLDER, or remove this one.");
  }
}

void write_script(const fs::path& file, const std::string& text) {
  write_file_atomically(file, text);
  fs::permissions(file, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add);
}

void write_array(const SlurmArray& array, const Division& division) {
  const Json plan = plan_of(array, division);
  check_folder(array.folder, plan);
  std::error_code error;
  fs::create_directories(array.folder / "shards", error);
  if (error)
    throw UserError(fmt::format("the folder cannot be created: {}", error.message()),
                    Where{array.folder.string(), ""}, "Name another folder with -o FOLDER.");
  // The plan comes before the scripts: it marks a folder whose files may be replaced.
  write_file_atomically(array.folder / kPlan, plan.dump(2) + "\n");
  write_file_atomically(array.folder / "sweep.sbatch", sweep_script(array));
  write_file_atomically(array.folder / "finish.sbatch", finish_script(array));
  if (array.compile_tasks > 0) write_file_atomically(array.folder / "compile.sbatch", compile_script(array));
  write_script(array.folder / "submit", submit_script(array));
}

void submit(const SlurmArray& array) {
  const int status = std::system(shell_quoted((array.folder / "submit").string()).c_str());
  if (status == 0) return;
  throw UserError(
      "the jobs could not be submitted", Where{(array.folder / "submit").string(), ""},
      "Correct what sbatch says above; the scripts are written. Does this machine belong to the cluster?");
}

std::optional<std::uint64_t> number_of(std::string_view digits) {
  constexpr std::uint64_t kMost = 1000000;
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || rest != end || number > kMost) return std::nullopt;
  return number;
}

/// Of a time as sbatch takes it: 30, 30:00, 1:30:00, 2-0, 2-12:00, 2-12:00:00. None where it is not one.
std::optional<std::uint64_t> seconds_of(const std::string& time) {
  const std::size_t dash = time.find('-');
  std::vector<std::uint64_t> parts;
  for (const std::string& part : split(time.substr(dash == std::string::npos ? 0 : dash + 1), ':')) {
    const auto number = number_of(part);
    if (!number) return std::nullopt;
    parts.push_back(*number);
  }
  if (parts.empty() || parts.size() > 3) return std::nullopt;
  if (dash == std::string::npos) {
    if (parts.size() < 3) parts.insert(parts.begin(), 0);
    parts.resize(3);
    return parts[0] * 3600 + parts[1] * 60 + parts[2];
  }
  const auto days = number_of(time.substr(0, dash));
  if (!days) return std::nullopt;
  parts.resize(3);
  return *days * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2];
}

/// A task is warned two minutes before its limit, and queued again; a short one would never get further.
void check_time(const std::string& time) {
  constexpr std::uint64_t kShortest = 300;
  if (time.empty() || time == "UNLIMITED" || time == "INFINITE") return;
  const std::optional<std::uint64_t> seconds = seconds_of(time);
  const Where where{"--time", ""};
  if (!seconds)
    throw UserError(fmt::format("'{}' is not a time limit", printable(time)), where,
                    "Write minutes, hours:minutes:seconds or days-hours: 90, 1:30:00, 2-0.");
  if (*seconds > 0 && *seconds < kShortest)
    throw UserError(fmt::format("{} s are too short: a task ends its work 120 s before its limit", *seconds),
                    where, "Give 5 minutes or more.");
}

void check(const SlurmCommand& options) {
  check_time(options.time);
  if (!options.compile_for.empty() && options.cache.empty())
    throw UserError("the kernel cache must be on storage that all nodes share", Where{"--compile-for", ""},
                    "Name its folder with --cache FOLDER.");
  if (!options.compile_for.empty() && !options.model.empty())
    throw UserError("predicted sweeps compile themselves", Where{"--compile-for", ""}, "Leave it out.");
  if (!options.compile_for.empty() && options.gpu_types.size() > 1)
    throw UserError("one model's kernels are of no use to several types of GPU", Where{"--compile-for", ""},
                    "Write an array for each type, or leave it out.");
  for (const std::string* model : {&options.compile_for, &options.model})
    if (!model->empty()) find_gpu_model(shipped_gpu_models(), *model);
  for (const std::string& type : options.gpu_types)
    if (type != plain_name(type))
      throw UserError(fmt::format("'{}' is not a GPU type", type), Where{"--gpu-type", ""},
                      "To list the types that Slurm knows: sinfo -o %G");
}

int run(const SlurmCommand& options) {
  check(options);
  TuneSpec spec = options.config.load();
  options.compile.add_include_folders(spec);
  catch_interrupts();
  SlurmArray array = array_of(options, spec);
  const Division division = division_of(array, spec);
  const std::uint64_t configurations = division.configurations;
  if (array.shards > configurations)
    throw UserError(fmt::format("the space has {}, fewer than {} shards",
                                counted(configurations, "configuration"), array.shards),
                    Where{"--array", ""}, "Divide the space into fewer shards.");
  const fs::path folder =
      fs::absolute(options.output.empty() ? fs::path("slurm") / plain_name(spec.name) : options.output)
          .lexically_normal();
  std::vector<std::string> types = options.gpu_types;
  if (types.empty()) types = {""};
  for (const std::string& type : types) {
    array.gpu_type = type;
    array.folder = type.empty() || types.size() == 1 ? folder : folder / type;
    write_array(array, division);
    std::string text = fmt::format(
        "{}: {} of about {} each, {} at a time, {}{}\n", printable(array.folder.string()),
        counted(array.shards, "shard"), counted(configurations / array.shards, "configuration"),
        std::min(array.at_once, array.shards),
        array.gpus == 0 ? "predicted for " + array.model : "each on " + counted(array.gpus, "GPU"),
        type.empty() ? "" : " of type " + type);
    if (!options.submit)
      text += fmt::format("start it: {}\n", printable(shell_quoted((array.folder / "submit").string())));
    write_output("", text);
    if (options.submit) submit(array);
  }
  write_output("", fmt::format("show its progress: tiletune slurm status {}\n",
                               printable(shell_quoted(folder.string()))));
  return 0;
}

struct ArrayStatus {
  fs::path folder;
  Json plan;
  std::vector<ShardStatus> shards;

  std::vector<std::uint64_t> in(ShardState state) const {
    std::vector<std::uint64_t> numbers;
    for (const ShardStatus& shard : shards)
      if (shard.state == state) numbers.push_back(shard.shard);
    return numbers;
  }
  bool is_done() const { return in(ShardState::done).size() == shards.size(); }
  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (const ShardStatus& shard : shards) sum += shard.rows;
    return sum;
  }
};

ArrayStatus read_array(const fs::path& folder, const std::optional<std::vector<QueuedTask>>& queued) {
  ArrayStatus array{folder, read_json(folder / kPlan), {}};
  const Where where{(folder / kPlan).string(), "/shards"};
  if (!array.plan.is_object() || !array.plan.contains("shards") ||
      !array.plan["shards"].is_number_unsigned() || array.plan["shards"].get<std::uint64_t>() > kMostShards)
    throw UserError("there is no number of shards", where, "Write the array again with 'tiletune slurm'.");
  array.shards = shard_states(folder, array.plan["shards"].get<std::uint64_t>(), queued);
  return array;
}

/// The folder itself, or one for each type of GPU in it.
std::vector<fs::path> array_folders(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kPlan, error)) return {folder};
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / kPlan, error)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (!folders.empty()) return folders;
  throw UserError("this folder holds no array", Where{folder.string(), ""},
                  "Name the folder that 'tiletune slurm' wrote.");
}

std::string as_text(const ArrayStatus& array) {
  std::string text = printable(array.folder.string()) + ": " + counted(array.shards.size(), "shard");
  for (const auto& [state, name] : kSpellings<ShardState>) {
    const auto numbers = array.in(state);
    if (!numbers.empty()) text += fmt::format(", {} {}", numbers.size(), name);
  }
  text += fmt::format("; {}", counted(array.rows(), "row"));
  if (array.plan.contains("configurations") && array.plan["configurations"].is_number_unsigned())
    text += fmt::format(" of {} configurations", array.plan["configurations"].get<std::uint64_t>());
  text += "\n";
  TextTable table;
  for (const char* name : {"shard", "state", "rows", "node", "reason"})
    table.add_column(name, std::string_view(name) == "rows" ? Align::right : Align::left);
  table.hide_empty_columns();
  for (const ShardStatus& shard : array.shards) {
    table.add_row({std::to_string(shard.shard), std::string(name(shard.state)), std::to_string(shard.rows),
                   shard.node.empty() ? "-" : printable(shard.node),
                   shard.reason.empty() ? "-" : printable(shard.reason)});
  }
  text += table.text(stdout_style());
  std::vector<std::uint64_t> again = array.in(ShardState::failed);
  const auto stopped = array.in(ShardState::stopped);
  again.insert(again.end(), stopped.begin(), stopped.end());
  std::sort(again.begin(), again.end());
  if (!again.empty())
    text += fmt::format("run {} again: {} {}\n", again.size() == 1 ? "it" : "these",
                        printable(shell_quoted((array.folder / "submit").string())), ranges_text(again));
  return text;
}

Json as_json(const ArrayStatus& array) {
  Json shards = Json::array();
  for (const ShardStatus& shard : array.shards)
    shards.push_back({{"shard", shard.shard},
                      {"state", name(shard.state)},
                      {"rows", shard.rows},
                      {"node", shard.node},
                      {"reason", shard.reason}});
  return {
      {"folder", array.folder.string()}, {"plan", array.plan}, {"done", array.is_done()}, {"shards", shards}};
}

int run(const StatusCommand& options) {
  const bool json = format_from_name(options.format, {Format::table, Format::json}) == Format::json;
  const std::vector<fs::path> folders = array_folders(options.folder);
  const auto queued = queued_tasks();
  bool is_done = true;
  std::string text;
  Json list = Json::array();
  for (const fs::path& folder : folders) {
    const ArrayStatus array = read_array(folder, queued);
    is_done = is_done && array.is_done();
    text += as_text(array);
    list.push_back(as_json(array));
  }
  if (json) text = json_text(Json{{"arrays", list}}, 2) + "\n";
  write_output("", text);
  return is_done ? 0 : 1;
}

void add_options(CLI::App& command, SlurmCommand& options) {
  options.config.add_to(command);
  options.compile.add_to(command);
  command.get_option("CONFIG")->required(false);
  command.add_option("SWEEP_OPTIONS", options.sweep, "After --: options of 'tiletune sweep' for every shard");
  command.add_option("--nodes", options.nodes, "Nodes that are used at the same time")
      ->check(CLI::Range(std::uint64_t{1}, kMostNodes))
      ->capture_default_str();
  command.add_option("--gpus-per-node", options.gpus_per_node, "GPUs of a node")
      ->check(CLI::Range(std::uint64_t{1}, kMostGpus))
      ->capture_default_str();
  command
      .add_option(
          "--array", options.array,
          "Shards; more than nodes share the GPUs of a node, and those that do not fit wait (default: "
          "one per node)")
      ->check(CLI::Range(std::uint64_t{1}, kMostShards));
  command
      .add_option("--gpu-type", options.gpu_types,
                  "Type of GPU as Slurm calls it, such as h100 (repeatable: an array of its own for each)")
      ->allow_extra_args(false);
  CLI::Option* model = command.add_option(
      "--gpu", options.model, "Predict for this model (e.g. H100) instead of measuring: needs no GPUs");
  model->excludes("--gpu-type")->excludes("--gpus-per-node");
  command.add_option("--cpus-per-task", options.cpus, "Cores of a task, which compile")
      ->check(CLI::Range(1, 4096));
  command.add_option("--time", options.time,
                     "Time limit of a task, as sbatch takes it (2:00:00). What is not done by then is queued "
                     "again");
  command
      .add_option("--sbatch", options.sbatch,
                  "Option of sbatch for all jobs, such as --sbatch=--partition=gpu (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--compile-for", options.compile_for,
                     "First fill the kernel cache for this model (e.g. H100) with jobs that need no GPU");
  command.add_option("--compile-tasks", options.compile_tasks, "How many such jobs")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command
      .add_option("--cache", options.cache, "Folder on storage that the machines share for compiled kernels")
      ->type_name("FOLDER");
  command
      .add_option(
          "--local", options.local,
          "Folder on each node's own disk: databases are written there and merged into the shared folder "
          "at the end of a task")
      ->type_name("FOLDER");
  command
      .add_option("-o,--output", options.output,
                  "Folder for scripts, logs and databases (default: slurm/NAME)")
      ->type_name("FOLDER");
  command.add_flag("--submit", options.submit, "Submit the jobs as well");
}

}  // namespace

void add_slurm_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<SlurmCommand>();
  auto status = std::make_shared<StatusCommand>();
  CLI::App* command = app.add_subcommand(
      "slurm", "Sweep on a Slurm cluster: shards as an array of jobs, whose databases are merged afterwards");
  add_options(*command, *options);
  CLI::App* show = command->add_subcommand(
      "status", "Show what has become of the shards; exit status 1 until all are done");
  show->add_option("FOLDER", status->folder, "Folder that 'tiletune slurm' wrote")->required();
  show->add_option("--format", status->format, "table or json")->capture_default_str();
  command->footer(
      "FOLDER/submit starts all jobs, or some shards again: submit 3,7\n"
      "Examples:\n  tiletune slurm configs/sgemm_dispatch.json --nodes 8 --gpus-per-node 8 --array 64 "
      "--submit\n"
      "  tiletune slurm configs/sgemm.json --nodes 4 --gpu-type h100 --gpu-type a100 --time 1:00:00\n"
      "  tiletune slurm configs/sgemm.json --nodes 16 --compile-for H100 --cache /shared/cache -- --budget "
      "10min\n"
      "  tiletune slurm configs/sgemm.json --nodes 4 --gpu H100\n"
      "  tiletune slurm status slurm/sgemm");
  command->callback([options, command, show, status, &action] {
    if (show->parsed()) {
      action = [status] { return run(*status); };
      return;
    }
    if (options->config.config.empty()) throw UserError("CONFIG is required", "See 'tiletune slurm --help'.");
    options->config_words = shared_words(*command);
    action = [options] { return run(*options); };
  });
}

}  // namespace tiletune
