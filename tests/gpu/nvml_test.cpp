#include "gpu/nvml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "carries.h"

namespace tiletune {
namespace nvml_test {

const std::string kNow = std::string(TILETUNE_BINARY_DIR) + "/fake_nvml_now/libnvidia-ml.so.1";
const std::string kOld = std::string(TILETUNE_BINARY_DIR) + "/fake_nvml_old/libnvidia-ml.so.1";
const std::string kFirst = "GPU-00000000-0000-0000-0000-000000000000";
const std::string kSecond = "GPU-00000000-0000-0000-0000-000000000001";

class NvmlTest : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("FAKE_NVML"); }
  void answer(const std::string& words) { ::setenv("FAKE_NVML", words.c_str(), 1); }
};

TEST_F(NvmlTest, ConvertsUnits) {
  answer("limit=650500 throttle=0x44");
  const Nvml nvml(kFirst, kNow);
  EXPECT_DOUBLE_EQ(nvml.power_w().value(), 76.123);
  EXPECT_DOUBLE_EQ(nvml.energy_j().value(), 123.456);
  EXPECT_DOUBLE_EQ(nvml.readings().power_limit_w.value(), 650.5);
  EXPECT_EQ(nvml.readings().temperature_c, 31);
  EXPECT_EQ(nvml.sm_clock_mhz(), 345);
  EXPECT_EQ(nvml.readings().max_sm_clock_mhz, 1980);
  EXPECT_EQ(nvml.throttle_reasons(), 0x44U);
}

TEST_F(NvmlTest, EachGpuAnswersForItself) {
  answer("1.power=500000 power=80000");
  EXPECT_EQ(Nvml(kFirst, kNow).power_w(), 80);
  EXPECT_EQ(Nvml(kSecond, kNow).power_w(), 500);
}

TEST_F(NvmlTest, ASliceAsksTheGpuItIsPartOf) {
  answer("2.mig=1");
  const Nvml slice("GPU-5", kNow);
  EXPECT_EQ(slice.readings().mig_mode, true);
  EXPECT_EQ(Nvml(kFirst, kNow).readings().mig_mode, false);
}

TEST_F(NvmlTest, WithoutTheLibraryEveryAnswerIsNone) {
  const Nvml nvml(kFirst, "libno_such_nvml.so.1");
  EXPECT_EQ(nvml.driver_version(), std::nullopt);
  EXPECT_EQ(nvml.power_w(), std::nullopt);
  EXPECT_EQ(nvml.compute_processes(), std::nullopt);
  EXPECT_EQ(nvml.readings().ecc.has_value(), false);
  const NvmlSystem system("libno_such_nvml.so.1");
  EXPECT_TRUE(carries(system.why(), {"libno_such_nvml.so.1", "opened"}));
  EXPECT_TRUE(system.gpus().empty());
  EXPECT_EQ(system.cuda_version(), std::nullopt);
}

TEST_F(NvmlTest, ALibraryOfAnotherDriverSaysSo) {
  answer("mismatch=1");
  const NvmlSystem system(kNow);
  EXPECT_TRUE(carries(system.why(), {"Driver/library version mismatch (code 18)"}));
  EXPECT_EQ(Nvml(kFirst, kNow).power_w(), std::nullopt);
}

TEST_F(NvmlTest, AnUnknownGpuHasNoAnswers) {
  const Nvml nvml("GPU-ffffffff-0000-0000-0000-000000000000", kNow);
  EXPECT_EQ(nvml.power_w(), std::nullopt);
  EXPECT_EQ(nvml.readings().memory.has_value(), false);
  EXPECT_EQ(nvml.driver_version(), "580.0") << "that is the system's";
}

TEST_F(NvmlTest, AnOldDriverAnswersWhatItCan) {
  answer("throttle=0x80 pids=4000000:1024");
  const Nvml nvml(kFirst, kOld);
  EXPECT_EQ(nvml.throttle_reasons(), 0x80U) << "under the name it had then";
  ASSERT_TRUE(nvml.compute_processes().has_value());
  EXPECT_EQ(nvml.compute_processes()->at(0).memory_bytes, 1024U);
  EXPECT_EQ(nvml.power_w().has_value(), true);
  EXPECT_EQ(nvml.energy_j(), std::nullopt);
  EXPECT_EQ(nvml.readings().max_sm_clock_mhz, std::nullopt);
  EXPECT_EQ(nvml.readings().mig_mode, std::nullopt);
  EXPECT_EQ(nvml.readings().memory.has_value(), false);
  EXPECT_EQ(nvml.readings().display_active, std::nullopt);
}

TEST_F(NvmlTest, QuestionsThatAGpuDoesNotSupportHaveNoAnswer) {
  answer("power=none ecc=none pids=none compute_mode=7 utilization=none");
  const Nvml nvml(kFirst, kNow);
  EXPECT_EQ(nvml.power_w(), std::nullopt);
  EXPECT_EQ(nvml.readings().ecc.has_value(), false);
  EXPECT_EQ(nvml.compute_processes(), std::nullopt);
  EXPECT_EQ(nvml.readings().compute_mode, std::nullopt) << "a mode of a later driver";
  EXPECT_EQ(nvml.readings().utilization_percent, std::nullopt);
}

