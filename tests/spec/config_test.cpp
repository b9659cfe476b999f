#include "base/file.h"
#include "fixture.h"

namespace tiletune {
namespace config_test {

class ConfigTest : public SpecTest {
 protected:
  /// Breaks a short config by each fault's patch in turn.
  void expect_faults(const std::vector<Fault>& faults) const {
    for (const Fault& fault : faults) {
      Json document = Json::parse(R"({"templates": ["tile"], "problems": ["512x512x512"]})");
      document.merge_patch(Json::parse(fault.patch));
      const auto file = (root_ / "configs/sweep.json").string();
      expect_fault(user_error_of([&] { load_config(document.dump()); }), fault, file);
    }
  }
};

TEST_F(ConfigTest, TwoKeysAreEnough) {
  const std::string text = R"({"templates": ["tile"], "problems": [512]})";
  const TuneSpec spec = load_config(text);
  EXPECT_EQ(spec.name, "sweep");
  EXPECT_EQ(spec.config_json, text);
  EXPECT_EQ(spec.templates.at(0).name, "tile");
  EXPECT_EQ(spec.strategy.name, "auto");
  EXPECT_EQ(spec.budget.evaluations, 0U);
  EXPECT_EQ(spec.measure.samples, 30);
  EXPECT_EQ(spec.measure.precision_percent, 0.5);
  EXPECT_EQ(spec.measure.screening, 1.5);
  EXPECT_EQ(spec.measure.batch_below_us, 20);
  EXPECT_EQ(spec.measure.cache, CachePolicy::cold);
  EXPECT_TRUE(spec.measure.verify);
  EXPECT_EQ(spec.measure.finals.configurations, 10);
  EXPECT_EQ(spec.measure.finals.within_percent, 2);
  EXPECT_EQ(spec.measure.finals.rounds, 100);
  EXPECT_EQ(spec.measure.finals.sustained_s, 0);
  EXPECT_FALSE(spec.measure.finals.host_copies);
  EXPECT_EQ(spec.compile.timeout_s, 60);
  EXPECT_FALSE(spec.limits.max_spill_bytes);
  EXPECT_EQ(spec.baseline, Baseline::lt);
  EXPECT_EQ(spec.gpu, "");
  EXPECT_EQ(spec.view, View::ranking);
}

TEST_F(ConfigTest, AnEqualNumberIsTheTemplatesValue) {
  const TuneSpec spec =
      load_config(R"({"problems": [1], "templates": [{"template": "tile", "parameters": {"BM": [64.0]}}]})");
  EXPECT_EQ(spec.templates[0].parameters[0].values, std::vector<Value>{std::int64_t{64}});
}

TEST_F(ConfigTest, ReadsEveryKey) {
  const TuneSpec spec = load_config(R"({
    "$schema": "../schemas/config.schema.json", "name": "all",
    "templates": [{"template": "tile", "parameters": {"BM": [64]}, "extend": false,
                   "constraints": [{"require": "M > 1", "why": "a test"}]}],
    "problems": [512], "scalars": {"alpha": 2, "beta": 0.5}, "strategy": {"name": "random", "seed": 9},
    "budget": {"evaluations": 500, "seconds": 1.5},
    "measure": {"warmup": 0, "samples": 10000, "precision_percent": 0.25, "screening": 1, "batch_below_us": 12.5,
                "cache": "warm", "seed": 3, "verify": false, "launch_timeout_s": 0.5,
                "finals": {"configurations": 100, "within_percent": 0, "rounds": 6, "sustained_s": 2, "host_copies": true}},
    "compile": {"options": ["-lineinfo"], "timeout_s": 5},
    "limits": {"max_spill_bytes": 0, "min_occupancy": 0.125, "max_registers": 255},
    "baseline": "none", "gpu": "A100", "view": "ladder"})");
  EXPECT_EQ(spec.name, "all");
  EXPECT_EQ(spec.templates[0].constraints.size(), 3U) << "the manifest's, that of dense matrices, this one";
  EXPECT_EQ(spec.templates[0].constraints[2].require.where.pointer, "/templates/0/constraints/0/require");
  EXPECT_EQ(spec.strategy.name, "random");
  EXPECT_EQ(spec.strategy.seed, 9U);
  EXPECT_EQ(spec.budget.evaluations, 500U);
  EXPECT_EQ(spec.budget.seconds, 1.5);
  EXPECT_EQ(spec.measure.warmup, 0);
  EXPECT_EQ(spec.measure.samples, 10000);
  EXPECT_EQ(spec.measure.precision_percent, 0.25);
  EXPECT_EQ(spec.measure.screening, 1);
  EXPECT_EQ(spec.measure.batch_below_us, 12.5);
  EXPECT_EQ(spec.measure.cache, CachePolicy::warm);
  EXPECT_EQ(spec.measure.seed, 3U);
  EXPECT_FALSE(spec.measure.verify);
  EXPECT_EQ(spec.measure.launch_timeout_s, 0.5);
  EXPECT_EQ(spec.measure.finals.configurations, 100);
  EXPECT_EQ(spec.measure.finals.within_percent, 0);
  EXPECT_EQ(spec.measure.finals.rounds, 6);
  EXPECT_EQ(spec.measure.finals.sustained_s, 2);
  EXPECT_TRUE(spec.measure.finals.host_copies);
  EXPECT_EQ(spec.compile.options, std::vector<std::string>{"-lineinfo"});
  EXPECT_EQ(spec.compile.timeout_s, 5);
  EXPECT_EQ(spec.limits.max_spill_bytes, 0);
  EXPECT_EQ(spec.limits.min_occupancy, 0.125);
  EXPECT_EQ(spec.limits.max_registers, 255);
  EXPECT_EQ(spec.baseline, Baseline::none);
  EXPECT_EQ(spec.gpu, "A100");
  EXPECT_EQ(spec.view, View::ladder);
}

TEST_F(ConfigTest, ScalarsReplaceTheOperationsDefaults) {
  const auto spec =
      load_config(R"({"templates": ["tile"], "problems": [512], "scalars": {"beta": 1}})").templates[0];
  EXPECT_EQ(spec.operation.scalars[1].second, 1.0);
  EXPECT_EQ(spec.operation.scalars[0].second, 1.0);
}

TEST_F(ConfigTest, CustomOperationsHaveNoBaselineUnlessNamed) {
  const auto spec = load_config(R"({"templates": ["axpy"], "problems": [512], "scalars": {"a": -1}})");
  EXPECT_EQ(spec.baseline, Baseline::none);
  EXPECT_EQ(spec.templates[0].operation.scalars[0].second, -1.0);
  EXPECT_EQ(spec.problems[0].label(), "512");
}

TEST_F(ConfigTest, NarrowingKeepsTheConfigsOrder) {
  const auto spec = load_config(R"({"problems": [1], "templates":
    [{"template": "tile", "parameters": {"BM": [128, 32]}}]})");
  EXPECT_EQ(spec.templates[0].parameters[0].values,
            (std::vector<Value>{std::int64_t{128}, std::int64_t{32}}));
  EXPECT_EQ(spec.templates[0].parameters[0].where.pointer, "/templates/0/parameters/BM");
  EXPECT_EQ(spec.templates[0].parameters[1].values.size(), 2U);
}

