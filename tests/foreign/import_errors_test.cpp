// Files that are something else, cut off or hostile: the message names the place, and nothing is taken in.

#include <fmt/format.h>

#include "importing.h"

namespace tiletune {
namespace import_errors_test {

class ImportErrors : public Importing {
 protected:
  void TearDown() override { EXPECT_TRUE(rows().empty()) << "half a file was taken in"; }
};

constexpr const char* kGood = R"("1": {"x": 1, "time": 1}, )";

TEST_F(ImportErrors, WhatAFileDoesNotSayMustBeSaid) {
  const std::string row = R"("1": {"x": 1, "time": 1})";
  EXPECT_TRUE(carries(refusal(cache(row, "")), {"file.json", "GPU", "--gpu", "\"NVIDIA A100-PCIE-40GB\""}));
  EXPECT_TRUE(carries(refusal(cache(row, "A", "null")), {"file.json", "--problem", "4096x4096"}));
  EXPECT_TRUE(
      carries(refusal(R"({"results": [{"configuration": {}, "times": {}, "invalidity": "correct"}]})"),
              {"file.json", "GPU", "--gpu", "\"NVIDIA A100-PCIE-40GB\""}));
  EXPECT_TRUE(carries(
      refusal(R"({"results": [{"configuration": {}, "times": {"runtimes": [1]}, "invalidity": "correct"}]})",
              {"A", "1", "k", ""}),
      {"file.json: /metadata/timeunit", "--time-unit"}));
  EXPECT_TRUE(carries(
      refusal(R"({"Metadata": {"Device": "A", "TimeUnit": "Fortnights"}, "Results": []})", {"", "1", "", ""}),
      {"file.json: /Metadata/TimeUnit", "'Fortnights'", "--time-unit"}));
}

TEST_F(ImportErrors, WhatThePersonSaysMustNotContradictTheFile) {
  const std::string kernel_tuner = cache(R"("1": {"x": 1, "time": 1})");
  EXPECT_TRUE(
      carries(refusal(kernel_tuner, {"", "0x0", "", ""}), {"file.json", "'64x32'", "--problem", "'0x0'"}));
  EXPECT_TRUE(
      carries(refusal(kernel_tuner, {"", "", "other", ""}), {"file.json", "'k'", "--kernel", "'other'"}));
  EXPECT_TRUE(
      carries(refusal(R"({"metadata": {"timeunit": "milliseconds"}, "results": [{"configuration": {"x": 1},
                        "times": {"runtimes": [3]}, "invalidity": "correct"}]})",
                      {"A", "1", "k", "us"}),
              {"file.json: /metadata/timeunit", "'milliseconds'", "--time-unit", "'us'"}));
  EXPECT_TRUE(
      carries(refusal(R"({"Metadata": {"Device": "A", "TimeUnit": "ms"}, "Results": [{"KernelName": "k",
                        "Status": "Ok", "TotalDuration": 1, "Configuration": [{"Name": "x", "Value": 1}]}]})",
                      {"", "1", "other", ""}),
              {"file.json: /Results/0", "'k'", "--kernel", "'other'"}));
}

TEST_F(ImportErrors, BrokenRowsAreNamed) {
  EXPECT_TRUE(carries(refusal(cache(std::string(kGood) + R"("a/b": {"x": "a/b", "time": "Exploded"})")),
                      {"file.json: /cache/a~1b/time", "'Exploded'",
                       "InvalidConfig, CompilationFailedConfig, RuntimeFailedConfig"}));
  EXPECT_TRUE(carries(refusal(cache(std::string(kGood) + R"("2": {"x": 2, "__error__": "Exploded"})")),
                      {"file.json: /cache/2/__error__", "'Exploded'"}));
  EXPECT_TRUE(
      carries(refusal(cache(std::string(kGood) + R"("2,3": {"time": 2})")), {"file.json: /cache/2", "'x'"}));
  EXPECT_TRUE(carries(refusal(cache(std::string(kGood) + R"("2": {"x": 2, "time": -2})")),
                      {"file.json: /cache/2", "-2000 us"}));
  EXPECT_TRUE(carries(refusal(cache(std::string(kGood) + R"("2": [2])")), {"file.json: /cache/2", "object"}));
  EXPECT_TRUE(carries(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"},
      {"configuration": {"x": 1}, "times": {}, "invalidity": "correct"}]})",
                              {"A", "1", "k", ""}),
                      {"file.json: /results/1", "no time"}));
}

