#include <gtest/gtest.h>

#include "tune/task.h"

namespace tiletune {
namespace target_test {

GpuOpened opened(const std::string& name, int major, int minor) {
  GpuOpened message;
  message.device.name = name;
  message.device.compute_major = major;
  message.device.compute_minor = minor;
  message.device.multiprocessors = 132;
  message.device.boost_clock_mhz = 1980;
  message.driver_version = "580.1";
  return message;
}

std::vector<GpuModel> shipped_models() {
  return load_gpu_models(std::filesystem::path(TILETUNE_SOURCE_DIR) / "configs" / "gpus");
}

TEST(Target, AKnownDeviceTakesFromItsModelWhatTheDriverDoesNotSay) {
  const Target target = target_from_device(opened("NVIDIA H200", 9, 0), shipped_models());
  EXPECT_EQ(target.name, "NVIDIA H200");
  EXPECT_EQ(target.architecture, "sm_90a");
  EXPECT_EQ(target.source, Source::measured);
  EXPECT_EQ(target.model.fp32_lanes_per_multiprocessor, 128);
  EXPECT_NEAR(target.model.memory_bandwidth_gbs, 4800, 100);
  EXPECT_NEAR(target.model.fp32_peak_tflops(), 66.9, 0.1) << "132 x 128 lanes x 2 x 1.98 GHz";
}

TEST(Target, AnUnknownDeviceStillHasAPeak) {
  const Target ampere = target_from_device(opened("NVIDIA Something", 8, 0), shipped_models());
  EXPECT_EQ(ampere.model.fp32_lanes_per_multiprocessor, 64);
  EXPECT_EQ(ampere.model.tensor_flops_per_clock, 2048);
  EXPECT_EQ(ampere.architecture, "sm_80");
  EXPECT_GT(ampere.model.fp32_peak_tflops(), 0);
}

TEST(Target, AModelIsForPrediction) {
  const Target target = target_from_model(find_gpu_model(shipped_models(), "A100 40GB"));
  EXPECT_EQ(target.source, Source::predicted);
  EXPECT_EQ(target.architecture, "sm_80");
  EXPECT_TRUE(target.uuid.empty());
}

}  // namespace target_test
}  // namespace tiletune