TEST_F(ConfigTest, ExtendAllowsOtherValuesOfTheSameType) {
  const auto spec = load_config(R"({"problems": [1], "templates":
    [{"template": "tile", "parameters": {"BM": [99]}, "extend": true}]})");
  EXPECT_EQ(spec.templates[0].parameters[0].values, std::vector<Value>{std::int64_t{99}});
}

TEST_F(ConfigTest, TheConfigsOwnFolderComesFirst) {
  write("configs/tile/kernel.cuh", "");
  Json own = tile();
  own["summary"] = "Mine.";
  write("configs/tile/template.json", own.dump());
  EXPECT_EQ(load_config(R"({"templates": ["tile"], "problems": [1]})").templates[0].summary, "Mine.");
}

TEST_F(ConfigTest, ProblemsAndTemplatesOfTheCommandLineReplaceTheConfigs) {
  Json other = tile();
  other["name"] = "other";
  write("kernel_templates/other/kernel.cuh", "");
  write("kernel_templates/other/template.json", other.dump());
  options_.problems = {"4096", "64x32x16"};
  options_.templates = {"other"};
  const std::string text = R"({"templates": ["tile", "other"], "problems": [1]})";
  const TuneSpec spec = load_config(text);
  ASSERT_EQ(spec.templates.size(), 1U);
  EXPECT_EQ(spec.templates[0].name, "other");
  ASSERT_EQ(spec.problems.size(), 2U);
  EXPECT_EQ(spec.problems[0].label(), "4096x4096x4096");

  options_.problems = {"64", "64x64x64"};
  UserError error = user_error_of([&] { load_config(text); });
  EXPECT_TRUE(carries(error.message(), {"64x64x64", "twice"}));
  EXPECT_EQ(error.where().text(), "--problem");

  options_.problems = {};
  options_.templates = {"otter"};
  error = user_error_of([&] { load_config(text); });
  EXPECT_TRUE(carries(error.message(), {"'otter'"}));
  EXPECT_EQ(error.where().text(), "--template");
  EXPECT_TRUE(carries(error.remedy(), {"'other'"}));
}

