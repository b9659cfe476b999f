// Files that are something else, cut off or hostile: the message names the place, and nothing is taken in.

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
            "file.json: does not say on which GPU it was recorded. Say it: --gpu \"NVIDIA A100-PCIE-40GB\".");
  EXPECT_EQ(refusal(cache(row, "A", "null")),
            "file.json: does not say what problem it is of. Say it: --problem 4096x4096.");
  EXPECT_EQ(refusal(R"({"results": [{"configuration": {}, "times": {}, "invalidity": "correct"}]})"),
            "file.json: does not say on which GPU it was recorded. Say it: --gpu \"NVIDIA A100-PCIE-40GB\".");
  EXPECT_EQ(
      refusal(R"({"results": [{"configuration": {}, "times": {"runtimes": [1]}, "invalidity": "correct"}]})",
              {"A", "1", "k", ""}),
      "file.json: /metadata/timeunit: does not say the unit of its times. Say it: --time-unit ms, us, ns or "
      "s.");
  EXPECT_EQ(
      refusal(R"({"Metadata": {"Device": "A", "TimeUnit": "Fortnights"}, "Results": []})", {"", "1", "", ""}),
      "file.json: /Metadata/TimeUnit: 'Fortnights' is no unit of time. Say it: --time-unit ms, us, ns or s.");
}

TEST_F(ImportErrors, BrokenRowsAreNamed) {
  EXPECT_EQ(
      refusal(cache(std::string(kGood) + R"("a/b": {"x": 2, "time": "Exploded"})")),
      "file.json: /cache/a~1b/time: 'Exploded' is neither a time nor a known failure. Known: InvalidConfig, "
      "CompilationFailedConfig, RuntimeFailedConfig.");
  EXPECT_EQ(refusal(cache(std::string(kGood) + R"("2": {"time": 2})")),
            "file.json: /cache/2: the row has no value of the parameter 'x'. Correct or remove the row.");
  EXPECT_EQ(refusal(cache(std::string(kGood) + R"("2": {"x": 2, "time": -2})")),
            "file.json: /cache/2: -2000 us is no time of a kernel. Correct or remove the row.");
  EXPECT_EQ(refusal(cache(std::string(kGood) + R"("2": [2])")),
            "file.json: /cache/2: a row is an object. Correct or remove it.");
  EXPECT_EQ(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"},
      {"configuration": {"x": 1}, "times": {}, "invalidity": "correct"}]})",
                    {"A", "1", "k", ""}),
            "file.json: /results/1: the row has no time. Correct or remove the row.");
}

TEST_F(ImportErrors, FilesThatAreCutOff) {
  EXPECT_EQ(refusal(open_cache(std::string(kGood) + R"("2": {"x": 2, "ti)")).substr(0, 60),
            "file.json: line 1, column 179: is cut off in the middle of a");
  EXPECT_EQ(refusal(R"({"device_name": "A", )"), "file.json: line 1, column 22: is cut off. Copy it again.");
  EXPECT_EQ(refusal(R"({"metadata": {"timeunit": "ms"}, "results": [
      {"configuration": {"x": 1}, "times": {"runtimes": [1]}, "invalidity": "correct"})",
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
  EXPECT_EQ(refusal("rank,median_us\n1,2\n"),
            "file.json: line 1, column 1: this is no JSON: 'r' where a value is expected. Import Kernel "
            "Tuner caches, T4 results or KTT's JSON output.");
  for (const char* other :
       {"{}", "[1, {\"cache\": {}}]", "3", R"({"cache": 5})", R"({"templates": ["a"]})"}) {
    EXPECT_EQ(
        refusal(other),
        "file.json: is no recording of a tool that is known here. Import a cache file of Kernel Tuner, T4 "
        "results or the JSON output of KTT.")
        << other;
  }
  EXPECT_EQ(refusal(R"({"cache": {}})"),
            "file.json: /tune_params_keys: a Kernel Tuner cache lists its parameters here. Is this a cache "
            "of Kernel "
            "Tuner?");
  EXPECT_NE(error_of([&] { import(folder_.path()); }).find("this is a folder, not a file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { import(folder_ / "no.json"); }).find("there is no such file"), std::string::npos);
}

TEST_F(ImportErrors, HostileFilesAreRefusedInLittleMemory) {
  EXPECT_EQ(refusal(std::string(1000000, '[')),
            "file.json: lists and objects are nested more than 64 deep. Is this the file you meant?");
  const std::string endless = R"({"device_name": ")" + std::string(40 << 20, 'a') + "\"}";
  EXPECT_EQ(refusal(gzipped(endless)),
            "file.json: a single value is longer than 16.0 MiB. Is this the file you meant?");
  EXPECT_NE(refusal(cache(R"("1": {"x": 1, "time": 1e999})")).find("this is no JSON: a number is too large"),
            std::string::npos);
  EXPECT_NE(refusal(cache(R"("1": {"x": 1, "time": 1}}, "cache": {"2": {"x": 2, "time": 2})"))
                .find("file.json: /cache: rows stand in two places"),
            std::string::npos);
}

}  // namespace
}  // namespace tiletune
