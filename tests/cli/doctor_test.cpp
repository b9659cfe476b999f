// `tiletune doctor` through the executable, with fake GPU workers and a library that stands for NVML.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/expect_error.h"

namespace tiletune {
namespace doctor_test {

using Json = nlohmann::ordered_json;
constexpr int kDisturbed = 1;
constexpr int kGpuUnusable = 3;
constexpr const char* kNoNvml = nullptr;
constexpr const char* kHealthy = "";

/// Runs doctor with a fake worker, and with a fake NVML that answers as `nvml` says, or none.
class Doctor : public testing::Test {
 protected:
  Finished examine(const std::string& worker_mode, const char* nvml,
                   std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"doctor"};
    for (const std::string& word :
         {std::string(TILETUNE_BINARY_DIR) + "/fake_gpu_worker", std::string("{gpu}"), worker_mode}) {
      arguments.insert(arguments.end(), {"--gpu-worker", word});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox.wait(sandbox.start(arguments, [nvml] {
      ::unsetenv("CUDA_VISIBLE_DEVICES");
      if (nvml == nullptr) return;
      ::setenv("LD_LIBRARY_PATH", TILETUNE_BINARY_DIR "/fake_nvml_now", 1);
      ::setenv("FAKE_NVML", nvml, 1);
    }));
  }

  /// The checks of one run that are not ok, by name; of GPUs as "GPU 1 power".
  static std::map<std::string, Json> complaints(const Finished& run) {
    std::map<std::string, Json> found;
    const Json document = Json::parse(run.out);
    for (const Json& check : document.at("checks")) {
      EXPECT_FALSE(check.at("found").get<std::string>().empty());
      if (check.at("status") == "ok") continue;
      EXPECT_FALSE(check.at("why").get<std::string>().empty()) << check;
      EXPECT_FALSE(check.at("remedy").get<std::string>().empty()) << check;
      const std::string gpu =
          check.at("gpu").is_null() ? "" : "GPU " + std::to_string(check.at("gpu").get<int>()) + " ";
      found[gpu + check.at("check").get<std::string>()] = check;
    }
    return found;
  }

  const Sandbox sandbox;
};

TEST_F(Doctor, FindsNothingOnHealthyGpus) {
  const Finished run = examine("none", kHealthy);
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  for (const char* line : {"\nok       driver           580.0, CUDA 13.0\n", "\nok       nvml             ",
                           "\nGPU 0\nok       gpu              Fake H200, sm_90a\n",
                           "\nGPU 2\nok       gpu              Fake H300",
                           "\nok       memory           139.0 GiB of 140.0 GiB free\n",
                           "\nok       processes        none\n", "\nnothing "}) {
    EXPECT_NE(run.out.find(line), std::string::npos) << line << "in: " << run.out;
  }
  EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "cache/tiletune")) << "nothing is changed";
}

