// Several types and options of one template, through the executable.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace variants_test {

using Json = nlohmann::ordered_json;

/// A template that offers two types and two values of an option.
class Variants : public testing::Test {
 protected:
  Variants() {
    sandbox.write("fill/kernel.cu",
                  "extern \"C\" __global__ void fill(volatile unsigned char* out) {\n"
                  "  for (int i = 0; i < 64 * V; ++i) out[0] = V + WIDTH * SIGN;\n"
                  "}\n");
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
      "parameters": [{"name": "V", "values": [1, 2, 3]}],
      "constraints": [{"require": "V < 3 or T == 'f16'"}],
      "launch": {"grid": [1], "block": [32]}, "arguments": [{"buffer": "out"}]})json");
  }

  std::string config(const std::string& entry) const {
    return sandbox.write("config.json", R"({"problems": [64], "templates": [)" + entry + "]}");
  }

  const Sandbox sandbox;
};

/// By options and types, the configurations that ran.
std::map<std::string, std::set<std::string>> ran(const std::vector<Trial>& rows) {
  std::map<std::string, std::set<std::string>> found;
  for (const Trial& row : rows) {
    if (row.kind != "kernel" || row.outcome != Outcome::ok) continue;
    EXPECT_EQ(row.template_name, "fill");
    found[row.options + " " + row.element_types].insert(row.parameters);
  }
  return found;
}

const std::string kHalves = "out:f16 accumulator:f32";
const std::set<std::string> kTwo{R"({"V":1})", R"({"V":2})"};
const std::set<std::string> kThree{R"({"V":1})", R"({"V":2})", R"({"V":3})"};

TEST_F(Variants, EachIsAGroupOfRowsOfItsOwn) {
  const std::string all = config(
      R"({"template": "fill", "types": {"T": ["f32", "f16"]}, "options": {"sign": ["plus", "minus"]}})");
  const Finished run = sandbox.run(measured_sweep(all, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(ran(rows_of(sandbox)),
            (std::map<std::string, std::set<std::string>>{{"sign=plus f32", kTwo},
                                                          {"sign=minus f32", kTwo},
                                                          {"sign=plus " + kHalves, kThree},
                                                          {"sign=minus " + kHalves, kThree}}));
  EXPECT_TRUE(carries(run.out, {"ok 10", "64 on Fake H200: fill T=f16 sign=minus V="}));
  EXPECT_TRUE(carries(sandbox.run(sweep_with(all, "none")).out, {"1 template in 4 variants x 1 problem"}));
  const Json best = Json::parse(sandbox.run({"export", "--best", "--db", "results.db"}).out);
  EXPECT_EQ(best["best"].size(), 4U);
}

TEST_F(Variants, TheDefaultHasTheRowsOfAConfigThatChoosesNone) {
  EXPECT_EQ(sandbox.run(measured_sweep(config(R"("fill")"), "none")).code, 0);
  EXPECT_EQ(ran(rows_of(sandbox)), (std::map<std::string, std::set<std::string>>{{"sign=plus f32", kTwo}}));
  const std::string both = config(R"({"template": "fill", "types": {"T": ["f16", "f32"]}})");
  EXPECT_TRUE(carries(sandbox.run(measured_sweep(both, "none")).out, {"2 reused"}));
}

TEST_F(Variants, SpacesAreNamedByTheirs) {
  const std::string two = config(R"({"template": "fill", "types": {"T": ["f16", "f32"]}})");
  const Finished table = sandbox.run({"space", two});
  EXPECT_TRUE(carries(table.out, {"fill T=f16 sign=plus 64: 3 raw combinations, 3 valid",
                                  "fill T=f32 sign=plus 64: 3 raw combinations, 2 valid"}));
  const Json spaces = Json::parse(sandbox.run({"space", two, "--format", "json"}).out)["spaces"];
  EXPECT_EQ(spaces[0]["template"], "fill");
  EXPECT_EQ(spaces[0]["variant"], "T=f16 sign=plus");
  EXPECT_EQ(Json::parse(
                sandbox.run({"space", config(R"("fill")"), "--format", "json"}).out)["spaces"][0]["variant"],
            "");
}

TEST_F(Variants, EachIsChecked) {
  sandbox.write("fill/kernel.cu",
                "extern \"C\" __global__ void fill(void* out) { static_assert(WIDTH == 4, \"\"); }\n");
  const Finished check = sandbox.run(
      {"check", config(R"({"template": "fill", "types": {"T": ["f32", "f16"]}})"), "--gpu", "H100"});
  EXPECT_NE(check.code, 0);
  EXPECT_TRUE(carries(check.out + check.err, {"fill T=f16 sign=plus 64", "does not compile"}));
  EXPECT_EQ((check.out + check.err).find("fill T=f32"), std::string::npos);
}

TEST_F(Variants, BenchMeasuresTheOneThatIsSet) {
  const auto bench = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "fill", "--problem", "64", "--gpu", "H100", "--db", "p.db", "-q"});
    return sandbox.run(more);
  };
  EXPECT_EQ(bench({"--set", "T=f16", "--set", "V=3"}).code, 0);
  EXPECT_EQ(ran(rows_of(sandbox, "p.db")),
            (std::map<std::string, std::set<std::string>>{{"sign=plus " + kHalves, {R"({"V":3})"}}}));
  expect_error(bench({"--set", "T=f64", "--set", "V=1"}), kUserError, {"--set", "T=f64", "T=f16"});
  expect_error(bench({"--best"}), kUserError, {"--best", "fill"});
  const Finished best = bench({"--best", "--set", "T=f16"});
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_TRUE(carries(bench({"--set", "T=f16"}).err, {"--set V=", "--best"}));
}

TEST_F(Variants, FillConfigsNameTheOneThatIsMissing) {
  const auto predict = [&](const std::string& entry, const std::string& gpu) {
    EXPECT_EQ(sandbox.run({"sweep", config(entry), "--gpu", gpu, "--db", "p.db", "-q"}).code, 0);
  };
  predict(R"({"template": "fill", "types": {"T": ["f32", "f16"]}, "parameters": {"V": [1, 2]}})", "H100");
  predict(R"({"template": "fill", "types": {"T": ["f32", "f16"]}, "parameters": {"V": [2]}})", "A100 40GB");
  const Finished fill = sandbox.run({"compare", "H100", "A100", "--db", "p.db", "--fill", "gaps.json"});
  const Json written = read_json(sandbox.folder() / "gaps.json");
  std::set<std::string> types;
  for (const Json& entry : written["templates"])
    types.insert(entry.contains("types") ? entry["types"]["T"].get<std::string>() : "");
  EXPECT_TRUE(types.contains("f16")) << fill.err;
  EXPECT_EQ(sandbox.run({"sweep", "gaps.json", "--gpu", "A100 40GB", "--db", "p.db", "-q"}).code, 0);
  EXPECT_EQ(sandbox.run({"compare", "H100", "A100", "--db", "p.db", "--fill", "more.json"}).code,
            kNothingToDo);
}

}  // namespace variants_test
}  // namespace tiletune
