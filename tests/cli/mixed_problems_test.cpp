// Problems that state types and options, through the executable.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace mixed_problems_test {

using Json = nlohmann::ordered_json;

/// Two layouts and two types of a gemm that comes with tiletune, in one configuration each.
const std::string kLayouts = R"({
  "templates": [{"template": "hgemm_mma",
                 "parameters": {"BM": [64], "BN": [64], "WM": [32], "WN": [32], "BK": [32], "STORAGE": ["swizzled"],
                                "MIN_BLOCKS": [1]}}],
  "problems": ["256x256x256", "1x512x256,layout=nt", {"M": 1, "N": 512, "K": 256, "layout": "nt", "A": "bf16"}],
  "baseline": "none"})";

class MixedProblems : public testing::Test {
 protected:
  MixedProblems() {
    sandbox.write("layouts.json", kLayouts);
    sandbox.write("fill/kernel.cu",
                  "extern \"C\" __global__ void fill(unsigned char* out) { out[0] = V + WIDTH * SIGN; }\n");
    sandbox.write("fill/template.json", R"json({
      "name": "fill", "summary": "writes a number",
      "operation": {
        "dimensions": ["n"], "types": {"T": ["f32", "f16"], "accumulator": ["f32"]},
        "options": {"sign": ["plus", "minus"]},
        "buffers": [{"name": "out", "type": "T", "elements": "n", "role": "out"}],
        "flops": "n", "bytes": "n * size(T)", "accumulation": "1", "bound": "copy", "reference": "none"},
      "types": {"T": ["f32", "f16"]}, "options": {"sign": ["plus", "minus"]},
      "source": "kernel.cu", "kernel": "fill",
      "macros": {"V": "V", "WIDTH": "size(T)", "SIGN": "1 if sign == 'plus' else -1"},
      "parameters": [{"name": "V", "values": [1, 2]}],
      "launch": {"grid": [1], "block": [32]}, "arguments": [{"buffer": "out"}]})json");
    sandbox.write("mixed.json",
                  R"({"templates": ["fill"], "problems": [64, "64,sign=minus", {"n": 128, "T": "f16"}]})");
  }

  const Sandbox sandbox;
};

/// "64 sign=plus f32" of each row of a kernel, and how many there are.
std::map<std::string, int> groups_of(const std::vector<Trial>& rows) {
  std::map<std::string, int> groups;
  for (const Trial& row : rows)
    if (row.kind == "kernel") ++groups[row.problem + " " + row.options + " " + row.element_types];
  return groups;
}

const std::map<std::string, int> kMixed{
    {"64 sign=plus f32", 2}, {"64 sign=minus f32", 2}, {"128 sign=plus out:f16 accumulator:f32", 2}};
const std::string kHalves = "A:f16 B:f16 C:f16 accumulator:f32";
const std::string kBrains = "A:bf16 B:bf16 C:bf16 accumulator:f32";

TEST_F(MixedProblems, EachRunsInItsVariant) {
  const Finished run = sandbox.run(sweep_with("mixed.json", "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(
      run.out, {"1 template in 3 variants and 2 problems in 3 pairs", "64 on Fake H200: fill V=",
                "64 on Fake H200: fill T=f32 sign=minus V=", "128 on Fake H200: fill T=f16 sign=plus V="}));
  EXPECT_EQ(groups_of(rows_of(sandbox)), kMixed);
  const Finished again = sandbox.run(sweep_with("mixed.json", "none"));
  EXPECT_TRUE(carries(again.out, {"6 reused"}));
}

TEST_F(MixedProblems, RowsAreThoseOfAConfigWhoseTemplatesChoose) {
  EXPECT_EQ(sandbox.run(measured_sweep("mixed.json", "none")).code, 0);
  sandbox.write("chosen.json",
                R"({"templates": [{"template": "fill", "options": {"sign": "minus"}}], "problems": [64]})");
  EXPECT_TRUE(carries(sandbox.run(sweep_with("chosen.json", "none")).out, {"2 reused"}));
}

