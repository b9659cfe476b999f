// What manifests offer of types and options, and what configs choose of it.

#include "fixture.h"
#include "spec/operation.h"

namespace tiletune {
namespace variants_test {

/// "T=f16 accumulator=f32 base=2" of each template of a config.
std::vector<std::string> variants_of(const TuneSpec& spec) {
  std::vector<std::string> texts;
  for (const TemplateSpec& kernel : spec.templates) {
    std::string text;
    const Variant variant = variant_of(kernel.operation);
    for (const auto& [name, type] : variant.types) text += name + "=" + type + " ";
    for (const auto& [name, option] : variant.options) text += name + "=" + option + " ";
    text.pop_back();
    texts.push_back(text);
  }
  return texts;
}

class VariantsTest : public SpecTest {
 protected:
  /// softmax offers two types and two values of its option; tile all types alike, or C in another.
  void SetUp() override {
    SpecTest::SetUp();
    write_manifest(softmax(), R"({"types": {"T": ["f16", "f32"]}, "options": {"base": ["2", "e"]}})");
    write_manifest(tile(), R"({"types": [{"A": "f16", "B": "f16", "C": ["f16", "f32"]},
                                         {"A": "bf16", "B": "bf16", "C": ["bf16", "f32"]}]})");
  }

  TuneSpec load(const std::string& entries, const std::string& more = "") const {
    return load_config(R"({"problems": [64], "templates": [)" + entries + "]" + more + "}");
  }
  std::vector<std::string> softmax_variants(const std::string& choices) const {
    return variants_of(load(R"({"template": "softmax", )" + choices + "}"));
  }
  std::vector<std::string> tile_variants(const std::string& types) const {
    return variants_of(load(R"({"template": "tile", "types": )" + types + "}"));
  }

  void expect_refused(const std::string& entries, const std::string& pointer,
                      const std::vector<std::string>& parts) const {
    const UserError error = user_error_of([&] { load(entries); });
    EXPECT_EQ(error.where().pointer, pointer) << entries;
    EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), parts)) << entries;
    EXPECT_FALSE(error.remedy().empty()) << entries;
  }
};

TEST_F(VariantsTest, TheFirstThatAManifestOffersIsTheDefault) {
  const TuneSpec spec = load(R"("softmax", {"template": "softmax", "types": {"T": "f32"}})");
  EXPECT_EQ(variants_of(spec),
            (std::vector<std::string>{"T=f16 accumulator=f32 base=2", "T=f32 accumulator=f32 base=2"}));
  EXPECT_EQ(spec.templates[0].label(), "softmax");
  EXPECT_EQ(spec.templates[1].label(), "softmax T=f32 base=2") << "what does not vary is left out";
  EXPECT_EQ(spec.templates[0].operation.buffers[0].type, ElementType::f16);
  EXPECT_EQ(spec.templates[1].operation.buffers[0].type, ElementType::f32);
}

TEST_F(VariantsTest, AListTunesEachChoice) {
  EXPECT_EQ(softmax_variants(R"("types": {"T": ["f32", "f16"]}, "options": {"base": ["e", "2"]})"),
            (std::vector<std::string>{"T=f32 accumulator=f32 base=e", "T=f32 accumulator=f32 base=2",
                                      "T=f16 accumulator=f32 base=e", "T=f16 accumulator=f32 base=2"}));
  EXPECT_EQ(softmax_variants(R"("options": [{"base": "e"}])"),
            std::vector<std::string>{"T=f16 accumulator=f32 base=e"});
}

TEST_F(VariantsTest, WhatAConfigDoesNotNameIsTheFirstThatIsOfferedWithIt) {
  const std::string rest = " accumulator=f32 layout=nn epilogue=identity";
  EXPECT_EQ(tile_variants(R"({"A": "bf16"})"), std::vector<std::string>{"A=bf16 B=bf16 C=bf16" + rest});
  EXPECT_EQ(tile_variants(R"({"C": "f32"})"), std::vector<std::string>{"A=f16 B=f16 C=f32" + rest});
  EXPECT_EQ(tile_variants(R"([{"A": "bf16", "C": "f32"}, {"A": ["f16", "bf16"]}])"),
            (std::vector<std::string>{"A=bf16 B=bf16 C=f32" + rest, "A=f16 B=f16 C=f16" + rest,
                                      "A=bf16 B=bf16 C=bf16" + rest}));
}

