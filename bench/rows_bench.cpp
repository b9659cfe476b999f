// How the loop, the database and the ranking bear many rows: records them through the real sweep with an
// evaluator that answers at once, then ranks them. Prints rows per second, wall time and the peak of resident
// memory.
//   bench_rows [ROWS] [ok|refused] [DATABASE]
// Targets at 10^6 rows: recording under 300 MB; ranking within 10 s and 500 MB, for which `tiletune rank --db
// DATABASE` counts, because this process has the recording behind it.

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "rank/ranking.h"
#include "temporary_folder.h"
#include "tune/many_rows.h"

namespace tiletune {
namespace {

class Silence : public SweepObserver {
 public:
  void on_progress(const ProgressState& /*state*/) override {}
  void on_note(const std::string& /*line*/) override {}
};

double peak_resident_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

double seconds_of(const std::function<void()>& action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void print(const char* what, std::uint64_t rows, double seconds) {
  fmt::print("{:<8} {:>8} rows  {:>8.1f} s  {:>8.0f} rows/s  peak {:>5.0f} MB\n", what, rows, seconds,
             static_cast<double>(rows) / seconds, peak_resident_mb());
  std::fflush(stdout);
}

void record(std::uint64_t rows, bool refused, const std::filesystem::path& folder, Database& database) {
  const auto height = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(rows)));
  LoadOptions load;
  const TuneSpec spec = load_tune_spec(write_wide_space(folder, rows / height, height, refused), load);
  std::vector<GpuSet> gpu_sets = pretended_gpu_set(spec, home_folder());
  SweepOptions options;
  options.compile.workers = 1;
  options.compile.cache_folder = folder / "cubin";
  Silence silence;
  SweepSummary summary;
  const double seconds = seconds_of([&] { summary = run_sweep(spec, gpu_sets, database, options, silence); });
  print("record", summary.finished, seconds);
}

void rank(const Database& database) {
  std::size_t ranked = 0;
  const double seconds = seconds_of([&] {
    RankingRows rows = ranking_rows(database, {});
    for (const RankingGroup& group : rank_rows(rows)) ranked += group.rows.size();
  });
  print("rank", ranked, seconds);
}

}  // namespace
}  // namespace tiletune

int main(int argc, char** argv) {
  using namespace tiletune;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "compile-worker") return run_compile_worker();
  const std::uint64_t rows = arguments.empty() ? 1000000 : std::stoull(arguments[0]);
  const bool refused = arguments.size() > 1 && arguments[1] == "refused";
  const TemporaryFolder folder;
  Database database(arguments.size() > 2 ? std::filesystem::path(arguments[2]) : folder / "rows.db",
                    Database::Mode::read_write);
  record(rows, refused, folder.path(), database);
  rank(database);
  return 0;
}