TEST_F(ImportErrors, AFigureOfAnotherUnitThanItsSamples) {
  EXPECT_TRUE(
      carries(refusal(cache(std::string(kGood) + R"("2": {"x": 2, "time": 1000, "times": [2, 1, 3]})")),
              {"file.json: /cache/2", "1e+06 us", "1000", "3000 us"}));
  const std::string row = R"({"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct",
      "measurements": [{"name": "time", "value": 1, "unit": "us"}]})";
  EXPECT_TRUE(
      carries(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [)" + row + "]}", {"A", "1", "k", ""}),
              {"file.json: /results/0", "1 us", "1000 us"}));
}

TEST_F(ImportErrors, AParameterIsThereOnce) {
  const ImportFacts facts{"A", "1", "k", "ms"};
  EXPECT_TRUE(carries(refusal(cache(std::string(kGood) + R"("2": {"x": 2, "x": 3, "time": 2})")),
                      {"file.json: /cache/2", "'x'", "twice"}));
  EXPECT_TRUE(carries(refusal(R"({"device_name": "A", "kernel_name": "k", "problem_size": 1,
                        "tune_params_keys": ["x", "y", "x"], "cache": {"1": {"x": 1, "y": 1, "time": 1}}})"),
                      {"file.json: /tune_params_keys", "'x'", "twice"}));
  EXPECT_TRUE(carries(refusal(R"({"metadata": {}, "results": [{"configuration": {"x": 1, "y": 2, "x": 3},
                        "times": {"runtimes": [1]}, "invalidity": "correct"}]})",
                              facts),
                      {"file.json: /results/0/configuration", "'x'", "twice"}));
  EXPECT_TRUE(carries(refusal(R"({"Metadata": {"Device": "A", "TimeUnit": "ms"}, "Results": [
                        {"KernelName": "k", "Status": "Ok", "TotalDuration": 1,
                         "Configuration": [{"Name": "x", "Value": 1}, {"Name": "x", "Value": 2}]}]})",
                              facts),
                      {"file.json: /Results/0/Configuration", "'x'", "twice"}));
}

TEST_F(ImportErrors, NumbersThatWouldBecomeOne) {
  for (const char* value :
       {"9223372036854775808", "18446744073709551617", "-9223372036854775809", "[1, [9223372036854775809]]",
        R"({"a": 18446744073709551617})", "1e30", "NaN", "Infinity"}) {
    EXPECT_TRUE(carries(refusal(cache(fmt::format(R"("2,2": {{"x": {}, "time": 2}})", value))),
                        {"file.json: /cache/2,2", "'x'", "2^63"}))
        << value;
  }
}

TEST_F(ImportErrors, SizesAreAtLeastOne) {
  const std::string row = R"("1": {"x": 1, "time": 1})";
  for (const char* size :
       {"[64, -4]", "0", "\"0x-4\"", "\"64x0 lda=80\"", "\"99999999999999999999x0\"", "\"64 lda=0\""}) {
    const std::string why = refusal(cache(row, "A", size));
    EXPECT_TRUE(carries(why, {"file.json: /problem_size", "not positive"}));
  }
  EXPECT_TRUE(carries(refusal(cache(row, "A", "null"), {"", "64x-1", "", ""}), {"--problem", "'64x-1'"}));
}

