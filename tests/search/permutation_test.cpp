#include <gtest/gtest.h>

#include <map>
#include <set>

#include "search/explored_space.h"

namespace tiletune {
namespace permutation_test {

TEST(PermutationTest, IsABijectionForEverySize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    const search::Permutation permutation(size, size * 31);
    std::set<std::uint64_t> images;
    for (std::uint64_t i = 0; i < size; ++i) images.insert(permutation(i));
    ASSERT_EQ(images.size(), size);
    ASSERT_LT(*images.rbegin(), size);
  }
}

TEST(PermutationTest, CoversHugeRanges) {
  const std::uint64_t size = (std::uint64_t{1} << 63) + 12345;
  const search::Permutation permutation(size, 3);
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
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) ++counts[search::Permutation(kSize, seed)(position)];
    double chi_square = 0;
    const double expected = static_cast<double>(kSeeds) / kSize;
    for (std::uint64_t i = 0; i < kSize; ++i)
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    EXPECT_LT(chi_square, 33.7);  // 9 degrees of freedom: 1 in 10000
  }
}

}  // namespace permutation_test
}  // namespace tiletune