TEST_F(NvmlTest, NamesProcessesThatItSees) {
  answer("pids=" + std::to_string(::getpid()) + ":2048,4000000:none");
  const auto processes = Nvml(kFirst, kNow).compute_processes();
  ASSERT_EQ(processes->size(), 2U);
  EXPECT_EQ(processes->at(0).name, "test_gpu");
  EXPECT_EQ(processes->at(0).memory_bytes, 2048U);
  EXPECT_EQ(processes->at(1).name, "") << "no process has that number";
  EXPECT_EQ(processes->at(1).memory_bytes, std::nullopt);
}

TEST_F(NvmlTest, ListsMoreProcessesThanExpected) {
  std::string pids = "pids=1:1";
  for (int pid = 2; pid <= 1000; ++pid) pids.append(",").append(std::to_string(pid)).append(":1");
  answer(pids);
  const auto processes = Nvml(kFirst, kNow).compute_processes();
  ASSERT_EQ(processes->size(), 1000U);
  EXPECT_EQ(processes->back().pid, 1000);
}

TEST_F(NvmlTest, UsedMemoryIsWithoutTheDriversReserve) {
  answer("used=3221225472");
  const auto memory = Nvml(kFirst, kNow).readings().memory;
  EXPECT_EQ(memory->used_bytes, std::uint64_t{3} << 30);
  EXPECT_EQ(memory->free_bytes, std::uint64_t{136} << 30);
}

TEST_F(NvmlTest, ModesAreThoseOfNow) {
  answer("ecc=0 ecc_errors=7 mig=1 compute_mode=3 persistence=0");
  const Nvml nvml(kFirst, kNow);
  EXPECT_FALSE(nvml.readings().ecc->enabled) << "it will be on after the next reset only";
  EXPECT_EQ(nvml.readings().ecc->uncorrected_errors, 7U);
  EXPECT_EQ(nvml.readings().mig_mode, true);
  EXPECT_EQ(nvml.readings().compute_mode, ComputeMode::exclusive_process);
  EXPECT_EQ(nvml.readings().persistence_mode, false);
}

TEST_F(NvmlTest, ListsTheGpusThatStillAnswer) {
  answer("1.lost=1 cuda=12040");
  const NvmlSystem system(kNow);
  EXPECT_EQ(system.cuda_version(), "12.4");
  ASSERT_EQ(system.gpus().size(), 2U);
  EXPECT_EQ(system.gpus()[0].uuid, kFirst);
  EXPECT_EQ(system.gpus()[1].index, 2);
  EXPECT_EQ(system.gpus()[1].name, "Fake H300");
}

TEST(ThrottleText, LeavesOutWhatIsNoThrottling) {
  EXPECT_EQ(throttle_text(0), "");
  EXPECT_EQ(throttle_text(0x3), "") << "idle, at the clocks set for applications";
  EXPECT_EQ(throttle_text(0x4 | 0x8 | 0x1), "sw_power_cap, hw_slowdown");
  EXPECT_EQ(throttle_text(0x1f0),
            "sync_boost, sw_thermal_slowdown, hw_thermal_slowdown, hw_power_brake_slowdown, "
            "display_clock_setting");
  EXPECT_EQ(throttle_text(0x4 | 0x400), "sw_power_cap, reason 0x400") << "of a later driver";
}

std::vector<int> pids(const std::vector<GpuProcess>& processes) {
  std::vector<int> numbers;
  for (const GpuProcess& process : processes) numbers.push_back(process.pid);
  return numbers;
}

TEST(OtherProcesses, AreNotThoseOfTheCaller) {
  const std::vector<GpuProcess> all{{10, {}, ""}, {30, {}, ""}, {20, {}, ""}};
  EXPECT_EQ(pids(other_processes(all, std::array{20})), (std::vector<int>{10, 30}));
  EXPECT_EQ(pids(other_processes(all, std::array{10, 20, 30})), std::vector<int>{});
  EXPECT_EQ(pids(other_processes(all, {})), (std::vector<int>{10, 20, 30}));
}

TEST(OtherProcesses, InAContainerTheYoungestProcessesAreOwn) {
  const std::vector<GpuProcess> all{{5000, {}, ""}, {7000, {}, ""}, {6000, {}, ""}};
  EXPECT_EQ(pids(other_processes(all, std::array{17})), (std::vector<int>{5000, 6000}));
  EXPECT_EQ(pids(other_processes({{5000, {}, ""}}, std::array{17, 18})), std::vector<int>{});
}

TEST_F(NvmlTest, OtherProcessesOfAGpuThatDoesNotTellAreNone) {
  answer("0.pids=none 1.pids=17:1,18:2");
  EXPECT_TRUE(other_processes(Nvml(kFirst, kNow), std::array{17}).empty());
  EXPECT_EQ(pids(other_processes(Nvml(kSecond, kNow), std::array{17})), std::vector<int>{18});
}

}  // namespace nvml_test
}  // namespace tiletune