TEST_F(VariantsTest, EachIsNarrowedAndListedAndHasTheScalars) {
  write("configs/list.csv", "THREADS\n256\n");
  const TuneSpec spec = load(R"({"template": "softmax", "types": {"T": ["f16", "f32"]},
                                 "parameters": {"THREADS": [256]},
                                 "constraints": [{"require": "rows > 1"}]})",
                             R"(, "configurations": "list.csv", "scalars": {"scale": 2})");
  ASSERT_EQ(spec.templates.size(), 2U);
  for (const TemplateSpec& kernel : spec.templates) {
    EXPECT_EQ(kernel.parameters[0].values, std::vector<Value>{std::int64_t{256}});
    EXPECT_EQ(kernel.constraints.back().require.text, "rows > 1");
    EXPECT_EQ(kernel.listed, std::vector<std::uint32_t>{0});
    EXPECT_EQ(kernel.operation.scalars[0].second, 2);
  }
}

TEST_F(VariantsTest, RowsStateAllOptionsButUnstatedDefaults) {
  const auto stated = [&](const std::string& patch) {
    return load_patched(softmax(), patch).operation.own_options;
  };
  EXPECT_EQ(stated(R"({"options": {"base": "e"}})"), (Choices{{"base", "e"}}));
  EXPECT_EQ(stated(R"({"options": {"base": "e"}, "operation": {"unstated_defaults": ["base"]}})"), Choices{});
  EXPECT_EQ(stated(R"({"options": {"base": "2"}, "operation": {"unstated_defaults": ["base"]}})"),
            (Choices{{"base", "2"}}));
  const UserError error = user_error_of([&] { stated(R"({"operation": {"unstated_defaults": ["bass"]}})"); });
  EXPECT_EQ(error.where().pointer, "/operation/unstated_defaults/0");
  EXPECT_TRUE(carries(error.message() + error.remedy(), {"\"bass\"", "'base'"}));
}

TEST_F(VariantsTest, OptionsDecideHowAMatrixLiesAndWhichBuffersThereAre) {
  const auto gemm = [&](const std::string& options) {
    return load_patched(tile(), R"({"options": )" + options + "}").operation;
  };
  const Operation plain = gemm(R"({"layout": "nn"})");
  EXPECT_EQ(plain.own_options, Choices{}) << "rows of before there were layouts";
  EXPECT_EQ(plain.buffers[0].columns.text, "K");
  EXPECT_EQ(plain.buffers.size(), 3U);
  const Operation transposed = gemm(R"({"layout": "tn"})");
  EXPECT_EQ(transposed.own_options, (Choices{{"layout", "tn"}}));
  EXPECT_EQ(transposed.buffers[0].columns.text, "M");
  EXPECT_EQ(transposed.leading_dimensions[0].columns, "M");
  EXPECT_EQ(transposed.buffers[1].columns.text, "N");
  const Json with_bias{
      {"options", {{"epilogue", "bias"}}},
      {"arguments",
       Json::array({{{"buffer", "A"}}, {{"buffer", "B"}}, {{"buffer", "C"}}, {{"buffer", "bias"}}})}};
  EXPECT_EQ(load_patched(tile(), with_bias.dump()).operation.buffers.back().name, "bias");
  const UserError error = user_error_of([&] {
    const Json only{
        {"name", "out"}, {"type", "T"}, {"elements", "rows"}, {"role", "out"}, {"only", {{"bass", {"2"}}}}};
    load_patched(softmax(), Json{{"operation", {{"buffers", {only}}}}}.dump());
  });
  EXPECT_EQ(error.where().pointer, "/operation/buffers/0/only/bass");
  EXPECT_TRUE(carries(error.message() + error.remedy(), {"'bass'", "'base'"}));
}

TEST_F(VariantsTest, TheCommandLineKeepsAllOfATemplate) {
  options_.templates = {"softmax"};
  EXPECT_EQ(load(R"({"template": "softmax", "types": {"T": ["f16", "f32"]}})").templates.size(), 2U);
}

