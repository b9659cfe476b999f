// Times on sizes that were not measured, from times made by hand.

#include "rank/time_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tiletune {
namespace time_model_test {

using Sizes = std::vector<std::int64_t>;
using Observations = std::vector<TimeModel::Observation>;

TimeModel model_of(const Observations& observations) { return fit_time_models({observations}).front(); }

/// A product of M x N x K by tiles of 128 x 128 on 132 multiprocessors: 2 us, and 0.5 us and 1 ns for each
/// step of K per wave.
Waves waves_of(const Sizes& sizes) {
  const std::int64_t tiles = (sizes[0] + 127) / 128 * ((sizes[1] + 127) / 128);
  return {static_cast<double>((tiles + 131) / 132)};
}

double time_of(const Sizes& sizes) {
  return 2 + waves_of(sizes)[0] * (0.5 + 0.001 * static_cast<double>(sizes[2]));
}

Observations products() {
  Observations all;
  for (const std::int64_t m : {128, 1000, 2048, 4096}) {
    for (const std::int64_t n : {512, 1536, 4096}) {
      for (const std::int64_t k : {256, 2048, 8192})
        all.push_back({{m, n, k}, waves_of({m, n, k}), time_of({m, n, k})});
    }
  }
  return all;
}

TEST(TimeModel, PredictsAWaveThatIsNotFull) {
  const TimeModel model = model_of(products());
  // 132 tiles of 128 x 128, and one more.
  for (const Sizes& sizes : {Sizes{1408, 1536, 4096}, Sizes{1409, 1536, 4096}, Sizes{8192, 8192, 512}})
    EXPECT_NEAR(model.time_us(sizes, waves_of(sizes)) / time_of(sizes), 1, 0.03) << sizes[0];
}

TEST(TimeModel, WithoutWavesTheProductOfAllSizesStandsForThem) {
  const auto time = [](const Sizes& sizes) {
    return 3 + 1e-7 * static_cast<double>(sizes[0] * sizes[1] * sizes[2]);
  };
  Observations all = products();
  for (TimeModel::Observation& one : all) one = {one.sizes, {}, time(one.sizes)};
  const TimeModel model = model_of(all);
  const Sizes sizes{3000, 3000, 3000};
  EXPECT_NEAR(model.time_us(sizes, {}) / time(sizes), 1, 0.05);
  EXPECT_EQ(model.time_us(sizes, {5}), model.time_us(sizes, {}));
}

/// A kernel that was measured once looks like the others on other sizes.
TEST(TimeModel, WhereAKernelHasFewTimesThoseOfTheOthersCount) {
  Observations few{products()[4]};
  for (TimeModel::Observation& one : few) one.time_us *= 1.1;
  const auto models = fit_time_models({products(), few});
  const Sizes sizes{4096, 4096, 4096};
  EXPECT_NEAR(models[1].time_us(sizes, waves_of(sizes)) / time_of(sizes), 1.1, 0.15);
}

/// Pairs of sizes count within a wave where there are more than those of a matrix product.
TEST(TimeModel, OfManyDimensionsAWaveMayCostProductsOfTwo) {
  Observations all;
  const auto time = [](const Sizes& sizes, double waves) {
    return 5 + waves * (1 + 0.01 * static_cast<double>(sizes[2] * sizes[3]));
  };
  for (const std::int64_t rows : {10, 100, 1000})
    for (const std::int64_t width : {3, 5, 11})
      for (const std::int64_t height : {1, 4, 7}) {
        const Waves waves{std::ceil(static_cast<double>(rows) / 132)};
        all.push_back({{rows, 64, width, height}, waves, time({rows, 64, width, height}, waves[0])});
      }
  EXPECT_NEAR(model_of(all).time_us({1000, 64, 8, 6}, {8}) / time({1000, 64, 8, 6}, 8), 1, 0.05);
}

TEST(TimeModel, NoCoefficientIsNegative) {
  // Times that fall with the size, as no term does.
  const TimeModel model = model_of({{{1}, {}, 30}, {{10}, {}, 20}, {{100}, {}, 10}});
  for (const TimeModel::Term& term : model.terms()) EXPECT_GT(term.us, 0);
  EXPECT_GT(model.time_us({1000000}, {}), 5);
}

TEST(TimeModel, OneObservationIsEnoughForItself) {
  const TimeModel model = model_of({{{64, 32}, {3}, 7}});
  EXPECT_NEAR(model.time_us({64, 32}, {3}), 7, 0.05);
}

TEST(TimeModel, RelativeErrorsCount) {
  // A constant of 1 us matters where times are short.
  Observations all;
  for (std::int64_t n = 1; n <= 1000000; n *= 10)
    all.push_back({{n}, {}, 1 + 0.001 * static_cast<double>(n)});
  const TimeModel model = model_of(all);
  EXPECT_NEAR(model.time_us({3}, {}), 1.003, 0.02);
  EXPECT_NEAR(model.time_us({300000}, {}), 301, 3);
}

TEST(TimeModel, WithoutWhatATermAsksForTheTimeIsInfinite) {
  EXPECT_TRUE(std::isinf(TimeModel().time_us({1}, {})));
  EXPECT_TRUE(std::isinf(TimeModel({{1, {}, {}}, {2, 1, {0}}}).time_us({4}, {3})));
  EXPECT_EQ(TimeModel({{1, {}, {}}, {2, 0, {0}}}).time_us({4}, {3}), 25);
}

TEST(TimeModel, OfEqualTimesTheFirstKernelIsTaken) {
  FastestKernel fastest;
  EXPECT_FALSE(fastest.kernel());
  fastest.consider(4, INFINITY);
  EXPECT_EQ(fastest.kernel(), 4U);
  fastest.consider(2, 7);
  fastest.consider(1, 7);
  fastest.consider(0, INFINITY);
  EXPECT_EQ(fastest.kernel(), 2U);
}

}  // namespace time_model_test
}  // namespace tiletune
