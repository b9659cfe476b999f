// Operations over several GPUs, through the executable with fake GPU workers.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "carries.h"
#include "fake_sweep.h"
#include "process.h"

namespace tiletune {
namespace several_gpus_test {

using Json = nlohmann::json;

constexpr const char* kManifest = R"--({
  "name": "gather", "summary": "all-gather, then a product",
  "operation": {
    "dimensions": ["G", "M", "N", "K"], "gpus": "G",
    "flops": "2 * M * N * K", "bytes": "4 * (M * K + K * N + M * N)", "accumulation": "K", "bound": "ffma",
    "buffers": [
      {"name": "A", "type": "f32", "rows": "M", "columns": "K", "role": "in", "layout": "rows"},
      {"name": "B", "type": "f32", "rows": "K", "columns": "N", "role": "in", "layout": "columns"},
      {"name": "C", "type": "f32", "rows": "M", "columns": "N", "role": "out", "layout": "columns"}],
    "reference": {"library": "all_gather_gemm"}, "baselines": {"library": "all_gather_gemm"}},
  "source": "kernel.cu", "macros": {"V": "V"},
  "parameters": [{"name": "V", "values": [1, 2, 3]}, {"name": "NCCL", "values": [false, true]}],
  "workspace": [{"name": "gathered", "type": "f32", "elements": "M * K"},
                {"name": "arrived", "type": "u32", "elements": "G", "zeroed": true}],
  "launches": [
    {"copy": "A", "to": "gathered", "peer": "(rank + step) % G", "to_offset": "peer * M // G * K",
     "elements": "M // G * K", "repeat": {"step": "G - 1"}, "beside": true, "signal": "arrived",
     "when": "not NCCL"},
    {"collective": "all_gather", "from": "A", "to": "gathered", "elements": "M // G * K", "when": "NCCL"},
    {"kernel": "k", "grid": [1], "block": [128],
     "arguments": [{"peers": "A"}, {"buffer": "B"}, {"buffer": "C"}, {"buffer": "gathered"},
                   {"buffer": "arrived"}, {"scalar": "rank", "type": "i32"}]}]})--";

constexpr const char* kSource = R"--(
extern "C" __global__ void k(const float* const* A, const float* B, float* C, const float* gathered,
                             unsigned* arrived, int rank) {
  C[threadIdx.x] = A[1 - rank][0] * B[0] + gathered[threadIdx.x] + arrived[0] + V;
}
)--";

class SeveralGpus : public testing::Test {
 protected:
  SeveralGpus() {
    sandbox_.write("gather/kernel.cu", kSource);
    sandbox_.write("gather/template.json", kManifest);
  }

  std::string config(const std::string& problems, const std::string& more = "") const {
    return sandbox_.write("config.json", R"({"templates": ["gather"], "problems": )" + problems + more + "}");
  }

  Sandbox sandbox_;
};

TEST_F(SeveralGpus, RowsHaveTheTimeOfEach) {
  const Finished run = sandbox_.run(measured_sweep(config(R"(["2x64x64x64"])"), "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox_);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 6);
  for (const Trial& row : rows) {
    if (row.kind != "kernel") continue;
    ASSERT_FALSE(row.gpu_times_us.empty());
    const Json times = Json::parse(row.gpu_times_us);
    ASSERT_EQ(times.size(), 2U);
    EXPECT_NEAR(times[1].get<double>(), *row.median_us, 1);
    const Json launch = Json::parse(row.launch);
    ASSERT_EQ(launch["steps"].size(), 2U);
    const bool by_nccl = Json::parse(row.parameters)["NCCL"];
    EXPECT_EQ(launch["steps"][0]["step"], by_nccl ? "collective" : "copy");
    if (by_nccl) continue;
    EXPECT_EQ(launch["steps"][0]["copies"],
              Json::parse("[[0, 1, 0, 2048, 2048, 1], [1, 0, 0, 0, 2048, 0]]"));
  }
}

TEST_F(SeveralGpus, EveryWorkerHasAsManyAsTheProblemNeeds) {
  std::vector<std::string> sweep = sweep_with(config(R"(["2x64x64x64"])"), "none");
  sweep.insert(sweep.end(), {"--gpus", "all"});
  const Finished run = sandbox_.run(sweep);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.err, {"GPU 2 is left out", "2 GPUs"}));
}

TEST_F(SeveralGpus, TooFewAreRefused) {
  const std::string four = config(R"(["4x64x64x64"])");
  const Finished too_few = sandbox_.run(measured_sweep(four, "none"));
  EXPECT_EQ(too_few.code, 2);
  EXPECT_TRUE(carries(too_few.err, {"4 GPUs", "shows 3", "--gpu NAME"}));
  const Finished named = sandbox_.run(measured_sweep(four, "none", 3, {"--gpus", "0,1"}));
  EXPECT_EQ(named.code, 2);
  EXPECT_TRUE(carries(named.err, {"4 GPUs", "--gpus names 2"}));
}

TEST_F(SeveralGpus, WhatCannotBeMeasuredTogetherIsRefused) {
  const Finished mixed = sandbox_.run(measured_sweep(config(R"(["2x64x64x64", "4x64x64x64"])"), "none"));
  EXPECT_EQ(mixed.code, 2);
  EXPECT_TRUE(carries(mixed.err, {"/problems", "2 GPUs", "4 GPUs", "--problem"}));
  const Finished warm =
      sandbox_.run(measured_sweep(config(R"(["2x64x64x64"])", R"(, "measure": {"cache": "warm"})"), "none"));
  EXPECT_EQ(warm.code, 2);
  EXPECT_TRUE(carries(warm.err, {"/measure/cache", "warm", "cold"}));
  const Finished uneven = sandbox_.run(measured_sweep(config(R"(["2x63x64x64"])"), "none"));
  EXPECT_EQ(uneven.code, 2);
  EXPECT_TRUE(carries(uneven.err, {"63 rows", "'A'", "2 GPUs"}));
}

TEST_F(SeveralGpus, AWorkerThatIsLostOrHangsCostsOneRow) {
  const std::string two = config(R"(["2x64x64x64"])", R"(, "measure": {"launch_timeout_s": 0.2})");
  EXPECT_EQ(sandbox_.run(measured_sweep(two, "fatal")).code, 0);
  std::vector<Trial> rows = rows_of(sandbox_);
  EXPECT_EQ(kernels_with(rows, Outcome::crashed), 1);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 5);
  EXPECT_EQ(sandbox_.run(measured_sweep(two, "hang", 3, {"--remeasure"})).code, 0);
  rows = rows_of(sandbox_);
  EXPECT_EQ(kernels_with(rows, Outcome::timeout), 1);
}

TEST_F(SeveralGpus, TimesArePredictedForAnyNumber) {
  const std::string four = config(R"(["4x64x64x64", "2x64x64x64"])");
  const Finished run = sandbox_.run({"sweep", four, "--db", "results.db", "--quiet", "--gpu", "H100"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 12);
}

}  // namespace several_gpus_test
}  // namespace tiletune
