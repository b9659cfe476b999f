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
  expect_refused(predicted("hgemm_specialized", "A100 40GB"), {"8.0", "A100 40GB", "9.0"});
  expect_refused(predicted("hgemm_specialized", "B200"), {"10.0", "B200", "9.0", "wgmma"});
}

/// Predictions for an H100 of what a config lists, which a test has written.
std::vector<Trial> predicted_by(const std::string& templates, const std::string& problem,
                                const std::string& budget) {
  const Sandbox sandbox;
  sandbox.write("c.json", R"({"templates": [)" + templates + R"(], "problems": [")" + problem +
                              R"("], "strategy": {"name": "exhaustive"}})");
  const Finished run =
      sandbox.run({"sweep", "c.json", "--gpu", "H100", "--budget", budget, "--db", "results.db", "--quiet"});
  EXPECT_EQ(run.code, 0) << run.err;
  return rows_of(sandbox);
}

/// What the warpgroups' products take beside their rows is for integers not every multiple of 8.
TEST(TensorCores, WarpgroupsMultiplyIntegersOfEveryWidth) {
  const std::vector<Trial> rows = predicted_by(
      R"--({"template": "hgemm_persistent", "types": {"A": "i8"}, "options": {"layout": "nt"},
            "parameters": {"BM": [64], "BN": "range(8, 257, 8)", "CLUSTER_M": [1], "CLUSTER_N": [1],
                           "CONSUMERS": [1], "SIDE": ["m_side"], "STORE": ["registers"], "STAGES": [2],
                           "RASTER": ["along_m"], "GROUP": [8], "KEEP_A": ["normal"], "KEEP_B": ["normal"],
                           "PROMOTION": ["none"]}})--",
      "4096x4096x4096", "40");
  EXPECT_EQ(rows.size(), 18U);
  for (const Trial& row : rows) {
    EXPECT_EQ(row.outcome, Outcome::ok) << row.parameters << row.reason;
    EXPECT_EQ(row.pipe, "tensor_i8") << row.parameters;
  }
}

TEST(TensorCores, EachTemplateOfWarpgroupsHasIntegers) {
  for (const auto& [name, problem] :
       {std::pair("hgemm_wgmma", "1000x77x513"), std::pair("hgemm_tma", "1024x1024x1024"),
        std::pair("hgemm_specialized", "1024x1024x1024"), std::pair("hgemm_packed", "1000x77x513")}) {
    const std::vector<Trial> rows = predicted_by(R"({"template": ")" + std::string(name) +
                                                     R"(", "types": {"A": "i8"}, "options": {"layout": "nt"},
                "parameters": {"BM": [64, 128], "BN": [64, 128], "STAGES": [4], "RASTER": ["along_n"], "GROUP": [8]},
                "constraints": [{"require": "BM == BN", "why": "few are enough"}]})",
                                                 problem, "3");
    EXPECT_GE(rows.size(), 2U) << name;
    for (const Trial& row : rows) {
      EXPECT_EQ(row.outcome, Outcome::ok) << name << row.parameters << row.reason;
      EXPECT_EQ(row.pipe, "tensor_i8") << name << row.parameters;
    }
  }
}

TEST(TensorCores, WarpsArePredictedForEveryGenerationFromTheirFirstOn) {
  expect_refused(predicted("hgemm_mma_pipelined", "T4"), {"7.5", "T4", "8.0"});
  expect_predicted_below(predicted("hgemm_mma_pipelined", "A100 40GB"), 312);
  expect_predicted_below(predicted("hgemm_mma_pipelined", "B200"), 2400);
}

}  // namespace tensor_cores_test
}  // namespace tiletune
