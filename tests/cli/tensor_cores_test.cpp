// Kernels of one generation of tensor cores, predicted for GPUs of this and other generations.

#include <gtest/gtest.h>

#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace tensor_cores_test {

/// Two configurations of a template of configs/hgemm_ladder.json, predicted for a GPU model.
std::vector<Trial> predicted(const std::string& template_name, const std::string& gpu) {
  const Sandbox sandbox;
  sandbox.run({"sweep", "hgemm_ladder", "--template", template_name, "--gpu", gpu, "--budget", "2", "--db",
               "results.db", "--quiet"});
  return rows_of(sandbox);
}

void expect_refused(const std::vector<Trial>& rows, const std::vector<std::string>& reason) {
  EXPECT_EQ(rows.size(), 2U);
  for (const Trial& row : rows) {
    EXPECT_EQ(row.outcome, Outcome::refused);
    EXPECT_TRUE(carries(row.reason, reason)) << row.reason;
  }
}

void expect_predicted_below(const std::vector<Trial>& rows, double peak_tflops) {
  EXPECT_EQ(rows.size(), 2U);
  for (const Trial& row : rows) {
    EXPECT_EQ(row.outcome, Outcome::ok) << row.reason;
    EXPECT_LT(row.tflops, peak_tflops);
    EXPECT_GT(row.tflops, 0.1 * peak_tflops);
  }
}

TEST(TensorCores, WarpgroupsArePredictedForTheirGenerationAndRefusedOnOthers) {
  expect_predicted_below(predicted("hgemm_specialized", "H100"), 1071);
  expect_refused(predicted("hgemm_specialized", "A100"), {"8.0", "A100 40GB", "9.0"});
  expect_refused(predicted("hgemm_specialized", "B200"), {"10.0", "B200", "9.0", "wgmma"});
}

TEST(TensorCores, WarpsArePredictedForEveryGenerationFromTheirFirstOn) {
  expect_refused(predicted("hgemm_mma_pipelined", "T4"), {"7.5", "T4", "8.0"});
  expect_predicted_below(predicted("hgemm_mma_pipelined", "A100"), 312);
  expect_predicted_below(predicted("hgemm_mma_pipelined", "B200"), 2400);
}

}  // namespace tensor_cores_test
}  // namespace tiletune
