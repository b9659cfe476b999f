#include <gtest/gtest.h>

#include <cmath>

#include "measure/launch_checks.h"

namespace tiletune {
namespace error_bound_test {

TEST(ErrorBound, SeparatesFloatFromTensorFloatAtEveryLength) {
  // One TF32 product rounds its operands to 11 bits: a relative error near 3e-4 at any accumulation length.
  constexpr double kTensorFloatError = 2.5e-4;
  for (const double length : {1.0, 64.0, 4096.0, 16384.0, 262144.0}) {
    const double bound = error_bound(ElementType::f32, unit_roundoff(ElementType::f32), length, 1);
    EXPECT_LT(bound, kTensorFloatError / 2) << length;
    EXPECT_GT(bound, 1.5 * 0x1p-23) << "a correct product of one term must pass";
  }
}

TEST(ErrorBound, FollowsTheTypes) {
  const double half_out = error_bound(ElementType::f16, unit_roundoff(ElementType::f32), 4096, 1);
  EXPECT_NEAR(half_out, 2 * 0x1p-11, 1e-5);
  EXPECT_DOUBLE_EQ(error_bound(ElementType::f32, unit_roundoff(ElementType::f32), 64, 3),
                   3 * error_bound(ElementType::f32, unit_roundoff(ElementType::f32), 64, 1));
}

TEST(ErrorBound, SumsThatKeepFewerBitsErrMore) {
  PrepareRequest problem;
  problem.workload.accumulation = 1024;
  EXPECT_DOUBLE_EQ(error_bound(problem, ElementType::f32, 1), 0x1p-23 + 64 * 0x1p-24);
  problem.accumulation_bits = 14;
  EXPECT_DOUBLE_EQ(error_bound(problem, ElementType::f32, 1), 0x1p-23 + 64 * 0x1p-14);
}

Accuracy with_error(double relative_error) {
  Accuracy accuracy;
  accuracy.relative_error = relative_error;
  return accuracy;
}

TEST(ErrorBound, FiguresContradictAVerdictBeyondTheLargestBoundOfComparedOutputs) {
  PrepareRequest problem;
  problem.workload.buffers = {{"in", ElementType::e5m2, 1, BufferRole::in},
                              {"out", ElementType::f32, 1, BufferRole::out},
                              {"more", ElementType::i32, 1, BufferRole::out}};
  const double bound = error_bound(ElementType::f32, unit_roundoff(ElementType::f32), 0, 1);
  EXPECT_EQ(contradiction(with_error(bound), problem, 1), "");
  EXPECT_NE(contradiction(with_error(1.1 * bound), problem, 1), "");
  EXPECT_NE(contradiction(with_error(std::nan("")), problem, 1), "");
  EXPECT_EQ(contradiction(with_error(1.1 * bound), problem, 2), "");
  problem.candidates.resize(2);
  EXPECT_EQ(contradiction(with_error(1.1 * bound), problem, 1), "") << "the reference errs, too";
  problem.workload.buffers[1].is_compared = false;
  EXPECT_NE(contradiction(with_error(bound), problem, 1), "") << "integers are compared exactly";
  problem.workload.tolerance = Tolerance{1, 1};
  EXPECT_EQ(contradiction(with_error(1), problem, 1), "") << "each element has its own";
}

}  // namespace error_bound_test
}  // namespace tiletune