TEST_F(VariantsTest, OnesThatStandTwiceAreRefused) {
  expect_refused(R"("softmax", {"template": "softmax", "types": {"T": "f16"}})", "/templates/1",
                 {"softmax T=f16", "twice"});
  expect_refused(R"({"template": "tile", "types": [{"A": "bf16"}, {"B": "bf16"}]})", "/templates/0",
                 {"tile A=bf16 B=bf16 C=bf16", "twice"});
}

TEST_F(VariantsTest, WhatIsNotOfferedIsRefused) {
  expect_refused(R"({"template": "softmax", "types": {"T": "f64"}})", "/templates/0/types/T",
                 {"softmax", "T=f64", "T=f16 accumulator=f32; T=f32 accumulator=f32"});
  expect_refused(R"({"template": "softmax", "types": {"accumulator": "f64"}})",
                 "/templates/0/types/accumulator", {"accumulator=f64", "T=f16 accumulator=f32"});
  expect_refused(R"({"template": "softmax", "options": {"base": ["2", "10"]}})",
                 "/templates/0/options/base/1", {"base=10", "base=2; base=e"});
  expect_refused(R"({"template": "tile", "types": {"A": "f16", "C": "bf16"}})", "/templates/0/types/C",
                 {"A=f16 C=bf16", "A=f16 B=f16 C=f32 accumulator=f32"});
  expect_refused(R"({"template": "softmax", "types": {"U": "f16"}})", "/templates/0/types/U",
                 {"type variable 'U'", "'T'"});
  expect_refused(R"({"template": "softmax", "options": {"bass": "2"}})", "/templates/0/options/bass",
                 {"option 'bass'", "'base'"});
  expect_refused(R"({"template": "tile", "options": {"layout": "nt"}})", "/templates/0/options/layout",
                 {"tile", "layout=nt", "layout=nn epilogue=identity"});
  expect_refused(R"({"template": "tile", "options": {"order": "rows"}})", "/templates/0/options/order",
                 {"tile", "option 'order'"});
}

TEST_F(VariantsTest, OtherValuesThanTextsAreRefused) {
  expect_refused(R"({"template": "softmax", "types": "f16"})", "/templates/0/types", {"a string", "object"});
  expect_refused(R"({"template": "softmax", "types": []})", "/templates/0/types", {"an empty list"});
  expect_refused(R"({"template": "softmax", "types": {"T": []}})", "/templates/0/types/T", {"an empty list"});
  expect_refused(R"({"template": "softmax", "options": {"base": 2}})", "/templates/0/options/base",
                 {"an integer", "a text"});
  std::string many;
  for (int i = 0; i < 9; ++i) many += (i == 0 ? "" : ", ") + ("\"v" + std::to_string(i)) + R"(": ["a", "b"])";
  expect_refused(R"({"template": "softmax", "options": {)" + many + "}}", "/templates/0/options/v8",
                 {"256", "combinations"});
}

TEST_F(VariantsTest, FaultsOfWhatAManifestOffers) {
  const auto expect = [&](const std::string& patch, const std::string& pointer,
                          const std::vector<std::string>& parts) {
    const UserError error = user_error_of([&] { load_patched(softmax(), patch); });
    EXPECT_EQ(error.where().pointer, pointer) << patch;
    EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), parts)) << patch;
  };
  expect(R"({"types": {"T": ["f16", "f64"]}})", "/types/T/1", {"\"f64\"", "f32, f16"});
  expect(R"({"types": [{"T": "f16"}, {"U": "f16"}]})", "/types/1/U", {"the operation", "'U'"});
  expect(R"({"options": {"base": ["2", "2"]}})", "/options", {"base=2", "twice"});
  expect(R"({"types": [{"T": ["f16", "f32"]}, {"T": "f32"}]})", "/types", {"T=f32", "twice"});
}

TEST_F(VariantsTest, TemplatesThatAnOperationComparesWithHaveTheVariant) {
  Json manifest = softmax();
  manifest["operation"]["baselines"] = Json::parse(R"({"name": "slow", "template": "softmax"})");
  manifest["types"]["T"] = Json::parse(R"(["f16", "f32"])");
  write("kernel_templates/softmax/template.json", manifest.dump());
  const TuneSpec spec = load(R"({"template": "softmax", "types": {"T": ["f16", "f32"]}})");
  for (const TemplateSpec& kernel : spec.templates) {
    ASSERT_EQ(kernel.baselines.size(), 1U);
    EXPECT_EQ(variant_of(kernel.baselines[0].operation), variant_of(kernel.operation));
  }
}

