// Baselines that are kernels: through the executable, with a fake GPU worker.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "carries.h"
#include "fake_sweep.h"
#include "process.h"

namespace tiletune {
namespace baselines_test {

using Json = nlohmann::ordered_json;

constexpr const char* kOperation = R"--({
  "name": "twice", "summary": "out = 2 * in", "dimensions": ["n"], "types": {"T": ["f32", "f64"]},
  "buffers": [{"name": "in", "type": "T", "elements": "n", "role": "in"},
              {"name": "out", "type": "T", "elements": "n", "role": "out"}],
  "flops": "n", "bytes": "2 * size(T) * n", "accumulation": "1", "bound": "copy", "reference": "none"
})--";

constexpr const char* kManifest = R"--({
  "name": "twice_steps", "summary": "a thread per element", "operation": "twice", "types": {"T": "f64"},
  "source": "kernel.cu", "kernel": "twice", "template_arguments": ["T == 'f64'", "THREADS"],
  "parameters": [{"name": "THREADS", "values": [64, 128, 256]}],
  "constraints": [{"require": "THREADS <= n"}],
  "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]},
  "arguments": [{"buffer": "in"}, {"buffer": "out"}, {"scalar": "n", "type": "i32"}]
})--";

constexpr const char* kSource = R"--(
template <bool WIDE> struct Element { using Type = float; };
template <> struct Element<true> { using Type = double; };
template <bool WIDE, int THREADS>
__global__ void twice(const typename Element<WIDE>::Type* in, typename Element<WIDE>::Type* out, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}
)--";

constexpr const char* kPlain = R"--({
  "name": "plain", "source": "baseline.cu", "kernel": "plain", "macros": {"WIDE": "1 if T == 'f64' else 0"},
  "grid": ["ceil_div(n, 32)"], "block": [32],
  "arguments": [{"buffer": "in"}, {"buffer": "out"}, {"scalar": "n", "type": "i32"}]
})--";

constexpr const char* kPlainSource = R"--(
#if !WIDE
#error the template that is measured has chosen f64
#endif
extern "C" __global__ void plain(const double* in, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + in[i];
}
)--";

class KernelBaselines : public testing::Test {
 protected:
  KernelBaselines() {
    for (const char* folder : {"operations/twice", "twice_steps"})
      std::filesystem::create_directories(sandbox_.folder() / folder);
    sandbox_.write("twice_steps/template.json", kManifest);
    sandbox_.write("twice_steps/kernel.cu", kSource);
    sandbox_.write("operations/twice/baseline.cu", kPlainSource);
    sandbox_.write("config.json", R"({"templates": ["twice_steps"], "problems": [4096]})");
  }

  void write_baselines(const std::string& baselines) const {
    Json operation = Json::parse(kOperation);
    operation["baselines"] = Json::parse(baselines);
    sandbox_.write("operations/twice/operation.json", operation.dump());
  }

  Finished sweep(const std::string& mode = "none", int strikes_at = 3,
                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = sweep_with("config.json", mode, strikes_at);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox_.run(arguments);
  }

  /// The rows of baselines that are kernels.
  std::vector<Trial> baselines() const {
    std::vector<Trial> rows = rows_of(sandbox_);
    std::erase_if(rows, [](const Trial& row) { return row.kind != "baseline" || row.source_key.empty(); });
    return rows;
  }

  Sandbox sandbox_;
};

TEST_F(KernelBaselines, AreMeasuredOnceAndTakePartInTheFinals) {
  write_baselines(kPlain);
  const Finished run = sweep();
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(baselines().size(), 1U);
  const Trial plain = baselines().front();
  EXPECT_EQ(plain.template_name, "plain");
  EXPECT_EQ(plain.outcome, Outcome::ok);
  EXPECT_EQ(plain.kernel_expression, "plain");
  EXPECT_TRUE(carries(plain.compile_options, {"-DWIDE=1"})) << plain.compile_options;
  EXPECT_GT(*plain.registers, 0);
  EXPECT_EQ(plain.timed_in, "final");
  EXPECT_NEAR(*plain.gbs, 2 * 8 * 4096e-3 / *plain.median_us, 1e-9);
  EXPECT_FALSE(plain.kernel_hash.empty());
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 3);
  EXPECT_TRUE(has_line(run.out, {"plain", "(baseline)"})) << run.out;
  EXPECT_TRUE(has_line(run.out, {"final:", "plain"})) << run.out;
}

