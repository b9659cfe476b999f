#include "output/replay.h"

#include "base/byte_stream.h"
#include "base/version.h"
#include "cli/common.h"
#include "cli/sweep_report.h"
#include "foreign/import.h"
#include "output/export.h"
#include "output/views.h"
#include "rank/ranking.h"
#include "replay/recording.h"
#include "search/strategies.h"
#include "store/own_files.h"

namespace tiletune {

namespace {

/// Rows that come out of a recording can come out of it again.
constexpr std::uint64_t kRowsPerCommit = 10000;

Database open(const std::filesystem::path& file, const std::filesystem::path& scratch, bool skip_bad) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw UserError("there is no such file", Where{file.string(), ""},
                    "Name a database of tiletune's, or what 'tiletune import' reads.");
  if (std::filesystem::is_other(file, ignored))
    throw UserError("this is a device, a pipe or a socket", Where{file.string(), ""},
                    "Name a file: a database of tiletune's, or what 'tiletune import' reads.");
  if (ByteStream(file).next().starts_with(kSqliteMagic)) return open_rows(file, skip_bad);
  return {scratch / "recording.db", Database::Mode::scratch};
}

/// What --replay names, as a database: itself, or what import makes of another tool's file.
struct ReplayFile {
  /// `facts` stand for what a file of another tool leaves out. Throws UserError.
  ReplayFile(const std::filesystem::path& file, const ImportFacts& facts, const ReplayOptions& options)
      : rows(open(file, folder.path(), options.skip_bad)) {
    if (rows.file() == file) return;
    Progress progress(options.quiet, ::isatty(STDERR_FILENO) != 0);
    const std::string task = "reading " + printable(file.filename().string());
    const ImportSummary summary = import_file(rows, file, facts, [&](std::uint64_t count) {
      progress.update({task, count, 0, ""});
    });
    progress.finish();
    format = summary.format;
    is_unfinished = summary.unfinished;
  }

  ScratchFolder folder;
  Database rows;
  std::string format;          ///< "Kernel Tuner cache"; empty of a database
  bool is_unfinished = false;  ///< whoever writes the file has not finished
};

void check_repeat(const ReplayOptions& options, const TuneSpec& spec, const SweepView& view) {
  const Where where{"--repeat", ""};
  if (options.repeat <= 1) return;
  if (!find_strategy(spec.strategy).depends_on_seed)
    throw UserError(fmt::format("the strategy {} is the same every time", spec.strategy.name), where,
                    "Add --strategy random.");
  if (!options.database.empty())
    throw UserError("rows of several runs are not kept", where, "Leave out --db or --repeat.");
  if (view.format != Format::table && view.format != Format::json)
    throw UserError("several runs have no ranking", where, "Use --format table or json.");
}

/// What a config says, where another tool's file says nothing.
ImportFacts facts_of(const TuneSpec& spec, const std::string& gpu) {
  ImportFacts facts;
  facts.replayed = true;
  facts.gpu = gpu;
  if (spec.templates.size() == 1) facts.kernel = spec.templates.front().name;
  return facts;
}

std::string counts_text(const SweepSummary& summary, const Replay& replay) {
  std::string text = fmt::format(
      "{} of {} configurations replayed in {}, for {} of compiling and measuring: {}\n", summary.finished,
      summary.planned, human_seconds(summary.wall_s), human_seconds(replay.simulated_s()),
      outcome_summary({summary.outcomes.begin(), summary.outcomes.end()}));
  if (summary.interrupted) text += "Interrupted.\n";
  if (summary.out_of_budget) text += "The simulated time budget is spent.\n";
  return text + untried_lines(summary);
}

/// The recorded rows that answered, as rows of the replay.
RankingRows rows_of(const Replay& replay, const RecordedSet& set, const Database& database) {
  std::vector<std::int64_t> ids = replay.rows;
  std::sort(ids.begin(), ids.end());
  RankingRows rows;
  auto next = ids.begin();
  database.for_each(filter_of(set), ranking_columns(), [&](std::int64_t id, const Trial& row) {
    if (next == ids.end() || *next != id) return;
    ++next;
    Trial replayed = row;
    replayed.source = Source::replayed;
    rows.add(id, replayed);
  });
  return rows;
}

/// One command's replay.
class Replaying {
 public:
  Replaying(TuneSpec spec, const ReplayOptions& options, const SweepView& view)
      : spec_(std::move(spec)),
        options_(options),
        view_(view),
        keeps_rows_(!options.database.empty() || view.format == Format::csv),
        file_(options.recording, facts_of(spec_, options.gpu), options),
        set_(choose_set(recorded_sets(file_.rows), options.gpu, options.recording.string())),
        recording_(read_recording(file_.rows, set_)),
        target_(target_from_row(recording_->sample(), shipped_gpu_models())),
        database_(options.database.empty() ? scratch_.path() / "replay.db" : options.database,
                  options.database.empty() ? Database::Mode::scratch : Database::Mode::read_write) {
    // A budget that is named needs rows to count by; one in the config may be meant for measuring. Where only
    // some rows tell seconds, the others cost none, and a note says how many they are.
    const std::size_t silent = recording_->timed(true);
    if (options.asks_for_seconds && silent > 0 && silent == recording_->timed())
      throw UserError(
          fmt::format("seconds cannot be counted: {} does not say how long compiling and measuring took",
                      options.recording.string()),
          Where{"--budget", ""}, "Give a number of configurations, such as --budget 500.");
    leave_out_kernels(spec_);
  }

