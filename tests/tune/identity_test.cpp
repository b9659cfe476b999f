#include "tune/identity.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "carries.h"
#include "spec/load.h"
#include "temporary_folder.h"
#include "tune/row.h"

namespace tiletune {
namespace identity_test {

constexpr const char* kManifest = R"--({
  "name": "scale", "summary": "a * x", "source": "kernel.cu", "kernel": "scale",
  "operation": {
    "dimensions": ["n"], "scalars": {"a": 2}, "types": {"T": ["f32"]}, "options": {"order": ["plain", "reverse"]},
    "buffers": [{"name": "x", "type": "T", "elements": "n", "role": "in"},
                {"name": "y", "type": "T", "elements": "n", "role": "out"}],
    "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
    "reference": {"source": "reference.cu", "kernel": "reference", "grid": ["n"], "block": [1]}
  },
  "template_arguments": ["V"],
  "parameters": [{"name": "V", "values": [1, 2], "meaning": "elements per thread"}],
  "constraints": [{"require": "V >= 1", "why": "something is done"}],
  "launch": {"grid": ["ceil_div(n, V * 128)"], "block": [128]},
  "arguments": [{"buffer": "x"}, {"buffer": "y"}, {"scalar": "a", "type": "f32"}]
})--";

/// The row of the first configuration of a manifest whose kernel was compiled, and what it is made of.
class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() {
    target_.name = "NVIDIA H200";
    target_.driver_version = "580.0";
    target_.architecture = "sm_90a";
    target_.model.multiprocessors = 132;
    target_.model.memory_bytes = std::int64_t{1} << 30;
    write("kernel.cu", "template <int V> __global__ void scale(const float* x, float* y, float a) {}");
    write("reference.cu", "extern \"C\" __global__ void reference(const float* x, double* y, double a) {}");
  }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder_ / "scale");
    std::ofstream(folder_ / "scale" / name) << text;
  }

  struct Changes {
    std::function<void(TuneSpec&)> spec = [](TuneSpec&) {};
    std::function<void(Target&)> target = [](Target&) {};
    std::function<void(Trial&)> row = [](Trial&) {};
    std::string reference = "reference-hash";
  };

  Trial row_of(const Changes& changes, const std::string& manifest = kManifest,
               IdentityFields* identity = nullptr) {
    write("template.json", manifest);
    std::ofstream(folder_ / "config.json") << R"({"templates": ["scale"], "problems": ["4096"]})";
    TuneSpec spec = load_tune_spec(folder_ / "config.json", {});
    changes.spec(spec);
    Target target = target_;
    changes.target(target);
    const std::vector<Task> tasks = plan_tasks(spec);
    Instance instance;
    instance.launches.emplace_back();
    EXPECT_EQ(instantiate(tasks.front(), 0, target.model, instance), "");
    CompileRequest request;
    request.source = *tasks.front().source;
    request.kernel_expressions = {instance.launches[0].kernel_expression};
    request.options = {"--std=c++17"};
    Trial row = make_trial(spec, tasks.front(), target, instance, request);
    row.nvrtc_version = "13.0";
    row.kernel_hash = "kernel-hash";
    changes.row(row);
    const IdentityFields measurement =
        measurement_identity(spec, tasks.front(), target, instance, row, changes.reference);
    if (identity != nullptr) *identity = measurement;
    row.measurement = measurement.hex();
    row.key = row_identity(row, measurement).hex();
    return row;
  }
  std::string key_of(const Changes& changes, const std::string& manifest = kManifest) {
    return row_of(changes, manifest).key;
  }

  TemporaryFolder folder_;
  Target target_;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t place = text.find(what);
  EXPECT_NE(place, std::string::npos) << what;
  return text.replace(place, what.size(), by);
}

