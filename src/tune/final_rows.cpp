#include "tune/final_rows.h"

#include <numeric>
#include <random>

#include "tune/ceilings.h"
#include "tune/row.h"

namespace tiletune {

namespace {

constexpr double kNear = 1.01;

/// How often each round is in one draw.
using Draw = std::vector<std::uint16_t>;

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
    const auto rounds = static_cast<std::ptrdiff_t>(samples_.size());
    const auto drawn = std::accumulate(draw.begin(), draw.begin() + rounds, 0U);
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

/// A row before the finals, and what they gave for it.
struct Timed {
  Trial row;
  const Measured* time = nullptr;  ///< with a timing
};

Trial with_final_time(const Timed& timed, const MedianInterval& interval, const GpuCondition& condition,
                      const GpuSlot& slot, const Task& task) {
  Trial row = timed.row;
  const Measured& time = *timed.time;
  const Workload& workload = task.instantiator.workload();
  if (!row.first_median_us) row.first_median_us = row.median_us;
  row.timed_in = "final";
  row.gpu_uuid = slot.evaluator->target().uuid;
  add_timing(row, *time.timing, workload, slot.evaluator->target());
  row.ci_low_us = interval.low_us;
  row.ci_high_us = interval.high_us;
  add_condition(row, condition);
  if (time.accuracy) add_accuracy(row, *time.accuracy);
  add_figures(row, time.figures);
  const bool was_sustained = time.figures.contains("sustained_us");
  if (was_sustained) row.sustained_energy_mj = energy_mj(row.sustained_power_w, row.sustained_us);
  constexpr double kFlopPerMicrosecondInTeraflops = 1e-6;
  if (was_sustained && workload.flops != 0 && row.sustained_energy_mj)
    row.sustained_tflops_per_w =
        workload.flops / *row.sustained_us * kFlopPerMicrosecondInTeraflops / *row.sustained_power_w;
  if (!time.warning.empty()) add_warning(row, time.warning);
  add_roofline(row, task, slot.calibration);
  return row;
}

}  // namespace

FinalsStatistics finals_statistics(const FinalsSamples& samples, int draws, std::uint64_t seed) {
  std::size_t rounds = samples.twin.size();
  for (const auto* list : {&samples.finalists, &samples.baselines})
    for (const auto& series : *list) rounds = std::max(rounds, series.size());
  std::mt19937_64 random(seed);
  std::vector<Draw> drawn(static_cast<std::size_t>(draws), Draw(rounds));
  // The remainder favours small numbers by less than 10^-15, and is the same with every standard library.
  for (Draw& draw : drawn)
    for (std::size_t i = 0; i < rounds; ++i) ++draw[random() % rounds];
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

std::vector<Trial> final_rows(const Database& database, const WorkloadFinals& finals,
                              const FinalsMeasured& measured, const GpuSlot& slot, const Task& task) {
  std::vector<Timed> baselines, finalists;
  Timed twin;
  FinalsSamples samples;
  std::vector<const Measured*> times;
  for (const Measured& time : measured.times)
    if (time.outcome == Outcome::ok && time.timing) times.push_back(&time);
  // Finalists come in the order of their tickets, so the leader before all others.
  std::ranges::stable_sort(times, {}, &Measured::ticket);
  for (const Measured* time : times) {
    if (const Contender* finalist = finals.finalist(time->ticket)) {
      auto row = database.find(finalist->key);
      if (!row || row->outcome != Outcome::ok) continue;
      finalists.push_back({std::move(*row), time});
      samples.finalists.push_back(time->timing->times_us);
    }
    if (time->ticket != 0) continue;
    if (time->name == "twin") twin.time = time;
    for (const Trial& baseline : slot.baselines) {
      if (baseline.template_name != time->name) continue;
      baselines.push_back({baseline, time});
      samples.baselines.push_back(time->timing->times_us);
    }
  }
  if (finalists.empty()) return {};
  if (finalists.front().row.key != finals.leader()->key) twin.time = nullptr;
  if (twin.time != nullptr) samples.twin = twin.time->timing->times_us;
  const FinalsStatistics statistics = finals_statistics(samples);
  std::vector<Trial> rows;
  const auto add = [&](const Timed& timed, const MedianInterval& interval) {
    rows.push_back(with_final_time(timed, interval, measured.condition, slot, task));
    rows.back().noise_floor_percent = statistics.noise_floor_percent;
  };
  for (std::size_t i = 0; i < baselines.size(); ++i) add(baselines[i], statistics.baselines[i]);
  const std::vector<Trial> compared_with = rows;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    add(finalists[i], statistics.finalists[i]);
    rows.back().probability_near_best = statistics.probability_near_best[i];
  }
  if (twin.time != nullptr) {
    twin.row = make_twin_trial(finalists.front().row);
    add(twin, *statistics.twin);
    rows.back().first_median_us.reset();
  }
  for (Trial& row : rows) add_baseline(row, compared_with);
  return rows;
}

}  // namespace tiletune
