#include <gtest/gtest.h>

#include <map>

#include "spec/load.h"
#include "tune/ceilings.h"
#include "tune/row.h"

namespace tiletune {
namespace roofline_test {

/// 60 TFLOP/s and 4000 GB/s: FP32 products of these sizes are bound by memory below 15 operations per byte.
constexpr Calibration kCeilings{60, 700, 690, 350, 1400, 1300, 4000, 4500, 30000, 1.25, 2, 1.5};

class RooflineTest : public testing::Test {
 protected:
  Trial row(const std::string& problem, double median_us, ElementType accumulator = ElementType::f32) {
    LoadOptions options;
    const std::filesystem::path home = TILETUNE_SOURCE_DIR;
    options.template_folders = {home / "kernel_templates"};
    options.problems = {problem};
    spec_ = load_tune_spec(home / "configs/quick.json", options);
    for (TemplateSpec& kernel : spec_.templates) kernel.operation.accumulator = accumulator;
    tasks_ = plan_tasks(spec_);
    Trial trial;
    trial.median_us = median_us;
    trial.pipe = "fp32";
    add_throughput(trial, tasks_.front().instantiator.workload(), Target());
    return trial;
  }

  TuneSpec spec_;
  std::vector<Task> tasks_;
};

TEST_F(RooflineTest, ALargeProductIsBoundByArithmetic) {
  Trial trial = row("4096x4096x4096", 2642);
  add_roofline(trial, tasks_.front(), kCeilings);
  EXPECT_NEAR(*trial.arithmetic_intensity, 2.0 * 4096 / (3 * 4), 1e-6);
  EXPECT_EQ(trial.bound, "compute");
  EXPECT_NEAR(*trial.percent_of_ceiling, 100 * (2.0 * 4096 * 4096 * 4096 / 60e6) / 2642, 1e-9);
}

TEST_F(RooflineTest, CeilingsCountOnceForEachGpu) {
  row("4096x4096x4096", 2642);
  Operation& operation = spec_.templates.front().operation;
  operation.gpus = {"4", operation.gpus.where};
  const std::vector<Task> on_four = plan_tasks(spec_);
  Trial trial;
  trial.median_us = 700;
  trial.pipe = "fp32";
  add_throughput(trial, on_four.front().instantiator.workload(), Target());
  add_roofline(trial, on_four.front(), kCeilings);
  EXPECT_NEAR(*trial.percent_of_ceiling, 100 * (2.0 * 4096 * 4096 * 4096 / (4 * 60e6)) / 700, 1e-9);
  EXPECT_NEAR(*trial.percent_of_copy, 100 * *trial.gbs / (4 * 4000), 1e-9);
}

TEST_F(RooflineTest, AThinProductIsBoundByMemory) {
  Trial trial = row("8192x8192x1", 100);
  add_roofline(trial, tasks_.front(), kCeilings);
  EXPECT_EQ(trial.bound, "memory");
  EXPECT_NEAR(*trial.percent_of_ceiling, 4 * (8192.0 * 8192 + 2 * 8192) / 4000e3, 1e-9);
  EXPECT_NEAR(*trial.gbs, 4e-3 * (8192.0 * 8192 + 2 * 8192) / 100, 1e-9);
  EXPECT_DOUBLE_EQ(*trial.percent_of_copy, *trial.percent_of_ceiling);
}

TEST_F(RooflineTest, AnOperationThatOnlyMovesDataIsBoundByMemoryOnAnyGpu) {
  Trial trial = row("512x512x512", 10);
  spec_.templates.front().operation.bound = Ceiling::copy;
  add_roofline(trial, tasks_.front(), std::nullopt);
  EXPECT_EQ(trial.bound, "memory");
  EXPECT_FALSE(trial.percent_of_copy.has_value()) << "no ceiling was measured";
  add_roofline(trial, tasks_.front(), kCeilings);
  EXPECT_NEAR(*trial.percent_of_copy, 100 * (3 * 512.0 * 512 * 4) / 4000e3 / 10, 1e-9);
}

TEST_F(RooflineTest, WithoutAKnownPipeTheCeilingOfArithmeticIsNotKnown) {
  for (const char* pipe : {"", "tensor_f64"}) {
    Trial trial = row("4096x4096x4096", 2642, ElementType::f16);
    trial.pipe = pipe;
    add_roofline(trial, tasks_.front(), kCeilings);
    EXPECT_TRUE(trial.arithmetic_intensity.has_value());
    EXPECT_EQ(trial.bound, "");
    EXPECT_FALSE(trial.percent_of_ceiling.has_value());
    EXPECT_TRUE(trial.percent_of_copy.has_value());
  }
}

TEST_F(RooflineTest, TheCeilingIsThatOfThePipe) {
  Trial trial = row("4096x4096x4096", 200);
  for (const auto& [pipe, tflops] : std::map<std::string, double>{{"fp32", 60},
                                                                  {"tensor_f16", 700},
                                                                  {"tensor_bf16", 690},
                                                                  {"tensor_tf32", 350},
                                                                  {"tensor_fp8", 1400},
                                                                  {"tensor_i8", 1300}}) {
    trial.pipe = pipe;
    add_roofline(trial, tasks_.front(), kCeilings);
    EXPECT_EQ(trial.bound, "compute");
    EXPECT_NEAR(*trial.percent_of_ceiling, 100 * (2.0 * 4096 * 4096 * 4096 / (tflops * 1e6)) / 200, 1e-9)
        << pipe;
  }
}

TEST_F(RooflineTest, ALibraryMultipliesOnTensorCoresWhatTheyTake) {
  row("64x64x64", 1);
  Operation& operation = spec_.templates.front().operation;
  EXPECT_EQ(library_pipe(operation), "fp32");
  for (const auto& [type, pipe] : std::map<ElementType, std::string>{{ElementType::f16, "tensor_f16"},
                                                                     {ElementType::bf16, "tensor_bf16"},
                                                                     {ElementType::tf32, "tensor_tf32"},
                                                                     {ElementType::e5m2, "tensor_fp8"},
                                                                     {ElementType::i8, "tensor_i8"}}) {
    for (Buffer& buffer : operation.buffers) buffer.type = type;
    EXPECT_EQ(library_pipe(operation), pipe);
  }
  for (Buffer& buffer : operation.buffers) buffer.type = ElementType::f64;
  operation.accumulator = ElementType::f64;
  EXPECT_EQ(library_pipe(operation), "");
}

TEST_F(RooflineTest, WithoutCeilingsOrATimeThereIsOnlyTheIntensity) {
  Trial trial = row("512x512x512", 10);
  add_roofline(trial, tasks_.front(), std::nullopt);
  EXPECT_TRUE(trial.arithmetic_intensity.has_value());
  EXPECT_EQ(trial.bound, "");
  trial.median_us.reset();
  add_roofline(trial, tasks_.front(), kCeilings);
  EXPECT_FALSE(trial.percent_of_ceiling.has_value());
}

}  // namespace roofline_test
}  // namespace tiletune