  int run() {
    catch_interrupts();
    // Once for all runs, which differ in their seeds alone: spaces may take long to build.
    std::vector<Task>& tasks = gpu_sets_.front().tasks;
    tasks = plan_tasks_without_sources(spec_, interrupted);
    planned_ = plan_replay(spec_, tasks, *recording_, target_, options_.recording.string());
    if (file_.is_unfinished)
      planned_.notes.insert(planned_.notes.begin(), planned_.file + " is not finished: more rows may follow");
    open(planned_, tasks);
    TrialFilter recorded = filter_of(set_);
    for (const TemplateSpec& kernel : spec_.templates) recorded.templates.push_back(kernel.name);
    note_earlier_sources(file_.rows, recorded, "");
    std::vector<Replay> runs;
    SweepSummary summary;
    while (runs.size() < options_.repeat && !summary.interrupted) {
      runs.emplace_back();
      summary = sweep(runs.back());
      if (summary.failure) std::rethrow_exception(summary.failure);
      if (options_.repeat > 1) runs.back().rows = {};  // several runs have no ranking
      ++spec_.strategy.seed;
    }
    gpu_sets_.clear();
    recording_.reset();  // the ranking needs its memory
    if (options_.repeat == 1)
      report(summary, runs.front());
    else if (view_.format == Format::json)
      print_json(replay_runs_json(runs));
    else
      write_output("", replay_runs_text(runs));
    if (summary.interrupted) return kInterrupted;
    for (const Replay& run : runs)
      for (const ReplayedProblem& problem : run.problems)
        if (!problem.curve.empty()) return 0;
    const Where where{spec_.file.string(), ""};
    const auto missing = summary.outcomes.find(Outcome::not_recorded);
    if (missing != summary.outcomes.end() && missing->second == summary.finished)
      throw NothingToDo(fmt::format("{} holds none of the configurations tried", planned_.file), where,
                        "Compare the values of the parameters.");
    throw NothingToDo("no configuration that was tried had run when it was recorded", where,
                      "Raise --budget, or widen the space.");
  }

 private:
  SweepSummary sweep(Replay& replay) {
    GpuSet& gpu_set = gpu_sets_.front();
    replay = planned_;
    replay.seed = spec_.strategy.seed;
    gpu_set.evaluators.clear();
    gpu_set.evaluators.push_back(make_replaying_evaluator(spec_, *recording_, target_, replay, keeps_rows_));
    SweepOptions options = options_.sweep;
    options.remeasure = true;
    options.keep_rows = keeps_rows_;
    options.rows_per_commit = kRowsPerCommit;
    SweepSummary summary = run_sweep(spec_, gpu_sets_, database_, options, observer_);
    observer_.finish();
    return summary;
  }

  void open(const Replay& replay, const std::vector<Task>& tasks) const {
    std::string notes;
    for (const std::string& note : replay.notes) notes += "note: " + printable(note) + "\n";
    if (view_.format != Format::table) {
      fmt::print(stderr, "{}", notes);
    } else if (options_.quiet) {
      write_output("", notes);
    } else {
      const std::string format = file_.format.empty() ? "" : fmt::format(" ({})", file_.format);
      write_output(
          "", fmt::format("tiletune {}: replaying {}{}: {} {} on {}; nothing is compiled or timed\n{}{}",
                          kVersion, printable(replay.file), format, counted(set_.kernels, "configuration"),
                          name(set_.source), printable(replay.gpu), space_line(tasks, spec_), notes));
    }
  }

  void report(const SweepSummary& summary, const Replay& replay) const {
    const bool table = view_.format == Format::table;
    if (!table) fmt::print(stderr, "{}{}", counts_text(summary, replay), replay_text(replay));
    if (view_.format == Format::json) return print_json(to_json(replay));
    stream_output("", [&](std::ostream& out) {
      if (table) out << counts_text(summary, replay);
      TrialFilter filter;
      filter.sweep_id = summary.sweep_id;
      const Database& rows = keeps_rows_ ? database_ : file_.rows;
      RankingRows ranked = keeps_rows_ ? ranking_rows(rows, filter) : rows_of(replay, set_, rows);
      write_view(out, rankings_view(rank_rows(ranked), rows, {view_.limit}), view_.format, stdout_style());
      if (table) out << replay_text(replay);
    });
  }

  TuneSpec spec_;
  const ReplayOptions& options_;
  SweepView view_;
  bool keeps_rows_;
  ReplayFile file_;
  RecordedSet set_;
  std::optional<Recording> recording_;
  Target target_;
  ScratchFolder scratch_;
  Database database_;
  ConsoleObserver observer_{options_.quiet};
  std::vector<GpuSet> gpu_sets_{1};
  Replay planned_;  ///< before its first evaluation
};

}  // namespace

int run_replay(TuneSpec spec, const ReplayOptions& options, const SweepView& view) {
  std::error_code ignored;
  if (!options.database.empty() && std::filesystem::equivalent(options.recording, options.database, ignored))
    throw UserError("is the recording itself", Where{"--db", ""},
                    "Name another file for the replayed rows, or leave --db out to keep none.");
  // All that is recorded takes no time, unless less is asked for.
  if (spec.strategy.name == kAutomaticStrategy)
    spec.strategy.name = spec.budget.is_bounded() || options.repeat > 1 ? kBestStrategy : "exhaustive";
  check_until(spec.strategy, spec.budget);
  check_repeat(options, spec, view);
  try {
    return Replaying(std::move(spec), options, view).run();
  } catch (const NothingToDo&) {
    throw;
  } catch (const UserError& error) {
    if (error.where().file != options.recording.string()) throw;
    throw named_by("--replay FILE", error);
  }
}

}  // namespace tiletune
