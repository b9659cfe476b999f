#include "store/row_batch.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "as_nobody.h"
#include "base/error.h"
#include "sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace row_batch_test {

namespace fs = std::filesystem;
using Mode = Database::Mode;

constexpr std::array kColumns{"key", "reason", "outcome", "source"};

void add_row(RowBatch& batch, const std::string& key, std::size_t reason_bytes = 0) {
  Trial row;
  row.key = key;
  row.reason = std::string(reason_bytes, 'x');
  batch.add(row);
}

class RowBatchTest : public ::testing::Test {
 protected:
  std::string text_of(const char* sql) const {
    SQLite::Database database(file_, SQLite::OPEN_READWRITE);
    return database.execAndGet(sql).getString();
  }
  bool has_journal() const { return fs::exists(file_.string() + "-journal"); }

  TemporaryFolder folder_;
  fs::path file_ = folder_ / "rows.db";
};

TEST_F(RowBatchTest, TheFirstRowsGoWhereTheyStayAndLaterOnesThroughTheLog) {
  Database database(file_, Mode::read_write);
  {
    RowBatch batch(database, kColumns);
    add_row(batch, "a");
    EXPECT_TRUE(has_journal());
    batch.commit();
  }
  EXPECT_FALSE(has_journal());
  EXPECT_EQ(text_of("PRAGMA journal_mode"), "wal");
  RowBatch batch(database, kColumns);
  add_row(batch, "b");
  EXPECT_FALSE(has_journal());
  batch.commit();
  EXPECT_EQ(database.trials({}).size(), 2U);
}

TEST_F(RowBatchTest, BesideAnotherUserTheLogStays) {
  Database database(file_, Mode::read_write);
  const Database reader(file_, Mode::read_only);
  RowBatch batch(database, kColumns);
  add_row(batch, "a");
  EXPECT_FALSE(has_journal());
  EXPECT_TRUE(reader.trials({}).empty());
  batch.commit();
  EXPECT_EQ(reader.trials({}).size(), 1U);
}

TEST_F(RowBatchTest, GivenUpItLeavesTheDatabaseAsItWas) {
  Database database(file_, Mode::read_write);
  {
    RowBatch batch(database, kColumns);
    add_row(batch, "a");
  }
  EXPECT_TRUE(database.trials({}).empty());
  EXPECT_EQ(text_of("PRAGMA journal_mode"), "wal");
}

/// Ends as kill -9 does, with more rows written than SQLite keeps in memory.
void add_rows_and_die(const fs::path& file) {
  const pid_t child = fork();
  if (child == 0) {
    Database database(file, Mode::read_write);
    RowBatch batch(database, kColumns);
    for (int i = 0; i < 100; ++i) add_row(batch, std::to_string(i), std::size_t{1} << 20);
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
}

TEST_F(RowBatchTest, KilledItLeavesNothing) {
  add_rows_and_die(file_);
  ASSERT_TRUE(has_journal());
  ASSERT_GT(fs::file_size(file_), 10U << 20);
  EXPECT_TRUE(Database(file_, Mode::read_only).trials({}).empty());
  EXPECT_EQ(text_of("PRAGMA integrity_check"), "ok");
  EXPECT_LT(fs::file_size(file_), 1U << 20);
}

TEST_F(RowBatchTest, WhatAKilledOneLeftIsRolledBackInACopyWhereItIsWriteProtected) {
  add_rows_and_die(file_);
  fs::permissions(file_, fs::perms{0444});
  fs::permissions(folder_.path(), fs::perms{0555});
  {
    const AsNobody nobody;
    EXPECT_TRUE(Database(file_, Mode::read_only).trials({}).empty());
  }
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

}  // namespace row_batch_test
}  // namespace tiletune