TEST_F(MixedProblems, TheBestOfEachIsExported) {
  EXPECT_EQ(sandbox.run(measured_sweep("mixed.json", "none")).code, 0);
  std::set<std::string> best;
  const Json exported = Json::parse(sandbox.run({"export", "--best", "--db", "results.db"}).out);
  for (const Json& entry : exported["best"])
    best.insert(entry["problem"].get<std::string>() + " " + entry["options"].get<std::string>());
  EXPECT_EQ(best, (std::set<std::string>{"64 sign=plus", "64 sign=minus", "128 sign=plus"}));
  const Finished header = sandbox.run({"export", "--format", "header", "--db", "results.db", "-o", "best.h"});
  EXPECT_EQ(header.code, 0) << header.err;
  EXPECT_TRUE(
      carries(read_file(sandbox.folder() / "best.h", 1 << 20),
              {"fill_f16_f32_plus_operation", "fill_f32_plus_operation", "fill_f32_minus_operation"}));
  EXPECT_TRUE(carries(sandbox.run({"rank", "--best", "--db", "results.db"}).out, {"sign=minus", "f16"}));
}

TEST_F(MixedProblems, TheCommandLineStatesThemToo) {
  const auto sweep = [&](const std::string& problem) {
    return sandbox.run(measured_sweep("mixed.json", "none", 3, {"--problem", problem}));
  };
  EXPECT_EQ(sweep("32,T=f16,sign=minus").code, 0);
  EXPECT_EQ(groups_of(rows_of(sandbox)),
            (std::map<std::string, int>{{"32 sign=minus out:f16 accumulator:f32", 2}}));
  expect_error(sweep("32,sign=none"), kUserError,
               {"--problem", "no template of the config has sign=none", "sign plus, minus"});
  expect_error(sweep("32,sing=minus"), kUserError, {"--problem", "'sing=minus'", "Did you mean 'sign'?"});
}

TEST_F(MixedProblems, RowsAreFilteredByThem) {
  EXPECT_EQ(sandbox.run(measured_sweep("mixed.json", "none")).code, 0);
  const auto exported = [&](const std::vector<std::string>& problems) {
    std::vector<std::string> arguments{"export", "--format", "json", "--db", "results.db"};
    for (const std::string& problem : problems) arguments.insert(arguments.end(), {"--problem", problem});
    const Json document = Json::parse(sandbox.run(arguments).out);
    std::set<std::string> groups;
    for (const Json& row : document["trials"])
      groups.insert(row["problem"].get<std::string>() + " " + row["options"].get<std::string>() + " " +
                    row["element_types"].get<std::string>());
    return groups;
  };
  using Groups = std::set<std::string>;
  const std::string kHalf = "128 sign=plus out:f16 accumulator:f32";
  EXPECT_EQ(exported({"64"}), (Groups{"64 sign=plus f32", "64 sign=minus f32"}));
  EXPECT_EQ(exported({"64,sign=minus"}), Groups{"64 sign=minus f32"});
  EXPECT_EQ(exported({"128,sign=plus,out=f16"}), Groups{kHalf});
  EXPECT_EQ(exported({"64,sign=plus", "128"}), (Groups{"64 sign=plus f32", kHalf}));
  const auto rank = [&](const std::string& problem) {
    return sandbox.run({"rank", "--db", "results.db", "--problem", problem});
  };
  expect_error(rank("128,sign=minus"), kNothingToDo, {"results.db", "no row matches"});
  expect_error(rank("64,sign="), kUserError, {"--problem", "'64,sign='", "layout=nt"});
}

TEST_F(MixedProblems, BenchTakesThem) {
  const auto bench = [&](const std::string& problem, const std::string& setting) {
    return sandbox.run(
        {"bench", "fill", "--problem", problem, "--set", setting, "--gpu", "H100", "--db", "p.db", "-q"});
  };
  EXPECT_EQ(bench("64,sign=minus", "V=2").code, 0);
  EXPECT_EQ(groups_of(rows_of(sandbox, "p.db")), (std::map<std::string, int>{{"64 sign=minus f32", 1}}));
  expect_error(bench("64,sign=minus", "sign=plus"), kUserError, {"--set sign", "twice"});
}

