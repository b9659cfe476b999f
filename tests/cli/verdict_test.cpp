// What a sweep says at its end, of rows that tell more than the fake GPU worker does.

#include <gtest/gtest.h>

#include <map>

#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace verdict_test {

/// A sweep of three kernels whose rows are then replaced, so that the same sweep reuses them.
class Verdict : public testing::Test {
 protected:
  Verdict() {
    sweep();
    for (const Trial& row : rows_of(sandbox)) {
      if (row.kind == "kernel") kernels[row.parameters] = row;
      if (row.template_name == "cublas") cublas = row;
    }
    time(kernel(0), 100, 1);
    time(kernel(1), 100.5, 1);
    time(kernel(2), 300, 1);
    kernel(2).relative_error = 9e-7;
    time(cublas, 102, 0.5);
  }

  Finished sweep() const { return sandbox.run(measured_sweep(config, "none")); }

  Trial& kernel(int value) { return kernels.at("{\"V\":" + std::to_string(value) + "}"); }

  static void time(Trial& row, double median_us, double half_interval_us) {
    row.timed_in = "final";
    row.noise_floor_percent.reset();
    row.probability_near_best.reset();
    row.median_us = median_us;
    row.ci_low_us = median_us - half_interval_us;
    row.ci_high_us = median_us + half_interval_us;
    row.tflops = 5120 / median_us;
  }

  /// What the sweep prints of these rows.
  std::string printed() {
    Database database(sandbox.folder() / "results.db", Database::Mode::read_write);
    for (const auto& [parameters, row] : kernels) database.record(row);
    database.record(cublas);
    const Finished run = sweep();
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("3 reused"), std::string::npos) << run.out;
    return run.out;
  }

  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3, kNoFinals);
  std::map<std::string, Trial> kernels;
  Trial cublas;
};

TEST_F(Verdict, NamesEveryBaselineAndTheTies) {
  Trial lt = cublas;
  lt.key = "another baseline";
  lt.template_name = "cublaslt";
  time(lt, 100.3, 0.5);
  {
    Database database(sandbox.folder() / "results.db", Database::Mode::read_write);
    database.record(lt);
  }
  EXPECT_TRUE(has_line(
      printed(), {"1x1x1 on Fake H200: tiny V=0",
                  "100 us, 0.000120 GB/s, 100.3% of cublaslt, 102.0% of cublas", "1 other", ": tiny V=1"}));
}

TEST_F(Verdict, SaysWhenNothingIsTied) {
  time(kernel(1), 120, 1);
  EXPECT_TRUE(has_line(
      printed(), {"1x1x1 on Fake H200: tiny V=0", "100 us, 0.000120 GB/s, 102.0% of cublas", "no other"}));
}

TEST_F(Verdict, SaysHowAccurateTheResultsAre) {
  EXPECT_TRUE(has_line(printed(), {"all verified", "error 9.0e-07, bound 1.0e-06 (2 u + 2 sqrt(K) u",
                                   "cublas's own 1.0e-07"}));
  kernel(1).outcome = Outcome::wrong_result;
  kernel(0).relative_error.reset();
  kernel(0).error_bound.reset();
  const std::string mixed = printed();
  EXPECT_TRUE(has_line(mixed, {"1 verified, 1 wrong, 1 not verified",
                               "error 9.0e-07, bound 1.0e-06 (2 u + 2 sqrt(K) u", "cublas's own 1.0e-07"}));
  EXPECT_TRUE(has_line(mixed, {"tiletune rank --db results.db --sweep 3 --outcome wrong_result"}));
  for (auto& [parameters, row] : kernels) row.relative_error.reset();
  EXPECT_TRUE(has_line(printed(), {"not verified:"}));
}

TEST_F(Verdict, ListsWhatWasGivenUpApartFromWhatFailed) {
  kernel(2).outcome = Outcome::screened_out;
  const std::string text = printed();
  EXPECT_TRUE(has_line(text, {"dropped", "tiletune rank --db results.db --sweep 2 --outcome screened_out"}));
  EXPECT_FALSE(has_line(text, {"tiletune rank", "--outcome", "did not"})) << text;
}

}  // namespace verdict_test
}  // namespace tiletune
