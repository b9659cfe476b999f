// Files that are something else, cut off or hostile: the message names the place, and nothing is taken in.

#include <fmt/format.h>

#include "importing.h"

namespace tiletune {
namespace {

class ImportErrors : public Importing {
 protected:
  void TearDown() override { EXPECT_TRUE(rows().empty()) << "half a file was taken in"; }
};

constexpr const char* kGood = R"("1": {"x": 1, "time": 1}, )";

TEST_F(ImportErrors, WhatAFileDoesNotSayMustBeSaid) {
  const std::string row = R"("1": {"x": 1, "time": 1})";
  EXPECT_EQ(refusal(cache(row, "")),
            "file.json: does not say on which GPU it was recorded. Add it: --gpu \"NVIDIA A100-PCIE-40GB\".");
  EXPECT_EQ(refusal(cache(row, "A", "null")),
            "file.json: does not say which problem it is for. Add it: --problem 4096x4096.");
  EXPECT_EQ(refusal(R"({"results": [{"configuration": {}, "times": {}, "invalidity": "correct"}]})"),
            "file.json: does not say on which GPU it was recorded. Add it: --gpu \"NVIDIA A100-PCIE-40GB\".");
  EXPECT_EQ(
      refusal(R"({"results": [{"configuration": {}, "times": {"runtimes": [1]}, "invalidity": "correct"}]})",
              {"A", "1", "k", ""}),
      "file.json: /metadata/timeunit: does not say the unit of its times. Add it: --time-unit ms, us, ns or "
      "s.");
  EXPECT_EQ(
      refusal(R"({"Metadata": {"Device": "A", "TimeUnit": "Fortnights"}, "Results": []})", {"", "1", "", ""}),
      "file.json: /Metadata/TimeUnit: 'Fortnights' is not a unit of time. Add it: --time-unit ms, us, ns or "
      "s.");
}

TEST_F(ImportErrors, WhatThePersonSaysMustNotContradictTheFile) {
  const std::string kernel_tuner = cache(R"("1": {"x": 1, "time": 1})");
  EXPECT_EQ(
      refusal(kernel_tuner, {"NVIDIA B200", "", "", ""}),
      "file.json: the file says 'NVIDIA A100', but --gpu 'NVIDIA B200'. Leave out --gpu, or correct the "
      "file.");
  EXPECT_EQ(
      refusal(kernel_tuner, {"", "0x0", "", ""}),
      "file.json: the file says '64x32', but --problem '0x0'. Leave out --problem, or correct the file.");
  EXPECT_EQ(refusal(kernel_tuner, {"", "", "other", ""}),
            "file.json: the file says 'k', but --kernel 'other'. Leave out --kernel, or correct the file.");
  EXPECT_EQ(refusal(R"({"metadata": {"timeunit": "milliseconds"}, "results": [{"configuration": {"x": 1},
                        "times": {"runtimes": [3]}, "invalidity": "correct"}]})",
                    {"A", "1", "k", "us"}),
            "file.json: /metadata/timeunit: the file says 'milliseconds', but --time-unit 'us'. Leave out "
            "--time-unit, or correct the file.");
  EXPECT_EQ(
      refusal(R"({"Metadata": {"Device": "A", "TimeUnit": "ms"}, "Results": [{"KernelName": "k",
                        "Status": "Ok", "TotalDuration": 1, "Configuration": [{"Name": "x", "Value": 1}]}]})",
              {"", "1", "other", ""}),
      "file.json: /Results/0: the file says 'k', but --kernel 'other'. Leave out --kernel, or correct the "
      "file.");
  const std::string own = R"({"tiletune_trials": 1, "sweeps": [], "trials": [
      {"key": "a", "kind": "kernel", "gpu": "NVIDIA A100", "outcome": "refused"}]})";
  EXPECT_EQ(refusal(own, {"NVIDIA B200", "", "", ""}),
            "file.json: /trials/0: the file says 'NVIDIA A100', but --gpu 'NVIDIA B200'. Leave out --gpu, or "
            "correct the file.");
  EXPECT_EQ(
      refusal(own, {"", "", "", "ms"}),
      "file.json: the file says 'us', but --time-unit 'ms'. Leave out --time-unit, or correct the file.");
}