TEST_F(ConfigTest, FaultsOfRoot) {
  expect_faults({

      Fault{R"({"template": ["tile"]})", "/template", {"'template'", "'templates'"}},
      Fault{R"({"templates": null})", "", {"'templates'", "missing", "\"templates\""}},
      Fault{R"({"problems": null})", "", {"'problems'", "missing", "\"problems\""}},
      Fault{R"({"name": ""})", "/name", {"an empty string", "a string"}},
      Fault{R"({"gpu": ["H100"]})", "/gpu", {"a list", "GPU"}},
      Fault{R"({"steps": [{"name": "s", "template": "tile"}]})", "/steps", {"\"ladder\""}},
      Fault{R"({"view": "ladder", "steps": [{"template": "tile"}]})", "/steps/0", {"'name'", "missing"}},
      Fault{R"({"view": "ladder", "steps": [{"name": "s", "template": "tyle"}]})",
            "/steps/0/template",
            {"'tyle'", "'tile'"}},
      Fault{R"({"view": "ladder", "steps": [{"name": "s", "template": "tile", "parameters": {"XX": [1]}}]})",
            "/steps/0/parameters/XX",
            {"'XX'", "tile"}},
      Fault{R"({"view": "lader"})", "/view", {"\"lader\"", "ranking, ladder", "'ladder'"}},
      Fault{R"({"baseline": "cutlass"})", "/baseline", {"\"cutlass\"", "none, cublas, lt", "'cublas'"}},
      Fault{R"({"baseline": false})", "/baseline", {"a boolean", "none, cublas, lt"}},
      Fault{R"({"templates": ["axpy"], "problems": [1], "baseline": "cublas"})",
            "/baseline",
            {"axpy", "\"none\""}},
      Fault{
          R"({"templates": ["axpy"], "problems": [1], "baseline": "lt"})", "/baseline", {"axpy", "\"none\""}},
      Fault{R"({"scalars": {"alpa": 1}})", "/scalars/alpa", {"'alpa'", "'alpha'"}},
      Fault{R"({"scalars": {"beta": "1.5"}})", "/scalars/beta", {"a string", "1.5"}},
      Fault{R"({"scalars": [1]})", "/scalars", {"a list", "an object"}}});
}

