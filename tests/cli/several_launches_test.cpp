#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "carries.h"
#include "fake_sweep.h"
#include "process.h"

namespace tiletune {
namespace several_launches_test {

using Json = nlohmann::json;

constexpr const char* kManifest = R"--({
  "name": "sums", "summary": "a weighted sum in two launches",
  "operation": {
    "dimensions": ["n"], "flops": "2 * n", "bytes": "4 * n", "accumulation": "n", "bound": "copy",
    "buffers": [{"name": "in", "type": "f32", "elements": "n", "role": "in"},
                {"name": "weights", "type": "f32", "elements": "16", "role": "in"},
                {"name": "out", "type": "f32", "elements": "1", "role": "out"}],
    "reference": {"source": "reference.cu", "kernel": "r", "grid": [1], "block": [1],
                  "arguments": [{"buffer": "in"}, {"buffer": "weights"}, {"buffer": "out"}]}},
  "source": "kernel.cu", "constants": {"d_weights": "weights"},
  "parameters": [{"name": "T", "values": [64, 128]}],
  "workspace": [{"name": "partials", "type": "f32", "elements": "ceil_div(n, T)"}],
  "launches": [
    {"kernel": "partial", "template_arguments": ["T"], "grid": ["ceil_div(n, T)"], "block": ["T"],
     "arguments": [{"buffer": "in"}, {"buffer": "partials"}]},
    {"kernel": "finish", "grid": [1], "block": [32],
     "arguments": [{"buffer": "partials"}, {"buffer": "out"}, {"scalar": "count", "type": "i32",
                   "value": "ceil_div(n, T)"}]}]})--";

constexpr const char* kSource = R"--(
__constant__ float d_weights[16];
template <int T> __global__ void partial(const float* in, float* partials) {
  __shared__ float shared[T];
  shared[threadIdx.x] = in[blockIdx.x * T + threadIdx.x] * d_weights[threadIdx.x % 16];
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (int i = 0; i < T; ++i) sum += shared[i];
  partials[blockIdx.x] = sum;
}
__global__ void finish(const float* partials, float* out, int count) {
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += 32) sum += partials[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x == 0) *out = sum;
}
)--";

class SeveralLaunches : public testing::Test {
 protected:
  SeveralLaunches() {
    std::filesystem::create_directories(sandbox_.folder() / "sums");
    sandbox_.write("sums/reference.cu",
                   "extern \"C\" __global__ void r(const double*, const double*, double*) {}");
    sandbox_.write("sums/kernel.cu", kSource);
    sandbox_.write("sums/template.json", kManifest);
    sandbox_.write("config.json", R"({"templates": ["sums"], "problems": [{"n": 1048576}]})");
  }

  Trial first_row(const std::string& database = "a.db") const { return rows_of(sandbox_, database).at(0); }

  Finished sweep() const {
    return sandbox_.run({"sweep", "config.json", "--gpu", "H100", "--db", "a.db", "--quiet"});
  }

  Sandbox sandbox_;
};

TEST_F(SeveralLaunches, OneMayBeginBeforeTheOneBeforeItEnds) {
  Json manifest = Json::parse(kManifest);
  manifest["launches"][1]["programmatic"] = "T > 64";
  sandbox_.write("sums/template.json", manifest.dump());
  ASSERT_EQ(sweep().code, 0);
  for (const Trial& row : rows_of(sandbox_, "a.db")) {
    const Json launches = Json::parse(row.launch)["launches"];
    EXPECT_FALSE(launches[0].contains("programmatic"));
    EXPECT_EQ(launches[1].value("programmatic", false), Json::parse(row.parameters)["T"] == 128);
  }
  const Finished refused =
      sandbox_.run({"sweep", "config.json", "--gpu", "A100 40GB", "--db", "b.db", "--quiet"});
  EXPECT_EQ(refused.code, 0) << refused.err;
  for (const Trial& row : rows_of(sandbox_, "b.db"))
    EXPECT_EQ(row.outcome == Outcome::refused, Json::parse(row.parameters)["T"] == 128) << row.reason;
}

TEST_F(SeveralLaunches, AreOneConfiguration) {
  const Finished run = sweep();
  ASSERT_EQ(run.code, 0) << run.err;
  const Trial row = first_row();
  EXPECT_EQ(row.kernel_expression.substr(0, 8), "partial<");
  EXPECT_TRUE(carries(row.kernel_expression, {" + finish"}));
  const Json launch = Json::parse(row.launch);
  ASSERT_EQ(launch.at("launches").size(), 2U);
  EXPECT_EQ(launch["launches"][1]["block"], (Json{32, 1, 1}));
  EXPECT_EQ(launch["launches"][1]["arguments"].size(), 3U);
  EXPECT_EQ(launch["constants"]["d_weights"], "weights");
  EXPECT_EQ(row.static_shared_bytes, 0) << "one warp of 'finish' leaves most of a multiprocessor unused";
}

