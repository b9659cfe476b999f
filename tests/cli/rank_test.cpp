// What `tiletune rank` prints, and of which databases.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "cli/expect_error.h"
#include "cli/process.h"
#include "store/database.h"

namespace tiletune {
namespace rank_test {

Trial timed(const std::string& key, Outcome outcome, double median_us) {
  Trial trial;
  trial.key = trial.template_name = key;
  trial.problem = "64x64x64";
  trial.gpu = "NVIDIA H200";
  trial.outcome = outcome;
  trial.median_us = median_us;
  return trial;
}

TEST(Rank, ColumnsAreListedWithoutADatabase) {
  const Sandbox sandbox;
  const Finished run = sandbox.run({"rank", "--columns", "list"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out.rfind("column ", 0), 0U) << run.out;
  expect_error(sandbox.run({"rank", "--columns", "list", "--format", "csv"}), kUserError, {"'csv'"});
}

TEST(Rank, WhatWasScreenedOutIsListedWithItsTime) {
  const Sandbox sandbox;
  Trial screened = timed("slow", Outcome::screened_out, 250);
  screened.reason = "slower than 1.5 times the leader";
  Trial refused = timed("refused", Outcome::refused, 0);
  refused.median_us.reset();
  refused.reason = "too many threads";
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write)
      .record_all({timed("fast", Outcome::ok, 100), screened, refused});
  EXPECT_EQ(sandbox.run({"rank", "--db", "rows.db"}).out.find("slow"), std::string::npos);
  EXPECT_EQ(sandbox.run({"rank", "--db", "rows.db", "--outcome", "screened_out"}).out,
            "outcome       template  problem   gpu          median_us  reason\n"
            "screened_out  slow      64x64x64  NVIDIA H200        250  slower than 1.5 times the "
            "leader\n");
  EXPECT_EQ(sandbox.run({"rank", "--db", "rows.db", "--outcome", "refused"}).out,
            "outcome  template  problem   gpu          reason\n"
            "refused  refused   64x64x64  NVIDIA H200  too many threads\n");
}

/// The templates that `rank --problem TEXT` lists, in a database with one per problem.
std::set<std::string> ranked_at(const Sandbox& sandbox, const std::string& problem) {
  const Finished run = sandbox.run(
      {"rank", "--db", "rows.db", "--problem", problem, "--format", "csv", "--columns", "template"});
  EXPECT_EQ(run.code, 0) << problem << ": " << run.err;
  std::set<std::string> templates;
  std::istringstream lines(run.out);
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line))
    templates.insert(line.substr(line.rfind(',') + 1, line.rfind('\r') - line.rfind(',') - 1));
  return templates;
}

TEST(Rank, AProblemMayBeNamedAsASweepTakesIt) {
  const Sandbox sandbox;
  std::vector<Trial> rows;
  for (const auto& [kernel, problem] :
       std::vector<std::pair<std::string, std::string>>{{"cube", "512x512x512"},
                                                        {"vector", "512"},
                                                        {"square", "512x512"},
                                                        {"apart", "512x512x512 lda=520 ldc=600"},
                                                        {"wide", "512x512x512 ldc=600"},
                                                        {"other", "512x512x1024"}}) {
    rows.push_back(timed(kernel, Outcome::ok, 100));
    rows.back().problem = problem;
  }
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write).record_all(rows);
  using Names = std::set<std::string>;
  EXPECT_EQ(ranked_at(sandbox, "512"), (Names{"cube", "vector", "square"}));
  EXPECT_EQ(ranked_at(sandbox, "512x512x512"), Names{"cube"});
  EXPECT_EQ(ranked_at(sandbox, "512x512x1024,lda=1024"), Names{"other"}) << "the default";
  EXPECT_EQ(ranked_at(sandbox, "512,ldc=600"), Names{"wide"});
  EXPECT_EQ(ranked_at(sandbox, "512x512x512 lda=520 ldc=600"), Names{"apart"});
  EXPECT_EQ(ranked_at(sandbox, "512, ldc=600, lda=520, ldb=512"), Names{"apart"});
  EXPECT_EQ(sandbox.run({"rank", "--db", "rows.db", "--problem", "512,ldb=600"}).code, 1) << "no row matches";
}