/// "softmax T=f32 base=2: 64x64 8x8" of each template of a config.
std::vector<std::string> pairs_of(const TuneSpec& spec) {
  std::vector<std::string> texts;
  for (const TemplateSpec& kernel : spec.templates) {
    texts.push_back(kernel.label() + ":");
    for (const Problem& problem : spec.problems)
      if (kernel.runs(problem)) texts.back() += " " + problem.label();
  }
  return texts;
}

class MixedProblemsTest : public VariantsTest {
 protected:
  TuneSpec load_mixed(const std::string& entries, const std::string& problems) const {
    return load_config(R"({"templates": [)" + entries + R"(], "problems": [)" + problems + "]}");
  }
  std::vector<std::string> pairs(const std::string& entries, const std::string& problems) const {
    return pairs_of(load_mixed(entries, problems));
  }
  void expect_wrong(const std::string& entries, const std::string& problems, const std::string& pointer,
                    const std::vector<std::string>& parts) const {
    const UserError error = user_error_of([&] { load_mixed(entries, problems); });
    EXPECT_EQ(error.where().pointer, pointer) << problems;
    EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), parts)) << problems;
    EXPECT_FALSE(error.remedy().empty()) << problems;
  }
};

using Pairs = std::vector<std::string>;

TEST_F(MixedProblemsTest, AProblemChoosesAmongWhatATemplateOffers) {
  EXPECT_EQ(pairs(R"("softmax")",
                  R"(64, "8,T=f32", {"rows": 8, "columns": 16, "base": "e", "T": "f32"}, "4,T=f16")"),
            (Pairs{"softmax: 64x64 4x4", "softmax T=f32 base=2: 8x8", "softmax T=f32 base=e: 8x16"}));
  EXPECT_EQ(pairs(R"("tile")", R"("64 lda=80,A=bf16,C=f32", "64,C=f32")"),
            (Pairs{"tile A=bf16 B=bf16 C=f32: 64x64x64 lda=80", "tile A=f16 B=f16 C=f32: 64x64x64"}))
      << "the default runs nothing and is left out";
}

TEST_F(MixedProblemsTest, WhatAnEntryChoosesIsNotReplaced) {
  const std::string both = R"({"template": "softmax", "types": {"T": ["f32", "f16"]}})";
  EXPECT_EQ(pairs(both, R"(64, "8,T=f16", "4,base=e")"),
            (Pairs{"softmax T=f32 base=2: 64x64", "softmax T=f16 base=2: 64x64 8x8",
                   "softmax T=f32 base=e: 4x4", "softmax T=f16 base=e: 4x4"}));
  const std::string apart = R"({"template": "softmax", "options": {"base": "e"}},
                               {"template": "softmax", "options": {"base": "2"}, "parameters": {"THREADS": [128]}})";
  const TuneSpec spec = load_mixed(apart, R"("8,base=e", "16,base=2,T=f32")");
  EXPECT_EQ(pairs_of(spec), (Pairs{"softmax T=f16 base=e: 8x8", "softmax T=f32 base=2: 16x16"}));
  EXPECT_EQ(spec.templates[1].parameters[0].values.size(), 1U) << "narrowed like the entry's own variants";
  expect_wrong(both, R"(64, "8,T=f16,base=10")", "/problems/1", {"T=f16 base=10", "base 2, e"});
  expect_wrong(R"({"template": "softmax", "types": {"T": "f32"}})", R"(64, "8,T=f16")", "/problems/1",
               {"no template", "T=f16", "T f16, f32"});
}

TEST_F(MixedProblemsTest, SizesAreReadAsTheLayoutHasThem) {
  write_manifest(tile(), R"({"options": {"layout": ["nn", "tn"]}, "template_arguments": ["lda"]})");
  const TuneSpec spec = load_mixed(R"("tile")", R"("16x8x32,lda=64,layout=tn", "16x8x32,lda=16,layout=tn",
                                                   "64x8x32,lda=64,layout=tn")");
  EXPECT_EQ(pairs_of(spec), (Pairs{"tile layout=tn: 16x8x32 lda=64 16x8x32 64x8x32"}))
      << "in tn, a row of A has M elements";
  expect_wrong(R"("tile")", R"("16x8x32,lda=16")", "/problems/0", {"lda = 16", "32", "K = 32"});
  expect_wrong(R"("tile")", R"("64x8x32,lda=32,layout=tn")", "/problems/0", {"lda = 32", "64", "M = 64"});
  expect_wrong(R"({"template": "tile", "options": {"layout": ["nn", "tn"]}})", R"("64x8x32,lda=32")",
               "/problems/0", {"lda = 32", "M = 64"});
}

