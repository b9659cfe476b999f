#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "search/explored_space.h"
#include "space/example_spaces.h"
#include "space/space.h"

namespace tiletune {
namespace {

/// Of the whole process so far.
double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void build(benchmark::State& state, const TemplateSpec& spec) {
  double raw = 0;
  std::uint64_t valid = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Space space(spec, problem());
    raw = space.raw_size();
    valid = space.size();
  }
  state.counters["raw"] = raw;
  state.counters["valid"] = static_cast<double>(valid);
  state.counters["peak_rss_mb"] = peak_rss_mb();
}

/// Target: at most 10 ms.
void build_clblast_gemm(benchmark::State& state) { build(state, clblast_gemm()); }
BENCHMARK(build_clblast_gemm)->Unit(benchmark::kMillisecond);

/// 10^10 raw combinations, a little more than 10^6 valid. Target: at most 2 s and 200 MB.
void build_chain_of_ten(benchmark::State& state) { build(state, chain_of_ten()); }
BENCHMARK(build_chain_of_ten)->Unit(benchmark::kMillisecond);

void read_random_configurations(benchmark::State& state) {
  const Space space(chain_of_ten(), problem());
  const search::Permutation order(space.size(), 1);
  std::uint64_t next = 0;
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(space.at(order(next++ % space.size())));
}
BENCHMARK(read_random_configurations);

void find_neighbours(benchmark::State& state) {
  const Space space(chain_of_ten(), problem());
  std::uint64_t index = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(space.neighbours(index));
    index = (index + 9973) % space.size();
  }
}
BENCHMARK(find_neighbours);

}  // namespace
}  // namespace tiletune

BENCHMARK_MAIN();
