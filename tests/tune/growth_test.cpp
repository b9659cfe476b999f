// Memory must not grow with the number of configurations. What is counted is the live heap without SQLite's
// own memory, which is a cache of bounded size: unlike resident memory it is the same in every run.

#include <gtest/gtest.h>
#include <malloc.h>
#include <sqlite3.h>

#include <algorithm>
#include <ostream>
#include <streambuf>

#include "output/export.h"
#include "output/views.h"
#include "rank/compare.h"
#include "rank/ranking.h"
#include "rank/rows.h"
#include "store/sample_trial.h"
#include "temporary_folder.h"
#include "tune/inspection.h"
#include "tune/many_rows.h"

namespace tiletune {
namespace growth_test {

std::int64_t live_heap() {
  const struct mallinfo2 heap = ::mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd) - sqlite3_memory_used();
}

/// Sanitizers bring a heap of their own, of which nothing is known here.
bool heap_can_be_counted() { return ::mallinfo2().uordblks > 0; }

/// Where shipped templates and operations are found.
LoadOptions shipped() {
  LoadOptions options;
  options.template_folders = {std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
  return options;
}

/// The live heap when `first` rows are done, and the most of it later.
class HeapWatcher : public SweepObserver {
 public:
  explicit HeapWatcher(std::uint64_t first) : first_(first) {}
  void on_progress(const ProgressState& state) override {
    if (state.done < first_) return;
    if (!at_first) at_first = live_heap();
    most = std::max(most, live_heap());
  }
  void on_note(const std::string& /*line*/) override {}

  std::optional<std::int64_t> at_first;
  std::int64_t most = 0;

 private:
  std::uint64_t first_;
};

/// Takes everything in and keeps nothing.
class CountingSink : public std::streambuf {
 public:
  std::int64_t bytes = 0;
  std::int64_t most_heap = 0;

 protected:
  int_type overflow(int_type c) override {
    ++bytes;
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* /*text*/, std::streamsize count) override {
    bytes += count;
    most_heap = std::max(most_heap, live_heap());
    return count;
  }
};

class Growth : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!heap_can_be_counted()) GTEST_SKIP() << "this heap cannot be counted";
  }

  SweepSummary sweep(std::uint64_t width, std::uint64_t height, bool refused, SweepObserver& observer) {
    const TuneSpec spec = load_tune_spec(write_wide_space(folder_.path(), width, height, refused), shipped());
    std::vector<GpuSet> gpu_sets = pretended_gpu_set(spec, TILETUNE_SOURCE_DIR);
    SweepOptions options;
    options.compile = compile_options();
    return run_sweep(spec, gpu_sets, database_, options, observer);
  }

  CompilePoolOptions compile_options() const {
    CompilePoolOptions options;
    options.workers = 1;
    options.cache_folder = folder_ / "cubin";
    options.program = std::string(TILETUNE_BINARY_DIR) + "/tiletune";
    return options;
  }

  void expect_flat(bool refused, Outcome outcome) {
    constexpr std::int64_t kFirst = 500;
    constexpr std::int64_t kRows = 3000;
    constexpr std::int64_t kMostBytesPerRow = 40;
    HeapWatcher watcher(kFirst);
    const SweepSummary summary = sweep(100, kRows / 100, refused, watcher);
    ASSERT_EQ(summary.outcomes.at(outcome), static_cast<std::uint64_t>(kRows));
    const std::int64_t growth = watcher.most - watcher.at_first.value();
    RecordProperty("bytes_of_growth", std::to_string(growth));
    EXPECT_LT(growth, kMostBytesPerRow * (kRows - kFirst));
  }

  /// More than the heap before, at most, while `write` writes.
  template <typename Write>
  std::int64_t heap_while(std::int64_t& bytes, Write write) {
    CountingSink sink;
    std::ostream out(&sink);
    const std::int64_t before = live_heap();
    write(out);
    bytes = sink.bytes;
    RecordProperty("bytes_of_heap_for_" + std::to_string(bytes), std::to_string(sink.most_heap - before));
    return sink.most_heap - before;
  }

  TemporaryFolder folder_;
  Database database_{folder_ / "rows.db", Database::Mode::read_write};
};

TEST_F(Growth, ASweepKeepsNothingOfRowsThatRan) { expect_flat(false, Outcome::ok); }

TEST_F(Growth, ASweepKeepsNothingOfRefusedRows) { expect_flat(true, Outcome::refused); }

