#include "tune/final_rows.h"

#include <algorithm>
#include <utility>

#include "tune/finals_statistics.h"
#include "tune/roofline.h"
#include "tune/row.h"

namespace tiletune {

namespace {

FinalsStatistics statistics_of(const FinalRows& finals) {
  FinalsSamples samples;
  for (const FinalRow& final_row : finals.participants)
    samples.participants.push_back(final_row.time->timing->times_us);
  for (const FinalRow& final_row : finals.baselines)
    samples.baselines.push_back(final_row.time->timing->times_us);
  if (finals.twin) samples.twin = finals.twin->time->timing->times_us;
  return finals_statistics(samples);
}

void add_sustained(Trial& row, const Sustained& sustained, const Workload& workload) {
  row.sustained_us = sustained.launch_us;
  row.sustained_clock_mhz = sustained.sm_clock_mhz;
  row.sustained_power_w = sustained.power_w;
  constexpr double kFlopPerMicrosecondInTeraflops = 1e-6;
  if (!sustained.power_w || *sustained.power_w <= 0 || sustained.launch_us <= 0) return;
  row.sustained_tflops_per_w =
      workload.flops / sustained.launch_us * kFlopPerMicrosecondInTeraflops / *sustained.power_w;
}

/// Turns rows into those of their finals.
class Rewriter {
 public:
  Rewriter(const FinalsStatistics& statistics, const GpuCondition& condition, const Post& post,
           const Stage& stage)
      : statistics_(statistics), condition_(condition), post_(post), stage_(stage) {}

  void rewrite(FinalRow& final_row, const MedianInterval& interval) const {
    Trial& row = final_row.row;
    const FinalTime& time = *final_row.time;
    const Workload& workload = stage_.instantiator.workload();
    if (!row.first_median_us) row.first_median_us = row.median_us;
    row.timed_in = "final";
    row.gpu_uuid = post_.evaluator->target().uuid;
    add_timing(row, *time.timing, workload, post_.evaluator->target());
    row.ci_low_us = interval.low_us;
    row.ci_high_us = interval.high_us;
    row.noise_floor_percent = statistics_.noise_floor_percent;
    row.power_w = condition_.power_w;
    row.throttle_reasons = condition_.throttle_reasons;
    add_throttling(row);
    if (time.accuracy) add_accuracy(row, *time.accuracy);
    if (time.sustained) add_sustained(row, *time.sustained, workload);
    add_roofline(row, stage_, post_.calibration);
  }

 private:
  const FinalsStatistics& statistics_;
  const GpuCondition& condition_;
  const Post& post_;
  const Stage& stage_;
};

}  // namespace

std::vector<Trial> rows_with_final_times(FinalRows finals, const GpuCondition& condition, const Post& post,
                                         const Stage& stage) {
  const FinalsStatistics statistics = statistics_of(finals);
  const Rewriter rewriter(statistics, condition, post, stage);
  std::vector<Trial> rows;
  for (std::size_t i = 0; i < finals.baselines.size(); ++i) {
    rewriter.rewrite(finals.baselines[i], statistics.baselines[i]);
    rows.push_back(std::move(finals.baselines[i].row));
  }
  const auto fastest = std::min_element(
      rows.begin(), rows.end(), [](const Trial& a, const Trial& b) { return a.median_us < b.median_us; });
  std::optional<Trial> baseline;
  if (fastest != rows.end()) baseline = *fastest;
  for (std::size_t i = 0; i < finals.participants.size(); ++i) {
    rewriter.rewrite(finals.participants[i], statistics.participants[i]);
    finals.participants[i].row.probability_near_best = statistics.probability_near_best[i];
    rows.push_back(std::move(finals.participants[i].row));
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
