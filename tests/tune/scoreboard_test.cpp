#include <gtest/gtest.h>

#include "spec/load.h"
#include "tune/engine.h"

namespace tiletune {
namespace scoreboard_test {

Trial row_of(const std::string& kernel_template, double median_us, double tflops) {
  Trial row;
  row.outcome = Outcome::ok;
  row.gpu = "NVIDIA H200";
  row.problem = "64x64x64";
  row.template_name = kernel_template;
  row.median_us = median_us;
  row.tflops = tflops;
  row.relative_error = 1e-7;
  return row;
}

class ScoreboardTest : public testing::Test {
 protected:
  static TuneSpec load() {
    LoadOptions options;
    const std::filesystem::path home = TILETUNE_SOURCE_DIR;
    options.template_folders = {home / "kernel_templates"};
    return load_tune_spec(home / "configs/quick.json", options);
  }

  const TuneSpec spec = load();
  const std::vector<Task> tasks = plan_tasks(spec);
  const Task& task = tasks.front();
  Scoreboard board;
};

TEST_F(ScoreboardTest, NamesTheBaselineThatTheBestIsComparedWith) {
  EXPECT_EQ(board.state(task).best, "");
  Trial row = row_of("sgemm_naive", 100, 12.34);
  board.add(task, row);
  EXPECT_EQ(board.state(task).best, "12.3 TFLOP/s (sgemm_naive)") << "without a baseline";
  row = row_of("sgemm_warptile", 50, 24.68);
  row.baseline = "cublaslt";
  row.percent_of_baseline = 101.26;
  board.add(task, row);
  EXPECT_EQ(board.state(task).best, "24.7 TFLOP/s, 101.3% of cublaslt (sgemm_warptile)");
}

TEST_F(ScoreboardTest, SaysThatTheBestWasComparedWithNothing) {
  Trial row = row_of("fast", 10, 100);
  row.relative_error.reset();
  board.add(task, row);
  EXPECT_EQ(board.state(task).best, "100.0 TFLOP/s, unverified (fast)");
}

TEST_F(ScoreboardTest, KeepsTheBestOfEachProblem) {
  board.add(task, row_of("fast", 10, 100));
  board.add(task, row_of("slow", 20, 50));
  EXPECT_EQ(board.state(task).best, "100.0 TFLOP/s (fast)");
  Trial failed = row_of("wrong", 1, 1000);
  failed.outcome = Outcome::wrong_result;
  board.add(task, failed);
  EXPECT_EQ(board.state(task).best, "100.0 TFLOP/s (fast)");
  Trial elsewhere = row_of("other", 30, 5);
  elsewhere.problem = "128x128x128";
  board.add(task, elsewhere);
  EXPECT_EQ(board.state(task).best, "5.0 TFLOP/s (other)");
}

}  // namespace scoreboard_test
}  // namespace tiletune
