// `tiletune bench` through the executable: one configuration, with a fake GPU worker where times are needed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace bench_test {

using Json = nlohmann::ordered_json;

/// A template with a parameter of each type, which its constraints tie together.
class Bench : public testing::Test {
 protected:
  Bench() {
    sandbox.write("mixed/kernel.cu",
                  "extern \"C\" __global__ void mixed(float* C, const float*, "
                  "const float*) { C[0] = ROWS * SCALE + FAST; }\n");
    sandbox.write("mixed/template.json", R"json({
      "name": "mixed", "summary": "every type", "operation": "gemm", "source": "kernel.cu", "kernel": "mixed",
      "macros": {"ROWS": "ROWS", "SCALE": "SCALE", "FAST": "1 if FAST else 0"},
      "parameters": [{"name": "ROWS", "values": [1, 2, 4], "meaning": "rows"},
                     {"name": "SCALE", "values": [0.5, 1], "meaning": "a factor"},
                     {"name": "FAST", "values": [false, true], "meaning": "a switch"},
                     {"name": "ORDER", "values": ["forward", "backward"], "meaning": "a direction"}],
      "constraints": [{"require": "FAST == (ROWS > 1)", "why": "only many rows are fast"}],
      "launch": {"grid": ["ROWS", 2], "block": [32]},
      "arguments": [{"buffer": "C"}, {"buffer": "A"}, {"buffer": "B"}]})json");
  }

  Finished bench(std::vector<std::string> more, const std::string& mode = "none", int strikes_at = 1) const {
    more.insert(more.begin(), {"bench", "--db", "results.db", "-j", "1", "--quiet"});
    for (const std::string& word : {std::string(TILETUNE_BINARY_DIR) + "/fake_gpu_worker",
                                    std::string("{gpu}"), mode, std::to_string(strikes_at)})
      more.insert(more.end(), {"--gpu-worker", word});
    return sandbox.run(more);
  }
  /// All of the template's parameters set.
  Finished bench_mixed(std::vector<std::string> more, const std::string& mode = "none") const {
    more.insert(more.begin(), {"mixed", "--set", "ROWS=2", "--set", "SCALE=1.0", "--set", "ORDER=backward",
                               "--problem", "8x16x32"});
    return bench(more, mode);
  }

  const Sandbox sandbox;
};

void expect_in(const std::string& text, const std::vector<std::string>& parts) {
  EXPECT_TRUE(carries(text, parts));
}

TEST_F(Bench, MeasuresReportsAndRecords) {
  const Finished run = bench_mixed({});
  EXPECT_EQ(run.code, 0) << run.err;
  expect_in(run.out, {"8x16x32", "Fake H200: ok\n", "ROWS=2 SCALE=1 FAST=true ORDER=backward", "launch ",
                      "2 x 2", "registers       ", "occupancy       ", "median          ", "histogram, us   ",
                      "cublas          ", "bound           ", "results.db", "sweep 1\n"});
  int kernels = 0;
  for (const Trial& row : rows_of(sandbox)) {
    if (row.kind != "kernel") continue;
    ++kernels;
    EXPECT_EQ(row.parameters, R"({"ROWS":2,"SCALE":1,"FAST":true,"ORDER":"backward"})");
    EXPECT_EQ(row.outcome, Outcome::ok);
  }
  EXPECT_EQ(kernels, 1);
}

TEST_F(Bench, MeasuresAnewEachTimeAndSaysWhatWentWrong) {
  EXPECT_EQ(bench_mixed({}).code, 0);
  const Finished wrong = bench_mixed({}, "wrong");
  expect_error(wrong, kNothingToDo, {"mixed", "wrong_result", "0.5 of C", "1e-06"});
  expect_in(wrong.out, {"Fake H200: wrong_result\n", "\n  reason ", "0.5 of C"});
}

TEST_F(Bench, HoldsFinalsWithTheBaselineAndATwin) {
  const Finished run = bench_mixed({"--rounds", "7"});
  expect_in(run.out,
            {"the finals", "before finals   ", "noise floor     ", "event floor     ", "bound by        "});
  const Json document = Json::parse(bench_mixed({"--rounds", "7", "--format", "json"}).out);
  EXPECT_EQ(document["configuration"]["timed_in"], "final");
  EXPECT_EQ(document["configuration"]["sample_count"], 7);
  EXPECT_TRUE(document["twin"]["median_us"].is_number());
  EXPECT_GT(document["calibration"]["ffma_tflops"], 0);
}