TEST_F(SeveralLaunches, AreInspectedOneByOne) {
  const Finished run =
      sandbox_.run({"inspect", "config.json", "--gpu", "H100", "--format", "json", "--quiet"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json gpu = Json::parse(run.out).at("configurations").at(0).at("gpus").at(0);
  ASSERT_EQ(gpu.at("launches").size(), 2U);
  EXPECT_EQ(gpu["launches"][0]["threads_per_block"], 64);
  EXPECT_EQ(gpu["launches"][0]["static_shared_bytes"], 256);
  EXPECT_EQ(gpu["launches"][1]["kernel"], "finish");
}

TEST_F(SeveralLaunches, AFaultOfTheSecondNamesIt) {
  std::string manifest = kManifest;
  const std::string block = "\"block\": [32]";
  manifest.replace(manifest.find(block), block.size(), "\"block\": [2048]");
  sandbox_.write("sums/template.json", manifest);
  sweep();
  EXPECT_EQ(first_row().outcome, Outcome::refused);
  EXPECT_TRUE(carries(first_row().reason, {"launch 2", "finish", "2048"}));
}

TEST_F(SeveralLaunches, ConstantMemoryThatIsNotThereIsNamed) {
  std::string source = kSource;
  source.replace(source.find("d_weights[16]"), 13, "d_weights[15]");
  sandbox_.write("sums/kernel.cu", source);
  sweep();
  EXPECT_EQ(first_row().outcome, Outcome::refused);
  EXPECT_TRUE(carries(first_row().reason, {"weights", "64 B", "60 B", "'d_weights'"}));
  std::string manifest = kManifest;
  manifest.replace(manifest.find("d_weights"), 9, "d_wieghts");
  sandbox_.write("sums/template.json", manifest);
  sandbox_.run({"sweep", "config.json", "--gpu", "H100", "--db", "b.db", "--quiet"});
  const Trial row = first_row("b.db");
  EXPECT_TRUE(carries(row.reason, {"no variable 'd_wieghts'"}));
}

TEST_F(SeveralLaunches, AHeaderDescribesThemAllWithTheirConstantAndWorkspace) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  ASSERT_EQ(sweep().code, 0);
  const Finished run = sandbox_.run({"export", "--db", "a.db", "--format", "header", "-o", "best.h"});
  ASSERT_EQ(run.code, 0) << run.err;
  sandbox_.write("main.cpp", R"--(
#include <cstdio>
#include "best.h"
int main() {
  tuned::Device device;
  device.name = "H100 SXM";
  device.compute_capability = 90;
  device.multiprocessors = 132;
  tuned::Plan plan(device);
  const tuned::Picked picked = tuned::choose(tuned::sums_f32_problem{1000}, device, plan);
  if (picked.kernel == nullptr) return 1;
  for (int i = 0; i < plan.launches; ++i)
    std::printf("%s %u %u %d\n", picked.kernel->expressions[plan.launch[i].kernel], plan.launch[i].grid[0],
                plan.launch[i].block[0], plan.launch[i].arguments);
  std::printf("%d %s %d %lld %d %lld\n", picked.kernel->constant_count, picked.kernel->constants[0].symbol,
              picked.kernel->constants[0].buffer, plan.constant_bytes[0], plan.workspaces, plan.workspace[0].bytes);
  std::printf("%lld\n", plan.launch[1].argument[2].whole);
})--");
  ASSERT_EQ(std::system(("cd '" + sandbox_.folder().string() +
                         "' && c++ -std=c++17 -Wall -Wextra -Werror main.cpp -o main && ./main > said")
                            .c_str()),
            0);
  const std::string said = read_file(sandbox_.folder() / "said", 1 << 20);
  const bool is_narrow = said.starts_with("partial<64>");
  EXPECT_EQ(said, is_narrow ? "partial<64> 16 64 2\nfinish 1 32 3\n1 d_weights 1 64 1 64\n16\n"
                            : "partial<128> 8 128 2\nfinish 1 32 3\n1 d_weights 1 64 1 32\n8\n");
}

}  // namespace several_launches_test
}  // namespace tiletune