TEST_F(MixedProblemsTest, ATemplateRunsOnlyWhatItHas) {
  Json other = softmax();
  other["name"] = "plain";
  other["operation"].erase("options");
  other["operation"]["name"] = "plain_softmax";
  other.erase("options");
  other["macros"] = {{"THREADS", "THREADS"}};
  write_manifest(other, "{}");
  write("kernel_templates/plain/kernel.cu", "");
  write("kernel_templates/plain/reference.cu", "");
  EXPECT_EQ(pairs(R"("softmax", "plain")", R"(64, "8,base=e", "16,T=f16")"),
            (Pairs{"softmax: 64x64 16x16", "softmax T=f16 base=e: 8x8", "plain: 64x64 16x16"}));
  expect_wrong(R"("softmax", "plain")", R"("8,base=e", "16,base=2")", "/templates/1",
               {"plain", "none of the problems"});
}

TEST_F(MixedProblemsTest, TheCommandLineReplacesThem) {
  options_.problems = {"8,T=f32", "16 base=e"};
  EXPECT_EQ(pairs(R"("softmax")", "64"), (Pairs{"softmax T=f32 base=2: 8x8", "softmax T=f16 base=e: 16x16"}));
  options_.problems = {"8,base=10"};
  const UserError error = user_error_of([&] { load_mixed(R"("softmax")", "64"); });
  EXPECT_EQ(error.where().text(), "--problem");
  EXPECT_TRUE(carries(error.message() + "\n" + error.remedy(), {"base=10", "base 2, e"}));
}

TEST_F(MixedProblemsTest, TheTemplatesThatAreKeptKeepTheirProblemsAlone) {
  Json other = tile();
  other["name"] = "other";
  other["types"] = {{"A", "f32"}, {"B", "f32"}, {"C", "f32"}};
  write_manifest(other, "{}");
  write("kernel_templates/other/kernel.cuh", "");
  options_.templates = {"other"};
  const TuneSpec spec = load_mixed(R"("tile", "other")", R"(64, "8,A=bf16", "16,A=f32")");
  EXPECT_EQ(pairs_of(spec), Pairs{"other: 64x64x64 16x16x16"});
  EXPECT_EQ(spec.problems.size(), 2U);
  options_.problems = {"8,A=bf16"};
  expect_wrong(R"("tile", "other")", "64", "", {"no template", "A=bf16"});
}

TEST_F(MixedProblemsTest, MistakesNameTheirPlace) {
  expect_wrong(R"("softmax")", R"("8,bass=e")", "/problems/0", {"'bass=e'", "Did you mean 'base'?"});
  expect_wrong(R"("softmax")", R"("8,base=e,base=2")", "/problems/0", {"has base twice"});
  expect_wrong(R"("softmax")", R"("8,base=")", "/problems/0", {"no template", "base="});
  expect_wrong(R"("softmax")", R"({"rows": 8, "columns": 8, "base": 2})", "/problems/0/base",
               {"an integer", "a text"});
  expect_wrong(R"("softmax")", R"("8,base=e", {"rows": 8, "columns": 8, "base": "e"})", "/problems/1",
               {"8x8 is listed twice for softmax T=f16 base=e"});
  expect_wrong(R"("softmax", {"template": "softmax", "types": {"T": "f32"}})", R"("8,T=f32")", "/templates/0",
               {"softmax T=f32 base=2", "twice"});
}

TEST_F(MixedProblemsTest, OtherFaultsHideNone) {
  std::vector<UserError> faults;
  options_.faults = &faults;
  const TuneSpec spec = load_mixed(R"("tile", "tyle")", R"(64, "8,A=f64")");
  EXPECT_EQ(faults.size(), 1U);
  EXPECT_EQ(pairs_of(spec), Pairs{"tile: 64x64x64"}) << "the other one may have had it";
}

}  // namespace variants_test
}  // namespace tiletune