/// Whoever changes one of these lines makes everybody's rows unknown: sweeps measure them again.
TEST_F(IdentityTest, KeysArePinned) {
  IdentityFields measurement("");
  const Trial row = row_of({}, kManifest, &measurement);
  EXPECT_EQ(measurement.text(),
            "measurement 1\n"
            "kernel=kernel-hash\n"
            "reference=reference-hash\n"
            "launch={\"grid\":[32,1,1],\"block\":[128,1,1],\"dynamic_shared_bytes\":0}\n"
            "arguments=x;y;a:f32=2.0;\n"
            "workload=519f5763f9b5da7566c34d38beaa4c7d\n"
            "tolerance=1\n"
            "kind=measured\n"
            "gpu=NVIDIA H200\n"
            "driver=580.0\n"
            "compiler=13.0\n"
            "policy=69f88c5960b7a690eacbc40314caad6b\n");
  EXPECT_EQ(row_identity(row, measurement).text(),
            "row 1\n"
            "template=scale\n"
            "parameters={\"V\":1}\n"
            "compile_options=[\"--std=c++17\"]\n"
            "measurement=75c8354b1e4846a88e554c79fd90b4f8\n");
  EXPECT_EQ(row.key, "b0c4cc633be06c20332368d9571fe74f");
}

TEST_F(IdentityTest, WhatDescribesAnOperationChangesNoKey) {
  const std::string key = key_of({});
  EXPECT_EQ(key_of({}, replaced(kManifest, R"("flops": "n")", R"("flops": "3 * n")")), key);
  EXPECT_EQ(key_of({}, replaced(kManifest, R"("bytes": "8 * n")", R"("bytes": "9 * n")")), key);
  EXPECT_EQ(key_of({}, replaced(kManifest, "elements per thread", "how much each thread does")), key);
  EXPECT_EQ(key_of({}, replaced(kManifest, "something is done", "nothing is left out")), key);
  EXPECT_EQ(key_of({}, replaced(kManifest, "a * x", "a times x")), key);
  EXPECT_EQ(key_of({.spec = [](TuneSpec& spec) { spec.measure.finals.rounds += 50; }}), key)
      << "finals measure rows again";
  write("kernel.cu",
        "/* a comment */ template <int V> __global__ void scale(const float* x, float* y, float a) {}");
  EXPECT_EQ(key_of({}), key) << "the compiled kernel is the same";
}

TEST_F(IdentityTest, WhatIsSwitchedOffIsNotInThePolicy) {
  MeasurePolicy policy;
  policy.screening = 0;
  policy.batch_below_us = 0;
  EXPECT_EQ(
      policy_identity(policy, View::ranking).text(),
      "policy 1\nwarmup=1\nsamples=30\nprecision_percent=0.5\ncache=cold\nseed=1\nlaunch_timeout_s=10\n");
  EXPECT_EQ(policy_identity(policy, View::ladder).text(), policy_identity(policy, View::ranking).text())
      << "nothing is screened";
  policy.screening = 1.5;
  EXPECT_NE(policy_identity(policy, View::ladder).text(), policy_identity(policy, View::ranking).text());
}

/// Rows were measured with the seed 1 before sweeps drew theirs.
TEST(PolicyIdentity, ADrawnSeedIsNoPartOfIt) {
  const auto of_seed = [](std::uint64_t seed) {
    MeasurePolicy policy;
    policy.seed = seed;
    return policy_identity(policy, View::ranking).text();
  };
  EXPECT_EQ(of_seed(0), of_seed(1));
  EXPECT_NE(of_seed(0), of_seed(2));
}

