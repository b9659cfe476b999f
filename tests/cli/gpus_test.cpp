// Sweeps over several GPUs, and over GPUs that fail, through the executable with fake GPU workers.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace gpus_test {

std::string fake_uuid(int index) { return "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index); }

/// Kernel rows by GPU.
std::map<std::string, int> rows_by_uuid(const std::vector<Trial>& rows) {
  std::map<std::string, int> counts;
  for (const Trial& row : rows) counts[row.gpu_uuid] += row.kind == "kernel" ? 1 : 0;
  return counts;
}

std::set<std::string> parameters_on(const std::vector<Trial>& rows, const std::string& gpu) {
  std::set<std::string> parameters;
  for (const Trial& row : rows) {
    if (row.gpu == gpu && row.kind == "kernel") parameters.insert(row.parameters);
  }
  return parameters;
}

TEST(Gpus, OfOneModelShareTheSpace) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(24);
  warm_kernel_cache(sandbox, config);
  const Finished run = sandbox.run(measured_sweep(config, "slow", 3, {"--gpus", "0,1"}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("24 of 24 configurations"), std::string::npos) << run.out;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 24);
  EXPECT_EQ(parameters_on(rows, "Fake H200").size(), 24U);
  auto counts = rows_by_uuid(rows);
  EXPECT_GE(counts[fake_uuid(0)], 4);
  EXPECT_GE(counts[fake_uuid(1)], 4);
}

TEST(Gpus, OneThatIsSlowerThanTheOthersIsNoticed) {
  const auto sweep = [](const Sandbox& sandbox, const std::string& config, const std::string& mode) {
    std::vector<std::string> arguments = sweep_with(config, mode);
    arguments.insert(arguments.end(), {"--gpus", "0,1", "--remeasure"});
    return sandbox.run(arguments);
  };
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(24);
  warm_kernel_cache(sandbox, config);
  const Finished run = sweep(sandbox, config, "1:tired");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.err, {fake_uuid(1) + " is 8.3% slower", "55 TFLOP/s instead of 60", "--gpus"}));
  EXPECT_EQ(run.err.find(fake_uuid(0) + " is"), std::string::npos);
  const Finished again = sweep(sandbox, config, "1:tired");
  EXPECT_TRUE(carries(again.err, {"8.3% slower"})) << "of calibrations that were recorded";
  const Sandbox other;
  const Finished alike = sweep(other, other.write_tiny_space(24), "slow");
  EXPECT_EQ(alike.err.find("slower"), std::string::npos) << alike.err;
}

TEST(Gpus, OfDifferentModelsAreSweptAndRankedApart) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(
      measured_sweep(sandbox.write_tiny_space(6), "slow", 3, {"--gpus", "all", "--format", "json"}));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(parameters_on(rows, "Fake H200").size(), 6U);
  EXPECT_EQ(parameters_on(rows, "Fake H300").size(), 6U);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 12);
  const auto document = nlohmann::ordered_json::parse(run.out);
  ASSERT_EQ(document["groups"].size(), 2U);
  std::set<std::string> gpus;
  for (const auto& group : document["groups"]) {
    EXPECT_EQ(group["rows"].size(), 7U) << "six kernels and the baseline of this model";
    for (const auto& row : group["rows"]) EXPECT_EQ(row["gpu"], group["gpu"]);
    gpus.insert(group["gpu"].get<std::string>());
  }
  EXPECT_EQ(gpus, (std::set<std::string>{"Fake H200", "Fake H300"}));
}

TEST(Gpus, TheHeadlineCountsThem) {
  const Sandbox sandbox;
  std::vector<std::string> arguments = sweep_with(sandbox.write_tiny_space(2), "none");
  arguments.insert(arguments.end(), {"--gpus", "all"});
  const Finished run = sandbox.run(arguments);
  EXPECT_TRUE(has_line(run.out, {"2 x Fake H200, sm_90a, 132", "Fake H300, sm_90a"}));
}

TEST(Gpus, ADeadOneIsRetiredAndItsWorkMoves) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(24, kNoFinals);
  warm_kernel_cache(sandbox, config);
  const Finished run = sandbox.run(measured_sweep(config, "dies", 2, {"--gpus", "0,1"}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.out, {"Fake H200 (" + fake_uuid(1) + ")", "dropped", "4 attempts", "fallen off"}));
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 24) << "what was with the dead one was tried again";
  EXPECT_EQ(rows_by_uuid(rows)[fake_uuid(1)], 1) << "what it had measured before it died";
}

TEST(Gpus, OneThatLosesItsWorkerWithEverythingIsRetiredAndBlamesNothing) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(24);
  const Finished run = sandbox.run(measured_sweep(config, "1:always_crash", 3, {"--gpus", "0,1"}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), 24) << run.out;
}

