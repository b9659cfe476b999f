#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fixture.h"

namespace tiletune {
namespace launches_test {

class LaunchesTest : public SpecTest {
 protected:
  void SetUp() override {
    SpecTest::SetUp();
    write("kernel_templates/sums/kernel.cu", "extern \"C\" __global__ void k();\n");
    write("kernel_templates/sums/reference.cu", "extern \"C\" __global__ void r();\n");
  }
};

TEST_F(LaunchesTest, AreReadInTheirOrder) {
  const TemplateSpec spec = load_patched(sums(), "{}");
  ASSERT_EQ(spec.launches.size(), 2U);
  EXPECT_EQ(spec.launches[0].kernel, "partial");
  EXPECT_EQ(spec.launches[0].template_arguments.at(0).text, "T");
  EXPECT_EQ(spec.launches[0].dynamic_shared_bytes.text, "0");
  EXPECT_EQ(spec.launches[1].kernel, "finish");
  EXPECT_EQ(spec.launches[1].arguments.size(), 3U);
  EXPECT_EQ(spec.launches[1].dynamic_shared_bytes.text, "4 * T");
  ASSERT_EQ(spec.constants.size(), 1U);
  EXPECT_EQ(spec.constants[0].symbol, "d_weights");
  EXPECT_EQ(spec.constants[0].buffer, "weights");
}

TEST_F(LaunchesTest, AnyButTheFirstMayBeginBeforeTheOneBeforeItEnds) {
  nlohmann::json manifest = sums();
  manifest["launches"][1]["programmatic"] = "T > 128";
  const TemplateSpec spec = load_patched(manifest, "{}");
  EXPECT_EQ(spec.launches[0].programmatic.text, "");
  EXPECT_EQ(spec.launches[1].programmatic.text, "T > 128");
  manifest["launches"][0]["programmatic"] = true;
  expect_fault(user_error_of([&] { load_patched(manifest, "{}"); }),
               {"{}", "/launches/0/programmatic", {"before", "first"}},
               (root_ / "kernel_templates/sums/template.json").string());
}

TEST_F(LaunchesTest, MistakesAreNamedWithTheirPlace) {
  const Fault faults[] = {
      {R"({"launches": []})", "/launches", {"launches"}},
      {R"({"kernel": "k"})", "/kernel", {"'launches'", "'kernel'"}},
      {R"({"arguments": []})", "/arguments", {"'launches'", "'arguments'"}},
      {R"({"macros": {"X": 1}})", "/macros", {"'template_arguments'", "'macros'"}},
      {R"({"constants": {"d_weights": "wieghts"}})", "/constants/d_weights", {"'wieghts'"}},
      {R"({"constants": {"d_weights": "out"}})", "/constants/d_weights", {"'out'", "input"}},
      {R"({"constants": null})", "", {"'weights'", "not passed"}},
      {R"({"operation": {"reference": {"arguments": null}}})", "/operation/reference", {"arguments"}},
  };
  for (const Fault& fault : faults)
    expect_fault(user_error_of([&] { load_patched(sums(), fault.patch); }), fault,
                 (root_ / "kernel_templates/sums/template.json").string());
}

TEST_F(LaunchesTest, NeedNoReferenceWhereTheOperationSaysThatItHasNone) {
  const TemplateSpec spec = load_patched(sums(), R"({"operation": {"reference": "none"}})");
  EXPECT_FALSE(spec.operation.reference);
  EXPECT_TRUE(spec.operation.is_unverified);
  expect_fault(user_error_of([&] { load_patched(sums(), R"({"operation": {"reference": "nobody"}})"); }),
               {R"({"operation": {"reference": "nobody"}})", "/operation/reference", {"\"none\""}},
               (root_ / "kernel_templates/sums/template.json").string());
}

}  // namespace launches_test
}  // namespace tiletune
