// How long strategies take to choose in a space of a little more than 10^6 configurations.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "search/landscapes.h"

namespace tiletune {
namespace {

constexpr int kBatch = 64;
constexpr int kBatches = 100;

/// A search of 6,400 configurations. Target: at most 50 ms for the longest of the batches.
void ask(benchmark::State& state, const StrategyEntry& entry, const Space& space) {
  const Landscape landscape(space, 1);
  double longest_ms = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto strategy = entry.make({{&space, space.size()}}, 1);
    for (int batch = 0; batch < kBatches; ++batch) {
      const std::clock_t start = std::clock();  // CPU time, which others on the machine do not stretch
      const std::vector<Choice> choices = strategy->ask(kBatch);
      longest_ms = std::max(longest_ms, 1000 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      for (const Choice& choice : choices) strategy->tell(choice, landscape.time_us(choice.index));
    }
  }
  state.counters["longest_ask_ms"] = longest_ms;
}

}  // namespace
}  // namespace tiletune

int main(int argc, char** argv) {
  using namespace tiletune;
  benchmark::Initialize(&argc, argv);
  const Space space(chain_of_ten(), problem());
  for (const StrategyEntry& entry : strategies())
    benchmark::RegisterBenchmark(entry.name, [&](benchmark::State& state) {
      ask(state, entry, space);
    })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
