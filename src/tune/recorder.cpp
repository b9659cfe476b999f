#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "spec/npy.h"
#include "tune/ceilings.h"
#include "tune/engine.h"
#include "tune/provenance.h"
#include "tune/row.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw UserError(fmt::format("{} cannot be written: {}", path.string(), why), Where{"--outputs", ""},
                  "Name a folder that can be written and has space.");
}

std::string best_text(const Trial& row) {
  std::string text = fmt::format("{} us", three_digits(row.median_us.value_or(0)));
  if (row.gbs && (row.bound == "memory" || !row.tflops))
    text = fmt::format("{:.0f} GB/s", *row.gbs);
  else if (row.tflops)
    text = fmt::format("{:.1f} TFLOP/s", *row.tflops);
  if (row.percent_of_baseline) text += fmt::format(", {:.1f}% of {}", *row.percent_of_baseline, row.baseline);
  if (is_unverified(row)) text += ", unverified";
  return text + " (" + row.template_name + ")";
}

/// Outcomes of rows that do not answer their question. Refusals and what a deadline or a lost compiler ended
/// cost little to try again, and may have been due to a limit, or to memory that another process held. What
/// is implausible depends on the calibration, which a later one may not confirm.
constexpr std::array kTriedAgain{Outcome::dispatched, Outcome::refused, Outcome::compile_timeout,
                                 Outcome::compile_crashed, Outcome::implausible};

/// Whether the operation of a measured row has another name or amount of work today.
bool is_described_otherwise(const Trial& row, const std::string& operation, const Workload& workload) {
  if (row.source != Source::measured) return false;
  constexpr double kFlopPerTeraMicrosecond = 1e6;
  constexpr double kBytesPerGigaMicrosecond = 1e3;
  const auto differs = [&](const std::optional<double>& rate, double per_rate, double amount) {
    constexpr double kRounding = 1e-9;
    return std::abs(rate.value_or(0) * *row.median_us * per_rate - amount) > kRounding * amount;
  };
  return row.operation != operation ||
         (row.median_us && (differs(row.tflops, kFlopPerTeraMicrosecond, workload.flops) ||
                            differs(row.gbs, kBytesPerGigaMicrosecond, workload.bytes)));
}

}  // namespace

OutputFiles::OutputFiles(const fs::path& folder) : folder_(fs::absolute(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) refuse(folder_, error.message());
}

OutputFiles::~OutputFiles() {
  std::error_code ignored;
  for (std::uint64_t number = 1; number <= prepared_; ++number) fs::remove_all(unfinished(number), ignored);
}

fs::path OutputFiles::unfinished(std::uint64_t number) const {
  return folder_ / fmt::format("{}_{}.unfinished", ::getpid(), number);
}

std::vector<OutputFile> OutputFiles::prepare(const Task& task) {
  const fs::path folder = unfinished(++prepared_);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) refuse(folder, error.message());
  std::vector<OutputFile> files;
  for (const auto& buffer : task.instantiator.workload().buffers) {
    if (buffer.role == BufferRole::in) continue;
    const std::string header = npy_header(buffer.type, buffer.values());
    const OutputFile file{buffer.name, (folder / (buffer.name + ".npy")).string(), header.size()};
    write_file(file.path, header);
    const Descriptor open(::open(file.path.c_str(), O_WRONLY | O_CLOEXEC));
    const std::uint64_t bytes =
        header.size() + static_cast<std::uint64_t>(buffer.values()) * size_bytes(buffer.type);
    if (!open.is_open() || ::posix_fallocate(open.number(), 0, static_cast<off_t>(bytes)) != 0) {
      fs::remove_all(folder, error);
      refuse(folder, "there is no space for " + human_bytes(bytes));
    }
    files.push_back(file);
  }
  return files;
}

void OutputFiles::keep(const std::vector<OutputFile>& files, const std::string& key) const {
  const fs::path folder = fs::path(files.front().path).parent_path();
  const fs::path kept = folder_ / key;
  std::error_code error;
  fs::remove_all(kept, error);
  fs::rename(folder, kept, error);
  if (error) refuse(kept, error.message());
}

void OutputFiles::drop(const std::vector<OutputFile>& files) {
  std::error_code ignored;
  fs::remove_all(fs::path(files.front().path).parent_path(), ignored);
}