TEST(Gpus, OneThatCannotPrepareTheProblemLeavesItToTheOthers) {
  for (const char* mode : {"1:unpreparable", "1:dies_preparing"}) {
    const Sandbox sandbox;
    const Finished run =
        sandbox.run(measured_sweep(sandbox.write_tiny_space(12), mode, 3, {"--gpus", "0,1"}));
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), 12) << mode << '\n' << run.out;
  }
}

TEST(Gpus, ThatAreNamedAndNotThereAreAnError) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(1), "no_gpu", 3, {"--gpus", "0"}));
  EXPECT_EQ(run.code, 3) << run.out;
  EXPECT_TRUE(carries(run.err, {"GPU 0:", "no driver"}));
}

TEST(Gpus, TheDeathOfTheLastOneEndsTheSweepAndTheNextRunGoesOn) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(6);
  const Finished run = sandbox.run(measured_sweep(config, "dies", 3, {"--gpus", "1"}));
  EXPECT_EQ(run.code, 3) << run.out;
  EXPECT_NE(run.out.find("ok 2, crashed 1"), std::string::npos) << run.out;
  EXPECT_TRUE(carries(run.err, {"no Fake H200", "again"}));

  const Finished again = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(carries(again.out, {"ok 5, crashed 1; 3 reused"}));
}

TEST(Gpus, AWorkerThatSomebodyKilledIsNoFaultOfItsConfiguration) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(6), "killed"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), 6);
}

TEST(Gpus, AWorkerThatIsKilledAgainIsBlamedOnItsConfiguration) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(2), "always_killed"));
  EXPECT_EQ(run.code, 1) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::crashed), 2);
  for (const Trial& row : rows) {
    EXPECT_EQ(row.reason, row.kind == "kernel" ? "killed by signal 9 (Killed)" : "");
  }
}

TEST(Gpus, WhatWasInFlightWhenASweepEndedComesLast) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3, kNoFinals);
  sandbox.run(measured_sweep(config, "none"));
  {
    Database database(sandbox.folder() / "results.db", Database::Mode::read_write);
    std::vector<Trial> rows = database.trials({});
    std::erase_if(rows, [](const Trial& row) { return row.kind == "baseline"; });
    for (Trial& row : rows) row.outcome = Outcome::refused;
    database.record_all(rows);
    // Only in the place of a row without a result: a result is not given up for this mark.
    for (Trial& row : rows)
      row.outcome = row.parameters == R"({"V":0})" ? Outcome::dispatched : Outcome::refused;
    database.record_all(rows);
  }
  const Finished run = sandbox.run(measured_sweep(config, "wrong", 3));
  EXPECT_NE(run.out.find("ok 2, wrong_result 1"), std::string::npos) << run.out;
  for (const Trial& row : rows_of(sandbox)) {
    EXPECT_EQ(row.outcome == Outcome::wrong_result, row.parameters == R"({"V":0})") << row.parameters;
  }
}

TEST(Gpus, AReferenceThatDoesNotCompileIsTheReasonOfItsRows) {
  const Sandbox sandbox;
  sandbox.write("odd/kernel.cu", "extern \"C\" __global__ void odd(float* y) { y[threadIdx.x] = V; }\n");
  sandbox.write("odd/reference.cu",
                "extern \"C\" __global__ void reference(float* y) { y[0] = nonsense; }\n");
  sandbox.write("odd/template.json", R"({
    "name": "odd", "summary": "s", "source": "kernel.cu", "kernel": "odd", "macros": {"V": "V"},
    "operation": {
      "dimensions": ["n"], "flops": "n", "bytes": "4 * n", "accumulation": 1, "bound": "copy",
      "buffers": [{"name": "y", "type": "f32", "elements": "n", "role": "out"}],
      "reference": {"source": "reference.cu", "kernel": "reference", "grid": [1], "block": [32]}},
    "parameters": [{"name": "V", "values": [1, 2], "meaning": "what is written"}],
    "launch": {"grid": [1], "block": [32]}, "arguments": [{"buffer": "y"}]
  })");
  const std::string config = sandbox.write("odd.json", R"({"templates": ["odd"], "problems": [{"n": 32}]})");
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::refused), 2);
  EXPECT_TRUE(carries(rows.front().reason, {"does not compile"}));
  EXPECT_NE(rows.front().reason.find("nonsense"), std::string::npos) << rows.front().reason;
}

TEST(Gpus, AMalformedListIsExplained) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  for (const char* list : {"0,", "0,0", "-1", "one", "0 1", "99999999999"}) {
    const Finished run = sandbox.run(measured_sweep(config, "none", 3, {"--gpus", list}));
    EXPECT_EQ(run.code, 2) << list;
    EXPECT_TRUE(carries(run.err, {"--gpus:", "'" + std::string(list) + "'"}));
  }
}

}  // namespace gpus_test
}  // namespace tiletune