TEST_F(IdentityTest, WhatChangesTimeOrVerdictChangesTheKey) {
  std::set<std::string> keys{key_of({})};
  const auto expect_another = [&](const std::string& key) {
    EXPECT_TRUE(keys.insert(key).second) << keys.size();
  };
  expect_another(key_of({.row = [](Trial& row) { row.kernel_hash = "another instruction"; }}));
  expect_another(key_of({.row = [](Trial& row) { row.compile_options = R"(["--use_fast_math"])"; }}));
  expect_another(key_of({.row = [](Trial& row) { row.nvrtc_version = "13.1"; }}));
  expect_another(key_of({.row = [](Trial& row) { row.kernel_hash.clear(); }}));
  expect_another(key_of({.target = [](Target& target) { target.name = "NVIDIA A100"; }}));
  expect_another(key_of({.target = [](Target& target) { target.driver_version = "590.0"; }}));
  expect_another(key_of({.spec = [](TuneSpec& spec) { spec.measure.samples = 31; }}));
  expect_another(key_of({.spec = [](TuneSpec& spec) { spec.measure.cache = CachePolicy::warm; }}));
  expect_another(key_of({.spec = [](TuneSpec& spec) { spec.limits.max_registers = 100; }}));
  expect_another(key_of({.reference = "another reference kernel"}));
  expect_another(key_of({}, replaced(kManifest, R"("a": 2)", R"("a": 3)")));
  expect_another(key_of({}, replaced(kManifest, "V * 128", "V * 64")));
  expect_another(key_of(
      {}, replaced(kManifest, R"({"scalar": "a", "type": "f32"})", R"({"scalar": "n", "type": "i32"})")));
  expect_another(key_of({}, replaced(kManifest, R"("accumulation": "1")", R"("accumulation": "n")")));
  expect_another(key_of({}, replaced(kManifest, R"(["plain", "reverse"])", R"(["reverse", "plain"])")));
  expect_another(key_of({}, replaced(kManifest, R"("values": [1, 2])", R"("values": [2, 1])")));
}

std::string with_input_kernel(const std::string& block) {
  return replaced(
      kManifest, R"("elements": "n", "role": "in")",
      R"("elements": "n", "role": "in", "values": {"source": "fill.cu", "kernel": "fill", "grid": [1],
                      "block": [)" +
          block + R"(], "arguments": [{"buffer": "x"}]})");
}

TEST_F(IdentityTest, ALibrarysBaselineIsAnotherOnOtherInputs) {
  write("fill.cu", "extern \"C\" __global__ void fill(float* x) {}");
  std::ofstream(folder_ / "config.json") << R"({"templates": ["scale"], "problems": ["4096"]})";
  const auto key_with = [&](const std::string& manifest, const std::string& kernel_hash) {
    write("template.json", manifest);
    const TuneSpec spec = load_tune_spec(folder_ / "config.json", {});
    Task task = std::move(plan_tasks(spec).front());
    for (TaskKernel& kernel : task.kernels) kernel.hash = kernel_hash;
    Measured baseline;
    baseline.name = "cublas";
    baseline.library.emplace();
    baseline.timing.emplace();
    baseline.figures["isolated_us"] = 3;
    const Trial row = make_baseline_trial(spec, task, target_, baseline);
    EXPECT_EQ(row.isolated_us, 3);
    return row.key;
  };
  const auto with_values = [](const std::string& values) {
    return replaced(kManifest, R"("role": "in")", R"("role": "in", "values": ")" + values + "\"");
  };
  const std::string key = key_with(kManifest, "first");
  EXPECT_EQ(key_with(kManifest, "second"), key) << "the reference has no part in it";
  std::set<std::string> keys{key};
  EXPECT_TRUE(keys.insert(key_with(with_values("normal(0, 1)"), "first")).second);
  EXPECT_TRUE(keys.insert(key_with(with_values("normal(0, 2)"), "first")).second);
  EXPECT_TRUE(keys.insert(key_with(with_input_kernel("64"), "first")).second);
  EXPECT_TRUE(keys.insert(key_with(with_input_kernel("128"), "first")).second);
  EXPECT_TRUE(keys.insert(key_with(with_input_kernel("64"), "second")).second);
}

TEST_F(IdentityTest, TheLaunchThatComputesAnInputIsPartOfTheWorkload) {
  write("fill.cu", "extern \"C\" __global__ void fill(float* x) {}");
  const std::string key = key_of({}, with_input_kernel("64"));
  EXPECT_NE(key, key_of({}));
  EXPECT_NE(key, key_of({}, with_input_kernel("128")));
  write("fill.cu", "extern \"C\" __global__ void fill(float* x) {}  // a comment");
  EXPECT_EQ(key, key_of({}, with_input_kernel("64")));
}