TEST_F(ConfigTest, FaultsOfTemplates) {
  expect_faults({

      Fault{R"({"templates": "tile"})", "/templates", {"a string", "a list", "[\"tile\"]"}},
      Fault{R"({"templates": []})", "/templates", {"an empty list", "a list"}},
      Fault{R"({"templates": ["tiel"]})", "/templates/0", {"'tiel'", "'tile'"}},
      Fault{R"({"templates": ["../tile"]})", "/templates/0", {"'../tile'", "path", "\"tile\""}},
      Fault{R"({"templates": [3]})", "/templates/0", {"an integer", "\"template\""}},
      Fault{R"({"templates": ["tile", {"template": "tile"}]})", "/templates/1", {"tile", "twice"}},
      Fault{R"({"templates": ["tile", "axpy"]})", "/templates/1", {"tile", "axpy", "MxNxK lda ldb ldc"}},
      Fault{R"({"templates": [{"parameters": {}}]})", "/templates/0", {"'template'", "missing"}},
      Fault{R"({"templates": [{"template": "tile", "params": {}}]})",
            "/templates/0/params",
            {"'params'", "template, types, options, parameters"}},
      Fault{R"({"templates": [{"template": "tile", "extend": 1}]})",
            "/templates/0/extend",
            {"an integer", "true or false"}},
      Fault{R"({"templates": [{"template": "tile", "constraints": ["BM > 1"]}]})",
            "/templates/0/constraints/0",
            {"a string", "an object"}}});
}

#define NARROW(parameters) R"({"templates": [{"template": "tile", "parameters": )" parameters "}]}"

TEST_F(ConfigTest, OperationsOfOneNameComputeTheSame) {
  Json other = softmax();
  other["name"] = "other";
  const std::string manifest = "kernel_templates/other/template.json";
  write("kernel_templates/other/kernel.cu", "extern \"C\" __global__ void softmax();\n");
  write("kernel_templates/other/reference.cu", "extern \"C\" __global__ void softmax();\n");
  const std::string config = R"({"templates": ["softmax", "other"], "problems": ["512x512"]})";
  for (const char* equal : {R"({})", R"({"operation": {"summary": "another", "scalars": {"scale": 3}}})",
                            R"({"operation": {"types": {"T": ["f16", "f32"]}}, "types": {"T": "f32"}})"}) {
    Json patched = other;
    patched.merge_patch(Json::parse(equal));
    write(manifest, patched.dump());
    EXPECT_EQ(load_config(config).templates.size(), 2U) << equal;
  }
  for (const char* different :
       {R"({"operation": {"flops": "6 * rows * columns"}})", R"({"operation": {"reference": "none"}})"}) {
    Json patched = other;
    patched.merge_patch(Json::parse(different));
    write(manifest, patched.dump());
    const UserError error = user_error_of([&] { load_config(config); });
    EXPECT_EQ(error.where().pointer, "/operation") << different;
    EXPECT_TRUE(error.where().file.ends_with(manifest)) << error.where().file;
    EXPECT_TRUE(carries(error.message(), {"row_softmax", "softmax", "other"}));
    EXPECT_FALSE(error.remedy().empty());
    patched["operation"]["name"] = "another_softmax";
    write(manifest, patched.dump());
    EXPECT_EQ(load_config(config).templates.size(), 2U) << different;
  }
}

TEST_F(ConfigTest, FaultsOfNarrowing) {
  expect_faults(
      {Fault{NARROW(R"({"BN": [32]})"), "/templates/0/parameters/BN", {"'BN'", "'BM'"}},
       Fault{NARROW(R"({"BM": [32, 100]})"),
             "/templates/0/parameters/BM/1",
             {"BM = 100", "32", "64", "128", "\"extend\""}},
       Fault{NARROW(R"({"BM": 32})"), "/templates/0/parameters/BM", {"an integer", "a list", "[32]"}},
       Fault{NARROW(R"({"BM": ["32"]})"), "/templates/0/parameters/BM/0", {"a string", "numbers"}},
       Fault{NARROW(R"({"BM": []})"), "/templates/0/parameters/BM", {"an empty list", "a list"}},
       Fault{NARROW(R"({"BM": [32, 32]})"),
             "/templates/0/parameters/BM/1",
             {"32", "twice", "/templates/0/parameters/BM/0"}}});
}