TEST_F(KernelBaselines, ThatMayHaveEndedTheFinalsAreLeftOutOfThem) {
  write_baselines(kPlain);
  const Finished run = sweep("finals_baseline_crash");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.out, {"final: 3 configurations"})) << run.out;
  ASSERT_EQ(baselines().size(), 1U);
  EXPECT_EQ(baselines().front().timed_in, "sampling");
}

TEST_F(KernelBaselines, KeepTheirRowAsLongAsTheirKernelIsTheSame) {
  write_baselines(kPlain);
  ASSERT_EQ(sweep().code, 0);
  const std::string key = baselines().front().key;
  sandbox_.write("operations/twice/baseline.cu", std::string("// a comment\n") + kPlainSource);
  ASSERT_EQ(sweep("none", 3, {"--remeasure"}).code, 0);
  ASSERT_EQ(baselines().size(), 1U);
  EXPECT_EQ(baselines().front().key, key);
  std::string other = kPlainSource;
  other.replace(other.find("in[i] + in[i]"), 13, "in[i] * 2 + 0");
  sandbox_.write("operations/twice/baseline.cu", other);
  ASSERT_EQ(sweep("none", 3, {"--remeasure"}).code, 0);
  EXPECT_EQ(baselines().size(), 2U);
}

TEST_F(KernelBaselines, OfATemplateAreOneConfigurationBesideItsRows) {
  write_baselines(R"([{"template": "twice_steps", "name": "steps_of_128", "parameters": {"THREADS": 128}},
                      {"template": "twice_steps"}])");
  ASSERT_EQ(sweep().code, 0);
  const std::vector<Trial> rows = baselines();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].template_name + rows[0].parameters, R"(steps_of_128{"THREADS":128})");
  EXPECT_EQ(rows[1].template_name + rows[1].parameters, R"(twice_steps{"THREADS":64})") << "the first values";
  EXPECT_TRUE(carries(rows[0].element_types, {"f64"})) << "as the template that is measured";
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 3);
}

TEST_F(KernelBaselines, ThatDoNotCompileAreLeftOut) {
  write_baselines(std::string("[") + kPlain + R"(, {"template": "twice_steps"}])");
  sandbox_.write("operations/twice/baseline.cu", "extern \"C\" __global__ void plain() { no_such_name(); }");
  const Finished run = sweep();
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.err, {"plain", "left out", "compile_failed"})) << run.err;
  ASSERT_EQ(baselines().size(), 1U);
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 3);
}

TEST_F(KernelBaselines, ThatCrashOrErrLeaveTheSweepAndTheGpuWorking) {
  for (const std::string mode : {"crash", "wrong", "killed", "malformed"}) {
    write_baselines(std::string("[") + kPlain + R"(, {"template": "twice_steps"}])");
    std::filesystem::remove(sandbox_.folder() / "results.db");
    const Finished run = sweep(mode, 1);
    EXPECT_EQ(run.code, 0) << mode << run.err;
    EXPECT_TRUE(has_line(run.err, {"plain", "left out"})) << mode << run.err;
    ASSERT_EQ(baselines().size(), 1U) << mode;
    EXPECT_EQ(baselines().front().template_name, "twice_steps");
    EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::ok), 3) << mode;
  }
}

TEST_F(KernelBaselines, ThatDoNotFitTheGpuAreNotSentThere) {
  Json plain = Json::parse(kPlain);
  plain["dynamic_shared_bytes"] = 1000000;
  write_baselines(plain.dump());
  const Finished run = sweep("crash", 1);  // strikes the first configuration instead
  EXPECT_TRUE(has_line(run.err, {"plain", "left out", "refused"})) << run.err;
  EXPECT_EQ(kernels_with(rows_of(sandbox_), Outcome::crashed), 1);
  EXPECT_TRUE(baselines().empty());
}

TEST_F(KernelBaselines, WithoutBaselinesNothingIsCompiled) {
  write_baselines(kPlain);
  sandbox_.write("operations/twice/baseline.cu", "this does not compile");
  const Finished run = sweep("none", 3, {"--baseline", "none"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err.find("left out"), std::string::npos) << run.err;
  EXPECT_TRUE(baselines().empty());
}

}  // namespace baselines_test
}  // namespace tiletune
