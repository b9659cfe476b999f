#include "base/file.h"
#include "fixture.h"

namespace tiletune {
namespace {

class ConfigTest : public SpecTest {
 protected:
  /// Breaks a short config by each fault's patch in turn.
  void expect_faults(const std::vector<Fault>& faults) const {
    for (const Fault& fault : faults) {
      Json document = Json::parse(R"({"templates": ["tile"], "problems": ["512x512x512"]})");
      document.merge_patch(Json::parse(fault.patch));
      const auto file = (root_ / "configs/sweep.json").string();
      expect_fault(error_of([&] { load_config(document.dump()); }), fault, file);
    }
  }
};

TEST_F(ConfigTest, TwoKeysAreEnough) {
  const std::string text = R"({"templates": ["tile"], "problems": [512]})";
  const TuneSpec spec = load_config(text);
  EXPECT_EQ(spec.name, "sweep");
  EXPECT_EQ(spec.config_json, text);
  EXPECT_EQ(spec.templates.at(0).name, "tile");
  EXPECT_EQ(spec.strategy.name, "exhaustive");
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
  EXPECT_EQ(spec.compile.timeout_s, 60);
  EXPECT_FALSE(spec.limits.max_spill_bytes);
  EXPECT_EQ(spec.baseline, Baseline::lt);
  EXPECT_EQ(spec.gpu, "");
  EXPECT_EQ(spec.view, View::ranking);
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
                "finals": {"configurations": 100, "within_percent": 0, "rounds": 6, "sustained_s": 2}},
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
  UserError error = error_of([&] { load_config(text); });
  EXPECT_EQ(error.message(), "the problem 64x64x64 is listed twice");
  EXPECT_EQ(error.where().text(), "--problem");

