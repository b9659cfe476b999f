#include "tune/knowledge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "carries.h"
#include "store/database.h"
#include "temporary_folder.h"
#include "tune/many_rows.h"

namespace tiletune::knowledge_test {

class KnowledgeOfRows : public testing::Test {
 protected:
  KnowledgeOfRows() {
    LoadOptions options;
    options.template_folders = {std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
    spec_ = load_tune_spec(write_wide_space(folder_.path(), 4, 2, false), options);
    tasks_ = plan_tasks(spec_);
  }

  /// A row of "wide" with these values on a problem of that size.
  void record(int x, int y, double median_us, std::int64_t size, const std::string& gpu = "NVIDIA H200",
              const std::string& kernel = "wide", const std::string& operation = "gemm") {
    Database database(file_, Database::Mode::read_write);
    Trial row;
    row.key = fmt::format("{}", ++rows_);
    row.template_name = kernel;
    row.operation = operation;
    row.problem = fmt::format("{0}x{0}x{0}", size);
    row.dimensions = fmt::format(R"({{"M": {0}, "N": {0}, "K": {0}}})", size);
    row.parameters = fmt::format(R"({{"X": {}, "Y": {}}})", x, y);
    row.outcome = Outcome::ok;
    row.median_us = median_us;
    row.gpu = gpu;
    database.record(row);
  }

  std::vector<Lesson> lessons() const {
    const Knowledge knowledge(file_, tasks_);
    std::vector<Lesson> lessons;
    for (const auto& known : knowledge.known_for(tasks_, "NVIDIA H200"))
      lessons.push_back(knowledge.lesson(known));
    return lessons;
  }

  TemporaryFolder folder_;
  TuneSpec spec_;
  std::vector<Task> tasks_;
  std::filesystem::path file_ = folder_.path() / "known.db";
  int rows_ = 0;
};

TEST_F(KnowledgeOfRows, ComparesTimesWithTheBestOfTheirProblemAndGpu) {
  record(1, 1, 20, 1);
  record(4, 2, 10, 1);
  record(2, 1, 500, 8);
  record(3, 1, 7, 1, "NVIDIA A100");
  const std::vector<Lesson> found = lessons();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].relative_time, 2);
  EXPECT_EQ(found[0].distance, 0);
  EXPECT_EQ(found[1].positions, (std::vector<std::uint32_t>{3, 1}));
  EXPECT_EQ(found[1].relative_time, 1);
  EXPECT_EQ(found[2].relative_time, 1);
  EXPECT_NEAR(found[2].distance, 0.5, 1e-9) << "three powers of two of six";
  EXPECT_GT(found[3].distance, 0) << "another GPU";
}

TEST_F(KnowledgeOfRows, LeavesOutWhatTheTemplateDoesNotHave) {
  record(1, 1, 20, 1);
  record(5, 1, 20, 1);
  record(1, 1, 20, 1, "NVIDIA H200", "narrow");
  record(1, 2, 20, 1, "NVIDIA H200", "wide", "softmax");
  EXPECT_EQ(lessons().size(), 1U);
}

TEST_F(KnowledgeOfRows, OfNothingIsRefused) {
  record(5, 1, 20, 1);
  try {
    lessons();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.what(), {"known.db", "wide", "--learn-from"}));
  }
}

TEST_F(KnowledgeOfRows, OfAFolderAllDatabasesButTheSweepsOwnAreRead) {
  const std::filesystem::path folder = folder_.path() / "shards";
  std::filesystem::create_directory(folder);
  EXPECT_TRUE(Knowledge(folder, tasks_, folder / "1.db").is_empty());
  for (const int shard : {1, 2, 3}) {
    file_ = folder / fmt::format("{}.db", shard);
    record(shard, 1, 10.0 * shard, 1);
  }
  std::ofstream(folder / "4.db") << "this is no database";
  std::ofstream(folder / "1.log") << "nor is this";
  const Knowledge knowledge(folder, tasks_, folder / "2.db");
  const auto known = knowledge.known_for(tasks_, "NVIDIA H200");
  ASSERT_EQ(known.size(), 2U);
  std::set<double> times;
  for (const auto& one : known) times.insert(knowledge.relative_time(one));
  EXPECT_EQ(times, (std::set<double>{1, 3})) << "compared with the best of all files";
  EXPECT_TRUE(carries(knowledge.summary(), {"2 configurations", "shards"}));
}

/// The message of a database that nothing can be learned from.
std::string refusal(const std::filesystem::path& file, const std::vector<Task>& tasks) {
  try {
    Knowledge(file, tasks);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST_F(KnowledgeOfRows, WhatADatabaseHasInsteadIsSaid) {
  Database(file_, Database::Mode::read_write).begin_sweep(SweepRecord());
  EXPECT_TRUE(carries(refusal(file_, tasks_), {"known.db", "no rows", "--learn-from"}));
  record(1, 1, 20, 1, "NVIDIA H200", "narrow");
  EXPECT_TRUE(carries(refusal(file_, tasks_), {"known.db", "no configuration of wide", "narrow"}));
  record(1, 1, 20, 1, "NVIDIA H200", "wide", "softmax");
  EXPECT_TRUE(carries(refusal(file_, tasks_), {"known.db", "wide", "another operation"}));
  record(5, 1, 20, 1);
  EXPECT_TRUE(carries(refusal(file_, tasks_), {"known.db", "1 row of wide", "parameters"}));
}

TEST_F(KnowledgeOfRows, SaysHowWellItOrdersAProblemThatWasLeftOut) {
  for (const std::int64_t size : {64, 128, 256})
    for (int x = 1; x <= 4; ++x)
      for (int y = 1; y <= 2; ++y) record(x, y, static_cast<double>(size * (x * x + y)), size);
  const auto alike = Knowledge(file_, tasks_).rank_correlation(tasks_);
  ASSERT_TRUE(alike);
  EXPECT_GT(*alike, 0.9);
}

TEST_F(KnowledgeOfRows, RowsThatContradictEachOtherOrderNothing) {
  for (int x = 1; x <= 4; ++x)
    for (int y = 1; y <= 2; ++y) {
      record(x, y, 10 + 2 * x + y, 64);
      record(x, y, 100 - 2 * x - y, 128);
    }
  EXPECT_LT(Knowledge(file_, tasks_).rank_correlation(tasks_).value_or(1), 0);
}

TEST_F(KnowledgeOfRows, OfOneProblemTheErrorIsUnknown) {
  for (int x = 1; x <= 4; ++x) record(x, 1, x, 64);
  EXPECT_FALSE(Knowledge(file_, tasks_).rank_correlation(tasks_));
}

TEST_F(KnowledgeOfRows, OfAFileThatIsNoDatabaseIsRefused) {
  folder_.write("known.db", "not a database");
  EXPECT_THROW(lessons(), UserError);
}

TEST(ProblemDistance, IsThatOfTheDimensionThatDiffersMost) {
  const Problem small{.dimensions = {{"M", 64}, {"N", 64}}};
  const Problem wide{.dimensions = {{"M", 64}, {"N", 512}}};
  const Problem other{.dimensions = {{"rows", 64}, {"N", 64}}};
  EXPECT_EQ(problem_distance(small, small), 0);
  EXPECT_NEAR(problem_distance(small, wide), 0.5, 1e-9);
  EXPECT_EQ(problem_distance(small, other), 1);
}

}  // namespace tiletune::knowledge_test
