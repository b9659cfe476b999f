#include "store/merge.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "carries.h"
#include "sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace merge_test {

using Mode = Database::Mode;

class Merge : public ::testing::Test {
 protected:
  Database writable(const char* name) const { return {folder_ / name, Mode::read_write}; }
  MergeSummary merge_into(const char* from, const char* into) const {
    const DatabaseCopy copy(folder_ / from, folder_.path());
    Database database = writable(into);
    return merge(copy, database);
  }
  static std::string bytes(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
};

SweepRecord sweep_on(const std::string& host, const std::string& started_at = "2026-11-21T10:00:00Z") {
  SweepRecord sweep;
  sweep.started_at = started_at;
  sweep.command = "tiletune sweep";
  sweep.host = host;
  return sweep;
}

/// A row of the one configuration "{}".
Trial of_sweep(const std::string& key, double median_us, std::int64_t sweep) {
  Trial trial = timed_trial(key, median_us, 0);
  trial.parameters = "{}";
  trial.recorded_at = "2026-11-21T10:00:00Z";
  trial.sweep_id = trial.seen_in_sweep = sweep;
  return trial;
}

/// The rows of the view `ranking`: which of equal rows counts.
std::vector<std::string> ranked_keys(const std::filesystem::path& file) {
  SQLite::Database database(file, SQLite::OPEN_READONLY);
  SQLite::Statement statement(database, "SELECT \"key\" FROM ranking ORDER BY 1");
  std::vector<std::string> keys;
  while (statement.executeStep()) keys.push_back(statement.getColumn(0).getString());
  return keys;
}

TEST_F(Merge, TheSourceOfTheLaterSweepCountsInEitherOrder) {
  const auto write = [&](const char* name, const char* began, const char* source, const char* files) {
    Database database = writable(name);
    Trial row = of_sweep("k", 100, database.begin_sweep(sweep_on(name, began)));
    row.source_key = row.source_hash = source;
    row.included_files = files;
    database.record(row);
  };
  write("early.db", "2026-11-21T10:00:00Z", "1", R"({"a.h":"1"})");
  write("late.db", "2026-11-22T10:00:00Z", "2", R"({"a.h":"2"})");
  for (const auto& [first, second] : {std::pair("early.db", "late.db"), std::pair("late.db", "early.db")}) {
    const std::string into = std::string("after ") + first;
    merge_into(first, into.c_str());
    merge_into(second, into.c_str());
    const Trial row = *Database(folder_ / into, Mode::read_only).find("k");
    EXPECT_EQ(row.source_hash, "2") << into;
    EXPECT_EQ(row.source_key, "2") << into;
    EXPECT_EQ(row.included_files, R"({"a.h":"2"})") << into;
  }
}

TEST_F(Merge, RowsSweepsAndCalibrationsCome) {
  {
    Database a = writable("a.db");
    a.record(filled_trial("of a", a.begin_sweep(sweep_on("a"))));
    Database b = writable("b.db");
    b.begin_sweep(sweep_on("b1"));
    const std::int64_t second = b.begin_sweep(sweep_on("b2"));
    b.record(filled_trial("of b", second));
    b.record(timed_trial("without a sweep", 1, 0));
    CalibrationRecord calibration;
    calibration.gpu_uuid = "GPU-1";
    calibration.driver_version = "580";
    calibration.copy_gbs = 4000;
    calibration.recorded_at = "2026";
    b.record_calibration(calibration);
  }
  merge_into("a.db", "c.db");
  const MergeSummary summary = merge_into("b.db", "c.db");
  EXPECT_EQ(summary.rows, 2);
  EXPECT_EQ(summary.new_rows, 2);
  EXPECT_EQ(summary.sweeps, 2);
  EXPECT_EQ(summary.calibrations, 1);
  const Database c(folder_ / "c.db", Mode::read_only);
  EXPECT_EQ(c.sweeps().size(), 3U);
  const Trial moved = *c.find("of b");
  EXPECT_EQ(moved.sweep_id, 3);
  EXPECT_EQ(c.sweeps().at(2).host, "b2");
  EXPECT_EQ(c.calibration("GPU-1", "580")->copy_gbs, 4000);
  TrialFilter of_third;
  of_third.sweep_id = 3;
  EXPECT_EQ(c.trials(of_third).size(), 1U);
  const Trial expected = filled_trial("of b", 3);
  for (const Column& column : trial_columns())
    EXPECT_EQ(column.read(moved), column.read(expected)) << column.name;
  EXPECT_EQ(c.find("without a sweep")->sweep_id, 0);

  const MergeSummary again = merge_into("b.db", "c.db");
  EXPECT_EQ(again.new_rows + again.replaced + again.sweeps + again.calibrations, 0);
}

TEST_F(Merge, OfTwoRowsOfOneKeyTheOneThatRanThenTheLaterCounts) {
  const auto row = [](const char* key, Outcome outcome, const char* when, double median_us) {
    Trial trial = timed_trial(key, median_us, 0);
    trial.outcome = outcome;
    trial.recorded_at = when;
    return trial;
  };
  writable("a.db").record_all(
      {row("later there", Outcome::ok, "2026-01", 1), row("later here", Outcome::ok, "2026-03", 1),
       row("ran here", Outcome::ok, "2026-01", 1), row("ran there", Outcome::timeout, "2026-03", 1),
       row("begun here", Outcome::dispatched, "2026-03", 1)});
  writable("b.db").record_all(
      {row("later there", Outcome::ok, "2026-02", 2), row("later here", Outcome::ok, "2026-02", 2),
       row("ran here", Outcome::timeout, "2026-02", 2), row("ran there", Outcome::ok, "2026-02", 2),
       row("begun here", Outcome::refused, "2026-02", 2)});
  EXPECT_EQ(merge_into("b.db", "a.db").replaced, 3);
  const Database a(folder_ / "a.db", Mode::read_only);
  EXPECT_EQ(a.find("later there")->median_us, 2);
  EXPECT_EQ(a.find("later here")->median_us, 1);
  EXPECT_EQ(a.find("ran here")->median_us, 1);
  EXPECT_EQ(a.find("ran there")->median_us, 2);
  EXPECT_EQ(a.find("begun here")->outcome, Outcome::refused);
}

TEST_F(Merge, AMeasuredTimeCountsMoreThanOneThatASweepGaveUpOn) {
  const auto row = [](const char* key, Outcome outcome, const char* when) {
    Trial trial = timed_trial(key, 1, 0);
    trial.outcome = outcome;
    trial.recorded_at = when;
    return trial;
  };
  const auto either_way = [&](const char* from, const char* into) {
    EXPECT_EQ(merge_into("a.db", into).new_rows, 3);
    merge_into(from, into);
    const Database merged(folder_ / into, Mode::read_only);
    EXPECT_EQ(merged.find("ok")->outcome, Outcome::ok);
    EXPECT_EQ(merged.find("screened")->outcome, Outcome::screened_out);
    EXPECT_EQ(merged.find("failed")->outcome, Outcome::crashed);
  };
  writable("a.db").record_all({row("ok", Outcome::ok, "2026-01"),
                               row("screened", Outcome::timeout, "2026-03"),
                               row("failed", Outcome::crashed, "2026-01")});
  writable("b.db").record_all({row("ok", Outcome::screened_out, "2026-02"),
                               row("screened", Outcome::screened_out, "2026-02"),
                               row("failed", Outcome::dispatched, "2026-02")});
  either_way("b.db", "ab.db");
  std::filesystem::rename(folder_ / "a.db", folder_ / "c.db");
  std::filesystem::rename(folder_ / "b.db", folder_ / "a.db");
  either_way("c.db", "ba.db");
}

TEST_F(Merge, OfTwoRowsThatAreEqualTheOneWithItsSamplesCounts) {
  const auto row = [](const char* recorded_at, const std::vector<double>& samples_us) {
    Trial trial = timed_trial("k", 1, 0);
    trial.recorded_at = recorded_at;
    trial.samples_us = samples_us;
    return trial;
  };
  const char* const when = "2026-11-21T10:00:00Z";
  writable("with.db").record(row(when, {1, 2}));
  writable("without.db").record(row(when, {}));
  writable("later.db").record(row("2026-11-21T10:00:01Z", {}));
  merge_into("without.db", "first.db");
  EXPECT_EQ(merge_into("with.db", "first.db").replaced, 1);
  EXPECT_EQ(merge_into("without.db", "first.db").replaced, 0);
  EXPECT_EQ(writable("first.db").find("k")->samples_us.size(), 2U);
  EXPECT_EQ(merge_into("later.db", "first.db").replaced, 1) << "what is later counts more";
}

TEST_F(Merge, TheOrderOfTheInputsDoesNotDecideWhichOfEqualRowsCounts) {
  {
    Database older = writable("older.db");
    older.begin_sweep(sweep_on("a", "2026-11-19T10:00:00Z"));
    older.record(of_sweep("old source", 10, older.begin_sweep(sweep_on("a", "2026-11-20T10:00:00Z"))));
    Database newer = writable("newer.db");
    newer.record(of_sweep("new source", 20, newer.begin_sweep(sweep_on("b", "2026-11-21T10:00:00Z"))));
  }
  merge_into("older.db", "on.db");
  merge_into("newer.db", "on.db");
  EXPECT_EQ(ranked_keys(folder_ / "on.db"), std::vector<std::string>{"new source"});
  merge_into("newer.db", "no.db");
  merge_into("older.db", "no.db");
  EXPECT_EQ(ranked_keys(folder_ / "no.db"), std::vector<std::string>{"new source"});
}

TEST_F(Merge, ARowThatALaterSweepUsedAgainIsSeenInThatSweep) {
  {
    Database a = writable("a.db");
    a.record(of_sweep("kept", 10, a.begin_sweep(sweep_on("a", "2026-11-19T10:00:00Z"))));
    a.record(of_sweep("superseded", 5, a.begin_sweep(sweep_on("a", "2026-11-20T10:00:00Z"))));
  }
  std::filesystem::copy_file(folder_ / "a.db", folder_ / "b.db");
  {
    Database b = writable("b.db");
    b.mark_seen("kept", b.begin_sweep(sweep_on("b", "2026-11-21T10:00:00Z")));
    Database a = writable("a.db");
    a.begin_sweep(sweep_on("a", "2026-11-22T10:00:00Z"));
  }
  EXPECT_EQ(merge_into("b.db", "a.db").replaced, 0);
  const Database a(folder_ / "a.db", Mode::read_only);
  EXPECT_EQ(a.find("kept")->seen_in_sweep, 4) << "the number that b's sweep has here";
  EXPECT_EQ(a.find("kept")->sweep_id, 1);
  EXPECT_EQ(a.find("superseded")->seen_in_sweep, 2);
  EXPECT_EQ(ranked_keys(folder_ / "a.db"), std::vector<std::string>{"kept"});
}

TEST_F(Merge, ARowThatIsReplacedStaysSeenInItsLatestSweep) {
  {
    Database a = writable("a.db");
    Trial failed = of_sweep("k", 1, a.begin_sweep(sweep_on("a", "2026-11-21T10:00:00Z")));
    failed.outcome = Outcome::timeout;
    a.record(failed);
    Database b = writable("b.db");
    b.record(of_sweep("k", 2, b.begin_sweep(sweep_on("b", "2026-11-20T10:00:00Z"))));
  }
  EXPECT_EQ(merge_into("b.db", "a.db").replaced, 1);
  const Database a(folder_ / "a.db", Mode::read_only);
  EXPECT_EQ(a.find("k")->median_us, 2);
  EXPECT_EQ(a.find("k")->sweep_id, 2);
  EXPECT_EQ(a.find("k")->seen_in_sweep, 1);
}

TEST_F(Merge, AnInputOfAnEarlierSchemaIsUpgradedInACopy) {
  std::stringstream text;
  text << std::ifstream(std::string(TILETUNE_SOURCE_DIR) + "/tests/store/schema_13.sql").rdbuf();
  SQLite::Database(folder_ / "old.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(text.str());
  const std::string before = bytes(folder_ / "old.db");
  EXPECT_EQ(merge_into("old.db", "c.db").new_rows, 4);
  EXPECT_EQ(bytes(folder_ / "old.db"), before);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 2U) << "the copy is gone";
}

TEST_F(Merge, WhatTheLogHoldsComesToo) {
  Database open = writable("a.db");
  open.record(timed_trial("committed a moment ago", 1, 0));
  EXPECT_EQ(merge_into("a.db", "c.db").new_rows, 1);
}

TEST_F(Merge, WordsThatNobodyKnowsDoNotCome) {
  for (const char* column : {"source", "outcome"}) {
    writable("c.db").record(timed_trial("mine", 1, 0));
    writable("a.db").record(timed_trial("a", 1, 0));
    SQLite::Database(folder_ / "a.db", SQLite::OPEN_READWRITE)
        .exec(std::string("UPDATE trial SET ") + column + " = 'weird'");
    const std::string error = error_of([&] { merge_into("a.db", "c.db"); });
    EXPECT_TRUE(carries(error, {"a.db", column, "'weird'"}));
    EXPECT_EQ(writable("c.db").trials({}).size(), 1U);
    std::filesystem::remove(folder_ / "a.db");
  }
}

TEST_F(Merge, RowsThatCannotBeReadAreRefusedOrLeftOut) {
  for (const char* bad : {"samples_us = x''", "clocks_mhz = x'09'", "outcome = 'weird'", "source = 'weird'",
                          "problem = printf('%.9000c', 'x')"}) {
    {
      Database database = writable("a.db");
      const std::int64_t sweep = database.begin_sweep(sweep_on("a"));
      for (const char* key : {"1", "2", "3"}) database.record(of_sweep(key, 1, sweep));
    }
    SQLite::Database(folder_ / "a.db", SQLite::OPEN_READWRITE)
        .exec(std::string("UPDATE trial SET ") + bad + " WHERE \"key\" = '2'");
    EXPECT_TRUE(
        carries(error_of([&] { merge_into("a.db", "c.db"); }), {"a.db: row 2 of sweep 1: ", "--skip-bad"}));
    Database reader(folder_ / "a.db", Mode::read_only);
    EXPECT_EQ(reader.bad_rows(), std::vector<std::int64_t>{2}) << bad;
    EXPECT_TRUE(carries(error_of([&] { reader.trials({}); }), {"a.db: row 2 of sweep 1: ", "--skip-bad"}));
    EXPECT_EQ(reader.skip_bad_rows(), 1U);
    EXPECT_EQ(reader.trials({}).size(), 2U);
    EXPECT_EQ(row_count(reader), 2);
    const DatabaseCopy copy(folder_ / "a.db", folder_.path(), never_stop, true);
    {
      Database into = writable("c.db");
      const MergeSummary summary = merge(copy, into);
      EXPECT_EQ(summary.rows, 2);
      EXPECT_EQ(summary.skipped, 1U);
      EXPECT_EQ(into.trials({}).size(), 2U);
    }
    for (const char* file : {"a.db", "c.db"}) std::filesystem::remove(folder_ / file);
  }
}

TEST_F(Merge, ForeignAndDamagedFilesLeaveTheOutputAlone) {
  std::ofstream(folder_ / "text.db")
      << "no database at all, but long enough to be taken for the header of one";
  EXPECT_TRUE(carries(error_of([&] { merge_into("text.db", "c.db"); }), {"text.db", "not an SQLite"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "c.db"));
  writable("c.db").record(timed_trial("b", 1, 0));
  writable("odd.db").record(timed_trial("a", 1, 0));
  SQLite::Database(folder_ / "odd.db", SQLite::OPEN_READWRITE)
      .exec("PRAGMA ignore_check_constraints = ON; UPDATE trial SET \"key\" = ''");
  const std::string refused = error_of([&] { merge_into("odd.db", "c.db"); });
  EXPECT_TRUE(carries(refused, {"odd.db", "damaged", "CHECK"}));
  EXPECT_EQ(Database(folder_ / "c.db", Mode::read_only).trials({}).size(), 1U);
}

/// Pages in the middle of a database, with nothing in them.
void damage(const std::filesystem::path& file) {
  constexpr std::streamoff kPage = 4096;
  constexpr int kPages = 8;
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file)) / kPage / 2 * kPage);
  bytes << std::string(kPage * kPages, '\0');
}