TEST_F(Doctor, WithoutAnythingOfNvidiasTheRestIsFine) {
  const Finished run = examine("no_gpu", kNoNvml, {"--format", "json"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  const auto found = complaints(run);
  ASSERT_TRUE(found.contains("driver")) << run.out;
  EXPECT_EQ(found.at("driver").at("status"), "note");
  EXPECT_TRUE(carries(found.at("driver").at("found").get<std::string>(), {"no driver"}));
  EXPECT_FALSE(found.contains("nvml"));
  EXPECT_TRUE(carries(Json::parse(run.out).at("verdict").get<std::string>(), {"no GPU", "predicting work"}));
}

TEST_F(Doctor, NamesWhatDisturbsAMeasurementAndWhere) {
  const Finished run = examine(
      "none", "1.throttle=0x44 2.pids=4000000:1073741824 persistence=0 2.ecc_errors=2", {"--format", "json"});
  EXPECT_EQ(run.code, kDisturbed) << run.out << run.err;
  const auto found = complaints(run);
  EXPECT_EQ(found.at("GPU 1 throttling").at("found"), "sw_power_cap, hw_thermal_slowdown");
  EXPECT_EQ(found.at("GPU 2 processes").at("found"), "pid 4000000 (1.0 GiB)");
  EXPECT_EQ(found.at("GPU 2 ecc").at("status"), "warning");
  EXPECT_EQ(found.at("GPU 0 persistence").at("status"), "note");
  EXPECT_FALSE(found.contains("GPU 0 throttling"));
}

TEST_F(Doctor, LooksAtTheGpusThatAreNamed) {
  const char* nvml = "1.throttle=0x40";
  EXPECT_EQ(examine("none", nvml, {"--gpus", "0,2"}).code, 0);
  const Finished run = examine("none", nvml, {"--gpus", "1"});
  EXPECT_EQ(run.code, kDisturbed);
  EXPECT_EQ(run.out.find("GPU 0"), std::string::npos) << run.out;
  EXPECT_TRUE(has_line(run.out, {"warning  throttling       hw_thermal_slowdown"}));
  EXPECT_TRUE(has_line(run.out, {"->", "cool"}));
}

TEST_F(Doctor, SurvivesAGpuThatIsMute) {
  const Finished run = examine("1:mute", kHealthy, {"--format", "json", "--open-timeout", "0.3"});
  EXPECT_EQ(run.code, kGpuUnusable) << run.out << run.err;
  const auto found = complaints(run);
  ASSERT_EQ(found.size(), 1U) << "the others are examined all the same: " << run.out;
  EXPECT_EQ(found.at("GPU 1 gpu").at("status"), "problem");
  EXPECT_TRUE(carries(found.at("GPU 1 gpu").at("found").get<std::string>(), {"300 ms"}));
}

TEST_F(Doctor, AFirstGpuThatDiesDoesNotHideTheOthers) {
  const Finished run =
      examine("0:dead", "count=2 0.compute_mode=3 0.pids=4000000:1024", {"--format", "json"});
  EXPECT_EQ(run.code, kGpuUnusable) << run.out << run.err;
  const auto found = complaints(run);
  EXPECT_TRUE(carries(found.at("GPU 0 gpu").at("found").get<std::string>(), {"Fake H200", "exited with 6"}))
      << "NVML knows what the driver could not say";
  EXPECT_TRUE(carries(found.at("GPU 0 gpu").at("remedy").get<std::string>(),
                      {"sudo nvidia-smi -i 0 --compute-mode=DEFAULT"}));
  EXPECT_NE(run.out.find("\"gpu\": 1"), std::string::npos) << run.out;
}

TEST_F(Doctor, AGpuThatIsNamedAndNotThereIsAProblem) {
  const Finished run = examine("no_gpu", kNoNvml, {"--gpus", "1"});
  EXPECT_EQ(run.code, kGpuUnusable) << run.out << run.err;
  EXPECT_NE(run.out.find("GPU 1\nproblem  gpu  "), std::string::npos) << run.out;
  EXPECT_TRUE(has_line(run.out, {"problem  gpu", "no driver"}));
}

TEST_F(Doctor, GpusThatOnlyNvmlSeesAreAProblem) {
  const Finished run = examine("no_gpu", kHealthy, {"--format", "json"});
  EXPECT_EQ(run.code, kGpuUnusable) << run.out << run.err;
  EXPECT_TRUE(
      carries(complaints(run).at("driver").at("found").get<std::string>(), {"no driver", "NVML lists 3"}));
}

TEST_F(Doctor, AnNvmlOfAnotherDriverIsAWarning) {
  const Finished run = examine("none", "mismatch=1", {"--format", "json"});
  EXPECT_EQ(run.code, kDisturbed) << run.out << run.err;
  const auto found = complaints(run);
  ASSERT_EQ(found.size(), 1U) << run.out;
  EXPECT_TRUE(carries(found.at("nvml").at("found").get<std::string>(),
                      {"Driver/library version mismatch (code 18)"}));
}

TEST_F(Doctor, ACacheThatCannotBeWrittenIsAWarning) {
  sandbox.write("cache", "a file where the folder should be");
  const Finished run = examine("none", kHealthy, {"--format", "json"});
  EXPECT_EQ(run.code, kDisturbed) << run.out << run.err;
  const auto found = complaints(run);
  EXPECT_EQ(found.at("kernel_cache").at("status"), "warning");
  EXPECT_TRUE(carries(found.at("kernel_cache").at("found").get<std::string>(), {"not a folder"}));
}

TEST_F(Doctor, AMeasuredCacheIsCounted) {
  sandbox.write("cache/tiletune/cubin/ab/cd.cubin", std::string(3 << 20, 'x'));
  const Finished run = examine("no_gpu", kNoNvml);
  EXPECT_NE(run.out.find("/cubin: 3.0 MiB, "), std::string::npos) << run.out;
  const auto folder = sandbox.folder() / "cache/tiletune/cubin";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()),
            1)
      << "the trial file is gone";
}

TEST_F(Doctor, MistakesAreExplained) {
  expect_error(examine("none", kNoNvml, {"--gpus", "0,0"}), kUserError, {"--gpus", "'0,0'"});
  expect_error(examine("none", kNoNvml, {"--format", "csv"}), kUserError, {"table, json"});
}

TEST_F(Doctor, IsTheRemedyOfErrorsOfTheGpu) {
  const std::string config = sandbox.write_tiny_space(1);
  std::vector<std::string> sweep{"sweep", config, "--db", "results.db", "--gpus", "0"};
  for (const std::string& word :
       {std::string(TILETUNE_BINARY_DIR) + "/fake_gpu_worker", std::string("0:dead")})
    sweep.insert(sweep.end(), {"--gpu-worker", word});
  sweep.insert(sweep.end() - 2, {"--gpu-worker", "{gpu}"});
  const Finished run = sandbox.run(sweep);
  EXPECT_EQ(run.code, kGpuUnusable) << run.out;
  EXPECT_TRUE(carries(run.err, {"exited with 6", "'tiletune doctor'"}));
}

}  // namespace doctor_test
}  // namespace tiletune
