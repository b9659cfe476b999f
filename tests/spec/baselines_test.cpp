#include "fixture.h"
#include "spec/reader.h"

namespace tiletune {
namespace baselines_test {

/// A template `softmax` whose operation, an object, has baselines; and another template of that operation.
class Baselines : public SpecTest {
 protected:
  static Json kernel() {
    return Json::parse(R"--({
      "name": "plain", "source": "reference.cu", "kernel": "plain", "template_arguments": ["T", "base"],
      "grid": ["rows"], "block": [64], "dynamic_shared_bytes": "4 * columns",
      "arguments": [{"buffer": "in"}, {"buffer": "out"}, {"buffer": "sums"}, {"scalar": "scale", "type": "f32"}]})--");
  }

  static Json with(const Json& baselines) {
    Json manifest = softmax();
    manifest["operation"]["baselines"] = baselines;
    return manifest;
  }

  /// The same operation and parameters in the folder `other`, with the operation's default types.
  void write_other(const std::string& patch = "{}") const {
    Json other = softmax();
    other["name"] = "other";
    other.erase("types");
    other.erase("options");
    for (const char* file : {"kernel.cu", "reference.cu"})
      write(std::string("kernel_templates/other/") + file, "");
    write_manifest(other, patch);
  }

  UserError refusal(const Json& baselines) const {
    return user_error_of([&] { load_patched(with(baselines), "{}"); });
  }
};

TEST_F(Baselines, OneOrAList) {
  EXPECT_TRUE(load_patched(softmax(), "{}").baselines.empty());
  EXPECT_FALSE(load_patched(softmax(), "{}").has_baselines());
  EXPECT_EQ(load_patched(with(kernel()), "{}").baselines.size(), 1U);
  Json second = kernel();
  second["name"] = "second";
  EXPECT_EQ(load_patched(with({kernel(), second}), "{}").baselines.size(), 2U);
}

TEST_F(Baselines, AKernelHasTheTypesOfTheTemplate) {
  const TemplateSpec spec = load_patched(with(kernel()), "{}");
  const TemplateSpec& plain = spec.baselines.at(0);
  EXPECT_EQ(plain.name, "plain");
  EXPECT_EQ(plain.source, root_ / "kernel_templates/softmax/reference.cu");
  EXPECT_EQ(plain.operation.types, spec.operation.types);
  EXPECT_EQ(plain.operation.buffers.at(0).type, ElementType::f16);
  ASSERT_EQ(plain.launches.size(), 1U);
  EXPECT_EQ(plain.launches[0].template_arguments[0].text, "T");
  EXPECT_EQ(plain.launches[0].dynamic_shared_bytes.text, "4 * columns");
  EXPECT_EQ(plain.launches[0].arguments.size(), 4U);
  EXPECT_TRUE(plain.parameters.empty());
}

TEST_F(Baselines, AKernelMayTakeSeveralLaunches) {
  Json several = kernel();
  Json launch = several;
  for (const char* key : {"name", "source"}) launch.erase(key);
  for (const char* key :
       {"kernel", "template_arguments", "grid", "block", "dynamic_shared_bytes", "arguments"})
    several.erase(key);
  several["launches"] = {launch, launch};
  EXPECT_EQ(load_patched(with(several), "{}").baselines.at(0).launches.size(), 2U);
  several["grid"] = {"rows"};
  EXPECT_EQ(refusal(several).where().pointer, "/operation/baselines/grid");
}

TEST_F(Baselines, AKernelMayHaveConstantMemory) {
  Json constant = kernel();
  constant["arguments"].erase(0);
  EXPECT_EQ(refusal(constant).where().pointer, "/operation/baselines") << "'in' is not passed";
  constant["constants"] = {{"d_in", "in"}};
  const TemplateSpec spec = load_patched(with(constant), "{}");
  ASSERT_EQ(spec.baselines.at(0).constants.size(), 1U);
  EXPECT_EQ(spec.baselines[0].constants[0].symbol, "d_in");
  EXPECT_EQ(spec.baselines[0].constants[0].buffer, "in");
  constant["constants"] = {{"d_in", "nothing"}};
  EXPECT_EQ(refusal(constant).where().pointer, "/operation/baselines/constants/d_in");
}

TEST_F(Baselines, OfATemplateHaveOneConfigurationInTheTypesThatAreMeasured) {
  write_other();
  const TemplateSpec spec = load_patched(
      with(Json::parse(
          R"([{"template": "other"}, {"template": "other", "name": "wide", "parameters": {"THREADS": 512}}])")),
      "{}");
  ASSERT_EQ(spec.baselines.size(), 2U);
  EXPECT_EQ(spec.baselines[0].name, "other");
  EXPECT_EQ(spec.baselines[0].parameters.at(0).values, std::vector<Value>{std::int64_t{128}});
  EXPECT_EQ(spec.baselines[0].operation.types, spec.operation.types);
  EXPECT_EQ(spec.baselines[0].operation.options, spec.operation.options);
  EXPECT_EQ(spec.baselines[1].name, "wide");
  EXPECT_EQ(spec.baselines[1].parameters.at(0).values, std::vector<Value>{std::int64_t{512}})
      << "not in its list";
}

TEST_F(Baselines, MayNameEachOther) {
  Json manifest = with(Json::parse(R"({"template": "other"})"));
  write_other(R"({"operation": {"baselines": {"template": "softmax"}}})");
  EXPECT_EQ(load_patched(manifest, "{}").baselines.size(), 1U);
}

TEST_F(Baselines, HaveTheScalarsOfTheConfig) {
  write_manifest(with(kernel()), "{}");
  const TuneSpec spec =
      load_config(R"({"templates": ["softmax"], "problems": ["8x8"], "scalars": {"scale": 3}})");
  EXPECT_EQ(spec.baseline, Baseline::lt) << "they are measured by default";
  EXPECT_EQ(spec.templates.at(0).baselines.at(0).operation.scalars.at(0).second, 3);
}

TEST_F(Baselines, AreRefusedWithTheirPlace) {
  write_other(R"({"operation": {"name": "another_operation"}})");
  const auto changed = [](const std::string& patch) {
    Json json = kernel();
    json.merge_patch(Json::parse(patch));
    return json;
  };
  EXPECT_EQ(refusal(3).where().pointer, "/operation/baselines");
  EXPECT_EQ(refusal({kernel(), kernel()}).where().pointer, "/operation/baselines/1") << "of one name";
  EXPECT_EQ(refusal(changed(R"({"name": "cublas"})")).where().pointer, "/operation/baselines") << "taken";
  EXPECT_EQ(refusal(changed(R"({"name": null})")).where().pointer, "/operation/baselines") << "missing";
  EXPECT_EQ(refusal(changed(R"({"source": "nowhere.cu"})")).where().pointer, "/operation/baselines/source");
  EXPECT_EQ(refusal(changed(R"({"arguments": [{"buffer": "in"}]})")).where().pointer, "/operation/baselines")
      << "not all buffers are passed";
  EXPECT_EQ(refusal(changed(R"({"parameters": {}})")).where().pointer, "/operation/baselines/parameters");
  EXPECT_EQ(refusal(Json::parse(R"({"template": "other"})")).where().pointer, "/operation/baselines/template")
      << "of another operation";
  EXPECT_EQ(refusal(Json::parse(R"({"template": "nowhere"})")).where().pointer,
            "/operation/baselines/template");
  write_other();
  EXPECT_EQ(refusal(Json::parse(R"({"template": "other", "parameters": {"WARPS": 1}})")).where().pointer,
            "/operation/baselines/parameters/WARPS");
  EXPECT_EQ(refusal(Json::parse(R"([{"library": "batched_gemm"}])")).where().pointer,
            "/operation/baselines/0/library");
}

}  // namespace baselines_test
}  // namespace tiletune