TEST_F(Merge, DamageInTheMidstIsOfTheInputThatHasIt) {
  {
    Database a = writable("a.db");
    std::vector<Trial> rows;
    for (int i = 0; i < 300; ++i) rows.push_back(timed_trial(std::to_string(i), 1, 0));
    a.record_all(rows);
    writable("b.db").record(timed_trial("b", 1, 0));
  }
  damage(folder_ / "a.db");
  const std::vector<std::string> expected{(folder_ / "a.db").string() + ":", "damaged"};
  for (const auto& [first, second] : {std::pair("a.db", "b.db"), std::pair("b.db", "a.db")}) {
    const std::string error = error_of([&, first = first, second = second] {
      MergedDatabase made(folder_ / "made.db");
      for (const char* name : {first, second}) made.add(DatabaseCopy(folder_ / name, folder_.path()));
      made.rows();
    });
    EXPECT_TRUE(carries(error, expected)) << first << " first";
  }
}

/// Pages of one database overwritten with others of it, or with nothing, as a bad disk or a bad copy has
/// them.
class MergeDamaged : public Merge {
 protected:
  static constexpr std::int64_t kRows = 60;

  void SetUp() override {
    Database a = writable("whole.db");
    const std::int64_t first = a.begin_sweep(sweep_on("first"));
    std::vector<Trial> rows;
    for (int i = 0; i < kRows; ++i) {
      rows.push_back(filled_trial("key " + std::to_string(i), first));
      rows.back().reason = std::string(500, static_cast<char>('a' + i % 26));
    }
    rows.front().kind = "baseline";
    a.record_all(rows);
    for (int sweep = 0; sweep < 20; ++sweep) {
      const std::int64_t id = a.begin_sweep(sweep_on(std::to_string(sweep)));
      for (const Trial& row : rows) a.mark_seen(row.key, id);
    }
    writable("other.db").record(timed_trial("other", 1, 0));
  }