void Scoreboard::add(const Task& task, const Trial& row) {
  task_ = task.label();
  place_ = row.gpu + " " + row.problem;
  if (row.outcome != Outcome::ok || !row.median_us) return;
  const auto [best, is_first] = best_.try_emplace(place_, Best{*row.median_us, best_text(row)});
  if (!is_first && *row.median_us < best->second.median_us) best->second = {*row.median_us, best_text(row)};
}

ProgressState Scoreboard::state(const Task& first_task) const {
  ProgressState state;
  state.task = task_.empty() ? first_task.label() : task_;
  if (const auto best = best_.find(place_); best != best_.end()) state.best = best->second.text;
  return state;
}

void Recorder::record(TaskQueue& queue, Candidate candidate) {
  Trial& row = candidate.trial;
  if (row.outcome == Outcome::compile_failed && sweep_.summary.outcomes.count(row.outcome) == 0)
    sweep_.observer.on_note(fmt::format("{} does not compile: {}", candidate.task->label(), row.reason));
  row.recorded_at = utc_now();
  if (sweep_.options.keep_rows) keep({row});
  count(queue, candidate, row);
  if (!row.measure_ms) return;
  constexpr double kMillisecondsPerSecond = 1e3;
  sweep_.summary.gpu_s += *row.measure_ms / kMillisecondsPerSecond;
  sweep_.summary.discarded_samples += row.discarded_samples.value_or(0);
  queue.workloads[candidate.task->workload].is_measured = true;
  queue.standings.add(*candidate.task, candidate.index, row, std::move(candidate.binary));
}

void Recorder::refuse(TaskQueue& queue, Candidate candidate, const std::string& reason) {
  candidate.trial.outcome = Outcome::refused;
  candidate.trial.reason = reason;
  record(queue, std::move(candidate));
}

void Recorder::dispatch(Candidate& candidate) {
  candidate.trial.outcome = Outcome::dispatched;
  sweep_.database.record(candidate.trial);
}

/// As a row of this sweep.
void Recorder::stamp(Trial& row) {
  row.sweep_id = row.seen_in_sweep = sweep_.summary.sweep_id;
  row.recorded_at = utc_now();
}

void Recorder::record_rows(std::vector<Trial> rows) {
  for (Trial& row : rows) {
    stamp(row);
    sweep_.summary.discarded_samples += row.discarded_samples.value_or(0);
  }
  keep(std::move(rows));
}

/// With the rows that share their measurements.
void Recorder::keep(std::vector<Trial> rows) {
  for (std::size_t i = 0, own = rows.size(); i < own; ++i) {
    if (rows[i].kind != "kernel" || rows[i].measurement.empty()) continue;
    for (const Trial& sharer : sweep_.database.sharers_of(rows[i])) {
      rows.push_back(make_sharing_trial(sharer, rows[i]));
      const bool is_counted = sharer.seen_in_sweep == sweep_.summary.sweep_id;
      if (!is_counted || sharer.outcome == rows[i].outcome) continue;
      uncount(sharer.outcome);
      ++sweep_.summary.outcomes[rows[i].outcome];
    }
  }
  if (rows.size() == 1) return sweep_.database.record(rows.front());
  sweep_.database.record_all(rows);
}

void Recorder::disqualify(const std::string& key, Outcome outcome, const std::string& reason) {
  auto row = sweep_.database.find(key);
  if (!row || row->outcome != Outcome::ok) return;
  if (!row->first_median_us) row->first_median_us = row->median_us;
  row->timed_in = "final";
  row->outcome = outcome;
  row->reason = "in the finals: " + reason;
  stamp(*row);
  keep({*row});
  uncount(Outcome::ok);
  ++sweep_.summary.outcomes[outcome];
}

void Recorder::try_again(TaskQueue& queue, const Screened& screened) {
  queue.searches.defer(*screened.task, screened.index);
  uncount(Outcome::screened_out);
  --sweep_.summary.finished;
  if (screened.sweep_id != sweep_.summary.sweep_id) --sweep_.summary.reused;
}