TEST_F(ImportErrors, FilesThatAreCutOff) {
  EXPECT_TRUE(carries(refusal(cache(kGood).substr(0, cache(kGood).find("tune_params") + 5)),
                      {"file.json", "line 1, column 84", "cut off"}));
  EXPECT_TRUE(carries(refusal(R"({"device_name": "A", )"), {"file.json", "line 1, column 22", "cut off"}));
  EXPECT_TRUE(carries(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"})",
                              {"A", "1", "k", ""}),
                      {"file.json: /results", "cut off"}));
  EXPECT_TRUE(carries(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"}, {"configu)",
                              {"A", "1", "k", ""}),
                      {"file.json: /results", "cut off"}));
  const std::string packed = gzipped(cache(std::string(kGood) + R"("2": {"x": 2, "time": 2})"));
  EXPECT_TRUE(carries(refusal(packed.substr(0, packed.size() - 12)), {"file.json", "cut off"}));
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_TRUE(carries(refusal(damaged), {"file.json"}));
}

TEST_F(ImportErrors, FilesThatAreSomethingElse) {
  EXPECT_TRUE(
      carries(refusal("rank,median_us\n1,2\n"), {"file.json", "line 1, column 1", "not valid", "JSON"}));
  for (const char* other :
       {"{}", "[1, {\"cache\": {}}]", "3", R"({"cache": 5})", R"({"templates": ["a"]})"}) {
    EXPECT_TRUE(carries(refusal(other), {"file.json", "T4", "Kernel Tuner", "KTT"})) << other;
  }
  EXPECT_TRUE(carries(refusal(R"({"cache": {}})"), {"file.json: /tune_params_keys"}));
  EXPECT_TRUE(carries(error_of([&] { import(folder_.path()); }), {"is a folder", "not a file"}));
  EXPECT_TRUE(carries(error_of([&] { import(folder_ / "no.json"); }), {"no such"}));
}

TEST_F(ImportErrors, NumbersThatAreNone) {
  const std::string large = refusal(cache(R"("16,2": {"x": 1, "time": 1e999})"));
  EXPECT_TRUE(carries(large, {"file.json", "line 1, column 166", "not valid", "JSON"}));
  EXPECT_NE(large.find(" ('16,2')"), std::string::npos) << large;
  const std::string none = refusal(cache(R"("16,2": {"x": 1, "time": NaN})"));
  EXPECT_TRUE(carries(none, {"/cache/16,2", "nan us"}));
}

TEST_F(ImportErrors, ADatabase) {
  EXPECT_TRUE(
      carries(refusal(std::string("SQLite format 3\0 and so on", 26)), {"file.json", "'tiletune merge'"}));
  EXPECT_TRUE(carries(refusal(gzipped(std::string("SQLite format 3\0 and so on", 26))),
                      {"file.json", "'tiletune merge'"}));
}

TEST_F(ImportErrors, HostileFilesAreRefusedInLittleMemory) {
  EXPECT_TRUE(carries(refusal(std::string(1000000, '[') + std::string(1000000, ']')),
                      {"file.json", "nested", "64 deep"}));
  const std::string endless = R"({"device_name": ")" + std::string(65 << 20, 'a') + "\"}";
  EXPECT_TRUE(carries(refusal(gzipped(endless)), {"too large"}));
  std::string lists = "[]";
  for (int i = 0; i < 8'000'000; ++i) lists += ",[]";
  EXPECT_TRUE(carries(refusal(cache(R"("1": {"x": 1, "time": 1, "y": [)" + lists + "]}")), {"too large"}));
  std::string members = "{";
  for (int i = 0; i < 6; ++i) members += fmt::format(R"("{}": "{}", )", i, std::string(15 << 20, 'a'));
  EXPECT_TRUE(carries(refusal(members + R"("cache": {}})"), {"too large", "other"}));
  EXPECT_TRUE(carries(refusal(cache(R"("1": {"x": 1, "time": 1}}, "cache": {"2": {"x": 2, "time": 2})")),
                      {"file.json: /cache", "two places"}));
}

}  // namespace import_errors_test
}  // namespace tiletune
