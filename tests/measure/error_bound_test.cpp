#include "measure/error_bound.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace error_bound_test {

TEST(ErrorBound, SeparatesFloatFromTensorFloatAtEveryLength) {
  // One TF32 product rounds its operands to 11 bits: a relative error near 3e-4 at any accumulation length.
  constexpr double kTensorFloatError = 2.5e-4;
  for (const double length : {1.0, 64.0, 4096.0, 16384.0, 262144.0}) {
    const double bound = error_bound(ElementType::f32, ElementType::f32, length, 1);
    EXPECT_LT(bound, kTensorFloatError / 2) << length;
    EXPECT_GT(bound, 1.5 * 0x1p-23) << "a correct product of one term must pass";
  }
}

TEST(ErrorBound, FollowsTheTypes) {
  const double half_out = error_bound(ElementType::f16, ElementType::f32, 4096, 1);
  EXPECT_NEAR(half_out, 2 * 0x1p-11, 1e-5);
  EXPECT_DOUBLE_EQ(error_bound(ElementType::f32, ElementType::f32, 64, 3),
                   3 * error_bound(ElementType::f32, ElementType::f32, 64, 1));
}

}  // namespace error_bound_test
}  // namespace tiletune
