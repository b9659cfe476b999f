#include "measure/input_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace tiletune {
namespace input_values_test {

std::vector<double> all(Distribution distribution, double a, double b, std::uint64_t count,
                        std::uint64_t seed = 7) {
  std::vector<double> values;
  for (std::uint64_t n = 0; n < count; ++n)
    values.push_back(input_value({distribution, a, b}, seed, count, n));
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

constexpr std::uint64_t kMany = 100000;

TEST(InputValues, AreUniformBetweenTheirEnds) {
  const std::vector<double> values = all(Distribution::uniform, -1, 3, kMany);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -1);
  EXPECT_LT(*least, -0.99);
  EXPECT_LT(*most, 3);
  EXPECT_GT(*most, 2.99);
  EXPECT_NEAR(mean(values), 1, 0.02);
}

TEST(InputValues, OfABufferWithoutOthersAreFloatsWithoutRounding) {
  const Workload::Values values = values_of({"in", ElementType::f32, 8, BufferRole::in});
  for (std::uint64_t n = 0; n < 1000; ++n) {
    const double value = input_value(values, seed_of_buffer(1, 0), 1000, n);
    EXPECT_EQ(value, static_cast<double>(static_cast<float>(value)));
    EXPECT_LE(std::abs(value), 1);
  }
}

TEST(InputValues, OfIntegersFitTheirType) {
  for (const Named<ElementType>& type : kSpellings<ElementType>) {
    if (is_floating(type.value)) continue;
    const Workload::Values values = values_of({"in", type.value, 8, BufferRole::in});
    EXPECT_GE(values.a, range_of(type.value).lowest) << type.name;
    EXPECT_LE(values.b - 1, range_of(type.value).highest) << type.name;
    EXPECT_LT(values.a, values.b) << type.name;
  }
}

TEST(InputValues, SpreadOverExponentsOfBothSigns) {
  const std::vector<double> values = all(Distribution::spread, -20, 10, kMany);
  std::vector<double> exponents;
  std::size_t negative = 0;
  for (const double value : values) {
    exponents.push_back(std::log2(std::abs(value)));
    negative += value < 0 ? 1 : 0;
  }
  const auto [least, most] = std::minmax_element(exponents.begin(), exponents.end());
  EXPECT_GE(*least, -20);
  EXPECT_LT(*most, 10);
  EXPECT_NEAR(mean(exponents), -5, 0.2);
  EXPECT_NEAR(static_cast<double>(negative), kMany / 2.0, kMany / 50.0);
}

TEST(InputValues, AlternateSoThatPairsCancel) {
  const std::vector<double> values = all(Distribution::alternating, 0.5, 1, 1000);
  for (std::size_t n = 0; n < values.size(); n += 2) {
    EXPECT_EQ(values[n], -values[n + 1]);
    EXPECT_GE(values[n], 0.5);
    EXPECT_LT(values[n], 1);
  }
}

TEST(InputValues, ThatAreSpecialAreOneInSoMany) {
  const std::vector<double> values = all(Distribution::special, 50, 0, kMany);
  const auto count = [&](const auto& is) {
    return static_cast<double>(std::count_if(values.begin(), values.end(), is));
  };
  constexpr double kEach = kMany / 200.0;
  EXPECT_NEAR(count([](double value) { return std::isnan(value); }), kEach, kEach / 4);
  EXPECT_NEAR(count([](double value) { return std::isinf(value) && value > 0; }), kEach, kEach / 4);
  EXPECT_NEAR(count([](double value) { return std::isinf(value) && value < 0; }), kEach, kEach / 4);
  EXPECT_NEAR(count([](double value) { return value == 0; }), kEach, kEach / 4);
}

TEST(InputValues, ThatAreNoNumbersStayWhatTheyAre) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::tf32, ElementType::f32}) {
    EXPECT_TRUE(std::isnan(rounded(std::nan(""), type))) << name(type);
    EXPECT_EQ(rounded(-infinite, type), -infinite) << name(type);
  }
  EXPECT_EQ(rounded(std::nan(""), ElementType::e4m3), 448);
}

TEST(InputValues, AreNormal) {
  const std::vector<double> values = all(Distribution::normal, 2, 3, kMany);
  std::vector<double> squares;
  std::size_t beyond = 0;
  for (const double value : values) {
    squares.push_back((value - 2) * (value - 2));
    beyond += std::abs(value - 2) > 6 ? 1U : 0U;
  }
  EXPECT_NEAR(mean(values), 2, 0.05);
  EXPECT_NEAR(std::sqrt(mean(squares)), 3, 0.05);
  EXPECT_NEAR(static_cast<double>(beyond) / kMany, 0.0455, 0.004) << "two standard deviations";
}

TEST(InputValues, CountAndRepeat) {
  EXPECT_EQ(all(Distribution::iota, 5, -2, 4), (std::vector<double>{5, 3, 1, -1}));
  EXPECT_EQ(all(Distribution::constant, 2.5, 0, 3), (std::vector<double>{2.5, 2.5, 2.5}));
}

TEST(InputValues, AreAllIntegersOfARange) {
  const std::vector<double> values = all(Distribution::randint, -3, 4, 1000);
  EXPECT_EQ(std::set<double>(values.begin(), values.end()), (std::set<double>{-3, -2, -1, 0, 1, 2, 3}));
}

TEST(InputValues, AreAPermutation) {
  for (const std::uint64_t count : {1U, 2U, 3U, 5U, 16U, 1000U, 65537U}) {
    std::vector<double> values = all(Distribution::permutation, 0, 0, count);
    const bool ordered = std::is_sorted(values.begin(), values.end());
    EXPECT_TRUE(count < 5 || !ordered) << count;
    std::sort(values.begin(), values.end());
    std::vector<double> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0.0);
    EXPECT_EQ(values, numbers) << count;
  }
}

TEST(InputValues, AreOffsetsOfRowsOfDifferentLengths) {
  constexpr double kTotal = 5000;
  const std::vector<double> values = all(Distribution::offsets, kTotal, 0, 1001);
  EXPECT_EQ(values.front(), 0);
  EXPECT_EQ(values.back(), kTotal);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  std::set<double> lengths;
  for (std::size_t row = 0; row + 1 < values.size(); ++row) lengths.insert(values[row + 1] - values[row]);
  EXPECT_GT(lengths.size(), 5U);
  EXPECT_EQ(all(Distribution::offsets, 3, 0, 2), (std::vector<double>{0, 3}));
}

TEST(InputValues, FollowFromSeedAndBuffer) {
  const auto of_seed = [](std::uint64_t seed) { return all(Distribution::uniform, 0, 1, 8, seed); };
  EXPECT_EQ(of_seed(seed_of_buffer(1, 0)), of_seed(seed_of_buffer(1, 0)));
  EXPECT_NE(of_seed(seed_of_buffer(1, 0)), of_seed(seed_of_buffer(2, 0)));
  EXPECT_NE(of_seed(seed_of_buffer(1, 0)), of_seed(seed_of_buffer(1, 1)));
}

}  // namespace input_values_test
}  // namespace tiletune
