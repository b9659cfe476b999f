#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "as_nobody.h"
#include "carries.h"
#include "sample_trial.h"
#include "store/database.h"
#include "store/samples.h"
#include "store/schema.h"
#include "temporary_folder.h"

namespace tiletune {
namespace upgrade_test {

using Mode = Database::Mode;

/// A database that version 0.2 wrote: a baseline and three kernels.
class Upgrade : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream stream(std::string(TILETUNE_SOURCE_DIR) + "/tests/store/schema_13.sql");
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

  void expect_schema_13() const {
    EXPECT_EQ(answer("PRAGMA user_version"), "13");
    EXPECT_EQ(answer("SELECT count(*) FROM pragma_table_info('trial') WHERE name = 'source_hash'"), "0");
    EXPECT_EQ(answer("SELECT count(*) FROM ranking"), "3");
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "old.db";
};

TEST_F(Upgrade, RowsKeepAllTheyHadAndNewColumnsAreEmpty) {
  const std::string samples = answer("SELECT hex(samples_us) FROM trial WHERE id = 2");
  const Database database(file_, Mode::read_write);
  const std::vector<Trial> trials = database.trials({});
  ASSERT_EQ(trials.size(), 4U);
  const Trial& trial = trials[1];
  EXPECT_EQ(trial.key, "54d03f98e8f7ad9c94074e58e5c33e32");
  EXPECT_EQ(trial.parameters, R"({"BM":4,"BN":64})");
  EXPECT_EQ(trial.median_us, 331.55199885368347167);
  EXPECT_EQ(trial.blocks_per_multiprocessor, 8);
  EXPECT_EQ(trial.samples_us.size(), 5U);
  EXPECT_EQ(answer("SELECT hex(samples_us) FROM trial WHERE id = 2"), samples);
  EXPECT_EQ(trial.source_hash, "");
  EXPECT_EQ(database.sweeps().at(0).command, "tiletune sweep configs/quick.json --limit 5");
}

TEST_F(Upgrade, FiguresKeepEveryBitInOneColumn) {
  sql("UPDATE trial SET power_w = NULL; UPDATE trial SET isolated_us = 0.1 + 0.2, power_w = 1e-300, "
      "probability_near_best = 0.12345678901234567 WHERE id = 2");
  for (const char* version : {"13", "14"}) {
    if (version == std::string("14"))
      sql("ALTER TABLE trial ADD COLUMN \"source_hash\" TEXT NOT NULL DEFAULT ''; PRAGMA user_version = 14");
    const Database database(file_, Mode::read_only);
    const Trial trial = database.trials({}).at(1);
    EXPECT_EQ(trial.isolated_us, 0.1 + 0.2);
    EXPECT_EQ(trial.power_w, 1e-300);
    EXPECT_EQ(trial.probability_near_best, 0.12345678901234567);
    EXPECT_EQ(trial.sustained_us, std::nullopt);
    EXPECT_EQ(database.cell(2, column_by_name("isolated_us")), Cell(0.1 + 0.2));
    EXPECT_EQ(database.cell(3, column_by_name("isolated_us")), Cell());
  }
  { Database(file_, Mode::read_write); }
  EXPECT_EQ(answer("SELECT count(*) FROM trial WHERE figures IS NOT NULL"), "1");
  EXPECT_EQ(answer("SELECT count(*) FROM pragma_table_info('trial') WHERE name = 'isolated_us'"), "0");
  EXPECT_EQ(answer("SELECT power_w FROM ranking WHERE power_w IS NOT NULL"), "1.0e-300");
}

TEST_F(Upgrade, TheTableIsThatOfANewDatabaseAndReferencesStay) {
  sql("CREATE VIEW mine AS SELECT isolated_us, nowhere(key) FROM trial");
  const std::string members = answer("SELECT sql FROM sqlite_schema WHERE name = 'sweep_trial'");
  { Database(file_, Mode::read_write); }
  const std::filesystem::path fresh = folder_ / "fresh.db";
  { Database(fresh, Mode::read_write); }
  for (const std::string object : {"trial", "ranking", "best", "trial_source", "trial_baseline"}) {
    const std::string query = "SELECT sql FROM sqlite_schema WHERE name = '" + object + "'";
    EXPECT_EQ(answer(query), SQLite::Database(fresh).execAndGet(query).getString()) << object;
  }
  EXPECT_EQ(answer("SELECT sql FROM sqlite_schema WHERE name = 'sweep_trial'"), members);
  EXPECT_EQ(answer("SELECT count(*) FROM pragma_foreign_key_check"), "0");
  EXPECT_EQ(answer("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%before%'"), "0");
  EXPECT_EQ(answer("SELECT count(*) FROM sqlite_schema WHERE name = 'mine'"), "1");
  EXPECT_EQ(answer("PRAGMA integrity_check"), "ok");
}

TEST_F(Upgrade, SamplesThatVersion01PackedAreForgotten) {
  sql("UPDATE trial SET samples_us = x'02000206040102', clocks_mhz = x'01000100014000' WHERE id = 2");
  for (const Mode mode : {Mode::read_only, Mode::read_write}) {
    const Database database(file_, mode);
    EXPECT_TRUE(database.trials({}).at(1).samples_us.empty());
    EXPECT_TRUE(database.trials({}).at(1).clocks_mhz.empty());
    EXPECT_EQ(database.trials({}).at(1).median_us, 331.55199885368347167);
    EXPECT_EQ(database.trials({}).at(2).samples_us.size(), 5U);
  }
}

TEST_F(Upgrade, EarlierSchemasAreRefused) {
  for (const char* version : {"12", "1"}) {
    sql(std::string("PRAGMA user_version = ") + version);
    for (const Mode mode : {Mode::read_only, Mode::read_write}) {
      EXPECT_TRUE(carries(refusal(mode), {file_.string() + ":", std::string("has schema ") + version,
                                          "reads schemas 13 to", "tiletune merge OLD.db -o NEW.db"}));
    }
    EXPECT_EQ(answer("PRAGMA user_version"), version);
  }
}

TEST_F(Upgrade, ColumnsThatVersion02AddedToEarlierSchemasAreKnown) {
  sql("ALTER TABLE calibration DROP COLUMN read_gbs; "
      "ALTER TABLE calibration ADD COLUMN read_gbs REAL NOT NULL DEFAULT 0");
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 4U);
  EXPECT_EQ(Database(file_, Mode::read_write).trials({}).size(), 4U);
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
  expect_schema_13();
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
  expect_schema_13();
}

TEST_F(Upgrade, WhatIsNotOfThatSchemaStaysAsItIs) {
  const auto expect_refused = [&](std::vector<std::string> parts) {
    parts.push_back(file_.string() + ":");
    for (const Mode mode : {Mode::read_only, Mode::read_write}) {
      EXPECT_TRUE(carries(refusal(mode), parts));
    }
  };
  const std::string calibration = answer("SELECT sql FROM sqlite_schema WHERE name = 'calibration'");
  sql("DROP TABLE calibration; CREATE TABLE calibration (other TEXT)");
  expect_refused({"table calibration", "'CREATE TABLE calibration ( )'"});
  sql("DROP TABLE calibration; " + calibration + "; CREATE INDEX mine ON trial(abs(id))");
  expect_refused({"table trial", "index 'mine'"});
  sql("DROP INDEX mine");
  expect_schema_13();
  sql("DROP VIEW best; DROP VIEW ranking; ALTER TABLE trial RENAME COLUMN \"key\" TO lost");
  expect_refused({"table trial", "'\"lost\" TEXT NOT NULL UNIQUE CHECK ( lost < > '' )'"});
  EXPECT_EQ(answer("PRAGMA user_version"), "13");
}

TEST_F(Upgrade, DamageIsFoundWhileUpgrading) {
  sql("DROP VIEW best; DROP VIEW ranking; CREATE TABLE best (n)");
  EXPECT_TRUE(carries(refusal(Mode::read_only), {"schema 13", "damaged", "DROP TABLE"}));
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

TEST_F(Upgrade, KilledInTheMiddleItLeavesSchema13) {
  for (const char* journal : {"DELETE", "WAL"}) {
    sql(std::string("PRAGMA journal_mode = ") + journal);
    kill_in_the_middle(file_);
    sql("BEGIN IMMEDIATE; COMMIT");  // A writer rolls back what the killed one left.
    expect_schema_13();
  }
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 4U);
}

}  // namespace upgrade_test
}  // namespace tiletune
