#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <chrono>
#include <fstream>

#include "carries.h"
#include "store/connection.h"
#include "store/integrity.h"
#include "temporary_folder.h"

namespace tiletune {
namespace file_watch_test {

namespace fs = std::filesystem;

TEST(FileWatch, ALockedFileIsLookedAtAgainWhenItIsFree) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.db";
  SQLite::Database other(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  other.exec("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))");
  FileWatch watch(file);
  other.exec("BEGIN EXCLUSIVE");
  fs::resize_file(file, 20000);
  EXPECT_EQ(error_of([&] { watch.check(); }), "no error") << "nobody can tell";
  other.exec("ROLLBACK");
  EXPECT_TRUE(carries(error_of([&] { watch.check(); }), {file.string(), "cut off"}));
}

// The undefined-behaviour sanitizer takes two descriptors to look at memory, and reports what it cannot look
// at.
#ifndef TILETUNE_SANITIZED
TEST(FileWatch, AFileThatCannotBeLookedAtNowIsLookedAtLater) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.db";
  SQLite::Database(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))");
  FileWatch watch(file);
  fs::resize_file(file, 20000);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{3, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const std::string error = error_of([&] { watch.check(); });
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(error, "no error") << "nothing could be opened";
  EXPECT_NE(error_of([&] { watch.check(); }), "no error");
}
#endif

TEST(FileWatch, AFileMadeShorterByVacuumIsSound) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.db";
  SQLite::Database other(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  other.exec("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))");
  FileWatch watch(file);
  other.exec("DELETE FROM t; VACUUM");
  EXPECT_LT(fs::file_size(file), 50000U);
  EXPECT_EQ(error_of([&] { watch.check(); }), "no error");
}

TEST(FileWatch, AListOfFreePagesThatWasCutOffIsNoticedBesideAView) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.db";
  {
    SQLite::Database other(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec(
        "CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000)); CREATE VIEW v AS SELECT * FROM t");
    other.exec("DELETE FROM t");
  }
  FileWatch watch(file);
  constexpr char kPages = 10;
  constexpr std::streamoff kPagesInHeader = 28;
  fs::resize_file(file, 4096 * kPages);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(kPagesInHeader).write("\0\0\0", 3)
      << kPages;
  EXPECT_NE(error_of([&] { watch.check(); }), "no error");
}

TEST(FileWatch, WhatALookAtTheFileRunsIsNotTrusted) {
  const TemporaryFolder folder;
  const fs::path file = folder / "a.db";
  SQLite::Database(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t (x)");
  SQLite::Database look = open_to_look(file, std::chrono::seconds(1));
  EXPECT_EQ(look.execAndGet("PRAGMA trusted_schema").getInt(), 0);
  EXPECT_EQ(look.tryExec("INSERT INTO t VALUES (1)"), SQLITE_READONLY);
}

}  // namespace file_watch_test
}  // namespace tiletune