TEST_F(MixedProblems, SpacesAndResourcesAreThoseOfTheVariants) {
  const Json spaces = Json::parse(sandbox.run({"space", "layouts.json", "--format", "json"}).out)["spaces"];
  ASSERT_EQ(spaces.size(), 3U);
  EXPECT_EQ(spaces[0]["variant"], "");
  EXPECT_TRUE(carries(spaces[1]["variant"].get<std::string>(), {"A=f16", "layout=nt"}));
  EXPECT_TRUE(carries(spaces[2]["variant"].get<std::string>(), {"A=bf16", "layout=nt"}));
  EXPECT_EQ(spaces[2]["problem"], "1x512x256");
  const Finished inspect =
      sandbox.run({"inspect", "layouts.json", "--gpu", "H100", "--format", "json", "-q"});
  std::set<std::string> inspected;
  const Json document = Json::parse(inspect.out);
  for (const Json& row : document["configurations"])
    inspected.insert(row["problem"].get<std::string>() + " " + row["variant"].get<std::string>());
  EXPECT_EQ(inspected.size(), 3U) << "the first problem of each variant: " << inspect.err;
}

TEST_F(MixedProblems, GemmsInTwoLayoutsAreCheckedPredictedAndCompared) {
  const Finished check = sandbox.run({"check", "layouts.json", "--gpu", "H200", "-q"});
  EXPECT_EQ(check.code, 0) << check.out;
  const auto sweep = [&](const std::string& gpu) {
    return sandbox.run({"sweep", "layouts.json", "--gpu", gpu, "--db", "p.db", "-q"});
  };
  EXPECT_EQ(sweep("H200").code, 0);
  const std::vector<Trial> rows = rows_of(sandbox, "p.db");
  EXPECT_EQ(groups_of(rows), (std::map<std::string, int>{{"256x256x256  " + kHalves, 1},
                                                         {"1x512x256 layout=nt " + kHalves, 1},
                                                         {"1x512x256 layout=nt " + kBrains, 1}}));
  for (const Trial& row : rows) EXPECT_EQ(row.outcome, Outcome::ok) << row.reason;
  const Finished compared = sandbox.run(
      {"compare", "H200", "H100", "--db", "p.db", "--predict", "layouts.json", "--format", "json"});
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_EQ(Json::parse(compared.out)["problems"].size(), 3U) << compared.out;
  const Finished one = sandbox.run({"compare", "H200", "H100", "--db", "p.db", "--predict", "layouts.json",
                                    "--problem", "1x512x256,layout=nt,A=bf16", "--format", "json"});
  EXPECT_EQ(Json::parse(one.out)["problems"].size(), 1U) << one.out << one.err;
}

TEST_F(MixedProblems, WhatAGpuLacksOfThemIsFilled) {
  const auto sweep = [&](const std::string& config, const std::string& gpu) {
    return sandbox.run({"sweep", config, "--gpu", gpu, "--db", "p.db", "-q"}).code;
  };
  std::string wider = kLayouts;
  wider.replace(wider.find(R"("BN": [64])"), 10, R"("BN": [128])");
  sandbox.write("wider.json", wider);
  EXPECT_EQ(sweep("layouts.json", "H200"), 0);
  EXPECT_EQ(sweep("wider.json", "A100 40GB"), 0);
  const Finished fill = sandbox.run({"compare", "H200", "A100", "--db", "p.db", "--fill", "gaps.json"});
  EXPECT_TRUE(carries(fill.err, {"gaps-h200.json", "gaps-a10040gb.json", "3 configurations of 2 problems"}));
  EXPECT_EQ(sweep("gaps-h200.json", "H200"), 0);
  EXPECT_EQ(sweep("gaps-a10040gb.json", "A100 40GB"), 0);
  for (const auto& [group, rows] : groups_of(rows_of(sandbox, "p.db"))) EXPECT_EQ(rows, 4) << group;
}

TEST_F(MixedProblems, WhatNoTemplateHasIsRefusedWithItsPlace) {
  const auto space = [&](const std::string& problems) {
    sandbox.write("wrong.json", R"({"templates": ["fill"], "problems": [)" + problems + "]}");
    return sandbox.run({"space", "wrong.json"});
  };
  expect_error(space(R"(64, "64,T=f64")"), kUserError,
               {"wrong.json: /problems/1", "no template of the config has T=f64", "T f32, f16"});
  expect_error(space(R"(64, "64,sign=plus")"), kUserError, {"/problems/1", "64 is listed twice"});
}

}  // namespace mixed_problems_test
}  // namespace tiletune