TEST_F(Bench, JsonHoldsTheWholeReport) {
  const Finished run = bench_mixed({"--format", "json"});
  const Json document = Json::parse(run.out);
  EXPECT_EQ(document["configuration"]["outcome"], "ok");
  EXPECT_EQ(document["configuration"]["parameters"]["ORDER"], "backward");
  EXPECT_EQ(document["configuration"]["samples_us"].size(),
            document["configuration"]["sample_count"].get<std::size_t>());
  EXPECT_EQ(document["flops"], 2.0 * 8 * 16 * 32);
  EXPECT_TRUE(carries(document["error_bound"].get<std::string>(), {"2 u + 2 sqrt(K) u", "f32"}));
  EXPECT_FALSE(document["baselines"].empty());
  EXPECT_TRUE(document["baselines"][0]["kernel_percent_of_it"].is_number());
  EXPECT_GT(document["waves"], 0);
  EXPECT_FALSE(document["distribution"]["histogram"].empty());
}

TEST_F(Bench, WithoutAGpuItPredictsUnderABanner) {
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{}, std::vector<std::string>{"--gpu", "H100"}}) {
    const Finished run = bench_mixed(how, "no_gpu");
    EXPECT_EQ(run.code, 0) << run.err;
    expect_in(run.out, {"H100 SXM", "nothing", "\npredicted\n", "registers       "});
    EXPECT_EQ(run.out.find("median  "), std::string::npos) << run.out;
  }
  const Finished json = bench_mixed({"--format", "json"}, "no_gpu");
  expect_in(json.err, {"No GPU", "no driver"});
  EXPECT_EQ(Json::parse(json.out)["configuration"]["source"], "predicted");
  expect_error(bench_mixed({"--gpus", "0"}, "no_gpu"), 3, {"GPU 0:", "no driver"});
}

TEST_F(Bench, OpenParametersAreListedWithTheValuesThatAreLeft) {
  const Finished none = bench({"mixed", "--set", "FAST=true", "--problem", "64"});
  expect_error(
      none, kUserError,
      {"--set:", "3 parameters of mixed", "--set ROWS=2|4   (rows)\n", "--set SCALE=0.5|1   (a factor)\n",
       "--set ORDER=forward|backward   (a direction)\n", "--best"});
  EXPECT_EQ(none.err.find("FAST="), std::string::npos) << none.err;
  const Finished one = bench({"mixed", "--set", "FAST=false", "--set", "SCALE=1", "--problem", "64"});
  expect_error(one, kUserError, {"--set:", "1 parameter of mixed", "--set ORDER="});
}

TEST_F(Bench, TheBestRecordedFillsWhatIsOpen) {
  expect_error(bench({"mixed", "--best", "--problem", "64"}), kUserError, {"results.db"});
  ASSERT_EQ(bench_mixed({}).code, 0);
  const Finished filled = bench({"mixed", "--best", "--set", "ROWS=4", "--problem", "64"});
  EXPECT_EQ(filled.code, 0) << filled.err;
  expect_in(filled.out, {"ROWS=4 SCALE=1 FAST=true ORDER=backward\n"});
  expect_error(bench({"mixed", "--best", "--set", "ROWS=1", "--problem", "64"}), kNothingToDo,
               {"--set:", "mixed", "64x64x64", "ROWS=1 SCALE=1 FAST=true ORDER=backward",
                "FAST == (ROWS > 1)   (only many rows are fast)"});
  expect_error(bench({"mixed", "--best", "--problem", "64", "--gpu", "A100 40GB"}), kUserError,
               {"--best:", "results.db", "mixed", "A100 40GB"});
}

TEST_F(Bench, SettingsThatCannotBe) {
  const auto refused = [&](const std::string& setting, const std::vector<std::string>& parts) {
    expect_error(bench({"mixed", "--set", setting, "--problem", "64"}), kUserError, parts);
  };
  refused("ROWS", {"--set:", "'ROWS'", "--set BM=128"});
  refused("=3", {"--set:", "'=3'"});
  refused("ROW=2", {"--set ROW:", "mixed", "'ROW'", "'ROWS'"});
  refused("ROWS=two", {"--set ROWS", "'two'", "not an integer", "1, 2, 4"});
  refused("ROWS=3", {"--set ROWS:", "ROWS = 3", "1, 2, 4", "--extend"});
  refused("ROWS=99999999999999999999", {"--set ROWS", "99999999999999999999"});
  refused("SCALE=nan", {"--set SCALE", "'nan'", "not a number"});
  refused("FAST=1", {"--set FAST:", "'1'", "true or false", "false, true"});
  refused("ORDER=forwrad", {"--set ORDER:", "ORDER = forwrad", "forward, backward"});
  refused("alpha=much", {"--set alpha:", "'much'", "not a number"});
  expect_error(bench({"mixed", "--set", "ROWS=1", "--set", "ROWS=2", "--problem", "64"}), kUserError,
               {"--set ROWS", "twice"});
}

