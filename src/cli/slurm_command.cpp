#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/hash.h"
#include "base/version.h"
#include "cli/common.h"
#include "space/space.h"
#include "tune/task.h"

namespace tiletune {

/// The scripts of the folder slurm, which CMake embeds. A job begins with kSlurmJob.
extern const std::string_view kSlurmJob;
extern const std::string_view kSlurmCompile;
extern const std::string_view kSlurmSweep;
extern const std::string_view kSlurmFinish;
extern const std::string_view kSlurmSubmit;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct SlurmCommand {
  const CLI::App* command = nullptr;
  Action show_status;
  ConfigOptions config;
  CompileOptions compile;
  std::vector<std::string> sweep;
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

/// A sweep as an array of Slurm tasks, one for each shard, on GPUs of one model.
struct SlurmArray {
  const SlurmCommand& options;
  fs::path folder = {};  ///< of the scripts, logs and databases; absolute
  std::string name = {};
  std::uint64_t shards = 1;
  std::uint64_t at_once = 1;             ///< tasks that may run at the same time
  std::uint64_t gpus = 1;                ///< of a task; 0: times are predicted
  std::string gpu_type = {};             ///< as Slurm calls it; empty: any
  std::string model = {};                ///< that is predicted for, or compiled for first
  std::vector<std::string> config = {};  ///< the config and the options that all commands take
  std::vector<std::string> sweep = {};   ///< further options of the sweeps
  bool has_lessons = false;              ///< these name what is learned from
  std::string finals = {};  ///< of --finals, for those of the merged database; empty: the config's
};

constexpr const char* kBefore = "it applies to all jobs";

/// Options of sweeps that the scripts give themselves, and why.
constexpr std::pair<const char*, const char*> kReservedOptions[]{
    {"--db", "each shard has a database of its own"},
    {"--gpu", kBefore},
    {"--gpus", "a task measures on all its GPUs"},
    {"--include", kBefore},
    {"--problem", kBefore},
    {"--problems", kBefore},
    {"--recorded", "the last job does it"},
    {"--remeasure", "a shard that is queued again would start over"},
    {"--replay", "recordings are replayed without Slurm"},
    {"--shard", "the array's tasks are the shards"},
    {"--template", kBefore}};

/// As `tiletune sweep` takes them, so that no task fails for a slip of the pen; --finals is taken out: shards
/// hold none.
void add_sweep_options(SlurmArray& array) {
  const SlurmCommand& options = array.options;
  CLI::App app;
  Action unused;
  add_sweep_command(app, unused, "");
  std::vector<std::string> words{"sweep", options.config.config.string()};
  words.insert(words.end(), options.sweep.begin(), options.sweep.end());
  std::reverse(words.begin(), words.end());
  const Where where{"--", ""};
  try {
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    refuse_extras(app);
  } catch (const CLI::ParseError& error) {
    throw UserError(error.what(), where, "Write options of 'tiletune sweep' after it.");
  }
  const CLI::App& sweep = *app.get_subcommands().front();
  for (const auto& [name, why] : kReservedOptions) {
    if (sweep.count(name) > 0)
      throw UserError(fmt::format("{} cannot be given here: {}", name, why), where,
                      why == kBefore ? "Write it before the --." : "Leave it out.");
  }
  if (sweep.count("--finals") > 0) array.finals = sweep.get_option("--finals")->as<std::string>();
  array.has_lessons = sweep.count("--learn-from") > 0;
  for (std::size_t i = 0; i < options.sweep.size(); ++i) {
    const std::string& word = options.sweep[i];
    if (word == "--finals") ++i;
    if (word == "--finals" || word.starts_with("--finals=")) continue;
    array.sweep.push_back(word);
  }
}

/// Makes the text a name of a file, folder or job that leads nowhere else: '_' replaces all but letters,
/// digits, '_', '-' and '.', and also a '.' or '-' at its beginning.
std::string plain_name(std::string_view text) {
  std::string name(text);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
  if (name.starts_with('.') || name.starts_with('-')) name.front() = '_';
  return name;
}

std::string quoted(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(shell_quoted(word));
  return join(all, " ");
}

/// Files that the jobs read and write, as a script names them; empty where the person named none.
std::string quoted_path(const fs::path& path) {
  return path.empty() ? "" : shell_quoted(fs::absolute(path).string());
}

/// "%8" of arrays whose tasks may not all run at once.
std::string limit_text(const SlurmArray& array) {
  return array.at_once < array.shards ? fmt::format("%{}", array.at_once) : "";
}

std::vector<Replacement> replacements_for(const SlurmArray& array) {
  const SlurmCommand& options = array.options;
  // Strategies that learn do so from what other shards have found before this one begins.
  std::string where = "--gpus all --finals off";
  if (!array.has_lessons) where += " --learn-from \"$folder/shards\"";
  if (array.gpus == 0) where = "--gpu " + shell_quoted(array.model);
  return {{"{tiletune}", quoted_path(executable_path())},
          {"{folder}", quoted_path(array.folder)},
          {"{cache}", quoted_path(options.cache)},
          {"{local}", options.local.empty() ? "" : quoted_path(options.local / "tiletune.XXXXXX")},
          {"{shards}", std::to_string(array.shards)},
          {"{at_once}", limit_text(array)},
          {"{gpus}", std::to_string(array.gpus)},
          {"{model}", shell_quoted(array.model)},
          {"{compile_tasks}", std::to_string(options.compile_for.empty() ? 0 : options.compile_tasks)},
          {"{task_begins}", kTaskBegins},
          {"{config}", quoted(array.config)},
          {"{where}", where},
          {"{finals}", array.finals.empty() ? "" : "--finals " + shell_quoted(array.finals)},
          {"{sweep_options}", quoted(array.sweep)}};
}

/// A job's script. `what` is the end of the job's name; `log` lies in the array's folder, and Slurm
/// replaces its "%a" by the task's number.
std::string job_script(const SlurmArray& array, std::string_view job, const char* what, const char* log,
                       const std::vector<std::string>& job_options) {
  constexpr int kWarningSeconds = 120;  // before the time limit; the task ends its work and is queued again
  const SlurmCommand& options = array.options;
  std::vector<Replacement> replacements{{"%", "%%"}};
  std::vector<std::string> all{"--job-name=" + plain_name("tiletune-" + array.name + what),
                               "--chdir=" + fs::current_path().string(),
                               "--output=" + replaced(array.folder.string(), replacements) + "/" + log};
  if (options.cpus > 0) all.push_back(fmt::format("--cpus-per-task={}", options.cpus));
  if (!options.time.empty()) all.push_back("--time=" + options.time);
  all.insert(all.end(), options.sbatch.begin(), options.sbatch.end());
  all.insert(all.end(), job_options.begin(), job_options.end());
  all.push_back(fmt::format("--signal=B:USR1@{}", kWarningSeconds));
  std::string lines;
  for (const std::string& option : all) {
    // Slurm reads these lines: it takes quotes, and knows no other escape.
    const auto is_unfit = [](unsigned char c) { return c < ' ' || c == '\x7f' || c == '"'; };
    if (std::ranges::any_of(option, is_unfit))
      throw UserError(fmt::format("'{}' cannot be written in an #SBATCH line", printable(option)),
                      "Choose names without quotes and control characters.");
    lines += fmt::format("#SBATCH \"{}\"\n", option);
  }
  replacements = replacements_for(array);
  const std::string text = replaced(job, replacements);
  replacements.push_back({"# {options}\n", lines});
  replacements.push_back({"# {job}\n", text});
  return replaced(kSlurmJob, replacements);
}

SlurmArray array_of(const SlurmCommand& options, const TuneSpec& spec) {
  SlurmArray array{options};
  array.name = spec.name;
  array.shards = options.array > 0 ? options.array : options.nodes;
  const bool measures = options.model.empty();
  const std::uint64_t on_node =
      std::min((array.shards + options.nodes - 1) / options.nodes, options.gpus_per_node);
  array.gpus = measures ? options.gpus_per_node / on_node : 0;
  array.at_once = measures ? options.nodes * (options.gpus_per_node / array.gpus) : options.nodes;
  array.model = measures ? options.compile_for : options.model;
  array.config = {options.config.config.string()};
  // What was typed of the options that `compile` and `sweep` take too, which stand before the others.
  for (const CLI::Option* option : options.command->get_options()) {
    if (option->get_name() == "SWEEP_OPTIONS") break;
    if (option->get_positional()) continue;
    const std::string name = "--" + option->get_lnames().front();
    for (const std::string& value : option->results())
      array.config.push_back(option->get_items_expected_max() == 0 ? name
                                                                   : fmt::format("{}={}", name, value));
  }
  add_sweep_options(array);
  return array;
}

/// What the array is made of. What decides which configurations a shard has is in "division": the config,
/// the options that narrow it, and the way in which the spaces are divided.
Json plan_of(const SlurmArray& array, const TuneSpec& spec) {
  std::uint64_t configurations = 0;
  Hasher hasher;
  hasher.add(std::int64_t{kShardDivision}).add(spec.config_json);
  for (const std::string& word : array.config) hasher.add(word);
  for (const Task& task : plan_tasks(spec, interrupted)) {
    configurations += task.space.size();
    hasher.add(task.spec->label()).add(task.problem.label());
    hasher.add(static_cast<std::int64_t>(task.space.size()));
  }
  return {{"tiletune", kVersion},     {"name", array.name},
          {"shards", array.shards},   {"configurations", configurations},
          {"division", hasher.hex()}, {"gpu_type", array.gpu_type},
          {"model", array.model}};
}

/// Shards of another division would be neither disjoint nor complete, files of others are not replaced, and
/// jobs would write where links lead.
void check_folder(const fs::path& folder, const Json& plan) {
  std::error_code error;
  if (!fs::exists(folder / kSlurmPlan, error)) {
    if (!fs::exists(folder, error) || fs::is_empty(folder, error)) return;
    throw UserError("it exists already, and 'tiletune slurm' did not write it", Where{folder.string(), ""},
                    "Name another folder with -o FOLDER.");
  }
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (entry->is_symlink(error))
      throw UserError("this is a symbolic link, which 'tiletune slurm' did not create",
                      Where{entry->path().string(), ""}, "Remove it, or name another folder with -o FOLDER.");
  const Json present = read_json(folder / kSlurmPlan);
  for (const char* name : {"name", "shards", "configurations", "division"}) {
    if (present.contains(name) && present[name] == plan[name]) continue;
    throw UserError(fmt::format("the array in this folder has {} {}, and this one {}", name,
                                present.contains(name) ? present[name].dump() : "unknown", plan[name].dump()),
                    Where{(folder / kSlurmPlan).string(), ""},
                    "Name another folder with -o FOLDER, or remove this one.");
  }
}

void write_array(const SlurmArray& array, Json plan) {
  plan["gpu_type"] = array.gpu_type;
  std::vector<std::string> of_sweep{fmt::format("--array=1-{}{}", array.shards, limit_text(array))};
  std::vector<std::string> of_finish;
  if (array.gpus > 0) {
    const std::string gpus =
        "--gpus-per-node=" + (array.gpu_type.empty() ? array.gpu_type : array.gpu_type + ":");
    of_sweep.push_back(gpus + std::to_string(array.gpus));
    of_finish.push_back(gpus + "1");
  }
  // The plan comes before the scripts: it marks a folder whose files may be replaced.
  std::vector<std::pair<const char*, std::string>> files{
      {kSlurmPlan, plan.dump(2) + "\n"},
      {"sweep.sbatch", job_script(array, kSlurmSweep, "", "shards/%a.log", of_sweep)},
      {"finish.sbatch", job_script(array, kSlurmFinish, "-finish", "finish.log", of_finish)}};
  if (!array.options.compile_for.empty())
    files.emplace_back("compile.sbatch",
                       job_script(array, kSlurmCompile, "-compile", "shards/compile-%a.log",
                                  {fmt::format("--array=1-{}", array.options.compile_tasks)}));
  files.emplace_back("submit", replaced(kSlurmSubmit, replacements_for(array)));
  std::error_code error;
  fs::create_directories(array.folder / "shards", error);
  if (error)
    throw UserError(fmt::format("the folder cannot be created: {}", error.message()),
                    Where{array.folder.string(), ""}, "Name another folder with -o FOLDER.");
  for (const auto& [name, text] : files) write_file_atomically(array.folder / name, text);
  fs::permissions(array.folder / "submit",
                  fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add);
}

void check_command(const SlurmCommand& options) {
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

int run(SlurmCommand& options) {
  if (!options.command->get_subcommands().empty()) return options.show_status();
  if (options.config.config.empty()) throw UserError("CONFIG is required", "See 'tiletune slurm --help'.");
  check_command(options);
  TuneSpec spec = options.config.load();
  options.compile.add_include_folders(spec);
  catch_interrupts();
  SlurmArray array = array_of(options, spec);
  const Json plan = plan_of(array, spec);
  const auto configurations = plan["configurations"].get<std::uint64_t>();
  if (array.shards > configurations)
    throw UserError(fmt::format("the space has {}, fewer than {} shards",
                                counted(configurations, "configuration"), array.shards),
                    Where{"--array", ""}, "Divide the space into fewer shards.");
  if (options.output.empty()) options.output = fs::path("slurm") / plain_name(spec.name);
  check_default(*options.command, "--output", options.output);
  const fs::path folder = fs::absolute(options.output).lexically_normal();
  std::vector<std::string> types = options.gpu_types;
  if (types.empty()) types = {""};
  const auto folder_for = [&](const std::string& type) {
    return type.empty() || types.size() == 1 ? folder : folder / type;
  };
  for (const std::string& type : types) check_folder(folder_for(type), plan);
  for (const std::string& type : types) {
    array.gpu_type = type;
    array.folder = folder_for(type);
    write_array(array, plan);
    std::string text = fmt::format(
        "{}: {} of about {} each, {} at a time, {}{}\n", printable(array.folder.string()),
        counted(array.shards, "shard"), counted(configurations / array.shards, "configuration"),
        std::min(array.at_once, array.shards),
        array.gpus == 0 ? "predicted for " + array.model : "each on " + counted(array.gpus, "GPU"),
        type.empty() ? "" : " of type " + type);
    const std::string start = shell_quoted((array.folder / "submit").string());
    if (!options.submit) text += fmt::format("start it: {}\n", printable(start));
    write_output("", text);
    if (options.submit && std::system(start.c_str()) != 0)
      throw UserError("the jobs could not be submitted", Where{(array.folder / "submit").string(), ""},
                      "Correct what sbatch says above; the scripts are written. Does this machine belong to "
                      "the cluster?");
  }
  write_output("", fmt::format("show its progress: tiletune slurm status {}\n",
                               printable(shell_quoted(folder.string()))));
  return 0;
}

}  // namespace

void add_slurm_command(CLI::App& app, Action& action) {
  constexpr std::uint64_t kMostNodes = 100000;
  constexpr std::uint64_t kMostGpus = 64;
  auto [command, options] = add_command<SlurmCommand>(
      app, action, "slurm",
      "Sweep on a Slurm cluster: shards as an array of jobs, whose databases are merged afterwards", run);
  options.command = &command;
  options.config.add_to(command);
  options.compile.add_to(command);
  command.get_option("CONFIG")->required(false);
  command.add_option("SWEEP_OPTIONS", options.sweep, "After --: options of 'tiletune sweep' for every shard");
  add_option(command, "--nodes", options.nodes, "Nodes that are used at the same time",
             {.check = CLI::Range(std::uint64_t{1}, kMostNodes), .shows_default = true});
  add_option(command, "--gpus-per-node", options.gpus_per_node, "GPUs of a node",
             {.check = CLI::Range(std::uint64_t{1}, kMostGpus), .shows_default = true});
  add_option(command, "--array", options.array,
             "Shards; more than nodes share the GPUs of a node, and those that do not fit wait (default: one "
             "per node)",
             {.check = CLI::Range(std::uint64_t{1}, kMostShards)});
  add_option(command, "--gpu-type", options.gpu_types,
             "Type of GPU as Slurm calls it, such as h100 (repeatable: an array of its own for each)",
             {.one_each = true});
  command
      .add_option("--gpu", options.model,
                  "Predict for this model (e.g. H100) instead of measuring: needs no GPUs")
      ->excludes("--gpu-type")
      ->excludes("--gpus-per-node");
  add_option(command, "--cpus-per-task", options.cpus, "Cores of a task, which compile",
             {.check = CLI::Range(1, 4096)});
  command.add_option("--time", options.time,
                     "Time limit of a task, as sbatch takes it (2:00:00). Unfinished tasks are requeued");
  add_option(command, "--sbatch", options.sbatch,
             "Option of sbatch for all jobs, such as --sbatch=--partition=gpu (repeatable)",
             {.one_each = true});
  command.add_option("--compile-for", options.compile_for,
                     "First fill the kernel cache for this model (e.g. H100) with jobs that need no GPU");
  add_option(command, "--compile-tasks", options.compile_tasks, "How many such jobs",
             {.check = CLI::Range(1, 10000), .shows_default = true});
  add_option(command, "--cache", options.cache,
             "Folder on storage that the machines share for compiled kernels", {.type = "FOLDER"});
  add_option(command, "--local", options.local,
             "Folder on each node's own disk: databases are written there and merged into the shared folder "
             "at the end of a task",
             {.type = "FOLDER"});
  add_option(command, "-o,--output", options.output,
             "Folder for scripts, logs and databases (default: slurm/NAME)", {.type = "FOLDER"});
  command.add_flag("--submit", options.submit, "Submit the jobs as well");
  options.show_status = add_slurm_status(command);
  command.footer(
      "FOLDER/submit starts all jobs, or some shards again: submit 3,7\n"
      "Examples:\n  tiletune slurm configs/sgemm_dispatch.json --nodes 8 --gpus-per-node 8 --array 64 "
      "--submit\n"
      "  tiletune slurm configs/sgemm.json --nodes 4 --gpu-type h100 --gpu-type a100 --time 1:00:00\n"
      "  tiletune slurm configs/sgemm.json --nodes 16 --compile-for H100 --cache /shared/cache -- --budget "
      "10min\n"
      "  tiletune slurm configs/sgemm.json --nodes 4 --gpu H100\n"
      "  tiletune slurm status slurm/sgemm");
}

}  // namespace tiletune
