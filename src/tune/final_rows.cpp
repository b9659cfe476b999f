#include "tune/final_rows.h"

#include <algorithm>
#include <utility>

#include "tune/finals_statistics.h"
#include "tune/roofline.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// Finalists in the order of their tickets, so the leader before all others.
std::vector<const FinalTime*> sound_times(const FinalsMeasured& measured) {
  std::vector<const FinalTime*> times;
  for (const FinalTime& time : measured.times) {
    if (time.outcome == Outcome::ok && time.timing) times.push_back(&time);
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const auto* a, const auto* b) { return a->ticket < b->ticket; });
  return times;
}

FinalsStatistics statistics_of(const FinalRows& finals) {
  FinalsSamples samples;
  for (const FinalRow& final_row : finals.finalists)
    samples.finalists.push_back(final_row.time->timing->times_us);
  for (const FinalRow& final_row : finals.baselines)
    samples.baselines.push_back(final_row.time->timing->times_us);
  if (finals.twin) samples.twin = finals.twin->time->timing->times_us;
  return finals_statistics(samples);
}

void add_sustained(Trial& row, const Sustained& sustained, const Workload& workload) {
  row.sustained_us = sustained.launch_us;
  row.sustained_clock_mhz = sustained.sm_clock_mhz;
  row.sustained_power_w = sustained.power_w;
  row.sustained_energy_mj = energy_mj(sustained.power_w, sustained.launch_us);
  constexpr double kFlopPerMicrosecondInTeraflops = 1e-6;
  if (workload.flops == 0 || !sustained.power_w || *sustained.power_w <= 0 || sustained.launch_us <= 0)
    return;
  row.sustained_tflops_per_w =
      workload.flops / sustained.launch_us * kFlopPerMicrosecondInTeraflops / *sustained.power_w;
}

/// Turns rows into those of their finals.
class Rewriter {
 public:
  Rewriter(const FinalsStatistics& statistics, const GpuCondition& condition, const GpuSlot& slot,
           const Task& task)
      : statistics_(statistics), condition_(condition), slot_(slot), task_(task) {}

  void rewrite(FinalRow& final_row, const MedianInterval& interval) const {
    Trial& row = final_row.row;
    const FinalTime& time = *final_row.time;
    const Workload& workload = task_.instantiator.workload();
    if (!row.first_median_us) row.first_median_us = row.median_us;
    row.timed_in = "final";
    row.gpu_uuid = slot_.evaluator->target().uuid;
    add_timing(row, *time.timing, workload, slot_.evaluator->target());
    row.ci_low_us = interval.low_us;
    row.ci_high_us = interval.high_us;
    row.noise_floor_percent = statistics_.noise_floor_percent;
    add_condition(row, condition_);
    if (time.accuracy) add_accuracy(row, *time.accuracy);
    if (time.sustained) add_sustained(row, *time.sustained, workload);
    if (time.with_copies_us) row.with_copies_us = time.with_copies_us;
    if (!time.warning.empty()) add_warning(row, time.warning);
    add_roofline(row, task_, slot_.calibration);
  }

 private:
  const FinalsStatistics& statistics_;
  const GpuCondition& condition_;
  const GpuSlot& slot_;
  const Task& task_;
};

}  // namespace

FinalRows collect_final_rows(const Database& database, const WorkloadFinals& finals,
                             const FinalsMeasured& measured, const std::vector<Trial>& baselines) {
  FinalRows rows;
  const FinalTime* twin = nullptr;
  for (const FinalTime* time : sound_times(measured)) {
    if (const Finalist* finalist = finals.finalist(time->ticket)) {
      auto row = database.find(finalist->entry.key);
      if (row && row->outcome == Outcome::ok) rows.finalists.push_back({std::move(*row), time});
    }
    if (time->ticket == 0 && time->name == "twin") twin = time;
    for (const Trial& baseline : baselines) {
      if (time->ticket == 0 && baseline.template_name == time->name)
        rows.baselines.push_back({baseline, time});
    }
  }
  const bool led_by_original =
      !rows.finalists.empty() && rows.finalists.front().row.key == finals.leader()->entry.key;
  if (twin != nullptr && led_by_original) rows.twin = FinalRow{rows.finalists.front().row, twin};
  return rows;
}

std::vector<Trial> rows_with_final_times(FinalRows finals, const GpuCondition& condition, const GpuSlot& slot,
                                         const Task& task) {
  const FinalsStatistics statistics = statistics_of(finals);
  const Rewriter rewriter(statistics, condition, slot, task);
  std::vector<Trial> rows;
  for (std::size_t i = 0; i < finals.baselines.size(); ++i) {
    rewriter.rewrite(finals.baselines[i], statistics.baselines[i]);
    rows.push_back(std::move(finals.baselines[i].row));
  }
  const auto fastest = std::min_element(
      rows.begin(), rows.end(), [](const Trial& a, const Trial& b) { return a.median_us < b.median_us; });
  std::optional<Trial> baseline;
  if (fastest != rows.end()) baseline = *fastest;
  for (std::size_t i = 0; i < finals.finalists.size(); ++i) {
    rewriter.rewrite(finals.finalists[i], statistics.finalists[i]);
    finals.finalists[i].row.probability_near_best = statistics.probability_near_best[i];
    rows.push_back(std::move(finals.finalists[i].row));
  }
  if (finals.twin) {
    finals.twin->row = make_twin_trial(finals.twin->row);
    rewriter.rewrite(*finals.twin, *statistics.twin);
    finals.twin->row.first_median_us.reset();
    rows.push_back(std::move(finals.twin->row));
  }
  if (baseline) {
    for (Trial& row : rows) add_baseline(row, *baseline);
  }
  return rows;
}

}  // namespace tiletune
