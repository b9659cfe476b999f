#include "space/strategy.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "space/permutation.h"
#include "space/spec_builder.h"

namespace tiletune {
namespace {

Space space_of(int values) {
  SpecBuilder builder;
  std::vector<int> list;
  for (int i = 0; i < values; ++i) list.push_back(i);
  builder.integers("A", list);
  return {builder, problem()};
}

std::vector<std::uint64_t> proposals(StrategyKind kind, std::uint64_t seed, const Space& space) {
  const auto strategy = make_strategy({kind, seed}, space);
  std::vector<std::uint64_t> indices;
  while (const auto index = strategy->propose()) {
    indices.push_back(*index);
    strategy->observe(*index, std::nullopt);
  }
  EXPECT_FALSE(strategy->propose());
  return indices;
}

TEST(StrategyTest, ExhaustiveVisitsEachOnceInAnOrderThatIsShuffledAndAlwaysTheSame) {
  const Space space = space_of(1000);
  const auto all = proposals(StrategyKind::exhaustive, 1, space);
  EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), 1000U);
  EXPECT_EQ(all, proposals(StrategyKind::exhaustive, 2, space));
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
}

TEST(StrategyTest, RandomVisitsEachOnceInAnOrderOfItsSeed) {
  const Space space = space_of(1000);
  const auto first = proposals(StrategyKind::random, 1, space);
  EXPECT_EQ(first.size(), 1000U);
  EXPECT_EQ(std::set<std::uint64_t>(first.begin(), first.end()).size(), 1000U);
  EXPECT_EQ(first, proposals(StrategyKind::random, 1, space));
  EXPECT_NE(first, proposals(StrategyKind::random, 2, space));
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST(StrategyTest, HasNothingToProposeInAnEmptySpace) {
  SpecBuilder builder;
  builder.integers("A", {1}).require("A > 1");
  const Space space(builder, problem());
  for (const auto kind : {StrategyKind::exhaustive, StrategyKind::random})
    EXPECT_FALSE(make_strategy({kind, 1}, space)->propose());
}

TEST(PermutationTest, IsABijectionForEverySize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    const space::Permutation permutation(size, size * 31);
    std::set<std::uint64_t> images;
    for (std::uint64_t i = 0; i < size; ++i) images.insert(permutation(i));
    ASSERT_EQ(images.size(), size);
    ASSERT_LT(*images.rbegin(), size);
  }
}

TEST(PermutationTest, CoversHugeRanges) {
  const std::uint64_t size = (std::uint64_t{1} << 63) + 12345;
  const space::Permutation permutation(size, 3);
  std::set<std::uint64_t> images;
  for (std::uint64_t i = 0; i < 1000; ++i) images.insert(permutation(i));
  EXPECT_EQ(images.size(), 1000U);
  EXPECT_LT(*images.rbegin(), size);
  EXPECT_GT(*images.rbegin(), size / 100 * 98);
  EXPECT_LT(*images.begin(), size / 100 * 2);
}

/// Over many seeds each index comes first, and each comes second, about equally often.
TEST(PermutationTest, IsUniformOverSeeds) {
  constexpr std::uint64_t kSize = 10;
  constexpr std::uint64_t kSeeds = 20000;
  for (const std::uint64_t position : {0U, 1U, 9U}) {
    std::map<std::uint64_t, double> counts;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) ++counts[space::Permutation(kSize, seed)(position)];
    double chi_square = 0;
    const double expected = static_cast<double>(kSeeds) / kSize;
    for (std::uint64_t i = 0; i < kSize; ++i)
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    EXPECT_LT(chi_square, 33.7);  // 9 degrees of freedom: 1 in 10000
  }
}

}  // namespace
}  // namespace tiletune
