#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "carries.h"
#include "rank/rows.h"
#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace databases_test {

std::int64_t begin(Database& database, const std::string& started_at) {
  SweepRecord sweep;
  sweep.started_at = started_at;
  return database.begin_sweep(sweep);
}

Trial of_sweep(const std::string& key, double median_us, std::int64_t sweep) {
  Trial trial = timed_trial(key, median_us, 1);
  trial.parameters = "{}";
  trial.sweep_id = trial.seen_in_sweep = sweep;
  return trial;
}

TEST(Databases, RowsAreReadBackByTheIdsTheyCameWith) {
  const TemporaryFolder folder;
  Database first(folder / "a.db", Database::Mode::read_write);
  Database second(folder / "b.db", Database::Mode::read_write);
  first.record_all({timed_trial("a1", 1, 0), timed_trial("a2", 2, 0)});
  second.record_all({timed_trial("b1", 3, 0)});
  const Databases databases({&first, &second});
  std::vector<std::int64_t> ids;
  static constexpr std::array kKey{"key"};
  databases.for_each({}, kKey, [&](std::int64_t id, Trial&) { ids.push_back(id); });
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(databases.row(ids[1]).key, "a2");
  EXPECT_EQ(databases.row(ids[2]).key, "b1");
  EXPECT_EQ(Databases::index_of(ids[2]), 1U);
}

TEST(Databases, TheLatestSweepOverAllDecidesWhichOfEqualRowsCounts) {
  const TemporaryFolder folder;
  Database late(folder / "late.db", Database::Mode::read_write);
  Database early(folder / "early.db", Database::Mode::read_write);
  begin(early, "2026-11-20T10:00:00Z");
  begin(early, "2026-11-20T11:00:00Z");
  early.record(of_sweep("old", 10, 2));
  begin(late, "2026-11-21T10:00:00Z");
  late.record(of_sweep("new", 20, 1));
  const Databases databases({&late, &early});
  RankingRows rows;
  databases.for_each({}, ranking_columns(), [&](std::int64_t id, Trial& trial) { rows.add(id, trial); });
  const auto sets = rows.comparable();
  ASSERT_EQ(sets.size(), 1U);
  ASSERT_EQ(sets[0].kernels.size(), 1U);
  EXPECT_EQ(databases.row(sets[0].kernels[0].id).key, "new");
}

/// A database whose sweeps have come from others.
TEST(Databases, TheLatestSweepOfOneDatabaseIsNotTheOneOfTheHighestNumber) {
  const TemporaryFolder folder;
  Database database(folder / "merged.db", Database::Mode::read_write);
  database.record(of_sweep("new", 20, begin(database, "2026-11-21T10:00:00Z")));
  database.record(of_sweep("old", 10, begin(database, "2026-11-20T10:00:00Z")));
  RankingRows alone = ranking_rows(database, {});
  ASSERT_EQ(alone.comparable().size(), 1U);
  EXPECT_EQ(database.row(alone.comparable()[0].kernels[0].id).key, "new");
  const Databases databases({&database});
  RankingRows rows;
  std::vector<std::int64_t> sweeps;
  databases.for_each({}, ranking_columns(), [&](std::int64_t id, Trial& trial) {
    rows.add(id, trial);
    sweeps.push_back(trial.sweep_id);
  });
  EXPECT_EQ(databases.row(rows.comparable()[0].kernels[0].id).key, "new");
  EXPECT_EQ(sweeps, (std::vector<std::int64_t>{1, 2})) << "as people know them";
}

TEST(Databases, RefuseAnIdThatWouldBeOfAnotherDatabase) {
  for (const char* id : {"281474976710656", "-1"}) {
    const TemporaryFolder folder;
    Database strange(folder / "a.db", Database::Mode::read_write);
    strange.record(timed_trial("a", 1, 0));
    SQLite::Database(strange.file().string(), SQLite::OPEN_READWRITE)
        .exec(std::string("UPDATE trial SET id = ") + id);
    static constexpr std::array kKey{"key"};
    try {
      Databases({&strange}).for_each({}, kKey, [](std::int64_t, Trial&) {});
      ADD_FAILURE() << id << " is taken";
    } catch (const UserError& error) {
      EXPECT_TRUE(carries(error.message(), {id}));
    }
  }
}

}  // namespace databases_test
}  // namespace tiletune