  /// Page `from` of whole.db, or zeros, in the place of page `to`.
  void write_damaged(const char* name, std::size_t to, std::size_t from) const {
    std::string content = bytes(folder_ / "whole.db");
    const std::string page = from == 0 ? std::string(kPage, '\0') : content.substr((from - 1) * kPage, kPage);
    content.replace((to - 1) * kPage, kPage, page);
    for (const char* ending : {"-wal", "-shm"}) std::filesystem::remove((folder_ / name).string() + ending);
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  /// Of a database that was taken, all that whole.db has.
  void expect_whole(const std::filesystem::path& file, const std::string& damage) const {
    SQLite::Database database(file, SQLite::OPEN_READONLY);
    const auto count = [&](const char* rows) {
      return database.execAndGet(std::string("SELECT count(*) FROM ") + rows).getInt64();
    };
    EXPECT_EQ(count("trial NOT INDEXED WHERE \"key\" LIKE 'key %'"), kRows) << damage;
    EXPECT_EQ(count("sweep"), 21) << damage;
    EXPECT_EQ(count("sweep_trial"), 21 * kRows) << damage;
  }

  static constexpr std::size_t kPage = 4096;
};

TEST_F(MergeDamaged, InputsAndOutputsAreRefusedOrWhole) {
  { SQLite::Database(folder_ / "whole.db", SQLite::OPEN_READWRITE).exec("PRAGMA journal_mode = DELETE"); }
  const std::size_t pages = bytes(folder_ / "whole.db").size() / kPage;
  ASSERT_GT(pages, 30U);
  std::size_t refused = 0;
  const auto merge_refuses = [&](const char* from, const char* into, const std::string& damage) {
    const std::string error = error_of([&] { merge_into(from, into); });
    if (error == "no error") {
      expect_whole(folder_ / into, damage);
    } else {
      const bool named = error.find("put.db: ") != std::string::npos;
      EXPECT_TRUE(named) << damage << ": " << error;
      ++refused;
    }
    for (const char* ending : {"", "-wal", "-shm"})
      std::filesystem::remove((folder_ / into).string() + ending);
  };
  for (std::size_t to = 1; to <= pages; ++to) {
    for (const std::size_t from : {std::size_t{0}, to / 2, 1 + (to * 7 + 3) % pages}) {
      const std::string damage = "page " + std::to_string(from) + " over page " + std::to_string(to);
      write_damaged("input.db", to, from == to ? 0 : from);
      const std::string input = bytes(folder_ / "input.db");
      merge_refuses("input.db", "made.db", damage);
      EXPECT_EQ(bytes(folder_ / "input.db"), input) << damage;
    }
    write_damaged("output.db", to, 1 + to % pages);
    merge_refuses("other.db", "output.db", "output, page " + std::to_string(to));
  }
  EXPECT_GT(refused, 3 * pages) << "of " << 4 * pages;
}

/// A number of four bytes, as SQLite writes them.
std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xFFU);
  return bytes;
}

