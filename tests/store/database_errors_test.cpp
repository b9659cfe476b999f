#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "as_nobody.h"
#include "carries.h"
#include "sample_trial.h"
#include "store/database.h"
#include "store/merge.h"
#include "temporary_folder.h"

namespace tiletune {
namespace database_errors_test {

using Mode = Database::Mode;
namespace fs = std::filesystem;

constexpr auto kRead = fs::perms{0444};
constexpr auto kEnterAndRead = fs::perms{0555};

class DatabaseErrors : public ::testing::Test {
 protected:
  void write(const std::string& content) { std::ofstream(file_, std::ios::binary) << content; }
  void sql(const std::string& text) {
    SQLite::Database(file_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(text);
  }
  std::string opening(Mode mode) {
    return error_of([&] { Database(file_, mode); });
  }
  /// Both modes must say the same.
  void expect_refused(const std::vector<std::string>& parts) {
    for (const Mode mode : {Mode::read_only, Mode::read_write}) {
      const std::string text = opening(mode);
      EXPECT_EQ(text.rfind(file_.string() + ": ", 0), 0U) << "the file's name comes first: " << text;
      EXPECT_TRUE(carries(text, parts));
    }
  }
  /// What a killed writer of one row leaves: the files of these endings.
  void leave_log(const std::vector<std::string>& endings) {
    const TemporaryFolder elsewhere;
    Database writer(elsewhere / "a.db", Mode::read_write);
    writer.record(timed_trial("a", 1, 0));
    for (const std::string& ending : endings)
      fs::copy_file((elsewhere / "a.db").string() + ending, file_.string() + ending);
  }
  static std::string bytes(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.insert(entry.path().filename().string());
    return names;
  }
  void create() { Database(file_, Mode::read_write).record(timed_trial("a", 1, 0)); }

  TemporaryFolder folder_;
  fs::path file_ = folder_ / "a.db";
};

TEST_F(DatabaseErrors, MissingFilesAreNotCreatedForReading) {
  EXPECT_TRUE(carries(opening(Mode::read_only),
                      {file_.string(), "no such", "tiletune sweep", "tiletune import", "--db"}));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(DatabaseErrors, NewerSchemasAreRefusedByNumber) {
  create();
  const std::string newer = std::to_string(kSchemaVersion + 1);
  sql("PRAGMA user_version = " + newer);
  expect_refused({"newer", "schema " + newer, "schema " + std::to_string(kSchemaVersion)});
}

TEST_F(DatabaseErrors, SchemasOfNoReleaseAreRefused) {
  create();
  sql("PRAGMA user_version = 0");
  expect_refused({"schema 0"});
}

TEST_F(DatabaseErrors, OtherPeoplesDatabasesAreLeftAlone) {
  sql("CREATE TABLE recipes (name TEXT)");
  expect_refused({"not tiletune's", "--db"});
  SQLite::Database database(file_.string(), SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "delete")
      << "not even the journal mode changes";
  EXPECT_FALSE(database.tableExists("trial"));
}

TEST_F(DatabaseErrors, FilesThatAreNoDatabaseAreLeftAlone) {
  const std::string content = "template,median_us\nsgemm_naive,12.5\n" + std::string(4096, 'x');
  write(content);
  expect_refused({"SQLite", "--db"});
  EXPECT_EQ(fs::file_size(file_), content.size());
}

TEST_F(DatabaseErrors, AnEmptyFileIsANewDatabaseForWritingOnly) {
  write("");
  EXPECT_TRUE(carries(opening(Mode::read_only), {"empty"}));
  EXPECT_EQ(opening(Mode::read_write), "no error");
  EXPECT_EQ(opening(Mode::read_only), "no error");
}

TEST_F(DatabaseErrors, DamagedFilesAreReported) {
  {
    Database database(file_, Mode::read_write);
    std::vector<Trial> trials;
    for (int i = 0; i < 500; ++i) trials.push_back(timed_trial(std::to_string(i), 1, 0));
    database.record_all(trials);
  }
  std::fstream stream(file_, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(64 << 10);
  stream << std::string(64 << 10, '\x55');
  stream.close();
  const std::string text = error_of([&] { Database(file_, Mode::read_only).trials({}); });
  EXPECT_TRUE(carries(text, {file_.string(), "damaged", "--db"}));
}

TEST_F(DatabaseErrors, AHardLinkBesideADatabaseIsNotWrittenTo) {
  { const Database database(file_, Mode::read_write); }
  const std::string content(40000, 'p');
  std::ofstream(folder_ / "precious") << content;
  fs::create_hard_link(folder_ / "precious", file_.string() + "-shm");
  expect_refused({"-journal, -wal or -shm", "--db"});
  EXPECT_EQ(bytes(folder_ / "precious"), content);
  fs::rename(file_.string() + "-shm", file_.string() + "-wal");
  EXPECT_TRUE(carries(opening(Mode::read_write), {"-journal, -wal or -shm"}));
  EXPECT_EQ(opening(Mode::read_only), "no error") << "a log without -shm is read from a copy";
  EXPECT_EQ(bytes(folder_ / "precious"), content);
}

TEST_F(DatabaseErrors, ASchemaFormatThatSqliteDoesNotKnowIsDamage) {
  { const Database database(file_, Mode::read_write); }
  constexpr std::streamoff kSchemaFormat = 44;
  std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary).seekp(kSchemaFormat) << "tltn";
  expect_refused({"damaged", "unsupported file format"});
}

TEST_F(DatabaseErrors, ARowThatIsReadAndNotFoundIsDamage) {
  {
    Database database(file_, Mode::read_write);
    std::vector<Trial> rows;
    for (int i = 0; i < 100; ++i) rows.push_back(timed_trial(std::to_string(i), 1, 0));
    database.record_all(rows);
  }
  constexpr std::size_t kPage = 4096;
  constexpr char kTableLeaf = 13;
  std::string content = bytes(file_);
  std::vector<std::size_t> leaves;
  for (std::size_t page = kPage; page < content.size(); page += kPage) {
    if (content[page] == kTableLeaf) leaves.push_back(page);
  }
  ASSERT_GT(leaves.size(), 5U);
  const auto page_at = [&](std::size_t i) { return content.begin() + static_cast<std::ptrdiff_t>(i); };
  std::swap_ranges(page_at(leaves.back()), page_at(leaves.back() + kPage), page_at(*(leaves.end() - 2)));
  write(content);
  const Database database(file_, Mode::read_only);
  const std::string error =
      error_of([&] { database.for_each({}, {}, [&](std::int64_t id, const Trial&) { database.row(id); }); });
  EXPECT_TRUE(carries(error, {file_.string(), "damaged", "no row"}));
}

TEST_F(DatabaseErrors, ACutOffFileIsReported) {
  create();
  fs::resize_file(file_, 5000);
  const std::string text = error_of([&] { Database(file_, Mode::read_only).trials({}); });
  EXPECT_TRUE(carries(text, {"damaged"}));
}

TEST_F(DatabaseErrors, AFolderIsNoDatabase) {
  fs::create_directory(file_);
  expect_refused({"a folder"});
}

TEST_F(DatabaseErrors, AFolderThatCannotBeCreatedIsNamed) {
  write("a file");
  const std::string text = error_of([&] { Database(file_ / "b.db", Mode::read_write); });
  EXPECT_TRUE(carries(text, {(file_ / "b.db").string(), "folder", "Not a directory"}));
}

TEST_F(DatabaseErrors, AnEmptyNameIsNoTemporaryDatabase) {
  EXPECT_TRUE(carries(error_of([] { Database("", Mode::read_write); }), {"empty"}));
}

TEST_F(DatabaseErrors, NamesThatSqliteTreatsSpeciallyAreFiles) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  for (const char* name : {":memory:", "file:x?mode=memory"}) {
    EXPECT_NO_THROW(Database(name, Mode::read_write).record(timed_trial("a", 1, 0)));
    EXPECT_TRUE(fs::exists(name)) << name;
  }
  fs::current_path(before);
}

TEST_F(DatabaseErrors, AFolderWithoutWritePermissionIsReported) {
  fs::permissions(folder_.path(), kEnterAndRead);
  const AsNobody nobody;
  const std::string text = opening(Mode::read_write);
  EXPECT_TRUE(carries(text, {file_.string(), "opened", "permissions"}));
}

TEST_F(DatabaseErrors, AWriteProtectedDatabaseCanBeReadButNotWritten) {
  create();
  fs::permissions(file_, kRead);
  fs::permissions(folder_.path(), kEnterAndRead);
  {
    const AsNobody nobody;
    EXPECT_TRUE(carries(opening(Mode::read_write), {file_.string(), "write-protected"}));
    EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 1U);
  }
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(DatabaseErrors, ReadingAWriteProtectedDatabaseLeavesNothingThatStopsLaterWriters) {
  create();
  fs::permissions(file_, kRead);
  fs::permissions(folder_.path(), fs::perms::all);
  {
    const AsNobody nobody;
    EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 1U);
  }
  for (const char* suffix : {"-wal", "-shm"}) EXPECT_FALSE(fs::exists(file_.string() + suffix)) << suffix;
  fs::permissions(file_, fs::perms{0666});
  const AsNobody nobody;
  Database(file_, Mode::read_write).record(timed_trial("b", 1, 0));
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 2U);
}

TEST_F(DatabaseErrors, ReadingLeavesTheLogOfAKilledWriterAsItIs) {
  leave_log({"", "-wal", "-shm"});
  const std::string file = bytes(file_);
  const std::string log = bytes(file_.string() + "-wal");
  const TemporaryFolder elsewhere;
  fs::create_symlink(file_, elsewhere / "link.db");
  for (const fs::path& name : {file_, elsewhere / "link.db"})
    EXPECT_EQ(Database(name, Mode::read_only).trials({}).size(), 1U);
  EXPECT_EQ(bytes(file_), file);
  EXPECT_EQ(bytes(file_.string() + "-wal"), log);
  Database(file_, Mode::read_write).record(timed_trial("b", 1, 0));
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 2U);
  EXPECT_EQ(files(), std::set<std::string>{"a.db"}) << "a writer takes the log into the file";
}

