// Inputs whose values a kernel of the operation computes.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "carries.h"
#include "cli/fake_sweep.h"
#include "cli/process.h"

namespace tiletune {
namespace input_kernels_test {

using Json = nlohmann::ordered_json;

constexpr const char* kKernel =
    "template <int THREADS> __global__ void scale(const float* x, const float* s, float* y, int n) {\n"
    "  const int i = blockIdx.x * THREADS + threadIdx.x;\n"
    "  if (i < n) y[i] = 2 * x[i];\n"
    "}\n";
constexpr const char* kFill =
    "extern \"C\" __global__ void fill(const float* s, float* x, int n) {\n"
    "  const int i = blockIdx.x * 256 + threadIdx.x;\n"
    "  if (i < n) x[i] = 3 * s[i];\n"
    "}\n";

class InputKernels : public testing::Test {
 protected:
  static Json manifest(const std::string& reference = R"("none")") {
    Json json = Json::parse(R"--({
      "name": "scale", "summary": "y = 2 x",
      "operation": {
        "name": "scale", "dimensions": ["n"], "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
        "buffers": [
          {"name": "x", "type": "f32", "elements": "n", "role": "in",
           "values": {"source": "fill.cu", "kernel": "fill", "grid": ["ceil_div(n, 256)"], "block": [256],
                      "arguments": [{"buffer": "s"}, {"buffer": "x"}, {"scalar": "n", "type": "i32"}]}},
          {"name": "s", "type": "f32", "elements": "n", "role": "in"},
          {"name": "y", "type": "f32", "elements": "n", "role": "out"}]},
      "source": "kernel.cuh", "kernel": "scale", "template_arguments": ["THREADS"],
      "parameters": [{"name": "THREADS", "values": [64, 128, 256]}],
      "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]},
      "arguments": [{"buffer": "x"}, {"buffer": "s"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"}]})--");
    json["operation"]["reference"] = Json::parse(reference);
    return json;
  }
  std::string space(const Json& manifest, const std::string& fill = kFill) const {
    std::filesystem::create_directories(sandbox_.folder() / "scale");
    sandbox_.write("scale/kernel.cuh", kKernel);
    sandbox_.write("scale/fill.cu", fill);
    sandbox_.write("scale/template.json", manifest.dump());
    return sandbox_.write("scale.json", R"({"templates": ["scale"], "problems": ["1000"])" + kNoFinals + "}");
  }
  Finished sweep(const std::string& config) const { return sandbox_.run(sweep_with(config, "none")); }
  std::int64_t measured() const { return kernels_with(rows_of(sandbox_), Outcome::ok); }
  void expect_refused(const std::string& config, const std::vector<std::string>& parts) const {
    EXPECT_EQ(sweep(config).code, 1);
    const auto rows = rows_of(sandbox_);
    EXPECT_EQ(kernels_with(rows, Outcome::refused), 3);
    for (const Trial& row : rows) EXPECT_TRUE(carries(row.reason, parts)) << row.reason;
    const Finished checked = sandbox_.run({"check", config, "--quiet"});
    EXPECT_EQ(checked.code, 1);
    EXPECT_TRUE(carries(checked.out, parts)) << checked.out;
  }

  Sandbox sandbox_;
};

/// What stands for a text in another, replaced.
std::string with(std::string text, const std::string& mark, const std::string& value) {
  return text.replace(text.find(mark), mark.size(), value);
}

TEST_F(InputKernels, ThatCompileIntoSomethingElseAreOtherMeasurements) {
  const std::string config = space(manifest());
  Finished finished = sweep(config);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(measured(), 3);
  finished = sweep(space(manifest(), std::string(kFill) + "// a comment changes nothing\n"));
  EXPECT_TRUE(carries(finished.out + finished.err, {"3 reused"})) << finished.out << finished.err;
  EXPECT_EQ(measured(), 3);
  EXPECT_EQ(sweep(space(manifest(), with(kFill, "3 *", "4 *"))).code, 0);
  EXPECT_EQ(measured(), 6);
  Json wider = manifest();
  wider["operation"]["buffers"][0]["values"]["grid"] = {"2 * ceil_div(n, 256)"};
  EXPECT_EQ(sweep(space(wider, with(kFill, "3 *", "4 *"))).code, 0);
  EXPECT_EQ(measured(), 9) << "another launch";
}

TEST_F(InputKernels, GoWithAnyReferenceButPython) {
  EXPECT_EQ(sweep(space(manifest(R"({"consensus": 2})"))).code, 0);
  EXPECT_EQ(measured(), 3);
  sandbox_.write(
      "scale/reference.cu",
      "extern \"C\" __global__ void reference(const double* x, const double* s, double* y, int n) {\n"
      "  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];\n}\n");
  const char* const kernel =
      R"({"source": "reference.cu", "kernel": "reference", "grid": [1], "block": ["n"]})";
  const Finished finished = sweep(space(manifest(kernel)));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(measured(), 6);
  EXPECT_EQ(sandbox_.run({"check", "scale.json", "--quiet"}).code, 0);
}

TEST_F(InputKernels, ThatDoNotCompileAreReported) {
  expect_refused(space(manifest(), "this is no kernel"), {"fill.cu", "'x'", "does not compile"});
}

TEST_F(InputKernels, ThatTakeOtherArgumentsAreReported) {
  expect_refused(space(manifest(), with(kFill, ", int n", ", int n, int more")),
                 {"fill.cu", "'x'", "takes 4", "passes 3"});
}

TEST_F(InputKernels, AreNeitherCompiledForPredictionsNorForReplays) {
  const std::string config = space(manifest());
  EXPECT_EQ(sweep(config).code, 0);
  space(manifest(), "this is no kernel");
  Finished finished = sandbox_.run({"sweep", config, "--gpu", "H100", "--db", "predicted.db", "--quiet"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  finished = sandbox_.run({"sweep", config, "--replay", "results.db", "--quiet"});
  EXPECT_EQ(finished.code, 0) << finished.err;
}

}  // namespace input_kernels_test
}  // namespace tiletune