TEST_F(MergeDamaged, PagesThatNothingLeadsToAreFoundInInputsAndOutputs) {
  const std::int64_t root = [&] {
    SQLite::Database whole(folder_ / "whole.db", SQLite::OPEN_READWRITE);
    whole.exec("PRAGMA journal_mode = DELETE");
    return whole.execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'sweep_trial'").getInt64();
  }();
  const std::size_t start = (static_cast<std::size_t>(root) - 1) * kPage;
  constexpr std::size_t kCells = 4;
  constexpr std::size_t kFirstTrunk = 32;
  const std::string whole = bytes(folder_ / "whole.db");
  ASSERT_EQ(whole[start], 2) << "a page of the index that leads to others";
  ASSERT_GT(whole[start + kCells], 0);
  std::string lost = whole;
  lost[start + kCells] = static_cast<char>(lost[start + kCells] - 1);
  std::string free = whole;
  free.replace(kFirstTrunk, 8, big_endian(3) + big_endian(1));
  std::string beyond = whole;
  beyond.replace(kFirstTrunk, 8, big_endian(4000000) + big_endian(7));
  for (const std::string* content : {&lost, &free, &beyond}) {
    std::ofstream(folder_ / "input.db", std::ios::binary) << *content;
    const std::vector<std::string> damaged{(folder_ / "input.db").string() + ":", "damaged"};
    const std::string as_input = error_of([&] { DatabaseCopy(folder_ / "input.db", folder_.path()); });
    EXPECT_TRUE(carries(as_input, damaged));
    const std::string as_output = error_of([&] { merge_into("other.db", "input.db"); });
    EXPECT_TRUE(carries(as_output, damaged));
  }
}

