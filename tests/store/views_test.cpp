#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "sample_trial.h"
#include "store/database.h"
#include "temporary_folder.h"

namespace tiletune {
namespace views_test {

/// The views as any SQLite program sees them.
class Views : public ::testing::Test {
 protected:
  void record(const Trial& trial) { database_.record(trial); }

  std::vector<std::string> rows(const std::string& query) {
    SQLite::Database reader(database_.file().string(), SQLite::OPEN_READONLY);
    SQLite::Statement statement(reader, query);
    std::vector<std::string> lines;
    while (statement.executeStep()) {
      std::string line;
      for (int i = 0; i < statement.getColumnCount(); ++i) {
        if (i != 0) line += ' ';
        line += statement.getColumn(i).getString();
      }
      lines.push_back(line);
    }
    return lines;
  }

  using Lines = std::vector<std::string>;
  TemporaryFolder folder_;
  Database database_{folder_ / "a.db", Database::Mode::read_write};
};

TEST_F(Views, RankingComparesOnlyWhatIsComparable) {
  record(timed_trial("slow", 20, 0));
  record(timed_trial("fast", 10, 0));
  record(timed_trial("even", 10, 0));
  Trial other = timed_trial("other gpu", 1, 0);
  other.gpu = "NVIDIA T4";
  record(other);
  other = timed_trial("other problem", 1, 0);
  other.problem = "1x1x1";
  record(other);
  other = timed_trial("replayed", 1, 0);
  other.source = Source::replayed;
  record(other);
  other = timed_trial("failed", 1, 0);
  other.outcome = Outcome::wrong_result;
  record(other);
  other = timed_trial("baseline", 1, 0);
  other.kind = "baseline";
  record(other);
  EXPECT_EQ(rows("SELECT order_by_time, key FROM ranking WHERE gpu = 'NVIDIA H200' AND problem = '64x64x64' "
                 "AND source = 'measured' ORDER BY 1, 2"),
            (Lines{"1 even", "1 fast", "3 slow"}));
  EXPECT_EQ(rows("SELECT key FROM ranking WHERE order_by_time = 1 ORDER BY 1"),
            (Lines{"even", "fast", "other gpu", "other problem", "replayed"}));
}

TEST_F(Views, PredictedRowsRankByTheirPrediction) {
  Trial trial = timed_trial("a", 5, 0);
  trial.source = Source::predicted;
  trial.median_us.reset();
  trial.predicted_us = 8;
  record(trial);
  Trial faster = trial;
  faster.key.assign(1, 'b');
  faster.parameters.clear();
  faster.predicted_us = 7;
  record(faster);
  EXPECT_EQ(rows("SELECT order_by_time, key, time_us FROM ranking ORDER BY 1"),
            (Lines{"1 b 7.0", "2 a 8.0"}));
}

TEST_F(Views, BestIsTheTiedKernelWithTheFewestRegisters) {
  Trial leader = timed_trial("leader", 100, 3);
  leader.registers = 128;
  record(leader);
  Trial tied = timed_trial("tied", 104, 2);
  tied.registers = 64;
  record(tied);
  Trial clear = timed_trial("clearly slower", 107, 0.5);
  clear.registers = 32;
  record(clear);
  Trial vague = timed_trial("vague but later", 110, 20);
  vague.registers = 16;
  record(vague);
  EXPECT_EQ(rows("SELECT key, tied_with_best FROM ranking ORDER BY time_us"),
            (Lines{"leader 1", "tied 1", "clearly slower 0", "vague but later 1"}));
  EXPECT_EQ(rows("SELECT key FROM ranking WHERE may_be_best ORDER BY time_us"), (Lines{"leader", "tied"}));
  EXPECT_EQ(rows("SELECT key FROM best"), Lines{"tied"});
}

TEST_F(Views, TiesReachHalfANoiseFloorFartherAndStayAmongFinals) {
  const auto in_finals = [](Trial trial) {
    trial.timed_in = "final";
    trial.noise_floor_percent = 2;
    return trial;
  };
  record(in_finals(timed_trial("leader", 100, 0)));
  record(timed_trial("sampled before", 100.5, 50));
  record(in_finals(timed_trial("within the noise", 101.9, 0)));
  record(in_finals(timed_trial("told apart", 102.1, 0)));
  Trial twin = in_finals(timed_trial("twin", 99, 0));
  twin.kind = "twin";
  record(twin);
  EXPECT_EQ(rows("SELECT key, tied_with_best FROM ranking ORDER BY time_us"),
            (Lines{"leader 1", "sampled before 0", "within the noise 1", "told apart 0"}));
}

TEST_F(Views, OfEqualRowsOnlyTheLatestCounts) {
  Trial old = timed_trial("old", 5, 0);
  old.recorded_at = "2026-11-20T10:00:00Z";
  Trial fresh = timed_trial("fresh", 10, 0);
  fresh.parameters = old.parameters;
  fresh.recorded_at = "2026-11-21T10:00:00Z";
  record(fresh);
  record(old);
  EXPECT_EQ(rows("SELECT order_by_time, key FROM ranking"), Lines{"1 fresh"});
  EXPECT_EQ(rows("SELECT key FROM best"), Lines{"fresh"});
}

TEST_F(Views, TheSweepThatBeganLastCountsWhateverItsNumber) {
  const auto begin = [&](const char* started_at) {
    SweepRecord sweep;
    sweep.started_at = started_at;
    return database_.begin_sweep(sweep);
  };
  Trial fresh = timed_trial("fresh", 10, 0);
  fresh.seen_in_sweep = begin("2026-11-21T10:00:00Z");
  Trial old = timed_trial("old", 5, 0);
  old.parameters = fresh.parameters;
  old.recorded_at = "2026-11-22T10:00:00Z";
  old.seen_in_sweep = begin("2026-11-20T10:00:00Z");
  Trial of_no_sweep = old;
  of_no_sweep.key = "of no sweep";
  of_no_sweep.seen_in_sweep = 0;
  database_.record_all({fresh, old, of_no_sweep});
  EXPECT_EQ(rows("SELECT key FROM ranking"), Lines{"fresh"});
  database_.mark_seen("old", begin("2026-11-21T10:00:00Z"));
  EXPECT_EQ(rows("SELECT key FROM ranking"), Lines{"old"}) << "of two that began at once the higher number";
}

TEST_F(Views, BestHasOneRowPerGroupAndEveryColumn) {
  record(timed_trial("a", 10, 0));
  record(timed_trial("b", 10, 0));
  SQLite::Database reader(database_.file().string(), SQLite::OPEN_READONLY);
  SQLite::Statement statement(reader, "SELECT * FROM best");
  ASSERT_TRUE(statement.executeStep());
  for (const Column& column : trial_columns())
    EXPECT_NO_THROW(statement.getColumn(column.name.c_str())) << column.name;
  EXPECT_FALSE(statement.executeStep());
}

TEST_F(Views, OperationsAreRankedEachAmongItsOwn) {
  for (const std::string kernel : {"conv", "hotspot"}) {
    Trial trial = timed_trial(kernel, kernel == "conv" ? 10 : 1, 0);
    trial.template_name = kernel;
    trial.operation = kernel;
    record(trial);
  }
  EXPECT_EQ(rows("SELECT order_by_time, key FROM ranking ORDER BY key"), (Lines{"1 conv", "1 hotspot"}));
  EXPECT_EQ(rows("SELECT key FROM best ORDER BY key"), (Lines{"conv", "hotspot"}));
}

TEST_F(Views, ParametersCanBeAskedForInSql) {
  Trial trial = timed_trial("a", 10, 0);
  trial.parameters = R"({"BM": 128})";
  record(trial);
  record(timed_trial("without", 20, 0));
  EXPECT_EQ(rows("SELECT key FROM trial WHERE json_extract(parameters, '$.BM') = 128"), Lines{"a"});
}

}  // namespace views_test
}  // namespace tiletune