TEST(Rank, TheBestOfEachProblemIsATableOfItsOwn) {
  const Sandbox sandbox;
  Trial other = timed("other", Outcome::ok, 40);
  other.problem = "8x8x8";
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write)
      .record_all({timed("fast", Outcome::ok, 100), timed("slow", Outcome::ok, 200), other});
  const std::string best = sandbox.run({"rank", "--db", "rows.db", "--best"}).out;
  EXPECT_NE(best.find("\n64x64x64  fast "), std::string::npos) << best;
  EXPECT_NE(best.find("\n8x8x8     other "), std::string::npos) << best;
  EXPECT_EQ(best.find("slow"), std::string::npos) << best;
  for (const std::vector<std::string>& beside : {std::vector<std::string>{"--ladder"},
                                                 {"--columns", "rank"},
                                                 {"--sort-by", "rank"},
                                                 {"--limit", "3"},
                                                 {"--outcome", "ok"}}) {
    std::vector<std::string> command{"rank", "--db", "rows.db", "--best"};
    command.insert(command.end(), beside.begin(), beside.end());
    const bool both = beside.front() == "--ladder";
    expect_error(sandbox.run(command), kUserError,
                 {both ? "--best:" : beside.front() + ":", "no effect", both ? "--ladder" : "--best"});
  }
}

TEST(Rank, ADatabaseOfSchema13IsUpgradedAndRanked) {
  const Sandbox sandbox;
  std::ifstream stream(std::string(TILETUNE_SOURCE_DIR) + "/tests/store/schema_13.sql");
  std::stringstream sql;
  sql << stream.rdbuf();
  SQLite::Database(sandbox.folder() / "old.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql.str());
  const Finished run = sandbox.run({"rank", "--db", "old.db", "--columns", "rank,parameters,median_us"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out,
            "1024x1024x1024 on NVIDIA H200, measured (gemm, f32, alpha=1 beta=0, dirty)\n"
            "rank  parameters  median_us\n"
            "   -  -                64.3\n"
            "   1  BM=4 BN=32        327\n"
            "   2  BM=4 BN=64        332\n"
            "   3  BM=8 BN=64        341\n");
}

TEST(Rank, HistoryAndImportanceOfARecordedSweep) {
  const Sandbox sandbox;
  const std::string quick = TILETUNE_SOURCE_DIR "/results/h200/quick.db";
  const Finished history = sandbox.run({"rank", "--db", quick, "--history"});
  EXPECT_EQ(history.code, 0) << history.err;
  EXPECT_TRUE(carries(history.out, {"evaluation", "cost_s", "percent_of_best", "100.0", "evaluations, "}));
  const Finished importance = sandbox.run({"rank", "--db", quick, "--importance"});
  EXPECT_EQ(importance.code, 0) << importance.err;
  EXPECT_TRUE(carries(importance.out, {"share_percent", "worst_to_best"}));
  for (const std::string list : {"--history", "--importance"}) {
    const Finished json = sandbox.run({"rank", "--db", quick, list, "--format", "json"});
    EXPECT_TRUE(carries(json.out, {list == "--history" ? "\"steps\"" : "\"share\"", "\"gpu\""}));
    EXPECT_EQ(sandbox.run({"rank", "--db", quick, list, "--format", "csv"}).out.rfind("gpu,problem", 0), 0U);
    EXPECT_EQ(sandbox.run({"rank", "--db", quick, list, "--format", "markdown"}).code, 0);
    expect_error(sandbox.run({"rank", "--db", quick, list, "--best"}), kUserError, {list, "--best"});
    expect_error(sandbox.run({"rank", "--db", quick, list, "--columns", "gpu"}), kUserError,
                 {list, "--columns"});
  }
}

TEST(Rank, ImportanceOfOneConfigurationCannotBeSaid) {
  const Sandbox sandbox;
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write)
      .record_all({timed("a", Outcome::ok, 100)});
  expect_error(sandbox.run({"rank", "--db", "rows.db", "--importance"}), kNothingToDo,
               {"several configurations"});
  EXPECT_EQ(sandbox.run({"rank", "--db", "rows.db", "--history"}).code, 0);
}

}  // namespace rank_test
}  // namespace tiletune