TEST_F(Merge, ARowOutsideItsOwnSweepIsDamage) {
  {
    Database a = writable("a.db");
    a.record(of_sweep("k", 1, a.begin_sweep(sweep_on("a"))));
  }
  SQLite::Database(folder_ / "a.db", SQLite::OPEN_READWRITE).exec("DELETE FROM sweep_trial");
  EXPECT_TRUE(carries(error_of([&] { merge_into("a.db", "c.db"); }),
                      {(folder_ / "a.db").string(), "damaged", "row 1"}));
}

TEST_F(Merge, ATextEncodingThatSqliteDoesNotKnowIsDamage) {
  writable("a.db").record(timed_trial("a", 1, 0));
  writable("b.db").record(timed_trial("b", 1, 0));
  constexpr std::streamoff kTextEncoding = 56;
  std::fstream(folder_ / "a.db", std::ios::in | std::ios::out | std::ios::binary).seekp(kTextEncoding)
      << big_endian(128);
  const std::vector<std::string> damaged{(folder_ / "a.db").string() + ":", "damaged"};
  for (const auto& [from, into] : {std::pair("a.db", "b.db"), std::pair("b.db", "a.db")}) {
    const std::string error = error_of([&, from = from, into = into] { merge_into(from, into); });
    EXPECT_TRUE(carries(error, damaged));
  }
}

