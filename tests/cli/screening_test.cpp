// Screening, throttling and the GPU's ceilings, through the executable with a fake GPU worker.

#include <gtest/gtest.h>

#include <algorithm>

#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace screening_test {

constexpr int kConfigurations = 12;
/// Whatever is measured is lost with its worker: for runs that are to find everything in the database.
constexpr const char* kUnusable = "always_crash";

void expect_explained(const Trial& row) {
  EXPECT_EQ(row.timed_in, "screening");
  ASSERT_TRUE(row.min_us.has_value());
  EXPECT_EQ(row.reason.rfind("at least ", 0), 0U) << row.reason;
  EXPECT_NE(row.reason.find(" times the leader's "), std::string::npos) << row.reason;
  EXPECT_TRUE(carries(row.reason, {"3 samples"}));
}

TEST(Screening, WhoIsFarFromTheLeaderIsScreenedOutWithItsTime) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "spread"));
  EXPECT_EQ(run.code, 0) << run.err;
  std::vector<Trial> rows = rows_of(sandbox);
  std::erase_if(rows, [](const Trial& row) { return row.kind != "kernel"; });
  const std::int64_t screened_out = kernels_with(rows, Outcome::screened_out);
  EXPECT_GT(screened_out, 0);
  EXPECT_EQ(kernels_with(rows, Outcome::ok) + screened_out, kConfigurations);
  // Rows are in the order of their measurement, so the leader is known; its upper end is 2 us above its
  // minimum.
  double leader_us = 1e9;
  for (const Trial& row : rows) {
    const double first_us = row.first_median_us.value_or(*row.median_us);
    EXPECT_EQ(row.outcome == Outcome::screened_out, first_us - 1 > 1.5 * (leader_us + 1)) << row.parameters;
    if (row.outcome == Outcome::screened_out) expect_explained(row);
    leader_us = std::min(leader_us, first_us);
  }
}

TEST(Screening, WhatWasScreenedOutIsNotMeasuredAgainWhileItsLeaderStands) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "spread"));
  const Finished again = sandbox.run(measured_sweep(config, kUnusable));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("12 reused"), std::string::npos) << again.out;
}

TEST(Screening, WhatWasScreenedOutIsMeasuredAnewWhenItsLeaderIsGone) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "spread"));
  std::int64_t screened_out = 0;
  {
    Database database(sandbox.folder() / "results.db", Database::Mode::read_write);
    std::vector<Trial> rows = database.trials({});
    screened_out = kernels_with(rows, Outcome::screened_out);
    // A refused row is tried again.
    for (Trial& row : rows) row.outcome = row.outcome == Outcome::ok ? Outcome::refused : row.outcome;
    database.record_all(rows);
  }
  ASSERT_GT(screened_out, 0);
  // Nothing differs by half now.
  const Finished again = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(again.out.find(" reused"), std::string::npos) << again.out;
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), kConfigurations);
}

TEST(Screening, ALadderScreensEachTemplateAgainstItsOwnBest) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(1, R"(, "view": "ladder")"), "none"));
  EXPECT_NE(rows_of(sandbox).front().measure_policy.find(R"("screened_by":"template")"), std::string::npos);
  sandbox.run(measured_sweep(sandbox.write_tiny_space(1), "none"));
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), 2) << "what was screened otherwise is another row";
}

TEST(Screening, CanBeLeftOut) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations, R"(, "measure": {"screening": 0})");
  sandbox.run(measured_sweep(config, "spread"));
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), kConfigurations);
}

TEST(Ceilings, AreMeasuredOncePerGpuAndBoundEveryRow) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  sandbox.run(measured_sweep(config, "none"));
  for (const Trial& row : rows_of(sandbox)) {
    EXPECT_NEAR(*row.arithmetic_intensity, 2.0 / 12, 1e-9) << "one product of two numbers";
    EXPECT_EQ(row.bound, "memory");
    EXPECT_NEAR(*row.percent_of_ceiling, 100 * 12 / 4000e3 / *row.median_us, 1e-9) << row.kind;
    EXPECT_NEAR(*row.gbs, 12e-3 / *row.median_us, 1e-9) << row.kind;
    EXPECT_NEAR(*row.percent_of_copy, *row.percent_of_ceiling, 1e-9) << row.kind;
  }
  {
    Database database(sandbox.folder() / "results.db", Database::Mode::read_write);
    auto record = database.calibration("GPU-00000000-0000-0000-0000-000000000000", "580.0");
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->ffma_tflops, 60);
    EXPECT_EQ(record->empty_kernel_batch_us, 1.5);
    record->copy_gbs = 1000;
    database.record_calibration(*record);
  }
  sandbox.run(measured_sweep(config, "none", 3, {"--remeasure"}));
  for (const Trial& row : rows_of(sandbox))
    EXPECT_NEAR(*row.percent_of_ceiling, 100 * 12 / 1000e3 / *row.median_us, 1e-9) << row.kind;
}

TEST(Throttling, IsAWarningOfItsRow) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(2), "throttled"));
  for (const Trial& row : rows_of(sandbox)) {
    if (row.kind == "baseline") continue;
    EXPECT_TRUE(carries(row.warnings, {"2 samples", "(sw_power_cap)"}));
  }
}

}  // namespace screening_test
}  // namespace tiletune