TEST_F(ImportErrors, BrokenRowsAreNamed) {
  EXPECT_EQ(
      refusal(cache(std::string(kGood) + R"("a/b": {"x": 2, "time": "Exploded"})")),
      "file.json: /cache/a~1b/time: 'Exploded' is neither a time nor a known failure. Known: InvalidConfig, "
      "CompilationFailedConfig, RuntimeFailedConfig.");
  EXPECT_EQ(refusal(cache(std::string(kGood) + R"("2": {"time": 2})")),
            "file.json: /cache/2: the row has no value of the parameter 'x'. Correct or remove the row.");
  EXPECT_EQ(refusal(cache(std::string(kGood) + R"("2": {"x": 2, "time": -2})")),
            "file.json: /cache/2: -2000 us is not a valid kernel time. Correct or remove the row.");
  EXPECT_EQ(refusal(cache(std::string(kGood) + R"("2": [2])")),
            "file.json: /cache/2: a row must be an object. Correct or remove it.");
  EXPECT_EQ(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"},
      {"configuration": {"x": 1}, "times": {}, "invalidity": "correct"}]})",
                    {"A", "1", "k", ""}),
            "file.json: /results/1: the row has no time. Correct or remove the row.");
}

TEST_F(ImportErrors, AFigureOfAnotherUnitThanItsSamples) {
  EXPECT_EQ(
      refusal(cache(std::string(kGood) + R"("2": {"x": 2, "time": 1000, "times": [2, 1, 3]})")),
      "file.json: /cache/2: the time 1e+06 us is far from its samples, 1000 to 3000 us: a unit is wrong. "
      "Correct or remove the row.");
  const std::string row = R"({"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct",
      "measurements": [{"name": "time", "value": 1, "unit": "us"}]})";
  EXPECT_EQ(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [)" + row + "]}", {"A", "1", "k", ""}),
            "file.json: /results/0: the time 1 us is far from its samples, 1000 to 1000 us: a unit is wrong. "
            "Correct or remove the row.");
}

TEST_F(ImportErrors, AParameterIsThereOnce) {
  const ImportFacts facts{"A", "1", "k", "ms"};
  EXPECT_EQ(refusal(cache(std::string(kGood) + R"("2": {"x": 2, "x": 3, "time": 2})")),
            "file.json: /cache/2: the parameter 'x' is there twice. Correct it, or remove the row.");
  EXPECT_NE(refusal(R"({"device_name": "A", "kernel_name": "k", "problem_size": 1,
                        "tune_params_keys": ["x", "y", "x"], "cache": {"1": {"x": 1, "y": 1, "time": 1}}})")
                .find("file.json: /tune_params_keys: the parameter 'x' is there twice"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"metadata": {}, "results": [{"configuration": {"x": 1, "y": 2, "x": 3},
                        "times": {"runtimes": [1]}, "invalidity": "correct"}]})",
                    facts)
                .find("file.json: /results/0/configuration: the parameter 'x' is there twice"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"Metadata": {"Device": "A", "TimeUnit": "ms"}, "Results": [
                        {"KernelName": "k", "Status": "Ok", "TotalDuration": 1,
                         "Configuration": [{"Name": "x", "Value": 1}, {"Name": "x", "Value": 2}]}]})",
                    facts)
                .find("file.json: /Results/0/Configuration: the parameter 'x' is there twice"),
            std::string::npos);
}

