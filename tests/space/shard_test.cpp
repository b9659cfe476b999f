#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "space/space.h"
#include "space/spec_builder.h"

namespace tiletune::shard_test {

std::vector<int> up_to(int last) {
  std::vector<int> numbers;
  for (int i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

/// Of all shards: how often each configuration occurs, and how many each shard has.
struct Division {
  std::map<std::vector<std::uint32_t>, int> seen;
  std::vector<std::uint64_t> sizes;

  Division(const TemplateSpec& spec, std::uint64_t count) {
    for (std::uint64_t number = 1; number <= count; ++number) {
      const Space shard(spec, problem(), never_stop, {number, count});
      sizes.push_back(shard.size());
      for (std::uint64_t i = 0; i < shard.size(); ++i) {
        ++seen[shard.positions(i)];
        EXPECT_EQ(shard.index_of(shard.at(i)), i);
      }
    }
  }

  void expect_all_of(const TemplateSpec& spec) const {
    const Space whole(spec, problem());
    EXPECT_EQ(seen.size(), whole.size());
    for (const auto& [positions, times] : seen) {
      EXPECT_EQ(times, 1);
      EXPECT_LT(whole.index_at(positions), whole.size());
    }
  }

  std::uint64_t spread() const {
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    return *most - *least;
  }
};

TEST(Shard, EachConfigurationIsInExactlyOne) {
  const SpecBuilder one = SpecBuilder().integers("A", up_to(9)).integers("B", up_to(7)).require("A != B");
  const SpecBuilder two = SpecBuilder()
                              .integers("A", up_to(6))
                              .integers("B", up_to(5))
                              .integers("C", up_to(3))
                              .integers("D", up_to(4))
                              .require("A <= C + 3")
                              .require("B != D");
  const SpecBuilder free = SpecBuilder().integers("A", up_to(3)).integers("B", up_to(2)).integers("C", {5});
  const SpecBuilder none;
  for (const SpecBuilder* builder : {&one, &two, &free, &none}) {
    for (const std::uint64_t count : {1, 2, 3, 7, 16}) {
      const Division division(*builder, count);
      division.expect_all_of(*builder);
      EXPECT_LE(division.spread(), 1U) << count << " shards";
    }
  }
}

TEST(Shard, ListedConfigurationsAreDivided) {
  SpecBuilder builder = SpecBuilder().integers("A", up_to(5)).integers("B", up_to(5));
  builder.spec().listed = {0, 0, 1, 3, 2, 2, 4, 4, 4, 0, 0, 4, 3, 1};
  const Division division(builder, 3);
  division.expect_all_of(builder);
  EXPECT_LE(division.spread(), 1U);
}

TEST(Shard, OfFewerConfigurationsThanShardsSomeAreEmpty) {
  const SpecBuilder builder = SpecBuilder().integers("A", {1, 2});
  const Division division(builder, 5);
  division.expect_all_of(builder);
  EXPECT_EQ(std::count(division.sizes.begin(), division.sizes.end(), 0), 3);
}

TEST(Shard, OfAnEmptySpaceIsEmpty) {
  const SpecBuilder builder = SpecBuilder().integers("A", {1, 2}).require("M == 0");
  EXPECT_EQ(Space(builder, problem(), never_stop, {2, 3}).size(), 0U);
}

TEST(Shard, OfALargeProductIsNotListed) {
  SpecBuilder builder;
  for (int i = 0; i < 12; ++i) builder.integers(numbered('p', i), up_to(8));
  std::uint64_t all = 0;
  for (std::uint64_t number = 1; number <= 6; ++number) {
    const Space shard(builder, problem(), never_stop, {number, 6});
    EXPECT_LT(shard.rows(), 10000U);
    all += shard.size();
  }
  EXPECT_EQ(all, std::uint64_t{1} << 36);
}

/// So that a kernel is compiled by one shard, whatever problems it is measured on.
TEST(Shard, ARowIsInTheSameShardOfSpacesThatAreAlike) {
  const SpecBuilder builder =
      SpecBuilder().integers("A", up_to(8)).integers("B", up_to(8)).require("A + B < 12").require("M > 0");
  const Space small(builder, problem(1024), never_stop, {2, 4});
  const Space large(builder, problem(8192), never_stop, {2, 4});
  ASSERT_EQ(small.size(), large.size());
  for (std::uint64_t i = 0; i < small.size(); ++i) EXPECT_EQ(small.at(i), large.at(i));
}

TEST(Shard, MostRowsAreInTheSameShardOfSpacesThatDifferALittle) {
  const SpecBuilder builder = SpecBuilder()
                                  .integers("A", up_to(40))
                                  .integers("B", up_to(40))
                                  .require("A + B < 70 or (M > 2048 and A + B < 75)");
  std::size_t together = 0;
  for (std::uint64_t number = 1; number <= 8; ++number) {
    const Space small(builder, problem(1024), never_stop, {number, 8});
    const Space large(builder, problem(8192), never_stop, {number, 8});
    EXPECT_LT(small.size(), large.size());
    for (std::uint64_t i = 0; i < small.size(); ++i)
      together += large.index_of(small.at(i)) < large.size() ? 1U : 0U;
  }
  EXPECT_GT(together, Space(builder, problem(1024)).size() * 95 / 100);
}

TEST(Shard, NoShardHasMoreOfAllTemplates) {
  std::vector<std::uint64_t> sums(4, 0);
  for (int i = 0; i < 40; ++i) {
    SpecBuilder builder = SpecBuilder().integers("A", up_to(5));
    builder.spec().name = numbered('t', i);
    const Division division(builder, 4);
    for (std::size_t shard = 0; shard < sums.size(); ++shard) sums[shard] += division.sizes[shard];
  }
  EXPECT_LE(*std::max_element(sums.begin(), sums.end()), 60U) << "of 200 configurations";
}

}  // namespace tiletune::shard_test