TEST_F(DatabaseErrors, ReadingACopyWithItsLogLeavesNothingThatStopsLaterWriters) {
  leave_log({"", "-wal"});
  fs::permissions(folder_.path(), fs::perms::all);
  for (const char* ending : {"", "-wal"}) fs::permissions(file_.string() + ending, kRead);
  {
    const AsNobody nobody;
    EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 1U);
  }
  EXPECT_EQ(files(), (std::set<std::string>{"a.db", "a.db-wal"}));
}

TEST_F(DatabaseErrors, AReaderBesideAWriterSeesItsRowsAndStopsNoLaterOne) {
  std::optional<Database> writer(std::in_place, file_, Mode::read_write);
  writer->record(timed_trial("a", 1, 0));
  {
    const Database reader(file_, Mode::read_only);
    writer->record(timed_trial("b", 1, 0));
    EXPECT_EQ(reader.trials({}).size(), 2U);
    writer.reset();
    EXPECT_EQ(reader.trials({}).size(), 2U);
  }
  Database(file_, Mode::read_write).record(timed_trial("c", 1, 0));
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 3U);
  EXPECT_EQ(files(), std::set<std::string>{"a.db"});
}

TEST_F(DatabaseErrors, PathsWithUriCharactersCanBeReadInProtectedFolders) {
  file_ = folder_ / "100%20 ?#&µ.db";
  create();
  fs::permissions(folder_.path(), kEnterAndRead);
  {
    const AsNobody nobody;
    EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 1U);
  }
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(DatabaseErrors, ReadOnlyConnectionsRefuseToWrite) {
  create();
  Database database(file_, Mode::read_only);
  EXPECT_NE(error_of([&] { database.record(timed_trial("b", 1, 0)); }).find(file_.string()),
            std::string::npos);
  EXPECT_FALSE(database.find("b").has_value());
}

