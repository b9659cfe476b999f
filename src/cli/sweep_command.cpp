#include <algorithm>
#include <thread>

#include "author/check.h"
#include "cli/common.h"
#include "cli/sweep_report.h"
#include "search/strategies.h"
#include "tune/sweep.h"

namespace tiletune {

namespace {

struct SweepCommand {
  const CLI::App* command = nullptr;
  ConfigOptions config;
  CompileOptions compile;
  MeasureFlags measure;
  std::filesystem::path database = kDefaultDatabase;
  ReplayOptions replay;
  SweepOptions sweep;
  GpuChoice gpus{"", "0", false, {}};
  std::string strategy;
  std::optional<std::uint64_t> seed;
  std::uint64_t recorded = 0;
  std::string budget;
  std::string until;
  std::string shard;
  std::string format = "table";
  std::int64_t limit = 20;
  bool quiet = false;
};

/// "60s", "5min", "2h" are seconds; a plain number counts evaluations.
void apply_budget(const std::string& text, Budget& budget) {
  if (text.empty()) return;
  if (const auto seconds = seconds_from_text(text)) {
    budget.seconds = *seconds;
    return;
  }
  budget.evaluations = parsed_number<std::uint64_t>(text).value_or(0);
  if (budget.evaluations > 0) return;
  throw UserError(fmt::format("'{}' is not a budget", text), Where{"--budget", ""},
                  "Write a time such as 60s, 5min or 2h, or a number of configurations such as 500.");
}

/// "1%" or "0.5%"
void apply_until(const std::string& text, Budget& budget) {
  if (text.empty()) return;
  const bool has_sign = text.ends_with('%');
  budget.until_percent =
      parsed_number<double>(std::string_view(text).substr(0, text.size() - has_sign)).value_or(0);
  if (budget.until_percent > 0 && budget.until_percent <= 100) return;
  throw UserError(fmt::format("found '{}', expected a percentage above 0 and up to 100", text),
                  Where{"--until", ""}, "Write the gain that is not worth more time, such as 1%.");
}

SweepOptions sweep_options(const SweepCommand& options, const TuneSpec& spec) {
  SweepOptions sweep = options.sweep;
  sweep.compile = options.compile.pool_options(spec);
  sweep.outputs = options.gpus.outputs;
  sweep.interrupted = interrupted;
  return sweep;
}

int replay(const SweepCommand& options, const TuneSpec& spec, const SweepView& view) {
  ReplayOptions replay = options.replay;
  if (options.command->count("--db") > 0) replay.database = options.database;
  replay.gpu = options.gpus.model;
  replay.asks_for_seconds = seconds_from_text(options.budget).has_value();
  replay.sweep = sweep_options(options, spec);
  replay.quiet = options.quiet;
  return run_replay(spec, replay, view);
}

/// Reports what is wrong with any template on any problem at once.
std::vector<Task> plan(const TuneSpec& spec, const Stop& is_over) {
  try {
    return plan_tasks(spec, is_over);
  } catch (const PlanningStopped&) {
    throw;
  } catch (const NothingToDo&) {
    throw;
  } catch (const UserError&) {
    refuse_all(planning_faults(spec, is_over));
    throw;
  }
}

/// Notes also on manifests that `init` drafted and no person has checked yet.
void tell_what_begins(const SweepCommand& options, Format format, const TuneSpec& spec,
                      const ChosenGpus& gpus, const std::string& strategy, ConsoleObserver& observer) {
  if (format != Format::table && !gpus.why_predicted.empty()) {
    fmt::print(stderr, "{}", headline(gpus));
  } else if (format == Format::table && !options.quiet) {
    write_output(
        "", fitted(headline(gpus) + space_line(gpus.gpu_sets.front().tasks, spec), stdout_style().width));
  }
  std::vector<std::string> notes = gpus.notes;
  if (!strategy.empty()) notes.push_back(strategy);
  for (const TemplateSpec& kernel : spec.templates) {
    if (!kernel.nvcc_options.empty())
      notes.push_back(fmt::format("{}: nvcc options that are left out: {}", kernel.where.file,
                                  join(kernel.nvcc_options, ", ")));
    const std::size_t open = decisions_of(kernel).size();
    if (open == 0) continue;
    const std::string note =
        fmt::format("{}: draft: {} '// decide:' {}. Run 'tiletune check {}'.", kernel.where.file, open,
                    open == 1 ? "comment remains" : "comments remain", shell_quoted(spec.file.string()));
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
  for (const std::string& note : notes) observer.on_note(note);
  tell_if_not_confined([&](const std::string& line) { observer.on_note(line); });
}

void keep_recorded_alone(const SweepCommand& options, TuneSpec& spec, const Database& database,
                         ChosenGpus& gpus) {
  if (!gpus.why_predicted.empty())
    throw UserError("finals need a GPU, but " + gpus.why_predicted, Where{"--recorded", ""},
                    "Leave it out, or run this on a machine with a GPU.");
  for (GpuSet& gpu_set : gpus.gpu_sets)
    keep_recorded(gpu_set.tasks, database, gpu_set.target().name, options.recorded);
  spec.strategy.name = "exhaustive";
  spec.budget = {};
}

int run(SweepCommand& options) {
  check_flags_beside_model(*options.command);
  options.gpus.asked = options.command->count("--gpus") > 0;
  options.gpus.confined = options.compile.confined;
  const Format format = format_from_name(options.format);
  std::vector<UserError> faults;
  TuneSpec spec = options.config.load_all(faults);
  refuse_all(faults);
  if (!options.strategy.empty()) spec.strategy.name = options.strategy;
  if (options.seed) spec.strategy.seed = *options.seed;
  apply_budget(options.budget, spec.budget);
  apply_until(options.until, spec.budget);
  apply_shard(options.shard, spec.shard);
  options.measure.apply(spec);
  options.compile.add_include_folders(spec);
  const SweepView view{format, static_cast<std::size_t>(options.limit)};
  if (!options.replay.recording.empty()) return replay(options, spec, view);
  catch_interrupts();
  const auto started = Clock::now();
  const auto is_over = [&] {
    return interrupted() || (spec.budget.seconds > 0 && seconds_since(started) >= spec.budget.seconds);
  };
  std::vector<Task> tasks = plan(spec, is_over);
  SweepOptions sweep = sweep_options(options, spec);
  check_default(*options.command, "--db", options.database);
  Database database(options.database, Database::Mode::read_write);
  ChosenGpus gpus = choose_gpus(options.gpus, spec, std::move(tasks), is_over);
  if (options.recorded > 0) keep_recorded_alone(options, spec, database, gpus);
  const std::size_t measuring = gpus.why_predicted.empty() ? gpus.gpu_sets.front().evaluators.size() : 0;
  const std::size_t workers = sweep.compile.workers > 0 ? static_cast<std::size_t>(sweep.compile.workers)
                                                        : std::thread::hardware_concurrency();
  const std::string strategy = choose_strategy(spec, gpus.gpu_sets.front().tasks, workers, measuring);
  check_until(spec.strategy, spec.budget);
  ConsoleObserver observer(options.quiet);
  tell_what_begins(options, format, spec, gpus, strategy, observer);
  observer.tell_of_journal(options.database);
  observer.wait_for_others(database, spec.budget.seconds);
  refuse_all(sweep_faults(spec, gpus.gpu_sets.front().tasks, gpus.gpu_sets.front().target(), sweep.compile,
                          database, is_over));
  sweep.spent_s = seconds_since(started);
  const SweepSummary summary = run_sweep(spec, gpus.gpu_sets, database, sweep, observer);
  observer.finish();
  int code = 0;
  try {
    database.at_one_state([&] { code = report_sweep(spec, database, summary, view); });
  } catch (const UserError&) {
    // What ended the sweep may be why its results cannot be read either.
    if (summary.failure) std::rethrow_exception(summary.failure);
    throw;
  }
  return code;
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action, const std::string& command_line) {
  auto [command, options] = add_command<SweepCommand>(
      app, action, "sweep", "Compile, verify, time and rank the configurations of a search space", run);
  options.command = &command;
  options.sweep.command = command_line;
  options.config.add_to(command);
  options.compile.add_to(command);
  add_option(command, "--db", options.database, "Results database; continued when it exists",
             {.shows_default = true});
  add_option(command, "--gpus", options.gpus.indices,
             "GPUs to measure on: all, or the driver's numbers such as 0,1", {.shows_default = true});
  command
      .add_option(
          "--gpu", options.gpus.model,
          "Predict for this model (e.g. A100-80GB) instead of measuring; with --replay, the recorded GPU")
      ->excludes("--gpus");
  CLI::Option* replay =
      command.add_option("--replay", options.replay.recording,
                         "Take times from this database, or from another tool's file that import reads, "
                         "instead of compiling and measuring. Rows are kept only if --db names another file");
  add_option(command, "--repeat", options.replay.repeat,
             "With --replay: repeat N times with consecutive seeds; print quartiles of the best time after "
             "each evaluation",
             {.check = CLI::Range(1, 10000)})
      ->needs(replay);
  command
      .add_flag("--skip-bad", options.replay.skip_bad,
                "With --replay: leave out rows that cannot be read, and count them")
      ->needs(replay);
  // For tests: a program that speaks the GPU worker's protocol; repeated for its arguments.
  command.add_option("--gpu-worker", options.gpus.worker)->allow_extra_args(false)->group("");
  command
      .add_option("--strategy", options.strategy,
                  "Instead of the config's: " + strategy_names() + ". help prints what each does")
      ->check([](const std::string& name) -> std::string {
        // Whatever else is missing, it prints the strategies, as --help does.
        if (name == "help") throw CLI::CallForVersion(strategies_help(), 0);
        find_strategy({.name = name, .where = Where{"--strategy", ""}});
        return "";
      });
  add_option(command, "--seed", options.seed,
             "Seed of what the strategy draws at random, instead of the config's", {.check = whole_number()});
  command.add_option(
      "--budget", options.budget,
      "Stop the sweep after this time (60s, 5min, 2h; with --replay, recorded seconds of compiling and "
      "measuring), or after this number of configurations on each GPU model (500). Problems share it");
  command.add_option("--learn-from", options.sweep.learn_from,
                     "Database of other problems, GPUs or drivers, for strategies that learn; or the folder "
                     "of other shards' databases");
  command.add_option("--until", options.until,
                     "End a problem once the strategy expects that the best configuration is at most this "
                     "much faster than the best found (1%)");
  add_shard_option(command, options.shard);
  add_option(command, "--recorded", options.recorded,
             "Try only the N fastest of each problem that the database holds for this GPU, whichever sweeps "
             "measured them, and repeat their finals",
             {.type = "N", .check = CLI::Range(1, 100000)})
      ->excludes("--shard")
      ->excludes(replay);
  options.measure.add_to(command, Flag::Of::sweep);
  command.add_option("--format", options.format, "table, json, csv or markdown")->capture_default_str();
  add_option(command, "--limit", options.limit, "Rows to print per problem; 0: all",
             {.check = whole_number(), .shows_default = true});
  command.add_flag("-q,--quiet", options.quiet, "No progress, only results");
  add_option(
      command, "--outputs", options.gpus.outputs,
      "Keep what each configuration that runs leaves in its outputs: FOLDER/<key of the row>/<buffer>.npy",
      {.type = "FOLDER"})
      ->excludes("--gpu")
      ->excludes(replay);
  command.add_flag("--remeasure", options.sweep.remeasure, "Measure again what the database already holds")
      ->excludes(replay);
  replay->excludes("--gpus");
  command.footer(
      "Examples:\n  tiletune sweep configs/quick.json\n"
      "  tiletune sweep configs/sgemm.json --problem 4096x4096x4096 --budget 60s\n"
      "  tiletune sweep configs/sgemm.json --problems sizes.csv --budget 10min\n"
      "  tiletune sweep configs/sgemm.json --gpus all\n"
      "  tiletune sweep configs/sgemm.json --screening 1.2 --finals 20 --sustained 2s\n"
      "  tiletune sweep configs/sgemm.json --screening off --finals off --precision 0\n"
      "  tiletune sweep configs/sgemm_dispatch.json --until 1% --learn-from other.db\n"
      "  tiletune sweep configs/sgemm.json --shard 3/16 --db shard3.db\n"
      "  tiletune sweep configs/sgemm.json --recorded 20 --db merged.db\n"
      "  tiletune sweep configs/sgemm.json --gpu A100-80GB --format json > predicted.json\n"
      "  tiletune sweep configs/quick.json --replay results/h200/quick.db --cache dirty\n"
      "  tiletune sweep configs/sgemm.json --replay h200.db --gpu H200 --budget 60s --format json\n"
      "  tiletune sweep T1.json --replay A100.json.gz --strategy random --seed 3 --budget 10min\n"
      "  tiletune sweep T1.json --replay A100_T4.json.gz --gpu A100\n"
      "  tiletune sweep T1.json --replay A100.json.gz --strategy random --repeat 20\n"
      "  tiletune sweep --strategy help");
}

}  // namespace tiletune