TEST_F(Growth, AnInspectionKeepsNothingOfItsRows) {
  constexpr std::int64_t kFirst = 1000;
  constexpr std::int64_t kRows = 5000;
  constexpr std::int64_t kMostBytesPerRow = 40;
  for (const bool refused : {false, true}) {
    const TuneSpec spec =
        load_tune_spec(write_wide_space(folder_.path(), 100, kRows / 100, refused), shipped());
    std::vector<Task> tasks = plan_tasks(spec);
    std::int64_t rows = 0;
    std::int64_t at_first = 0;
    std::int64_t most = 0;
    const auto count = [&](const InspectedConfiguration& row) {
      EXPECT_EQ(row.gpus.at(0).outcome, refused ? Outcome::refused : Outcome::ok);
      if (++rows == kFirst) at_first = most = live_heap();
      if (rows > kFirst) most = std::max(most, live_heap());
    };
    inspect_tasks(spec, tasks, {pretended_target(TILETUNE_SOURCE_DIR)}, compile_options(), false,
                  {count, [](std::size_t, std::size_t) {}, [] { return false; }});
    EXPECT_EQ(rows, kRows);
    EXPECT_LT(most - at_first, kMostBytesPerRow * (kRows - kFirst)) << "refused: " << refused;
  }
}

TEST_F(Growth, RankingAndWritingOutTakeLittlePerRow) {
  constexpr std::int64_t kRows = 2000;
  HeapWatcher watcher(kRows);
  sweep(100, kRows / 100, false, watcher);
  const std::int64_t before = live_heap();
  RankingRows rows = ranking_rows(database_, {});
  EXPECT_LT(live_heap() - before, 320 * kRows) << "twice a row, because a vector doubles";
  const auto workloads = rank_rows(rows);
  rows = RankingRows();
  ASSERT_EQ(workloads.at(0).rows.size(), static_cast<std::size_t>(kRows));
  RankingRequest all;
  all.limit = 0;
  constexpr std::int64_t kLeastBytesPerRow = 500;
  // Writing takes 100 KiB for any number of rows: columns, statements of the database, text of one row.
  constexpr std::int64_t kMostHeap = 32 * kRows + 128 * 1024;
  for (const Format format : {Format::csv, Format::json}) {
    std::int64_t bytes = 0;
    EXPECT_LT(
        heap_while(bytes,
                   [&](auto& out) { write_view(out, rankings_view(workloads, database_, all), format, {}); }),
        kMostHeap);
    EXPECT_GT(bytes, kLeastBytesPerRow * kRows);
  }
  std::int64_t bytes = 0;
  EXPECT_LT(heap_while(bytes, [&](auto& out) { write_export(out, database_, {.samples = true}); }),
            kMostHeap);
  EXPECT_GT(bytes, kLeastBytesPerRow * kRows);
}

/// Half of them are on another GPU.
std::vector<Trial> rows_of_two_gpus(std::int64_t count) {
  std::vector<Trial> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool second = i >= count / 2;
    const std::int64_t x = i % (count / 2);
    rows.push_back(timed_trial(std::to_string(i), 100 + static_cast<double>((x * 7919) % 4001), 1));
    rows.back().gpu = second ? "B" : "A";
    rows.back().parameters = "{\"x\":" + std::to_string(x) + "}";
  }
  return rows;
}

TEST_F(Growth, ComparingTakesLittlePerRow) {
  constexpr std::int64_t kRows = 20000;
  database_.record_all(rows_of_two_gpus(kRows));
  const Databases databases({&database_});
  const GpuAlias alias = [](const std::string& gpu) { return gpu; };
  const std::int64_t before = live_heap();
  SideRows dealt(CompareBy::gpu, {"rows.db"}, alias);
  databases.for_each({}, compare_columns(), [&](std::int64_t id, Trial& trial) { dealt.add(0, id, trial); });
  std::vector<Side> sides = dealt.take({});
  const Comparison comparison = compare_sides(CompareBy::gpu, sides, alias);
  const std::int64_t most = live_heap();
  EXPECT_EQ(comparison.problems.at(0).common, static_cast<std::size_t>(kRows / 2));
  EXPECT_DOUBLE_EQ(*comparison.problems.at(0).pairs.at(0).spearman, 1);
  EXPECT_LT(most - before, 400 * kRows) << "a row, twice because a vector doubles, and its identity";
}

}  // namespace growth_test
}  // namespace tiletune
