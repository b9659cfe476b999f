// What kernels print, times that no GPU can reach, and leaders that prove faulty: through the executable,
// with a fake GPU worker.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace trust_test {

constexpr int kConfigurations = 14;

std::vector<Trial> kernels_of(const Sandbox& sandbox) {
  std::vector<Trial> rows = rows_of(sandbox);
  std::erase_if(rows, [](const Trial& row) { return row.kind != "kernel"; });
  return rows;
}

TEST(Printed, IsKeptWithItsRowAndReachesNoTerminal) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(3), "prints"));
  EXPECT_EQ(run.code, 0) << run.err;
  for (const std::string& text : {run.out, run.err}) {
    EXPECT_EQ(text.find('\033'), std::string::npos) << text;
    EXPECT_EQ(text.find("warp 1"), std::string::npos) << text;
  }
  for (const Trial& row : kernels_of(sandbox))
    EXPECT_EQ(row.printed, "?[2Jwarp 0 \nwarp 1\n?[2Jwarp 0 \nwarp 1");
  const std::string json = sandbox.run({"rank", "--db", "results.db", "--format", "json"}).out;
  EXPECT_NE(json.find(R"("printed": "?[2Jwarp 0 \nwarp 1\n)"), std::string::npos) << json.substr(0, 2000);
}

TEST(Printed, LastWordsOfACrashAreKept) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(3), "crash_prints", 2));
  std::vector<Trial> rows = kernels_of(sandbox);
  std::erase_if(rows, [](const Trial& row) { return row.outcome != Outcome::crashed; });
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(rows[0].printed.find("Assertion `row < M` failed."), std::string::npos) << rows[0].printed;
}

TEST(Implausible, NeitherRanksNorLeads) {
  const Sandbox sandbox;
  const Finished run =
      sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "impossible", 1));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = kernels_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::implausible), 1);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), kConfigurations - 1) << "nothing is screened out against it";
  for (const Trial& row : rows) {
    if (row.outcome != Outcome::implausible) continue;
    EXPECT_TRUE(carries(row.reason, {"5%", "4.50 TB/s"}));
  }
  EXPECT_EQ(run.out.find("implausible 0"), std::string::npos);
}

TEST(Implausible, ALeaderThatBecomesSoInTheFinalsLosesItsRank) {
  const Sandbox sandbox;
  const Finished run =
      sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "finals_impossible", 1));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = kernels_of(sandbox);
  EXPECT_GE(kernels_with(rows, Outcome::implausible), 1);
  for (const Trial& row : rows) {
    if (row.outcome != Outcome::implausible) continue;
    EXPECT_TRUE(row.reason.starts_with("in the finals: ")) << row.reason;
  }
}

/// It depends on a calibration that is no part of the row's key.
TEST(Implausible, IsMeasuredAgainByTheNextSweep) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "impossible", 1));
  ASSERT_EQ(kernels_with(kernels_of(sandbox), Outcome::implausible), 1);
  const Finished again = sandbox.run(measured_sweep(config, "none"));
  EXPECT_NE(again.out.find("13 reused"), std::string::npos) << again.out;
  EXPECT_EQ(kernels_with(kernels_of(sandbox), Outcome::ok), kConfigurations);
}

/// As if the ceilings had been measured at the lowest of clocks.
void lower_ceilings(const Sandbox& sandbox) {
  SQLite::Database database(sandbox.folder() / "results.db", SQLite::OPEN_READWRITE);
  ASSERT_EQ(database.exec("UPDATE calibration SET ffma_tflops = 1e-12, copy_gbs = 1e-7, read_gbs = 1e-7"), 1);
}

double read_ceiling_gbs(const Sandbox& sandbox) {
  SQLite::Database database(sandbox.folder() / "results.db", SQLite::OPEN_READONLY);
  return database.execAndGet("SELECT read_gbs FROM calibration").getDouble();
}

TEST(Implausible, CeilingsOfAnEarlierSweepAreMeasuredAgainFirst) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(3), "none"));
  lower_ceilings(sandbox);
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(kernels_with(kernels_of(sandbox), Outcome::ok), kConfigurations) << run.out;
  EXPECT_EQ(read_ceiling_gbs(sandbox), 4500);
}

TEST(Implausible, TheFinalsMeasureCeilingsOfAnEarlierSweepAgainToo) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "none"));
  lower_ceilings(sandbox);
  // Finals that are to be held in another way are held again.
  const Finished run = sandbox.run(measured_sweep(config, "none", 3, {"--sustained", "1s"}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("14 reused"), std::string::npos) << run.out;
  EXPECT_EQ(kernels_with(kernels_of(sandbox), Outcome::ok), kConfigurations) << run.out;
  EXPECT_EQ(read_ceiling_gbs(sandbox), 4500);
}

/// Measured in this sweep, the ceilings hold.
TEST(Implausible, CeilingsAreMeasuredAgainOnlyOnce) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(3), "none"));
  const Finished run =
      sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "always_impossible"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(kernels_with(kernels_of(sandbox), Outcome::implausible), kConfigurations - 3) << run.out;
}

/// The number that stands before some words of a text.
std::int64_t number_before(const std::string& text, const std::string& words) {
  const std::size_t end = text.find(words);
  if (end == std::string::npos || end == 0) return -1;
  const std::size_t before = text.find_last_not_of("0123456789", end - 1);
  return std::stoll(text.substr(before == std::string::npos ? 0 : before + 1, end));
}

TEST(DisqualifiedLeaders, WhatIsMeasuredAgainWasNotKnownFromBefore) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "spread"));
  ASSERT_GT(kernels_with(kernels_of(sandbox), Outcome::screened_out), 0);
  // Finals that are to be held in another way are held again.
  std::vector<std::string> arguments = sweep_with(config, "spread_finals_wrong", 1);
  arguments.insert(arguments.end(), {"--sustained", "1s"});
  const Finished again = sandbox.run(arguments);
  EXPECT_EQ(again.code, 0) << again.err;
  ASSERT_TRUE(carries(again.err, {"of 1x1x1 tried again"}));
  const std::int64_t known = number_before(again.out, " reused");
  EXPECT_GE(known, 0) << again.out;
  EXPECT_LT(known, kConfigurations) << again.out;
}

}  // namespace trust_test
}  // namespace tiletune