TEST_F(Merge, OneThatIsStoppedChangesNothing) {
  {
    Database a = writable("a.db");
    std::vector<Trial> rows;
    for (int i = 0; i < 3000; ++i) rows.push_back(timed_trial(std::to_string(i), 1, 0));
    a.record_all(rows);
    writable("c.db").record(timed_trial("here", 1, 0));
  }
  EXPECT_THROW(DatabaseCopy(folder_ / "a.db", folder_.path(), [] { return true; }), Stopped);
  int asked = 0;
  const auto among_the_rows = [&] { return ++asked == 3000; };
  EXPECT_THROW(DatabaseCopy(folder_ / "a.db", folder_.path(), among_the_rows), Stopped);
  const DatabaseCopy copy(folder_ / "a.db", folder_.path());
  Database c = writable("c.db");
  asked = 0;
  const auto second_time = [&] { return ++asked == 2; };
  EXPECT_THROW(merge(copy, c, second_time), Stopped);
  EXPECT_EQ(asked, 2) << "in the midst of it";
  EXPECT_EQ(c.trials({}).size(), 1U);
  EXPECT_EQ(merge(copy, c).new_rows, 3000) << "the connection is as it was";
  c.record(of_sweep("later", 1, c.begin_sweep(sweep_on("c"))));
  TrialFilter of_first;
  of_first.sweep_id = 1;
  EXPECT_EQ(c.trials(of_first).size(), 1U) << "and triggers fire";
}