TEST_F(DatabaseErrors, ALockHeldTooLongIsReportedAndNothingIsLost) {
  create();
  Database database(file_, Mode::read_write, std::chrono::milliseconds(50));
  {
    SQLite::Database other(file_, SQLite::OPEN_READWRITE);
    SQLite::Transaction transaction(other, SQLite::TransactionBehavior::IMMEDIATE);
    for (const auto& action :
         {std::function<void()>([&] { database.record(timed_trial("b", 1, 0)); }),
          std::function<void()>([&] { database.record_all({timed_trial("b", 1, 0)}); })}) {
      const std::string text = error_of(action);
      EXPECT_TRUE(carries(text, {file_.string(), "locked"}));
    }
    EXPECT_TRUE(database.find("a").has_value()) << "readers do not wait for writers";
  }
  database.record(timed_trial("b", 1, 0));
  EXPECT_TRUE(database.find("b").has_value());
}

TEST_F(DatabaseErrors, OneThatWaitsForOthersLosesNoRow) {
  create();
  Database database(file_, Mode::read_write, std::chrono::milliseconds(50));
  SQLite::Database other(file_, SQLite::OPEN_READWRITE);
  std::optional<SQLite::Transaction> transaction;
  int reports = 0;
  const auto tell = [&] {
    ++reports;
    transaction.reset();
  };
  database.wait_for_others(tell, [](auto /*waited*/) { return false; });
  for (const char* key : {"b", "c"}) {
    transaction.emplace(other, SQLite::TransactionBehavior::IMMEDIATE);
    database.record(timed_trial(key, 1, 0));
    EXPECT_TRUE(database.find(key).has_value());
  }
  EXPECT_EQ(reports, 2) << "once of each wait";
}

