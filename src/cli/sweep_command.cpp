#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "cli/signals.h"
#include "output/display.h"
#include "output/progress.h"
#include "output/table.h"
#include "rank/ranking.h"
#include "tune/sweep.h"

namespace tiletune {

namespace {

struct SweepCommand {
  ConfigOptions config;
  CompileOptions compile;
  std::filesystem::path database = kDefaultDatabase;
  GpuChoice gpus{"", "0", false, {}};
  std::string budget;
  std::string format = "table";
  std::int64_t limit = 20;
  bool quiet = false;
  bool remeasure = false;
  std::string command_line;
};

class ConsoleObserver : public SweepObserver {
 public:
  explicit ConsoleObserver(bool quiet) : progress_(quiet, ::isatty(STDERR_FILENO) != 0) {}
  void on_progress(const ProgressState& state) override { progress_.update(state); }
  void on_note(const std::string& line) override { progress_.note(line); }
  void finish() { progress_.finish(); }

 private:
  Progress progress_;
};

/// "60s", "5min", "2h" are seconds; a plain number counts evaluations.
void apply_budget(const std::string& text, Budget& budget) {
  if (text.empty()) return;
  std::size_t digits = 0;
  double number = 0;
  try {
    number = std::stod(text, &digits);
  } catch (const std::exception&) {
    digits = 0;
  }
  const std::string unit = text.substr(digits);
  const bool known = unit.empty() || unit == "s" || unit == "min" || unit == "h";
  if (digits == 0 || !known || !(number > 0) || number > 1e15 || (unit.empty() && number < 1)) {
    throw UserError(fmt::format("'{}' is no budget", text), Where{"--budget", ""},
                    "Write a time such as 60s, 5min or 2h, or a number of configurations such as 500.");
  }
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  if (unit.empty()) {
    budget.evaluations = static_cast<std::uint64_t>(number);
  } else {
    budget.seconds = number * (unit == "min" ? kMinute : unit == "h" ? kHour : 1);
  }
}

/// "2 x NVIDIA H200, sm_90a, 132 multiprocessors"
std::string fleet_text(const Fleet& fleet) {
  const Target& target = fleet.target();
  const std::size_t gpus = fleet.evaluators.size();
  return fmt::format("{}{}, {}, {} multiprocessors", gpus > 1 ? fmt::format("{} x ", gpus) : "",
                     printable(target.name), target.architecture, target.model.multiprocessors);
}

std::string headline(const ChosenGpus& gpus) {
  std::string text = fmt::format("tiletune {}: ", kVersion);
  for (const Fleet& fleet : gpus.fleets) {
    if (&fleet != &gpus.fleets.front()) text += "; ";
    text += fleet_text(fleet);
  }
  const Target& target = gpus.fleets.front().target();
  if (gpus.why_predicted.empty()) {
    return text + fmt::format("; driver {}, CUDA {}, NVRTC {}\n", target.driver_version, target.cuda_version,
                              nvrtc_version());
  }
  return text + fmt::format(
                    "; NVRTC {}\nNo GPU is used: {}. Everything below is predicted for {} by a static model: "
                    "nothing is timed.\n",
                    nvrtc_version(), printable(gpus.why_predicted), target.name);
}

/// The space of one fleet.
std::string space_line(const std::vector<Stage>& stages, const TuneSpec& spec) {
  double raw = 0;
  double valid = 0;
  std::uint64_t planned = 0;
  for (const Stage& stage : stages) {
    raw += stage.space.raw_size();
    valid += static_cast<double>(stage.space.size());
    planned += stage.planned;
  }
  return fmt::format("{}: {} template{} x {} problem{}: {:.0f} raw combinations, {:.0f} valid, {} to try\n",
                     printable(spec.name), spec.templates.size(), spec.templates.size() == 1 ? "" : "s",
                     spec.problems.size(), spec.problems.size() == 1 ? "" : "s", raw, valid, planned);
}

/// Workers were lost, and no kernel came to its end.
bool all_lost(const std::map<Outcome, std::uint64_t>& outcomes) {
  const bool lost = outcomes.contains(Outcome::crashed) || outcomes.contains(Outcome::timeout);
  const auto ended = {Outcome::ok, Outcome::wrong_result, Outcome::unstable, Outcome::out_of_bounds};
  return lost && std::none_of(ended.begin(), ended.end(), [&](Outcome o) { return outcomes.contains(o); });
}

std::string outcome_lines(const SweepCommand& options, const SweepSummary& summary) {
  std::vector<std::pair<Outcome, std::int64_t>> counts;
  const std::string database = printable(shell_quoted(options.database.string()));
  bool failures = false;
  for (const auto& [outcome, count] : summary.outcomes) {
    counts.emplace_back(outcome, static_cast<std::int64_t>(count));
    failures = failures || outcome != Outcome::ok;
  }
  std::string text = fmt::format("{} of {} configurations in {}", summary.finished, summary.planned,
                                 human_seconds(summary.wall_s));
  if (!counts.empty()) text += ": " + outcome_summary(counts);
  if (summary.reused > 0) text += fmt::format("; {} known from before", summary.reused);
  text += fmt::format(" (compiling {} of CPU time, evaluating {})\n", human_seconds(summary.compile_cpu_s),
                      human_seconds(summary.evaluate_s));
  if (failures) {
    text += "what did not run, and why:";
    for (const auto& [outcome, count] : counts) {
      if (outcome != Outcome::ok)
        text += fmt::format(" tiletune rank --db {} --outcome {};", database, name(outcome));
    }
    text.back() = '\n';
  }
  if (summary.warned > 0) {
    text += fmt::format(
        "{} with warnings (spills, low occupancy): tiletune rank --db {} --columns "
        "template,parameters,median_us,warnings\n",
        summary.warned, database);
  }
  if (all_lost(summary.outcomes)) {
    text +=
        "Whatever ran was lost. Was it the GPU's fault, and not the kernels'? Measure again with "
        "--remeasure.\n";
  }
  if (summary.interrupted) text += "Interrupted: run the same command again to go on where it stopped.\n";
  for (const std::string& gpu : summary.retired) text += printable(gpu) + "\n";
  if (summary.out_of_budget) text += "The time budget is spent: run the same command again to go on.\n";
  return text;
}

/// The sentence that matters, per group: who won, by how much, and what cannot be told apart from it.
std::string verdict(const RankingGroup& group, const Database& database) {
  const RankedRow* winner = nullptr;
  std::size_t tied = 0;
  for (const RankedRow& row : group.rows) {
    if (row.rank != 1) continue;
    if (winner == nullptr) winner = &row;
    ++tied;
  }
  if (winner == nullptr) return "";
  const Trial best = database.row(winner->id);
  std::string text =
      fmt::format("{} on {}: {} {} is the best choice at {} us, {} TFLOP/s", printable(group.problem),
                  printable(group.gpu), best.template_name, printable(parameters_text(best)),
                  three_digits(*best.median_us), three_digits(best.tflops.value_or(0)));
  if (best.percent_of_baseline) text += fmt::format(", {:.1f}% of cuBLAS", *best.percent_of_baseline);
  if (group.source == Source::predicted) text += " (predicted)";
  if (group.source == Source::predicted && tied == 1) return text + "\n";
  if (tied == 1) return text + "; no other configuration's interval reaches its own\n";
  return text + fmt::format("; {} other{} cannot be told from it\n", tied - 1, tied == 2 ? "" : "s");
}

std::vector<std::string> template_names(const TuneSpec& spec) {
  std::vector<std::string> names;
  names.reserve(spec.templates.size());
  for (const TemplateSpec& kernel : spec.templates) names.push_back(kernel.name);
  return names;
}

/// In the order of the config's problems: rows known from before may stand elsewhere in the database.
template <typename Group>
void sort_by_problem(std::vector<Group>& groups, const TuneSpec& spec) {
  const auto place = [&](const Group& group) {
    return std::find_if(spec.problems.begin(), spec.problems.end(),
                        [&](const Problem& problem) { return problem.label() == group.problem; });
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Group& a, const Group& b) { return place(a) < place(b); });
}

int print_results(const SweepCommand& options, const TuneSpec& spec, const Database& database,
                  const SweepSummary& summary) {
  TrialFilter filter;
  filter.sweep_id = summary.sweep_id;
  RankingRows rows = ranking_rows(database, filter);
  auto groups = rank_rows(rows);
  sort_by_problem(groups, spec);
  const Format format = format_from_name(options.format);
  const bool table = format == Format::table;
  const bool colour = table && stdout_wants_colour();
  if (!table) fmt::print(stderr, "{}", outcome_lines(options, summary));
  stream_output("", [&](std::ostream& out) {
    if (table) out << outcome_lines(options, summary);
    if (spec.view == View::ladder) {
      auto ladders = build_ladders(rows, template_names(spec));
      sort_by_problem(ladders, spec);
      write_ladders(out, ladders, database, format, colour);
    } else {
      write_rankings(out, groups, database, format,
                     {static_cast<std::size_t>(options.limit), "", {}, colour});
    }
    if (!table) return;
    for (const RankingGroup& group : groups) out << verdict(group, database);
    if (!groups.empty()) {
      out << fmt::format("export the best: tiletune export --best --db {} --sweep {} -o best.json\n",
                         printable(shell_quoted(options.database.string())), summary.sweep_id);
    }
  });
  if (summary.failure) std::rethrow_exception(summary.failure);
  if (summary.interrupted) return kInterrupted;
  if (!groups.empty()) return 0;
  if (summary.out_of_budget && summary.finished == 0) {
    throw NothingToDo("the budget was spent before the first configuration was finished",
                      Where{spec.file.string(), ""}, "Raise --budget, or narrow the space.");
  }
  std::string list = fmt::format("See why: tiletune rank --db {} --sweep {}",
                                 shell_quoted(options.database.string()), summary.sweep_id);
  for (const auto& [outcome, count] : database.outcome_counts(filter)) {
    if (outcome != Outcome::ok) list += fmt::format(" --outcome {}", name(outcome));
  }
  throw NothingToDo("no configuration ran", Where{spec.file.string(), ""}, list);
}

int run(const SweepCommand& options) {
  const Format format = format_from_name(options.format);
  TuneSpec spec = options.config.load();
  apply_budget(options.budget, spec.budget);
  std::vector<Stage> stages = plan_stages(spec);
  Database database(options.database, Database::Mode::read_write);
  catch_interrupts();
  SweepOptions sweep_options;
  sweep_options.compile = options.compile.pool_options(spec);
  ChosenGpus gpus = choose_gpus(options.gpus, spec, std::move(stages));
  if (format != Format::table && !gpus.why_predicted.empty()) {
    fmt::print(stderr, "{}", headline(gpus));
  } else if (format == Format::table && !options.quiet) {
    write_output("", headline(gpus) + space_line(gpus.fleets.front().stages, spec));
  }
  sweep_options.command = options.command_line;
  sweep_options.remeasure = options.remeasure;
  sweep_options.interrupted = interrupted;
  ConsoleObserver observer(options.quiet);
  for (const std::string& note : gpus.notes) observer.on_note(note);
  const SweepSummary summary = run_sweep(spec, gpus.fleets, database, sweep_options, observer);
  observer.finish();
  int code = 0;
  try {
    database.at_one_state([&] { code = print_results(options, spec, database, summary); });
  } catch (const UserError&) {
    // What ended the sweep may be why its results cannot be read either.
    if (summary.failure) std::rethrow_exception(summary.failure);
    throw;
  }
  return code;
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action, const std::string& command_line) {
  auto options = std::make_shared<SweepCommand>();
  options->command_line = command_line;
  CLI::App* command =
      app.add_subcommand("sweep", "Compile, verify, time and rank the configurations of a search space");
  options->config.add_to(*command);
  options->compile.add_to(*command);
  command->add_option("--db", options->database, "Results database; continued when it exists")
      ->capture_default_str();
  const CLI::Option* gpus = command
                                ->add_option("--gpus", options->gpus.indices,
                                             "GPUs to measure on: all, or the driver's numbers such as 0,1")
                                ->capture_default_str();
  command->add_option("--gpu", options->gpus.model, "Predict for this model (e.g. A100) instead of measuring")
      ->excludes("--gpus");
  // For tests: a program that speaks the GPU worker's protocol; repeated for its arguments.
  command->add_option("--gpu-worker", options->gpus.worker)->allow_extra_args(false)->group("");
  command->add_option("--budget", options->budget,
                      "Stop after a time (60s, 5min, 2h) or a number of configurations (500)");
  command->add_option("--format", options->format, "table, json, csv or markdown")->capture_default_str();
  command->add_option("--limit", options->limit, "Rows to print per problem; 0: all")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  command->add_flag("-q,--quiet", options->quiet, "No progress, only results");
  command->add_flag("--remeasure", options->remeasure, "Measure again what the database holds already");
  command->footer(
      "Examples:\n  tiletune sweep configs/quick.json\n"
      "  tiletune sweep configs/sgemm.json --problem 4096x4096x4096 --budget 60s\n"
      "  tiletune sweep configs/sgemm.json --gpus all\n"
      "  tiletune sweep configs/sgemm.json --gpu A100 --format json > predicted.json");
  command->callback([options, gpus, &action] {
    options->gpus.asked = gpus->count() > 0;
    action = [options] { return run(*options); };
  });
}

}  // namespace tiletune
