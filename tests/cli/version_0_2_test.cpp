// A database of version 0.2 with a row of every outcome that version had: this one opens it, ranks it,
// exports it, merges it, and continues it.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace version_0_2_test {

using Json = nlohmann::ordered_json;
using Counts = std::map<std::string, int>;

/// Beside "ok" and "screened_out", of which the database has rows.
constexpr const char* kFailures[] = {"dispatched",      "refused",       "compile_failed", "compile_timeout",
                                     "compile_crashed", "launch_failed", "wrong_result",   "unstable",
                                     "out_of_bounds",   "timeout",       "crashed",        "not_recorded"};

class Version02 : public testing::Test {
 protected:
  Version02() {
    std::filesystem::copy_file(std::filesystem::path(TILETUNE_SOURCE_DIR) / "results/h200/quick.db", path());
    SQLite::Database database(path(), SQLite::OPEN_READWRITE);
    for (const std::string failure : kFailures) {
      database.exec("CREATE TEMP TABLE one AS SELECT * FROM trial WHERE kind = 'kernel' LIMIT 1");
      database.exec("UPDATE one SET id = NULL, outcome = '" + failure + "', key = '" + failure +
                    "', median_us = NULL, reason = 'as a test has it', parameters = '{\"V\":\"" + failure +
                    "\"}'");
      database.exec("INSERT INTO trial SELECT * FROM one");
      database.exec("DROP TABLE one");
    }
    database.exec("INSERT OR IGNORE INTO sweep_trial SELECT seen_in_sweep, id FROM trial");
    // What the database's own view calls the best.
    SQLite::Statement best(database, "SELECT template, parameters FROM best");
    while (best.executeStep()) best_ += best.getColumn(0).getString() + best.getColumn(1).getString();
    expected_ = counts();
    EXPECT_EQ(expected_.size(), 14U);
    best.reset();
    database.exec(
        "DROP VIEW best; DROP VIEW ranking; DROP INDEX trial_source_hash; "
        "ALTER TABLE trial DROP COLUMN source_hash; PRAGMA user_version = 13");
  }

  std::string path() const { return sandbox_.folder() / "old.db"; }

  Counts counts(const std::string& file = "old.db") const {
    SQLite::Database database(sandbox_.folder() / file, SQLite::OPEN_READONLY);
    SQLite::Statement rows(database, "SELECT outcome, count(*) FROM trial GROUP BY outcome");
    Counts counts;
    while (rows.executeStep()) counts[rows.getColumn(0).getString()] = rows.getColumn(1).getInt();
    return counts;
  }

  int version() const {
    SQLite::Database database(path(), SQLite::OPEN_READONLY);
    return database.execAndGet("PRAGMA user_version").getInt();
  }

  Json json_of(const std::vector<std::string>& arguments) const {
    const Finished run = sandbox_.run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return Json::parse(run.out);
  }

  std::string best_of(const std::string& file) const {
    std::string best;
    const Json ranking = json_of({"rank", "--db", file, "--format", "json"});
    for (const Json& group : ranking["groups"]) {
      for (const Json& row : group["rows"]) {
        if (row["rank"] != 1) continue;
        best += row["template"].get<std::string>() + row["parameters"].dump();
        break;
      }
    }
    return best;
  }

  Sandbox sandbox_;
  std::string best_;
  Counts expected_;
};

TEST_F(Version02, IsReadWithoutBeingChanged) {
  const std::string before = read_file(path());
  EXPECT_EQ(best_of("old.db"), best_);
  EXPECT_EQ(sandbox_.run({"rank", "--db", "old.db", "--best"}).code, 0);
  const Finished crashed = sandbox_.run({"rank", "--db", "old.db", "--outcome", "crashed"});
  EXPECT_NE(crashed.out.find("as a test has it"), std::string::npos) << crashed.out;
  EXPECT_EQ(sandbox_.run({"report", "--db", "old.db", "-o", "report.html"}).code, 0);
  Counts exported;
  const Json rows = json_of({"export", "--db", "old.db"});
  for (const Json& row : rows["trials"]) ++exported[row["outcome"].get<std::string>()];
  EXPECT_EQ(exported, expected_);
  const Json best = json_of({"export", "--db", "old.db", "--best"});
  EXPECT_EQ(best["best"].size(), 1U) << best.dump();
  EXPECT_EQ(read_file(path()), before);
}

TEST_F(Version02, IsMergedIntoADatabaseOfToday) {
  const std::string config = sandbox_.write_tiny_space(2);
  ASSERT_EQ(sandbox_.run(measured_sweep(config, "none")).code, 0);
  const Finished merge = sandbox_.run({"merge", "old.db", "results.db", "-o", "all.db"});
  EXPECT_EQ(merge.code, 0) << merge.err;
  Counts all = expected_;
  for (const auto& [outcome, count] : counts("results.db")) all[outcome] += count;
  EXPECT_EQ(counts("all.db"), all);
  EXPECT_EQ(best_of("all.db").rfind(best_, 0), 0U) << "the first group is the old one's";
  EXPECT_EQ(version(), 13) << "an input of merge is not changed";
}

TEST_F(Version02, IsContinued) {
  const std::string config = sandbox_.write_tiny_space(2);
  std::vector<std::string> sweep = measured_sweep(config, "none");
  std::replace(sweep.begin(), sweep.end(), std::string("results.db"), std::string("old.db"));
  std::erase(sweep, "--quiet");
  const Finished first = sandbox_.run(sweep);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_GT(version(), 13);
  Counts now = counts();
  EXPECT_EQ(now["ok"] - expected_["ok"], 4) << "two kernels, a baseline and the second copy of the leader";
  now["ok"] = expected_["ok"];
  EXPECT_EQ(now, expected_) << "no row of 0.2 is lost";
  EXPECT_EQ(best_of("old.db").rfind(best_, 0), 0U);
  const Finished again = sandbox_.run(sweep);
  EXPECT_NE(again.out.find("2 reused"), std::string::npos) << again.out << again.err;
}

}  // namespace version_0_2_test
}  // namespace tiletune
