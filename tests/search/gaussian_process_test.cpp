#include "search/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tiletune {
namespace gaussian_process_test {

using search::GaussianProcess;
using search::RandomSource;

/// Depends on the first of two coordinates alone.
double value(float x) { return std::sin(4 * static_cast<double>(x)); }

Eigen::MatrixXf random_points(Eigen::Index count, RandomSource& random) {
  Eigen::MatrixXf points(count, 2);
  for (Eigen::Index i = 0; i < points.size(); ++i) points.data()[i] = static_cast<float>(random.unit());
  return points;
}

class Process : public testing::Test {
 protected:
  Process() {
    const Eigen::MatrixXf points = random_points(60, random_);
    Eigen::VectorXd values(points.rows());
    for (Eigen::Index i = 0; i < points.rows(); ++i) values[i] = value(points(i, 0));
    for (int i = 0; i < 5; ++i) process_.observe(points, values, true, random_);
  }

  RandomSource random_{1};
  GaussianProcess process_{{0.3, 0.3}};
};

TEST_F(Process, PredictsWhatItHasNotSeen) {
  const Eigen::MatrixXf others = random_points(50, random_);
  process_.predict(others, 0);
  for (Eigen::Index i = 0; i < others.rows(); ++i) {
    const auto candidate = static_cast<std::size_t>(i);
    EXPECT_NEAR(process_.mean(candidate), value(others(i, 0)), 0.05);
    EXPECT_LT(process_.deviation(candidate), 0.2);
  }
}

TEST_F(Process, IsLessCertainFarFromWhatItHasSeen) {
  Eigen::MatrixXf two(2, 2);
  two << 0.5F, 0.5F, 3.0F, 3.0F;
  process_.predict(two, 0);
  EXPECT_GT(process_.deviation(1), 5 * process_.deviation(0));
}

TEST_F(Process, BelievingMakesNeighboursCertain) {
  Eigen::MatrixXf three(3, 2);
  three << 3.0F, 3.0F, 3.0F, 3.01F, 6.0F, 6.0F;
  process_.predict(three, 1);
  const double before = process_.deviation(1), far = process_.deviation(2), mean = process_.mean(1);
  process_.believe(0);
  EXPECT_LT(process_.deviation(1), before / 3);
  EXPECT_NEAR(process_.deviation(2), far, far / 10);
  EXPECT_EQ(process_.mean(1), mean);
}

TEST(GaussianProcess, TakesEqualPointsWithDifferentValues) {
  RandomSource random(1);
  GaussianProcess process({0.3});
  Eigen::MatrixXf points = Eigen::MatrixXf::Constant(20, 1, 0.5F);
  Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(20, 0, 1);
  process.observe(points, values, true, random);
  process.predict(points.topRows(1), 0);
  EXPECT_NEAR(process.mean(0), 0.5, 0.1);
}

}  // namespace gaussian_process_test
}  // namespace tiletune