TEST_F(IdentityTest, TheKernelsOfAnOperationStandForItOnceTheyAreCompiled) {
  write("fill.cu", "extern \"C\" __global__ void fill(float* x) {}");
  write("template.json", with_input_kernel("64"));
  std::ofstream(folder_ / "config.json") << R"({"templates": ["scale"], "problems": ["4096"]})";
  const TuneSpec spec = load_tune_spec(folder_ / "config.json", {});
  Task task = std::move(plan_tasks(spec).front());
  ASSERT_EQ(task.kernels.size(), 2U);
  EXPECT_TRUE(carries(task.kernels[1].label(), {"fill.cu", "'x'"}));
  EXPECT_FALSE(task.operation_hash());
  task.kernels[0].hash = "reference-hash";
  EXPECT_FALSE(task.operation_hash());
  task.kernels[1].hash = "fill-hash";
  const std::string both = task.operation_hash().value();
  EXPECT_TRUE(carries(both, {"reference-hash", "fill-hash"}));
  const auto binary = [](const char* cubin) {
    Binary compiled;
    compiled.cubin = cubin;
    compiled.kernel_symbols = {"_Z4kernel"};
    return std::make_shared<const Binary>(compiled);
  };
  const PrepareRequest request =
      prepare_request(spec, task, {{binary("reference's"), binary("input's")}, {}, 0});
  EXPECT_EQ(request.reference->cubin, "reference's");
  ASSERT_EQ(request.inputs.size(), 1U);
  EXPECT_EQ(request.inputs[0].input, "x");
  EXPECT_EQ(request.inputs[0].cubin, "input's");
  EXPECT_EQ(request.inputs[0].launch.symbol, "_Z4kernel");
  EXPECT_EQ(request.inputs[0].launch.block.x, 64);
  task.kernels.pop_back();
  EXPECT_EQ(task.operation_hash(), "reference-hash") << "as rows without input kernels have it";
}

TEST_F(IdentityTest, TasksOfAnOperationShareTheInputsThatItsKernelsCompute) {
  using Json = nlohmann::ordered_json;
  const auto write_beside = [&](const std::string& folder, const std::string& name, const std::string& text) {
    std::filesystem::create_directories(folder_ / folder);
    std::ofstream(folder_ / folder / name) << text;
  };
  const auto write_template = [&](const std::string& name, const Json& operation) {
    Json manifest = Json::parse(kManifest);
    manifest["name"] = name;
    manifest["operation"] = operation;
    write_beside(name, "template.json", manifest.dump());
    write_beside(name, "kernel.cu", "template <int V> __global__ void scale(const float*, float*, float) {}");
  };
  Json operation = Json::parse(with_input_kernel("64"))["operation"];
  operation["reference"] = "none";
  write_template("own", operation);
  write_beside("own", "fill.cu", "extern \"C\" __global__ void fill(float* x) { x[0] = 1; }");
  operation["name"] = "scaling";
  operation["summary"] = "a * x";
  write_beside("operations/scaling", "operation.json", operation.dump());
  write_beside("operations/scaling", "fill.cu", "extern \"C\" __global__ void fill(float* x) {}");
  write_template("one", "scaling");
  write_template("two", "scaling");
  std::ofstream(folder_ / "config.json") << R"({"templates": ["one", "own", "two"], "problems": ["4096"]})";
  const TuneSpec spec = load_tune_spec(folder_ / "config.json", {});
  std::vector<std::pair<std::string, std::size_t>> found;
  for (const Task& task : plan_tasks(spec)) found.emplace_back(task.spec->name, task.workload);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::size_t>>{{"one", 0}, {"two", 0}, {"own", 1}}));
}

TEST_F(IdentityTest, WhatFailedToCompileIsKnownByItsSource) {
  const auto failed = [](Trial& row) { row.kernel_hash.clear(); };
  const std::string key = key_of({.row = failed});
  EXPECT_EQ(key_of({.row = failed, .reference = "another reference kernel"}), key) << "it is not run";
  EXPECT_NE(key_of({.row =
                        [](Trial& row) {
                          row.kernel_hash.clear();
                          row.included_files = R"({"common.cuh":"1234"})";
                        }}),
            key);
  write("kernel.cu",
        "/* a comment */ template <int V> __global__ void scale(const float* x, float* y, float a) {}");
  EXPECT_NE(key_of({.row = failed}), key) << "what a comment changes is not known without a kernel";
}

}  // namespace identity_test
}  // namespace tiletune