TEST_F(ConfigTest, FaultsOfPolicies) {
  expect_faults({

      Fault{R"({"measure": {"samples": 0}})", "/measure/samples", {"0", "an integer", "1", "10000"}},
      Fault{R"({"measure": {"samples": 10001}})", "/measure/samples", {"10001", "an integer", "1", "10000"}},
      Fault{R"({"measure": {"samples": 7.5}})", "/measure/samples", {"7.5", "an integer", "1", "10000"}},
      Fault{R"({"measure": {"samples": "7"}})",
            "/measure/samples",
            {"a string", "an integer", "1", "10000", "7"}},
      Fault{R"({"measure": {"warmup": -1}})", "/measure/warmup", {"-1", "an integer", "0", "10000"}},
      Fault{R"({"measure": {"verify": "no"}})", "/measure/verify", {"a string", "true or false"}},
      Fault{R"({"measure": {"cache": "hot"}})", "/measure/cache", {"\"hot\"", "cold, dirty, rotate, warm"}},
      Fault{
          R"({"measure": {"launch_timeout_s": 0}})", "/measure/launch_timeout_s", {"0", "a number", "86400"}},
      Fault{R"({"measure": {"sample": 3}})", "/measure/sample", {"'sample'", "'samples'"}},
      Fault{R"({"measure": {"screening": 0.5}})", "/measure/screening", {"0.5", "1", "1000"}},
      Fault{R"({"measure": {"screening": "off"}})", "/measure/screening", {"a string", "0", "1", "1000"}},
      Fault{R"({"measure": {"precision_percent": -1}})",
            "/measure/precision_percent",
            {"-1", "a number", "0", "100"}},
      Fault{R"({"measure": {"batch_below_us": 1001}})",
            "/measure/batch_below_us",
            {"1001", "a number", "0", "1000"}},
      Fault{R"({"measure": {"finals": 10}})", "/measure/finals", {"an integer", "an object"}},
      Fault{R"({"measure": {"finals": {"round": 40}}})", "/measure/finals/round", {"'round'", "'rounds'"}},
      Fault{R"({"measure": {"finals": {"rounds": 5}}})",
            "/measure/finals/rounds",
            {"5", "an integer", "6", "10000"}},
      Fault{R"({"measure": {"finals": {"configurations": -1}}})",
            "/measure/finals/configurations",
            {"-1", "an integer", "0", "100"}},
      Fault{R"({"measure": {"finals": {"within_percent": "2"}}})",
            "/measure/finals/within_percent",
            {"a string", "a number", "0", "100", "2"}},
      Fault{R"({"measure": {"finals": {"sustained_s": 3601}}})",
            "/measure/finals/sustained_s",
            {"3601", "a number", "0", "3600"}},
      Fault{R"({"measure": {"finals": {"host_copies": 1}}})",
            "/measure/finals/host_copies",
            {"an integer", "true", "false"}},
      Fault{R"({"compile": {"timeout_s": -2}})", "/compile/timeout_s", {"-2", "a number", "0", "86400"}},
      Fault{R"({"compile": {"options": "-G"}})",
            "/compile/options",
            {"a string", "a list", "NVRTC", "[\"-G\"]"}},
      Fault{
          R"({"limits": {"min_occupancy": 12.5}})", "/limits/min_occupancy", {"12.5", "a number", "0", "1"}},
      Fault{R"({"limits": {"max_spill_bytes": -1}})", "/limits/max_spill_bytes", {"-1", "an integer", "0"}},
      Fault{R"({"limits": {"max_registers": 256}})",
            "/limits/max_registers",
            {"256", "an integer", "1", "255"}},
      Fault{R"({"strategy": "random"})", "/strategy", {"a string", "an object"}},
      Fault{R"({"strategy": {"name": 7}})", "/strategy/name", {"an integer", "a string"}},
      Fault{R"({"strategy": {"seed": 18446744073709551615}})",
            "/strategy/seed",
            {"18446744073709551615", "an integer", "0"}},
      Fault{R"({"budget": {"seconds": -1}})", "/budget/seconds", {"-1", "a number", "0", "31622400"}}});
}