/// `from` one after the other into the new database "made.db"; for the two ways there are to begin one.
class MergeNew : public Merge {
 protected:
  std::vector<MergeSummary> make(const std::vector<const char*>& from) {
    std::vector<MergeSummary> summaries;
    MergedDatabase made(folder_ / "made.db");
    for (const char* name : from) summaries.push_back(made.add(DatabaseCopy(folder_ / name, folder_.path())));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "made.db")) << "not before it is whole";
    made.put_in_place();
    return summaries;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.insert(entry.path().filename().string());
    return names;
  }
  void write_two() {
    Database a = writable("a.db");
    a.record(of_sweep("of a", 1, a.begin_sweep(sweep_on("a"))));
    a.record(of_sweep("of both", 2, 1));
    Database b = writable("b.db");
    b.record(of_sweep("of b", 3, b.begin_sweep(sweep_on("b"))));
    b.record(of_sweep("of both", 2, b.begin_sweep(sweep_on("a"))));
  }
};

TEST_F(MergeNew, IsWhatMergingIntoAnEmptyOneGives) {
  write_two();
  const auto summaries = make({"a.db", "b.db"});
  EXPECT_EQ(summaries[0].new_rows, 2);
  EXPECT_EQ(summaries[0].sweeps, 1);
  EXPECT_EQ(summaries[1].new_rows, 1);
  EXPECT_EQ(summaries[1].sweeps, 1);
  merge_into("a.db", "empty.db");
  merge_into("b.db", "empty.db");
  const std::vector<Trial> expected = Database(folder_ / "empty.db", Mode::read_only).trials({});
  const std::vector<Trial> rows = Database(folder_ / "made.db", Mode::read_only).trials({});
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Column& column : trial_columns()) EXPECT_EQ(column.read(rows[i]), column.read(expected[i]));
  }
  EXPECT_EQ(files(), (std::set<std::string>{"a.db", "b.db", "empty.db", "made.db"}));
  SQLite::Database made(folder_ / "made.db", SQLite::OPEN_READONLY);
  EXPECT_EQ(made.execAndGet("PRAGMA journal_mode").getString(), "wal");
}