TEST_F(DatabaseErrors, AWaitThatIsGivenUpIsTheLastOne) {
  create();
  Database database(file_, Mode::read_write, std::chrono::milliseconds(50));
  SQLite::Database other(file_, SQLite::OPEN_READWRITE);
  int reports = 0;
  database.wait_for_others([&] { ++reports; }, [](auto waited) { return waited >= std::chrono::seconds(1); });
  {
    const SQLite::Transaction transaction(other, SQLite::TransactionBehavior::IMMEDIATE);
    for (const char* key : {"b", "c"}) {
      EXPECT_THROW(database.record(timed_trial(key, 1, 0)), DatabaseLocked);
      EXPECT_EQ(reports, 1);
    }
    EXPECT_TRUE(database.find("a").has_value());
  }
  database.record(timed_trial("d", 1, 0));
  EXPECT_FALSE(database.find("b").has_value());
  EXPECT_TRUE(database.find("d").has_value());
}

TEST_F(DatabaseErrors, AnEmptyOneIsRemovedUnlessSomebodyElseHasItOpen) {
  {
    Database database(file_, Mode::read_write);
    {
      const Database other(file_, Mode::read_write);
      database.remove_if_empty();
      EXPECT_TRUE(fs::exists(file_)) << "the other one may be about to write";
    }
  }
  {
    Database filled(file_, Mode::read_write);
    filled.begin_sweep({});
    filled.remove_if_empty();
  }
  EXPECT_EQ(Database(file_, Mode::read_only).sweeps().size(), 1U);
  const fs::path empty = file_.parent_path() / "empty.db";
  Database(empty, Mode::read_write).remove_if_empty();
  EXPECT_FALSE(fs::exists(empty));
  const fs::path link = file_.parent_path() / "link.db";
  fs::create_symlink(empty, link);
  Database(link, Mode::read_write).remove_if_empty();
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(fs::exists(empty));
}