TEST_F(ImportErrors, NumbersThatWouldBecomeOne) {
  for (const char* value :
       {"9223372036854775808", "18446744073709551617", "-9223372036854775809", "[1, [9223372036854775809]]",
        R"({"a": 18446744073709551617})", "1e30", "NaN", "Infinity"}) {
    EXPECT_EQ(refusal(cache(fmt::format(R"("2": {{"x": {}, "time": 2}})", value))),
              "file.json: /cache/2: the parameter 'x' holds a number beyond 2^63, NaN or Infinity, where two "
              "values would become one. Write it as a string.")
        << value;
  }
}

TEST_F(ImportErrors, SizesAreAtLeastOne) {
  const std::string row = R"("1": {"x": 1, "time": 1})";
  for (const char* size :
       {"[64, -4]", "0", "\"0x-4\"", "\"64x0 lda=80\"", "\"99999999999999999999x0\"", "\"64 lda=0\""}) {
    const std::string why = refusal(cache(row, "A", size));
    EXPECT_EQ(why.find("file.json: /problem_size: the problem '"), 0U) << why;
    EXPECT_NE(why.find("' has a size that is not positive. Correct it."), std::string::npos) << why;
  }
  EXPECT_EQ(refusal(cache(row, "A", "null"), {"", "64x-1", "", ""}),
            "--problem: the problem '64x-1' has a size that is not positive. Correct it.");
}

TEST_F(ImportErrors, FilesThatAreCutOff) {
  EXPECT_EQ(refusal(cache(kGood).substr(0, cache(kGood).find("tune_params") + 5)),
            "file.json: line 1, column 84: is cut off. Copy it again.");
  EXPECT_EQ(refusal(R"({"device_name": "A", )"), "file.json: line 1, column 22: is cut off. Copy it again.");
  EXPECT_EQ(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"})",
                    {"A", "1", "k", ""}),
            "file.json: /results: is cut off. Copy it again.");
  EXPECT_EQ(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"}, {"configu)",
                    {"A", "1", "k", ""}),
            "file.json: /results: is cut off. Copy it again.");
  const std::string packed = gzipped(cache(std::string(kGood) + R"("2": {"x": 2, "time": 2})"));
  EXPECT_EQ(refusal(packed.substr(0, packed.size() - 12)),
            "file.json: the gzip file is cut off. Copy it again.");
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_NE(refusal(damaged).find("file.json: cannot be read: "), std::string::npos);
}

TEST_F(ImportErrors, FilesThatAreSomethingElse) {
  EXPECT_EQ(refusal("rank,median_us\n1,2\n").find("file.json: line 1, column 1: not valid JSON: "), 0U);
  for (const char* other :
       {"{}", "[1, {\"cache\": {}}]", "3", R"({"cache": 5})", R"({"templates": ["a"]})"}) {
    EXPECT_EQ(refusal(other),
              "file.json: not a recording of a known tool. Import a cache file of Kernel Tuner, T4 "
              "results, the JSON output of KTT or what 'tiletune export' wrote.")
        << other;
  }
  EXPECT_EQ(refusal(R"({"cache": {}})"),
            "file.json: /tune_params_keys: a Kernel Tuner cache lists its parameters here. Is this a cache "
            "of Kernel Tuner?");
  EXPECT_NE(error_of([&] { import(folder_.path()); }).find("this is a folder, not a file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { import(folder_ / "no.json"); }).find("there is no such file"), std::string::npos);
}

TEST_F(ImportErrors, NumbersThatAreNone) {
  const std::string large = refusal(cache(R"("16,2": {"x": 1, "time": 1e999})"));
  EXPECT_EQ(large.find("file.json: line 1, column 166: not valid JSON: "), 0U) << large;
  EXPECT_NE(large.find(" ('16,2')"), std::string::npos) << large;
  const std::string none = refusal(cache(R"("16,2": {"x": 1, "time": NaN})"));
  EXPECT_NE(none.find("/cache/16,2: nan us is not a valid kernel time"), std::string::npos) << none;
}

TEST_F(ImportErrors, ADatabase) {
  EXPECT_EQ(refusal(std::string("SQLite format 3\0 and so on", 26)),
            "file.json: is a database. Join databases with 'tiletune merge'.");
}

/// A row of an own export, with one column changed.
std::string own(const std::string& column) {
  return R"({"tiletune_trials": 1, "sweeps": [], "trials": [{)" + column +
         R"(, "key": "k", "kind": "kernel", "outcome": "ok", "source": "measured", "median_us": 1.5,
            "parameters": {"x": 1}}]})";
}