TEST_F(MergeNew, UntrustedAdditionsDoNotCome) {
  write_two();
  SQLite::Database(folder_ / "a.db", SQLite::OPEN_READWRITE)
      .exec("CREATE TRIGGER mine AFTER INSERT ON trial BEGIN DELETE FROM trial; END");
  EXPECT_EQ(make({"a.db", "b.db"})[1].new_rows, 1);
  SQLite::Database made(folder_ / "made.db", SQLite::OPEN_READONLY);
  EXPECT_EQ(made.execAndGet("SELECT count(*) FROM sqlite_schema WHERE name = 'mine'").getInt(), 0);
  EXPECT_EQ(made.execAndGet("SELECT count(*) FROM trial").getInt(), 3);
}

TEST_F(MergeNew, NoPageOfAnInputIsCopied) {
  write_two();
  const std::string secret = "what a deleted row said";
  {
    SQLite::Database a(folder_ / "a.db", SQLite::OPEN_READWRITE);
    a.exec("PRAGMA secure_delete = OFF; UPDATE trial SET reason = '" + secret +
           "'; UPDATE trial SET reason = ''");
    a.exec("PRAGMA journal_mode = DELETE");
  }
  ASSERT_NE(bytes(folder_ / "a.db").find(secret), std::string::npos);
  make({"a.db"});
  EXPECT_EQ(bytes(folder_ / "made.db").find(secret), std::string::npos);
}

TEST_F(MergeNew, WhatAnEarlierDatabaseLeftBesideThePlaceIsNotTakenForItsLog) {
  write_two();
  for (const char* ending : {"", "-wal", "-journal"}) {
    const std::filesystem::path left = (folder_ / "made.db").string() + ending;
    EXPECT_TRUE(MergedDatabase::is_free(folder_ / "made.db"));
    MergedDatabase made(folder_ / "made.db");
    made.add(DatabaseCopy(folder_ / "a.db", folder_.path()));
    std::ofstream(left) << "left";
    EXPECT_FALSE(MergedDatabase::is_free(folder_ / "made.db"));
    EXPECT_TRUE(carries(error_of([&] { made.put_in_place(); }), {"made.db", "put"})) << ending;
    std::filesystem::remove(left);
  }
  std::filesystem::create_symlink("nowhere.db", folder_ / "made.db");
  EXPECT_FALSE(MergedDatabase::is_free(folder_ / "made.db"));
}

TEST_F(MergeNew, ACopyThatIsDamagedMeanwhileIsAnErrorOfItsOriginal) {
  write_two();
  const DatabaseCopy copy(folder_ / "a.db", folder_.path());
  std::filesystem::resize_file(copy.copy(), 5000);
  MergedDatabase made(folder_ / "made.db");
  const std::string message = error_of([&] { made.add(copy); });
  EXPECT_TRUE(carries(message, {(folder_ / "a.db").string(), "damaged"}));
}

TEST_F(MergeNew, LeavesAFileThatHasTakenItsPlace) {
  write_two();
  MergedDatabase made(folder_ / "made.db");
  made.add(DatabaseCopy(folder_ / "a.db", folder_.path()));
  std::ofstream(folder_ / "made.db") << "another's";
  EXPECT_TRUE(carries(error_of([&] { made.put_in_place(); }), {"made.db"}));
  EXPECT_EQ(bytes(folder_ / "made.db"), "another's");
}

}  // namespace merge_test
}  // namespace tiletune