void Recorder::uncount(Outcome outcome) {
  std::map<Outcome, std::uint64_t>& outcomes = sweep_.summary.outcomes;
  if (--outcomes[outcome] == 0) outcomes.erase(outcome);
}

bool Recorder::is_known(TaskQueue& queue, const Candidate& candidate) {
  const std::int64_t this_sweep = sweep_.summary.sweep_id;
  auto row = sweep_.database.find(candidate.trial.key);
  const bool is_own = row.has_value();
  if (!is_own && queue.measures() && !candidate.trial.kernel_hash.empty())
    row = sweep_.database.find_measurement(candidate.trial.measurement);
  if (!row || (sweep_.options.remeasure && (is_own || row->sweep_id != this_sweep))) return false;
  const bool is_in_flight = row->outcome == Outcome::dispatched && !(is_own && row->sweep_id == this_sweep);
  // A faster leader may yet come, also of those that are known.
  const Contender* leader = queue.standings.leader(*candidate.task);
  const bool is_still_too_slow = leader != nullptr && row->median_us &&
                                 *row->median_us > sweep_.spec.measure.screening * leader->lowest_upper_us;
  const bool may_be_fast = row->outcome == Outcome::screened_out && !is_still_too_slow;
  if ((is_in_flight || may_be_fast) && !candidate.deferred) {
    queue.searches.defer(*candidate.task, candidate.index);
    return true;
  }
  if (may_be_fast || std::ranges::count(kTriedAgain, row->outcome) > 0) return false;
  if (is_own) {
    reuse(queue, candidate, *row);
    return true;
  }
  Trial sharing = make_sharing_trial(candidate.trial, *row);
  if (sharing.source == Source::measured) describe(queue, candidate, sharing);
  sweep_.database.record(sharing);
  see_baseline(queue, candidate, sharing);
  ++sweep_.summary.shared;
  count(queue, candidate, sharing);
  return true;
}

/// What the operation says of itself is in no key. A row says what it says today.
void Recorder::describe(const TaskQueue& queue, const Candidate& candidate, Trial& row) {
  row.operation = candidate.trial.operation;
  if (!row.median_us) return;
  const Target& target = queue.target();
  for (auto* figure : {&row.tflops, &row.gbs, &row.percent_of_peak, &row.arithmetic_intensity})
    figure->reset();
  add_throughput(row, candidate.task->instantiator.workload(), target);
  add_roofline(row, *candidate.task, known_calibration(sweep_.database, target));
}

void Recorder::reuse(TaskQueue& queue, const Candidate& candidate, const Trial& known) {
  Trial row = known;
  bool is_changed =
      is_described_otherwise(row, candidate.trial.operation, candidate.task->instantiator.workload());
  if (is_changed) describe(queue, candidate, row);
  // An edited source may give the same kernel, and versions up to 0.2 recorded no hashes of these.
  for (std::string Trial::*source :
       {&Trial::operation_hash, &Trial::source_key, &Trial::source_hash, &Trial::included_files}) {
    is_changed = is_changed || row.*source != candidate.trial.*source;
    row.*source = candidate.trial.*source;
  }
  if (is_changed) sweep_.database.record(row);
  sweep_.database.mark_seen(row.key, sweep_.summary.sweep_id);
  see_baseline(queue, candidate, row);
  if (row.sweep_id != sweep_.summary.sweep_id) ++sweep_.summary.reused;
  count(queue, candidate, row);
  if (row.shares.empty()) queue.standings.add(*candidate.task, candidate.index, row, nullptr);
}

void Recorder::see_baseline(TaskQueue& queue, const Candidate& candidate, const Trial& row) {
  if (!std::exchange(queue.workloads[candidate.task->workload].baseline_seen, true))
    sweep_.database.mark_baseline_seen(row, sweep_.summary.sweep_id);
}

void Recorder::count(TaskQueue& queue, const Candidate& candidate, const Trial& row) {
  SweepSummary& summary = sweep_.summary;
  ++summary.finished;
  ++summary.outcomes[row.outcome];
  if (!row.warnings.empty()) ++summary.warned;
  queue.searches.tell(*candidate.task, candidate.index, has_run(row.outcome) ? row.median_us : std::nullopt);
  scoreboard_.add(*candidate.task, row);
}

}  // namespace tiletune
