#include "cli/replay.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/common.h"
#include "cli/console_observer.h"
#include "cli/signals.h"
#include "output/display.h"
#include "output/replay.h"
#include "output/table.h"
#include "rank/ranking.h"
#include "tune/replay.h"
#include "tune/sweep.h"

namespace tiletune {

namespace {

void check_database(const ReplayOptions& options) {
  std::error_code ignored;
  if (options.database.empty() || !std::filesystem::equivalent(options.recording, options.database, ignored))
    return;
  throw UserError("is the recording itself", Where{"--db", ""},
                  "Name another file for the replayed rows, or leave --db out to keep none.");
}

std::string opening(const Replay& replay, const Recording& recording, const TuneSpec& spec,
                    const std::vector<Stage>& stages) {
  return fmt::format(
      "tiletune {}: replaying {}: {} configurations {} on {}; nothing is compiled or timed\n{}", kVersion,
      printable(replay.file), recording.set().kernels, name(replay.recorded_as), printable(replay.gpu),
      space_line(stages, spec));
}

std::string counts_text(const SweepSummary& summary, const Replay& replay) {
  std::vector<std::pair<Outcome, std::int64_t>> counts;
  for (const auto& [outcome, count] : summary.outcomes)
    counts.emplace_back(outcome, static_cast<std::int64_t>(count));
  std::string text =
      fmt::format("{} of {} configurations replayed in {}, for {} of compiling and measuring: {}\n",
                  summary.finished, summary.planned, human_seconds(summary.wall_s),
                  human_seconds(replay.simulated_s()), outcome_summary(counts));
  if (summary.interrupted) text += "Interrupted.\n";
  if (summary.out_of_budget) text += "The simulated time budget is spent.\n";
  return text;
}

[[noreturn]] void throw_nothing_ran(const SweepSummary& summary, const Replay& replay, const TuneSpec& spec) {
  const Where where{spec.file.string(), ""};
  const auto missing = summary.outcomes.find(Outcome::not_recorded);
  if (missing != summary.outcomes.end() && missing->second == summary.finished) {
    throw NothingToDo(
        fmt::format("{} holds none of the configurations tried", replay.file), where,
        "Compare templates, problem, scalars and cache: tiletune rank --db " + shell_quoted(replay.file));
  }
  throw NothingToDo("no configuration that was tried had run when it was recorded", where,
                    "Raise --budget, or widen the space.");
}

int report(const TuneSpec& spec, const Database& database, const SweepSummary& summary, const Replay& replay,
           const SweepView& view) {
  TrialFilter filter;
  filter.sweep_id = summary.sweep_id;
  RankingRows rows = ranking_rows(database, filter);
  const auto groups = rank_rows(rows);
  const bool table = view.format == Format::table;
  if (!table) fmt::print(stderr, "{}{}", counts_text(summary, replay), replay_text(replay));
  stream_output("", [&](std::ostream& out) {
    if (view.format == Format::json) {
      out << to_json(replay).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
      return;
    }
    if (table) out << counts_text(summary, replay);
    const bool colour = table && stdout_wants_colour();
    write_rankings(out, groups, database, view.format, {view.limit, "", {}, colour});
    if (table) out << replay_text(replay);
  });
  if (summary.failure) std::rethrow_exception(summary.failure);
  if (summary.interrupted) return kInterrupted;
  if (groups.empty()) throw_nothing_ran(summary, replay, spec);
  return 0;
}

}  // namespace

int run_replay(const TuneSpec& spec, std::vector<Stage> stages, const ReplayOptions& options,
               const SweepView& view) {
  check_database(options);
  const Database recorded(options.recording, Database::Mode::read_only);
  const std::string file = options.recording.string();
  const Recording recording =
      read_recording(recorded, choose_set(recorded_sets(recorded), options.gpu, file));
  const Target target = target_from_row(recording.sample(), shipped_gpu_models());
  Replay replay = plan_replay(spec, stages, recording, target, file);
  const std::string headline = opening(replay, recording, spec, stages);
  if (view.format == Format::table && !options.quiet) write_output("", headline);

  std::vector<Fleet> fleets(1);
  fleets.front().stages = std::move(stages);
  fleets.front().evaluators.push_back(make_replaying_evaluator(spec, recording, target, replay));
  const ScratchFolder scratch;
  Database database(options.database.empty() ? scratch.path() / "replay.db" : options.database,
                    Database::Mode::read_write);
  catch_interrupts();
  SweepOptions sweep_options = options.sweep;
  sweep_options.remeasure = true;
  ConsoleObserver observer(options.quiet);
  const SweepSummary summary = run_sweep(spec, fleets, database, sweep_options, observer);
  observer.finish();
  return report(spec, database, summary, replay, view);
}

}  // namespace tiletune