TEST_F(ImportErrors, RowsThatTiletuneCannotHaveWritten) {
  for (const auto& [column, why] : {
           std::pair(R"("median_us": -5)", "/trials/0/median_us: not a valid kernel time"),
           std::pair(R"("median_us": null)", "/trials/0/outcome: a row that is ok must have a time"),
           std::pair(R"("samples_us": [1.5, "a"])", "/trials/0/samples_us/1: not a number"),
           std::pair(R"("registers": -1)", "/trials/0/registers: this cannot be negative"),
           std::pair(R"("occupancy": 7.5)", "/trials/0/occupancy: this is not from 0 to 1"),
           std::pair(R"("kind": "unkind")", "/trials/0/kind: this is neither kernel, baseline nor twin"),
           std::pair(R"("parameters": [1])", "/trials/0/parameters: a kernel's parameters must be an object"),
           std::pair(
               R"("recorded_at": "9999-99-99T00:00:00Z")",
               "/trials/0/recorded_at: '9999-99-99T00:00:00Z' is not a time such as 2026-11-21T10:00:00Z"),
           std::pair(R"("recorded_at": "garbage")", "/trials/0/recorded_at: 'garbage' is not a time"),
           std::pair(R"("recorded_at": "2026-11-21T10:00:00+01:00")", "/trials/0/recorded_at: "),
           std::pair(R"("key": "")", "/trials/0: the row has no key"),
       }) {
    EXPECT_NE(refusal(own(column)).find(why), std::string::npos) << refusal(own(column));
  }
  EXPECT_NE(refusal(R"({"metadata": {"timeunit": "us", "tiletune": {"other_rows": [5]}}, "results": []})")
                .find("/metadata/tiletune/other_rows/0: a row must be an object"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"tiletune_trials": 1, "sweeps": [], "calibrations": [{"gpu": "A", "gpu_uuid": "u",
                        "driver_version": "5", "recorded_at": "t", "ffma_tflops": 1, "copy_gbs": 2.5,
                        "shared_gbs": null, "event_floor_us": 0, "empty_kernel_us": 1,
                        "empty_kernel_batch_us": 1}], "trials": []})")
                .find("/calibrations/recorded_at: 't' is not a time"),
            std::string::npos);
}

TEST_F(ImportErrors, HostileFilesAreRefusedInLittleMemory) {
  const char* const too_large = "a single row or member is too large to be one";
  EXPECT_EQ(refusal(std::string(1000000, '[') + std::string(1000000, ']')),
            "file.json: lists and objects are nested more than 64 deep. Is this the file you meant?");
  const std::string endless = R"({"device_name": ")" + std::string(65 << 20, 'a') + "\"}";
  EXPECT_NE(refusal(gzipped(endless)).find(too_large), std::string::npos);
  std::string lists = "[]";
  for (int i = 0; i < 8'000'000; ++i) lists += ",[]";
  EXPECT_NE(refusal(cache(R"("1": {"x": 1, "time": 1, "y": [)" + lists + "]}")).find(too_large),
            std::string::npos);
  std::string members = "{";
  for (int i = 0; i < 6; ++i) members += fmt::format(R"("{}": "{}", )", i, std::string(15 << 20, 'a'));
  EXPECT_NE(refusal(members + R"("cache": {}})").find("the members other than the rows are too large"),
            std::string::npos);
  EXPECT_NE(refusal(cache(R"("1": {"x": 1, "time": 1}}, "cache": {"2": {"x": 2, "time": 2})"))
                .find("file.json: /cache: the rows are given in two places"),
            std::string::npos);
}

}  // namespace
}  // namespace tiletune
