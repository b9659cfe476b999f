#include "store/upgrade.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "as_nobody.h"
#include "carries.h"
#include "sample_trial.h"
#include "store/database.h"
#include "temporary_folder.h"

namespace tiletune {
namespace upgrade_test {

using Mode = Database::Mode;

/// A database that tiletune wrote when schema 1 was the newest: a baseline and three kernels.
class Upgrade : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream stream(std::string(TILETUNE_SOURCE_DIR) + "/tests/store/schema_1.sql");
    std::stringstream text;
    text << stream.rdbuf();
    sql(text.str());
  }

  void sql(const std::string& text) const {
    SQLite::Database(file_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(text);
  }
  std::string answer(const std::string& query) const {
    return SQLite::Database(file_, SQLite::OPEN_READONLY).execAndGet(query).getString();
  }
  std::string refusal(Mode mode) const {
    return error_of([&] { Database(file_, mode); });
  }

  void expect_schema_1() const {
    EXPECT_EQ(answer("PRAGMA user_version"), "1");
    EXPECT_EQ(answer("SELECT count(*) FROM pragma_table_info('trial') WHERE name = 'timed_in'"), "0");
    EXPECT_EQ(answer("SELECT count(*) FROM sqlite_schema WHERE name IN ('sweep_trial', 'calibration')"), "0");
    EXPECT_EQ(answer("SELECT length(samples_us) FROM trial WHERE id = 2"), "40");
    EXPECT_EQ(answer("SELECT count(*) FROM ranking"), "3");
  }

  /// The samples of a row of schema 1.
  std::vector<double> old_samples(const std::string& key) const {
    SQLite::Database database(file_, SQLite::OPEN_READONLY);
    SQLite::Statement query(database, "SELECT samples_us FROM trial WHERE \"key\" = ?");
    query.bind(1, key);
    query.executeStep();
    const SQLite::Column cell = query.getColumn(0);
    std::vector<double> samples(static_cast<std::size_t>(cell.getBytes()) / sizeof(double));
    std::memcpy(samples.data(), cell.getBlob(), samples.size() * sizeof(double));
    return samples;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "old.db";
};

TEST_F(Upgrade, RowsKeepAllTheyHadAndNewColumnsAreAbsent) {
  const std::string kernel = "54d03f98e8f7ad9c94074e58e5c33e32";
  const std::vector<double> samples = old_samples(kernel);
  const Database database(file_, Mode::read_write);
  const std::vector<Trial> trials = database.trials({});
  ASSERT_EQ(trials.size(), 4U);
  const Trial& trial = trials[1];
  EXPECT_EQ(trial.key, kernel);
  EXPECT_EQ(trial.parameters, R"({"BM":4,"BN":64})");
  EXPECT_EQ(trial.median_us, 331.55199885368347167);
  EXPECT_EQ(trial.blocks_per_multiprocessor, 8);
  EXPECT_EQ(trial.host, "vm");
  ASSERT_EQ(samples.size(), 5U);
  EXPECT_EQ(trial.samples_us, samples);
  EXPECT_EQ(trial.timed_in, "");
  EXPECT_EQ(trial.noise_floor_percent, std::nullopt);
  EXPECT_TRUE(trial.clocks_mhz.empty());
  EXPECT_EQ(database.sweeps().at(0).command, "tiletune sweep configs/quick.json --limit 5");
}

TEST_F(Upgrade, SamplesTakeLess) {
  const auto bytes = [&] { return std::stoi(answer("SELECT sum(length(samples_us)) FROM trial")); };
  const int before = bytes();
  Database(file_, Mode::read_write);
  EXPECT_LT(bytes(), before);
}

TEST_F(Upgrade, TheBaselineGetsItsNameAndItsLibrary) {
  const Database database(file_, Mode::read_write);
  const std::vector<Trial> trials = database.trials({});
  EXPECT_EQ(trials.at(1).baseline, "cublas");
  EXPECT_EQ(trials.at(0).kind, "baseline");
  EXPECT_EQ(trials.at(0).kernel_expression, "");
  EXPECT_EQ(trials.at(0).derived, R"({"library":"cuBLAS 13.1.0","algorithm":""})");
  EXPECT_EQ(trials.at(1).derived, R"({"THREADS":256})");
}

TEST_F(Upgrade, AnUpgradedDatabaseTakesNewRowsAndRanksThem) {
  Database database(file_, Mode::read_write);
  const std::int64_t sweep = database.begin_sweep({});
  database.record(filled_trial("new", sweep));
  CalibrationRecord calibration;
  calibration.gpu_uuid = "GPU-1";
  database.record_calibration(calibration);
  Trial faster = database.trials({}).at(1);
  faster.median_us = 1;
  faster.ci_low_us = faster.ci_high_us = 1;
  faster.timed_in = "final";
  database.record(faster);
  EXPECT_EQ(answer("SELECT \"key\" FROM best"), faster.key);
  EXPECT_EQ(database.trials({.sweep_id = 1}).size(), 4U) << "the rows of the old sweep are known";
  EXPECT_EQ(database.trials({.sweep_id = sweep}).size(), 1U);
  EXPECT_TRUE(database.calibration("GPU-1", "").has_value());
}

TEST_F(Upgrade, ReadingUpgradesACopyAlone) {
  Database reader(file_, Mode::read_only);
  EXPECT_EQ(reader.trials({}).size(), 4U);
  EXPECT_EQ(reader.sweeps().size(), 1U);
  EXPECT_ANY_THROW(reader.record(timed_trial("a", 1, 0)));
  expect_schema_1();
}

TEST_F(Upgrade, WhatWasColdUpToSchema4IsDirty) {
  {
    Database database(file_, Mode::read_write);
    Trial cold = timed_trial("cold", 1, 0);
    cold.cache = "cold";
    Trial warm = timed_trial("warm", 1, 0);
    warm.cache = "warm";
    database.record(cold);
    database.record(warm);
    CalibrationRecord calibration;
    calibration.gpu_uuid = "GPU-1";
    calibration.read_gbs = 4500;
    database.record_calibration(calibration);
  }
  sql("DROP VIEW best; DROP VIEW ranking; ALTER TABLE trial DROP COLUMN printed; "
      "ALTER TABLE calibration DROP COLUMN read_gbs; PRAGMA user_version = 4");
  Database database(file_, Mode::read_write);
  EXPECT_EQ(database.find("cold")->cache, "dirty");
  EXPECT_EQ(database.find("warm")->cache, "warm");
  EXPECT_EQ(database.find("cold")->printed, "");
  EXPECT_EQ(database.calibration("GPU-1", "")->read_gbs, 0) << "so that it is not used";
  Trial cold = timed_trial("new", 1, 0);
  cold.cache = "cold";
  database.record(cold);
  EXPECT_EQ(answer("PRAGMA user_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(Database(file_, Mode::read_write).find("new")->cache, "cold");
}

TEST_F(Upgrade, Schema2GetsTheViewsOfToday) {
  { Database(file_, Mode::read_write); }
  const std::string views = answer("SELECT group_concat(sql) FROM sqlite_schema WHERE type = 'view'");
  sql("DROP VIEW best; DROP VIEW ranking; CREATE VIEW ranking AS SELECT * FROM trial; "
      "CREATE VIEW best AS SELECT * FROM ranking; PRAGMA user_version = 2");
  { EXPECT_EQ(Database(file_, Mode::read_write).trials({}).size(), 4U); }
  EXPECT_EQ(answer("PRAGMA user_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(answer("SELECT group_concat(sql) FROM sqlite_schema WHERE type = 'view'"), views);
}

TEST_F(Upgrade, SweepsOfSchema9AreOfAllOfTheSpace) {
  {
    Database database(file_, Mode::read_write);
    SweepRecord sweep;
    sweep.host = "before";
    database.begin_sweep(sweep);
  }
  sql("ALTER TABLE sweep DROP COLUMN shard; PRAGMA user_version = 9");
  EXPECT_EQ(Database(file_, Mode::read_only).sweeps().back().shard, "");
  Database database(file_, Mode::read_write);
  EXPECT_EQ(database.sweeps().back().host, "before");
  SweepRecord shard;
  shard.shard = "1/2";
  database.begin_sweep(shard);
  EXPECT_EQ(database.sweeps().back().shard, "1/2");
}

TEST_F(Upgrade, Schema3GetsTheKeysAndIndicesOfToday) {
  {
    Database database(file_, Mode::read_write);
    Trial dated = timed_trial("0123456789abcdef0123456789abcdef", 1, 0);
    dated.source = Source::imported;
    dated.recorded_at = "2026-11-22T10:05:20Z";
    database.record(dated);
    Trial undated = timed_trial("fedcba9876543210fedcba9876543210", 1, 0);
    undated.source = Source::imported;
    database.record(undated);
  }
  const auto keys = [&] {
    return answer("SELECT group_concat(\"key\") FROM trial WHERE source = 'imported'");
  };
  const std::string schema = answer("SELECT group_concat(sql) FROM sqlite_schema");
  sql("DROP INDEX trial_baseline; CREATE INDEX trial_comparable ON trial(gpu); CREATE TRIGGER trial_made "
      "AFTER INSERT ON trial BEGIN DELETE FROM trial; END; PRAGMA user_version = 3");
  { Database(file_, Mode::read_write); }
  EXPECT_EQ(keys(), "20261122100520ef0123456789abcdef,fedcba9876543210fedcba9876543210");
  EXPECT_EQ(answer("SELECT group_concat(sql) FROM sqlite_schema"), schema);
  EXPECT_EQ(answer("SELECT count(*) FROM trial WHERE source = 'measured' AND length(\"key\") = 32"), "4");
}

TEST_F(Upgrade, ASecondOpeningChangesNothing) {
  { Database(file_, Mode::read_write); }
  const std::string schema = answer("SELECT group_concat(sql) FROM sqlite_schema");
  const std::string samples = answer("SELECT hex(group_concat(hex(samples_us))) FROM trial");
  { Database(file_, Mode::read_write); }
  { Database(file_, Mode::read_only); }
  EXPECT_EQ(answer("SELECT group_concat(sql) FROM sqlite_schema"), schema);
  EXPECT_EQ(answer("SELECT hex(group_concat(hex(samples_us))) FROM trial"), samples);
}

TEST_F(Upgrade, ManyAtOnceUpgradeOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_EQ(Database(file_, i % 2 == 0 ? Mode::read_only : Mode::read_write).trials({}).size(), 4U);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answer("PRAGMA user_version"), std::to_string(kSchemaVersion));
}

TEST_F(Upgrade, WhatCannotBeWrittenIsReadAllTheSame) {
  std::filesystem::permissions(file_, std::filesystem::perms{0444});
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0555});
  {
    const AsNobody nobody;
    EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 4U);
    EXPECT_TRUE(carries(refusal(Mode::read_write), {"write-protected"}));
  }
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
  expect_schema_1();
}

TEST_F(Upgrade, WhatIsNotOfThatSchemaStaysAsItIs) {
  const auto expect_refused = [&](std::vector<std::string> parts) {
    parts.push_back(file_.string() + ":");
    for (const Mode mode : {Mode::read_only, Mode::read_write}) {
      EXPECT_TRUE(carries(refusal(mode), parts));
    }
  };
  sql("CREATE TABLE calibration (other TEXT)");
  expect_refused({"table calibration", "'CREATE TABLE calibration ( )'"});
  sql("DROP TABLE calibration; CREATE INDEX mine ON trial(abs(id))");
  expect_refused({"table trial", "index 'mine'"});
  sql("DROP INDEX mine");
  expect_schema_1();
  sql("DROP VIEW best; DROP VIEW ranking; ALTER TABLE trial RENAME COLUMN \"key\" TO lost");
  expect_refused({"table trial", "'\"lost\" TEXT NOT NULL UNIQUE CHECK ( lost < > '' )'"});
  EXPECT_EQ(answer("PRAGMA user_version"), "1");
}

TEST_F(Upgrade, DamageIsFoundWhileUpgrading) {
  sql("DROP VIEW best; DROP VIEW ranking; CREATE TABLE best (n)");
  EXPECT_TRUE(carries(refusal(Mode::read_only), {"schema 1", "damaged", "DROP TABLE"}));
  sql("DROP TABLE best; CREATE VIEW best AS SELECT 1; CREATE VIEW ranking AS SELECT 1 AS n, 2 AS m, 3 AS o");
  EXPECT_EQ(refusal(Mode::read_only), "no error");
}

/// The child is killed when everything is done but the commit; with a cache of one page the file, or the
/// log, holds most of it by then.
void kill_in_the_middle(const std::filesystem::path& file) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    SQLite::Database database(file, SQLite::OPEN_READWRITE);
    database.exec("PRAGMA cache_size = 1");
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    upgrade(database, file);
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  waitpid(child, nullptr, 0);
}

TEST_F(Upgrade, KilledInTheMiddleItLeavesSchema1) {
  for (const char* journal : {"DELETE", "WAL"}) {
    sql(std::string("PRAGMA journal_mode = ") + journal);
    kill_in_the_middle(file_);
    sql("BEGIN IMMEDIATE; COMMIT");  // A writer rolls back what the killed one left.
    expect_schema_1();
  }
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 4U);
}

}  // namespace upgrade_test
}  // namespace tiletune
