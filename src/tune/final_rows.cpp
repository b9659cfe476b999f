#include "tune/final_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "base/statistics.h"
#include "tune/ceilings.h"
#include "tune/row.h"

namespace tiletune {

namespace {

constexpr double kNear = 1.01;

/// How often each round is in one draw.
using Draw = std::vector<std::uint16_t>;

std::vector<Draw> draw_rounds(std::size_t rounds, int draws, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Draw> all(static_cast<std::size_t>(draws), Draw(rounds));
  for (Draw& draw : all) {
    // The remainder favours small numbers by less than 10^-15, and is the same with every standard library.
    for (std::size_t i = 0; i < rounds; ++i) ++draw[random() % rounds];
  }
  return all;
}

/// One kernel's samples, in the order of their size.
class Series {
 public:
  explicit Series(const std::vector<double>& samples)
      : samples_(samples), ascending_(samples.size()), median_(median(samples)) {
    std::iota(ascending_.begin(), ascending_.end(), std::size_t{0});
    std::sort(ascending_.begin(), ascending_.end(),
              [&](std::size_t a, std::size_t b) { return samples_[a] < samples_[b]; });
  }

  /// The median of the drawn rounds that it has samples of.
  double median_of(const Draw& draw) const {
    const auto drawn =
        std::accumulate(draw.begin(), draw.begin() + static_cast<std::ptrdiff_t>(rounds()), 0U);
    if (drawn == 0) return median_;
    return (at(draw, (drawn - 1) / 2) + at(draw, drawn / 2)) / 2;
  }

  std::vector<double> medians(const std::vector<Draw>& draws) const {
    std::vector<double> medians;
    medians.reserve(draws.size());
    for (const Draw& draw : draws) medians.push_back(median_of(draw));
    return medians;
  }

 private:
  std::size_t rounds() const { return samples_.size(); }

  /// The sample of that rank, from 0, in the draw.
  double at(const Draw& draw, std::uint32_t rank) const {
    std::uint32_t seen = 0;
    for (const std::size_t round : ascending_) {
      seen += draw[round];
      if (seen > rank) return samples_[round];
    }
    return samples_[ascending_.back()];
  }

  const std::vector<double>& samples_;
  std::vector<std::size_t> ascending_;
  double median_;
};

/// The 2.5% and the 97.5% percentile.
MedianInterval interval_of(std::vector<double> values) {
  constexpr double kTail = 0.025;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  const auto place = [&](double share) { return static_cast<std::size_t>(std::lround(share * last)); };
  return {values[place(kTail)], values[place(1 - kTail)]};
}

std::vector<double> near_best(const std::vector<std::vector<double>>& medians, std::size_t draws) {
  std::vector<double> shares(medians.size());
  for (std::size_t draw = 0; draw < draws; ++draw) {
    double best = medians.front()[draw];
    for (const auto& of_one : medians) best = std::min(best, of_one[draw]);
    for (std::size_t i = 0; i < medians.size(); ++i) shares[i] += medians[i][draw] <= kNear * best ? 1 : 0;
  }
  for (double& share : shares) share /= static_cast<double>(draws);
  return shares;
}

/// Over the rounds that both have.
double noise_floor(std::vector<double> original, std::vector<double> twin, const std::vector<Draw>& draws) {
  const std::size_t common = std::min(original.size(), twin.size());
  original.resize(common);
  twin.resize(common);
  const Series of_original(original);
  const Series of_twin(twin);
  std::vector<double> differences;
  differences.reserve(draws.size());
  for (const Draw& draw : draws)
    differences.push_back(of_twin.median_of(draw) / of_original.median_of(draw) - 1);
  const MedianInterval interval = interval_of(std::move(differences));
  return 100 * std::max(std::abs(interval.low_us), std::abs(interval.high_us));
}

std::size_t most_rounds(const FinalsSamples& samples) {
  std::size_t most = samples.twin.size();
  for (const auto* list : {&samples.finalists, &samples.baselines}) {
    for (const auto& series : *list) most = std::max(most, series.size());
  }
  return most;
}

/// Finalists in the order of their tickets, so the leader before all others.
std::vector<const Measured*> sound_times(const FinalsMeasured& measured) {
  std::vector<const Measured*> times;
  for (const Measured& time : measured.times) {
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
    const Measured& time = *final_row.time;
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

FinalsStatistics finals_statistics(const FinalsSamples& samples, int draws, std::uint64_t seed) {
  const std::vector<Draw> drawn = draw_rounds(most_rounds(samples), draws, seed);
  FinalsStatistics statistics;
  std::vector<std::vector<double>> medians;
  for (const auto& finalist : samples.finalists) {
    medians.push_back(Series(finalist).medians(drawn));
    statistics.finalists.push_back(interval_of(medians.back()));
  }
  for (const auto& baseline : samples.baselines)
    statistics.baselines.push_back(interval_of(Series(baseline).medians(drawn)));
  statistics.probability_near_best = near_best(medians, drawn.size());
  if (samples.twin.empty()) return statistics;
  statistics.twin = interval_of(Series(samples.twin).medians(drawn));
  statistics.noise_floor_percent = noise_floor(samples.finalists.front(), samples.twin, drawn);
  return statistics;
}

FinalRows collect_final_rows(const Database& database, const WorkloadFinals& finals,
                             const FinalsMeasured& measured, const std::vector<Trial>& baselines) {
  FinalRows rows;
  const Measured* twin = nullptr;
  for (const Measured* time : sound_times(measured)) {
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