TEST_F(ConfigTest, FaultsOfProblems) {
  expect_faults(
      {Fault{R"({"problems": 512})", "/problems", {"an integer", "a list", "[512]"}},
       Fault{R"({"problems": []})", "/problems", {"an empty list", "a list"}},
       Fault{R"({"problems": ["512x512"]})", "/problems/0", {"'512x512'", "2", "3"}},
       Fault{R"({"problems": [1, true]})", "/problems/1", {"a boolean", "\"MxNxK\""}},
       Fault{R"({"problems": [0]})", "/problems/0", {"0", "an integer", "1", "9007199254740992"}},
       Fault{R"({"problems": [{"M": 1, "N": 1}]})", "/problems/0", {"'K'", "missing", "1"}},
       Fault{R"({"problems": [{"M": 1, "N": 1, "K": 1, "L": 1}]})", "/problems/0/L", {"'L'", "'M'"}},
       Fault{R"({"problems": [{"M": 1, "N": 1, "K": 9007199254740993}]})",
             "/problems/0/K",
             {"9007199254740993", "an integer", "1", "9007199254740992"}},
       Fault{R"({"problems": ["64x64x64", 32, {"K": 64, "N": 64, "M": 64}]})",
             "/problems/2",
             {"64x64x64", "twice"}}});
}

TEST_F(ConfigTest, AMisspeltFileIsSuggested) {
  write("configs/sgemm.json", R"({"templates": []})");
  write("configs/quick.json", R"({"templates": []})");
  write("configs/sgemn.json", "{}");
  const auto remedy_for = [&](const std::string& name) {
    const UserError error = user_error_of([&] { load_tune_spec(root_ / "configs" / name, options_); });
    EXPECT_TRUE(carries(error.message(), {"not exist"}));
    EXPECT_EQ(error.where().text(), (root_ / "configs" / name).string());
    return error.remedy();
  };
  const std::string meant = "'" + (root_ / "configs/sgemm.json").string() + "'";
  EXPECT_TRUE(carries(remedy_for("sgem.json"), {meant}));
  EXPECT_TRUE(carries(remedy_for("sgemm"), {meant}));
  const std::string listed = remedy_for("something_else.json");
  EXPECT_NE(listed.find("quick.json"), std::string::npos);
  EXPECT_FALSE(carries(listed, {meant}));
}

TEST_F(ConfigTest, AFolderAndBrokenJsonAreNamed) {
  const UserError folder = user_error_of([&] { load_tune_spec(root_ / "kernel_templates", options_); });
  EXPECT_NE(std::string(folder.what()).find((root_ / "kernel_templates").string()), std::string::npos);
  UserError error =
      user_error_of([&] { load_config("{\"templates\": [\"tile\"],\n \"problems\": [512,]}"); });
  EXPECT_NE(error.where().pointer.find("line 2, column 19"), std::string::npos) << error.what();
  error = user_error_of([&] { load_config(R"({"problems": [1], "problems": [2]})"); });
  EXPECT_NE(error.message().find("'problems'"), std::string::npos);
  error = user_error_of([&] { load_config("[]"); });
  EXPECT_TRUE(carries(error.message(), {"a list", "an object"}));
}

TEST_F(ConfigTest, AConfigWithoutAFileHasAPlaceAllTheSame) {
  const TuneSpec spec =
      parse_tune_spec(R"({"name": "one", "templates": ["tile"], "problems": [64]})", "--set", options_);
  EXPECT_EQ(spec.name, "one");
  EXPECT_EQ(spec.templates.at(0).name, "tile");
  const UserError error = user_error_of(
      [&] { parse_tune_spec(R"({"templates": ["tile"], "problems": [64], "gpus": 2})", "--set", options_); });
  EXPECT_EQ(error.where().text(), "--set: /gpus");
}

TEST_F(ConfigTest, AFaultOfAManifestIsPlacedInTheManifest) {
  const auto manifest = write_manifest(tile(), R"({"kernel": 1})");
  const UserError error = user_error_of([&] { load_config(R"({"templates": ["tile"], "problems": [1]})"); });
  EXPECT_EQ(error.where().text(), manifest.string() + ": /kernel");
}

}  // namespace config_test
}  // namespace tiletune
