#include "tune/choose_strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "search/strategies.h"

namespace tiletune {

namespace {

/// What a configuration takes: the mean over 11,369 of configs/sgemm_dispatch.json on an H200 with 16 cores
/// (results/h200/sgemm_dispatch.txt), which are larger kernels than most.
constexpr double kCompileCpuSeconds = 0.4;
constexpr double kMeasureSeconds = 0.025;

constexpr double kShortSeconds = 60;
constexpr double kUntilPercent = 1;

std::uint64_t configurations(const std::vector<Task>& tasks) {
  std::uint64_t sum = 0;
  for (const Task& task : tasks) sum += task.space.size();
  return sum;
}

}  // namespace

double exhaustive_seconds(const std::vector<Task>& tasks, std::size_t workers, std::size_t gpus) {
  const double compiling = kCompileCpuSeconds / static_cast<double>(std::max<std::size_t>(1, workers));
  const double measuring = gpus == 0 ? 0 : kMeasureSeconds / static_cast<double>(gpus);
  return static_cast<double>(configurations(tasks)) * std::max(compiling, measuring);
}

std::string choose_strategy(TuneSpec& spec, const std::vector<Task>& tasks, std::size_t workers,
                            std::size_t gpus) {
  if (spec.strategy.name != kAutomaticStrategy) return "";
  Budget& budget = spec.budget;
  const double seconds = exhaustive_seconds(tasks, workers, gpus);
  const bool fits_time = seconds <= (budget.seconds > 0 ? budget.seconds : kShortSeconds);
  const bool fits_count = budget.evaluations == 0 || configurations(tasks) <= budget.evaluations;
  if (budget.until_percent == 0 && fits_count &&
      (fits_time || (budget.evaluations > 0 && budget.seconds == 0))) {
    spec.strategy.name = "exhaustive";
    return "";
  }
  spec.strategy.name = kBestStrategy;
  if (!budget.is_bounded()) budget.until_percent = kUntilPercent;
  const std::string until =
      budget.until_percent > 0 ? fmt::format(" until it expects no gain of {:g}%", budget.until_percent) : "";
  return fmt::format("trying all would take about {}: strategy {}{} (all: --strategy exhaustive)",
                     human_seconds(seconds), kBestStrategy, until);
}

}  // namespace tiletune