  options_.problems = {};
  options_.templates = {"otter"};
  error = error_of([&] { load_config(text); });
  EXPECT_EQ(error.message(), "the config has no template 'otter'");
  EXPECT_EQ(error.where().text(), "--template");
  EXPECT_NE(error.remedy().find("Did you mean 'other'?"), std::string::npos);
}

TEST_F(ConfigTest, FaultsOfRoot) {
  expect_faults({

      Fault{R"({"template": ["tile"]})", "/template", "unknown key 'template'", "Did you mean 'templates'?"},
      Fault{R"({"templates": null})", "", "the key 'templates' is missing",
            R"(Add "templates": a list of template names.)"},
      Fault{R"({"problems": null})", "", "the key 'problems' is missing",
            "Add \"problems\": a list of problems"},
      Fault{R"({"name": ""})", "/name", "found an empty string, expected a string", "Fill it in"},
      Fault{R"({"gpu": ["H100"]})", "/gpu", "found a list, expected the name of a GPU model", "Replace it"},
      Fault{R"({"view": "lader"})", "/view", R"(found "lader", expected one of ranking, ladder)",
            "Did you mean 'ladder'?"},
      Fault{R"({"baseline": "cutlass"})", "/baseline", R"(found "cutlass", expected one of none, cublas, lt)",
            "Did you mean 'cublas'?"},
      Fault{R"({"baseline": false})", "/baseline", "found a boolean, expected one of none, cublas, lt",
            "Replace it"},
      Fault{R"({"templates": ["axpy"], "problems": [1], "baseline": "cublas"})", "/baseline",
            "cuBLAS is not a baseline of the operation axpy", "\"none\""},
      Fault{R"({"templates": ["axpy"], "problems": [1], "baseline": "lt"})", "/baseline",
            "cuBLAS is not a baseline of the operation axpy", "\"none\""},
      Fault{R"({"scalars": {"alpa": 1}})", "/scalars/alpa", "no template has a scalar 'alpa'",
            "Did you mean 'alpha'?"},
      Fault{R"({"scalars": {"beta": "1.5"}})", "/scalars/beta", "found a string, expected a finite number",
            "Write it without quotes: 1.5."},
      Fault{R"({"scalars": [1]})", "/scalars", "found a list, expected an object of numbers", "Replace it"}});
}

TEST_F(ConfigTest, FaultsOfTemplates) {
  expect_faults({

      Fault{R"({"templates": "tile"})", "/templates", "found a string, expected a list of templates",
            R"(Write it in brackets: ["tile"].)"},
      Fault{R"({"templates": []})", "/templates", "found an empty list, expected a list of templates",
            "at least one"},
      Fault{R"({"templates": ["tiel"]})", "/templates/0", "there is no template 'tiel'",
            "Did you mean 'tile'?"},
      Fault{R"({"templates": ["../tile"]})", "/templates/0", "'../tile' is not a name", "letters"},
      Fault{R"({"templates": [3]})", "/templates/0",
            "found an integer, expected a template's name, or an object with \"template\"", "Replace it"},
      Fault{R"({"templates": ["tile", {"template": "tile"}]})", "/templates/1",
            "the name 'tile' is taken by another entry of the list (/templates/0)", "Rename"},
      Fault{R"({"templates": ["tile", "axpy"]})", "/templates/1",
            "tile and axpy have different problems: MxNxK lda ldb ldc and n", "separate configs"},
      Fault{R"({"templates": [{"parameters": {}}]})", "/templates/0", "the key 'template' is missing",
            "a template's name"},
      Fault{R"({"templates": [{"template": "tile", "params": {}}]})", "/templates/0/params",
            "unknown key 'params'", "Known: template, parameters"},
      Fault{R"({"templates": [{"template": "tile", "extend": 1}]})", "/templates/0/extend",
            "found an integer, expected true or false", "Replace it with true or false."},
      Fault{R"({"templates": [{"template": "tile", "constraints": ["BM > 1"]}]})",
            "/templates/0/constraints/0", "found a string, expected an object",
            "Replace it with an object."}});
}

#define NARROW(parameters) R"({"templates": [{"template": "tile", "parameters": )" parameters "}]}"

TEST_F(ConfigTest, FaultsOfNarrowing) {
  expect_faults({Fault{NARROW(R"({"BN": [32]})"), "/templates/0/parameters/BN",
                       "the template tile has no parameter 'BN'", "Did you mean 'BM'?"},
                 Fault{NARROW(R"({"BM": [32, 100]})"), "/templates/0/parameters/BM/1",
                       "BM = 100 is not among the template's values: 32, 64, 128", R"(set "extend": true)"},
                 Fault{NARROW(R"({"BM": 32})"), "/templates/0/parameters/BM",
                       "found an integer, expected a list of values", "Write it in brackets: [32]."},
                 Fault{NARROW(R"({"BM": ["32"]})"), "/templates/0/parameters/BM/0",
                       "found a string among numbers", "numbers"},
                 Fault{NARROW(R"({"BM": []})"), "/templates/0/parameters/BM",
                       "found an empty list, expected a list of values", "at least one"},
                 Fault{NARROW(R"({"BM": [32, 32]})"), "/templates/0/parameters/BM/1",
                       "the value 32 is listed twice", "the first is at /templates/0/parameters/BM/0"}});
}

TEST_F(ConfigTest, FaultsOfPolicies) {
  expect_faults({

      Fault{R"({"measure": {"samples": 0}})", "/measure/samples",
            "found 0, expected an integer from 1 to 10000", "Replace it with an integer from 1 to 10000."},
      Fault{R"({"measure": {"samples": 10001}})", "/measure/samples",
            "found 10001, expected an integer from 1 to 10000", "Replace it"},
      Fault{R"({"measure": {"samples": 7.5}})", "/measure/samples",
            "found 7.5, expected an integer from 1 to 10000", "Replace it"},
      Fault{R"({"measure": {"samples": "7"}})", "/measure/samples",
            "found a string, expected an integer from 1 to 10000", "Write it without quotes: 7."},
      Fault{R"({"measure": {"warmup": -1}})", "/measure/warmup",
            "found -1, expected an integer from 0 to 10000", "Replace it"},
      Fault{R"({"measure": {"verify": "no"}})", "/measure/verify", "found a string, expected true or false",
            "Replace it with true or false."},
      Fault{R"({"measure": {"cache": "hot"}})", "/measure/cache",
            R"(found "hot", expected one of cold, dirty, rotate, warm)", "Known: cold, dirty, rotate, warm."},
      Fault{R"({"measure": {"launch_timeout_s": 0}})", "/measure/launch_timeout_s",
            "found 0, expected a number above 0 and of at most 86400", "Replace it"},
      Fault{R"({"measure": {"sample": 3}})", "/measure/sample", "unknown key 'sample'",
            "Did you mean 'samples'?"},
      Fault{R"({"measure": {"screening": 0.5}})", "/measure/screening",
            "found 0.5, expected 0 or a number of at least 1 and at most 1000", "Replace it"},
      Fault{R"({"measure": {"screening": "off"}})", "/measure/screening",
            "found a string, expected 0 or a number of at least 1 and at most 1000", "Replace it"},
      Fault{R"({"measure": {"precision_percent": -1}})", "/measure/precision_percent",
            "found -1, expected a number of at least 0 and at most 100", "Replace it"},
      Fault{R"({"measure": {"batch_below_us": 1001}})", "/measure/batch_below_us",
            "found 1001, expected a number of at least 0 and at most 1000", "Replace it"},
      Fault{R"({"measure": {"finals": 10}})", "/measure/finals", "found an integer, expected an object",
            "Replace it with an object."},
      Fault{R"({"measure": {"finals": {"round": 40}}})", "/measure/finals/round", "unknown key 'round'",
            "Did you mean 'rounds'?"},
      Fault{R"({"measure": {"finals": {"rounds": 5}}})", "/measure/finals/rounds",
            "found 5, expected an integer from 6 to 10000", "Replace it"},
      Fault{R"({"measure": {"finals": {"configurations": -1}}})", "/measure/finals/configurations",
            "found -1, expected an integer from 0 to 100", "Replace it"},
      Fault{R"({"measure": {"finals": {"within_percent": "2"}}})", "/measure/finals/within_percent",
            "found a string, expected a number of at least 0 and at most 100", "Write it without quotes: 2."},
      Fault{R"({"measure": {"finals": {"sustained_s": 3601}}})", "/measure/finals/sustained_s",
            "found 3601, expected a number of at least 0 and at most 3600", "Replace it"},
      Fault{R"({"compile": {"timeout_s": -2}})", "/compile/timeout_s",
            "found -2, expected a number above 0 and of at most 86400", "Replace it"},
      Fault{R"({"compile": {"options": "-G"}})", "/compile/options",
            "found a string, expected a list of NVRTC options", R"(Write it in brackets: ["-G"].)"},
      Fault{R"({"limits": {"min_occupancy": 12.5}})", "/limits/min_occupancy",
            "found 12.5, expected a number of at least 0 and at most 1", "Replace it"},
      Fault{R"({"limits": {"max_spill_bytes": -1}})", "/limits/max_spill_bytes",
            "found -1, expected an integer of at least 0", "Replace it"},
      Fault{R"({"limits": {"max_registers": 256}})", "/limits/max_registers",
            "found 256, expected an integer from 1 to 255", "Replace it"},
      Fault{R"({"strategy": "random"})", "/strategy", "found a string, expected an object", "Replace it"},
      Fault{R"({"strategy": {"name": 7}})", "/strategy/name", "found an integer, expected a string",
            "Write it in quotes"},
      Fault{R"({"strategy": {"seed": 18446744073709551615}})", "/strategy/seed",
            "found 18446744073709551615, expected an integer of at least 0", "Replace it"},
      Fault{R"({"budget": {"seconds": -1}})", "/budget/seconds",
            "found -1, expected a number of at least 0 and at most 31622400", "Replace it"}});
}

TEST_F(ConfigTest, FaultsOfProblems) {
  expect_faults({Fault{R"({"problems": 512})", "/problems", "found an integer, expected a list of problems",
                       "Write it in brackets: [512]."},
                 Fault{R"({"problems": []})", "/problems", "found an empty list, expected a list of problems",
                       "at least one"},
                 Fault{R"({"problems": ["512x512"]})", "/problems/0",
                       "the problem '512x512' has 2 sizes, expected 3 (MxNxK)", "one size for all"},
                 Fault{R"({"problems": [1, true]})", "/problems/1",
                       "found a boolean, expected a problem (a string like \"MxNxK\", an integer, or an "
                       "object of sizes)",
                       "Replace it"},
                 Fault{R"({"problems": [0]})", "/problems/0",
                       "found 0, expected an integer from 1 to 2147483647", "Replace"},
                 Fault{R"({"problems": [{"M": 1, "N": 1}]})", "/problems/0", "the key 'K' is missing",
                       "an integer from 1"},
                 Fault{R"({"problems": [{"M": 1, "N": 1, "K": 1, "L": 1}]})", "/problems/0/L",
                       "unknown key 'L'", "Did you mean 'M'?"},
                 Fault{R"({"problems": [{"M": 1, "N": 1, "K": 2147483648}]})", "/problems/0/K",
                       "found 2147483648, expected an integer from 1 to 2147483647", "Replace it"},
                 Fault{R"({"problems": ["64x64x64", 32, {"K": 64, "N": 64, "M": 64}]})", "/problems/2",
                       "the problem 64x64x64 is listed twice", "Remove one"}});
}

TEST_F(ConfigTest, AMisspeltFileIsSuggested) {
  write("configs/sgemm.json", R"({"templates": []})");
  write("configs/quick.json", R"({"templates": []})");
  write("configs/sgemn.json", "{}");
  const auto remedy_for = [&](const std::string& name) {
    const UserError error = error_of([&] { load_tune_spec(root_ / "configs" / name, options_); });
    EXPECT_EQ(error.message(), "the config does not exist");
    EXPECT_EQ(error.where().text(), (root_ / "configs" / name).string());
    return error.remedy();
  };
  const std::string expected = "Did you mean '" + (root_ / "configs/sgemm.json").string() + "'?";
  EXPECT_NE(remedy_for("sgem.json").find(expected), std::string::npos);
  EXPECT_NE(remedy_for("sgemm").find(expected), std::string::npos);
  const std::string listed = remedy_for("something_else.json");
  EXPECT_NE(listed.find("quick.json"), std::string::npos);
  EXPECT_EQ(listed.find("Did you mean"), std::string::npos) << listed;
}

TEST_F(ConfigTest, AFolderAndBrokenJsonAreNamed) {
  const UserError folder = error_of([&] { load_tune_spec(root_ / "kernel_templates", options_); });
  EXPECT_NE(std::string(folder.what()).find((root_ / "kernel_templates").string()), std::string::npos);
  UserError error = error_of([&] { load_config("{\"templates\": [\"tile\"],\n \"problems\": [512,]}"); });
  EXPECT_NE(error.where().pointer.find("line 2, column 19"), std::string::npos) << error.what();
  error = error_of([&] { load_config(R"({"problems": [1], "problems": [2]})"); });
  EXPECT_NE(error.message().find("'problems'"), std::string::npos);
  error = error_of([&] { load_config("[]"); });
  EXPECT_EQ(error.message(), "found a list, expected an object");
}

TEST_F(ConfigTest, AConfigWithoutAFileHasAPlaceAllTheSame) {
  const TuneSpec spec =
      parse_tune_spec(R"({"name": "one", "templates": ["tile"], "problems": [64]})", "--set", options_);
  EXPECT_EQ(spec.name, "one");
  EXPECT_EQ(spec.templates.at(0).name, "tile");
  const UserError error = error_of(
      [&] { parse_tune_spec(R"({"templates": ["tile"], "problems": [64], "gpus": 2})", "--set", options_); });
  EXPECT_EQ(error.where().text(), "--set: /gpus");
}

TEST_F(ConfigTest, AFaultOfAManifestIsPlacedInTheManifest) {
  const auto manifest = write_manifest(tile(), R"({"kernel": 1})");
  const UserError error = error_of([&] { load_config(R"({"templates": ["tile"], "problems": [1]})"); });
  EXPECT_EQ(error.where().text(), manifest.string() + ": /kernel");
}

}  // namespace
}  // namespace tiletune