/// Compresses the file as gzip does.
void pack(const fs::path& file, const fs::path& packed) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  gzFile out = ::gzopen(packed.c_str(), "wb");
  EXPECT_EQ(::gzwrite(out, text.str().data(), static_cast<unsigned>(text.str().size())), text.str().size());
  ::gzclose(out);
}

TEST_F(DatabaseErrors, ACompressedDatabaseIsReadAndNotWritten) {
  const fs::path plain = folder_ / "plain.db";
  Database(plain, Mode::read_write).record(timed_trial("a", 1, 0));
  pack(plain, file_);
  const std::string before = bytes(file_);
  EXPECT_EQ(Database(file_, Mode::read_only).trials({}).size(), 1U);
  Database all(folder_ / "all.db", Mode::read_write);
  const DatabaseCopy copy(file_, folder_.path());
  EXPECT_EQ(merge(copy, all).new_rows, 1);
  EXPECT_TRUE(carries(opening(Mode::read_write), {file_.string(), "not an SQLite database", "gunzip"}));
  EXPECT_EQ(bytes(file_), before);
  fs::resize_file(file_, before.size() / 2);
  EXPECT_TRUE(carries(opening(Mode::read_only), {file_.string(), "damaged", "gzip"}));
  write(before.substr(0, 200) + "nothing of the kind" + before.substr(219));
  EXPECT_TRUE(carries(opening(Mode::read_only), {file_.string(), "damaged", "gzip"}));
}

TEST_F(DatabaseErrors, WhatIsCompressedMustBeADatabase) {
  const fs::path packed = folder_ / "packed.db.gz";
  for (const char* content : {"no database", "", "SQLite"}) {
    write(content);
    pack(file_, packed);
    EXPECT_TRUE(carries(error_of([&] { Database(packed, Mode::read_only); }),
                        {packed.string(), "not an SQLite database", "tiletune import"}));
  }
  write("SQLite format 3");
  pack(file_, packed);
  EXPECT_TRUE(
      carries(error_of([&] { Database(packed, Mode::read_only); }), {packed.string(), "not an SQLite"}));
}

TEST_F(DatabaseErrors, MissingTablesAreDamage) {
  create();
  sql("DROP TABLE calibration");
  expect_refused({"damaged", "'calibration'"});
  sql("PRAGMA foreign_keys = OFF; DROP TABLE sweep");
  expect_refused({"damaged", "'sweep'"});
}

TEST_F(DatabaseErrors, MissingColumnsAreNamed) {
  create();
  sql("DROP VIEW best; DROP VIEW ranking; ALTER TABLE trial DROP COLUMN median_us");
  expect_refused({"table trial", "'median_us'"});
}

TEST_F(DatabaseErrors, ADatabaseOfAnotherBuildIsLeftAlone) {
  create();
  sql("DROP VIEW best; DROP VIEW ranking; ALTER TABLE trial DROP COLUMN median_us");
  sql("PRAGMA journal_mode = DELETE");
  expect_refused({"table trial", "'median_us'"});
  SQLite::Database database(file_.string(), SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "delete");
}

TEST_F(DatabaseErrors, UnknownOutcomesNameTheFile) {
  create();
  sql("UPDATE trial SET outcome = 'exploded'");
  const Database database(file_, Mode::read_only);
  for (const auto& action : {std::function<void()>([&] { database.trials({}); }),
                             std::function<void()>([&] { database.find("a"); }),
                             std::function<void()>([&] { database.outcome_counts({}); })}) {
    const std::string text = error_of(action);
    EXPECT_TRUE(carries(text, {file_.string(), "'exploded'"}));
  }
}

}  // namespace database_errors_test
}  // namespace tiletune