TEST_F(Bench, OtherValuesAndScalarsWhenAsked) {
  const Finished run = bench({"mixed", "--extend", "--set", "ROWS=3", "--set", "SCALE=2", "--set",
                              "ORDER=forward", "--set", "beta=0.5", "--problem", "64"});
  EXPECT_EQ(run.code, 0) << run.err;
  expect_in(run.out, {"ROWS=3 SCALE=2 FAST=true ORDER=forward\n", "gemm, f32, alpha=1 beta=0.5\n"});
}

TEST_F(Bench, TemplatesAndProblemsThatCannotBe) {
  expect_error(bench({"sgemm_shard", "--problem", "64"}), kUserError,
               {"TEMPLATE", "'sgemm_shard'", "'sgemm_shared'"});
  expect_error(bench({"nowhere/mixed", "--problem", "64"}), kUserError, {"TEMPLATE", "nowhere/mixed"});
  expect_error(bench({"mixed", "--set", "ROWS=1"}), kUserError, {"--problem", "missing", "4096x4096x4096"});
  expect_error(bench({"mixed", "--problem", "64x64"}), kUserError, {"--problem:", "'64x64'", "2 sizes"});
  expect_error(bench_mixed({"--gpus", "0,1"}), kUserError, {"--gpus:", "one GPU"});
  expect_error(bench_mixed({"--format", "csv"}), kUserError, {"table, json"});
  EXPECT_EQ(bench({"mixed/template.json", "--problem", "64"}).code, kUserError) << "a path will do";
}

TEST_F(Bench, OperationsHaveDimensionsOfTheirOwn) {
  sandbox.write("axpy/kernel.cu",
                "extern \"C\" __global__ void axpy(int n, const float* x, float* y) { y[0] = x[n - 1]; }\n");
  sandbox.write(
      "axpy/reference.cu",
      "extern \"C\" __global__ void reference(int n, const double* x, double* y) { y[0] = x[n - 1]; }\n");
  sandbox.write("axpy/template.json", R"json({
    "name": "axpy", "summary": "its own", "source": "kernel.cu", "kernel": "axpy",
    "operation": {
      "dimensions": ["n"],
      "buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"},
                  {"name": "y", "type": "f32", "elements": "n", "role": "inout"}],
      "flops": "2 * n", "bytes": "12 * n", "accumulation": 1, "bound": "ffma",
      "reference": {"source": "reference.cu", "kernel": "reference", "grid": [1], "block": [1]}},
    "launch": {"grid": ["ceil_div(n, 256)"], "block": [256]},
    "arguments": [{"scalar": "n", "type": "i32"}, {"buffer": "x"}, {"buffer": "y"}]})json");
  const Finished run = bench({"axpy", "--problem", "1000"});
  EXPECT_EQ(run.code, 0) << run.err;
  expect_in(run.out, {"1000", "Fake H200: ok\n", "grid 4", "intensity       0.167", "sqrt(1)"});
  expect_error(bench({"axpy"}), kUserError, {"sizes n", "--problem 4096"});
  expect_error(bench({"axpy", "--problem", "1000", "--baseline", "lt"}), kUserError, {"--baseline:", "axpy"});
}

TEST_F(Bench, ALostGpuEndsItAsASweep) {
  const Finished crashed = bench_mixed({}, "always_crash");
  expect_error(crashed, kNothingToDo, {"crashed", "signal 11"});
}

TEST_F(Bench, RunsAgainUnderASanitizer) {
  expect_error(bench_mixed({"--sanitize", "memcheck,valgrind"}), kUserError,
               {"--sanitize", "valgrind", "racecheck"});
  // A tool that runs the program, and then tells of an error.
  sandbox.write("compute-sanitizer",
                "#!/bin/sh\necho \"$@\" > arguments\n"
                "while [ \"${1##*/}\" != tiletune ]; do shift; done\n\"$@\" > inner 2>&1\n"
                "echo '========= Invalid __global__ read of size 4 bytes'\n"
                "echo '========= ERROR SUMMARY: 1 error'\n");
  std::filesystem::permissions(sandbox.folder() / "compute-sanitizer", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (sandbox.folder().string() + ":" + path).c_str(), 1);
  const Finished run = bench_mixed({"--sanitize", "memcheck"});
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(run.code, 1) << run.err;
  expect_in(run.out,
            {"Invalid __global__ read", "ERROR SUMMARY: 1 error", "memcheck: errors found, see above"});
  const auto written = [&](const char* name) { return read_file(sandbox.folder() / name); };
  const std::string arguments = written("arguments");
  expect_in(arguments, {"--tool memcheck", "mixed --set ROWS=2", "--problem 8x16x32", "copy.db"});
  EXPECT_EQ(arguments.find("--sanitize"), std::string::npos) << arguments;
  EXPECT_EQ(arguments.find("--db results.db"), std::string::npos) << arguments;
  EXPECT_TRUE(carries(written("inner"), {"Fake H200: ok"})) << written("inner");
}

}  // namespace bench_test
}  // namespace tiletune
