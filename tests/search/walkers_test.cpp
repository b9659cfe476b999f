// What all strategies have in common, and whether those that learn find more than a random one.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <random>

#include "search/landscapes.h"

namespace tiletune {
namespace walkers_test {

Space grid(int parameters, int values) {
  SpecBuilder builder;
  std::vector<int> list;
  for (int i = 0; i < values; ++i) list.push_back(i);
  for (int i = 0; i < parameters; ++i) builder.integers(numbered('p', i), list);
  return {builder, problem()};
}

using Times = std::function<std::optional<double>(const Choice&)>;

/// Asks for batches, with so many results that come late, in random order, and checks the contract. Returns
/// all choices in their order.
std::vector<Choice> search(Strategy& strategy, const std::vector<SearchedSpace>& spaces, std::size_t batch,
                           const Times& times, std::size_t late = 0) {
  std::vector<Choice> all;
  std::set<Choice> seen;
  std::vector<std::uint64_t> counts(spaces.size());
  std::vector<Choice> under_way;
  std::mt19937_64 order(late);
  const auto tell_any = [&] {
    std::swap(under_way[order() % under_way.size()], under_way.back());
    strategy.tell(under_way.back(), times(under_way.back()));
    under_way.pop_back();
  };
  while (true) {
    const std::vector<Choice> choices = strategy.ask(batch);
    EXPECT_LE(choices.size(), batch);
    for (const Choice& choice : choices) {
      EXPECT_LT(choice.index, spaces.at(choice.space).space->size());
      EXPECT_TRUE(seen.insert(choice).second) << "twice";
      EXPECT_LE(++counts[choice.space], spaces[choice.space].planned);
      all.push_back(choice);
      under_way.push_back(choice);
    }
    if (choices.empty() && under_way.empty()) return all;
    if (choices.empty()) tell_any();
    while (under_way.size() > late) tell_any();
  }
}

std::uint64_t planned(const std::vector<SearchedSpace>& spaces) {
  std::uint64_t sum = 0;
  for (const SearchedSpace& space : spaces) sum += space.planned;
  return sum;
}

class AnyStrategy : public ::testing::TestWithParam<StrategyEntry> {
 protected:
  /// All that is planned is chosen, whatever the batches and the order of the results.
  static void expect_all_chosen(const std::vector<SearchedSpace>& spaces, const Times& times) {
    for (const std::size_t batch : {1, 7, 64})
      for (const std::size_t late : {0, 5, 100}) {
        SCOPED_TRACE(fmt::format("batches of {}, {} late", batch, late));
        const auto strategy = GetParam().make(spaces, 3);
        ASSERT_EQ(search(*strategy, spaces, batch, times, late).size(), planned(spaces));
      }
  }
};

std::optional<double> none(const Choice& /*choice*/) { return std::nullopt; }

TEST_P(AnyStrategy, FinishesASpace) {
  const Space space = grid(4, 4);
  const Landscape landscape(space, 1);
  const auto times = [&](const Choice& choice) { return landscape.time_us(choice.index); };
  expect_all_chosen({{&space, space.size()}}, times);
  expect_all_chosen({{&space, 100}}, times);
}

TEST_P(AnyStrategy, FinishesWhenNothingRuns) {
  const Space space = grid(4, 4);
  expect_all_chosen({{&space, space.size()}}, none);
}

TEST_P(AnyStrategy, FinishesWhenAllTakeTheSameTime) {
  const Space space = grid(4, 4);
  expect_all_chosen({{&space, space.size()}}, [](const Choice&) { return 0.0; });
}

TEST_P(AnyStrategy, FinishesSpacesOfOneAndSeveralTogether) {
  const Space one = grid(2, 1);
  const Space line = grid(1, 50);
  const Space isolated(
      SpecBuilder().integers("A", {0, 1, 2, 3}).integers("B", {0, 1, 2, 3}).require("A == B"), problem());
  const auto times = [](const Choice& choice) {
    return std::optional(100.0 * static_cast<double>(choice.space + 1) + static_cast<double>(choice.index));
  };
  expect_all_chosen({{&one, 1}}, times);
  expect_all_chosen({{&isolated, 4}}, times);
  expect_all_chosen({{&one, 1}, {&line, 40}, {&isolated, 4}}, times);
  expect_all_chosen({{&one, 1}, {&line, 50}}, none);
}

TEST_P(AnyStrategy, ASeedDeterminesTheSearch) {
  const Space space(clblast_gemm(), problem());
  const Landscape landscape(space, 1);
  const std::vector<SearchedSpace> spaces{{&space, 300}};
  const auto chosen = [&](std::uint64_t seed, std::size_t batch) {
    return search(*GetParam().make(spaces, seed), spaces, batch,
                  [&](const Choice& choice) { return landscape.time_us(choice.index); });
  };
  EXPECT_EQ(chosen(1, 1), chosen(1, 1));
  EXPECT_EQ(chosen(1, 64), chosen(1, 64));
  EXPECT_EQ(chosen(1, 1) != chosen(2, 1), GetParam().depends_on_seed);
}

TEST_P(AnyStrategy, TakesASecondResult) {
  const Space space = grid(4, 4);
  const std::vector<SearchedSpace> spaces{{&space, 100}};
  const auto strategy = GetParam().make(spaces, 1);
  std::size_t count = 0;
  for (auto choices = strategy->ask(3); !choices.empty(); choices = strategy->ask(3))
    for (const Choice& choice : choices) {
      strategy->tell(choice, 50);
      strategy->tell(choice, count % 2 == 0 ? std::optional(40.0) : std::nullopt);
      ++count;
    }
  EXPECT_EQ(count, 100U);
}

INSTANTIATE_TEST_SUITE_P(Strategies, AnyStrategy,
                         ::testing::ValuesIn(strategies().begin(), strategies().end()),
                         [](const auto& one) { return std::string(one.param.name); });

std::vector<StrategyEntry> learning() {
  std::vector<StrategyEntry> all(strategies().begin(), strategies().end());
  std::erase_if(all, [](const StrategyEntry& entry) { return !entry.learns; });
  return all;
}

class LearningStrategy : public ::testing::TestWithParam<StrategyEntry> {
 protected:
  /// The best time after so many evaluations, as a multiple of the best of all: the mean over seeds.
  static double found(const StrategyEntry& entry, const Space& space, const Landscape& landscape,
                      double best_us, std::uint64_t evaluations, std::size_t batch) {
    constexpr std::uint64_t kSeeds = 10;
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const std::vector<SearchedSpace> spaces{{&space, evaluations}};
      double found_us = std::numeric_limits<double>::infinity();
      search(*entry.make(spaces, seed), spaces, batch, [&](const Choice& choice) {
        const auto time_us = landscape.time_us(choice.index);
        found_us = std::min(found_us, time_us.value_or(found_us));
        return time_us;
      });
      sum += found_us / best_us;
    }
    return sum / kSeeds;
  }
};

/// Above the best: less than two thirds of what random choices leave.
TEST_P(LearningStrategy, FindsMoreThanARandomOne) {
  const Space chain(SpecBuilder()
                        .integers("A", {1, 2, 4, 8, 16, 32})
                        .integers("B", {1, 2, 4, 8, 16, 32})
                        .integers("C", {1, 2, 4, 8, 16})
                        .integers("D", {0, 1, 2, 3, 4, 5, 6, 7})
                        .integers("E", {0, 1})
                        .integers("F", {0, 1, 2, 3})
                        .require("A * B >= 16 and A * B <= 256")
                        .require("B % C == 0 or D < 3"),
                    problem());
  const Space clblast(clblast_gemm(), problem());
  const StrategyEntry& random = find_strategy({.name = "random"});
  for (const Space* space : {&chain, &clblast}) {
    const Landscape landscape(*space, 5);
    const double best_us = landscape.best_us();
    for (const std::size_t batch : {1, 16}) {
      const double by_random = found(random, *space, landscape, best_us, 200, batch) - 1;
      const double by_this = found(GetParam(), *space, landscape, best_us, 200, batch) - 1;
      EXPECT_LT(by_this, by_random * 2 / 3) << space->size() << " configurations, batches of " << batch;
    }
  }
}

/// Of two spaces, the one whose times are twice as long gets less than a third of the search.
TEST_P(LearningStrategy, PrefersTheSpaceThatIsFaster) {
  const Space space(clblast_gemm(), problem());
  const Landscape landscape(space, 2);
  const std::vector<SearchedSpace> spaces{{&space, space.size()}, {&space, space.size()}};
  const auto strategy = GetParam().make(spaces, 1);
  std::size_t slower = 0;
  constexpr std::size_t kChoices = 300;
  for (std::size_t i = 0; i < kChoices; ++i) {
    const Choice choice = strategy->ask(1).at(0);
    const auto time_us = landscape.time_us(choice.index);
    slower += choice.space;
    strategy->tell(choice, time_us ? std::optional(*time_us * (choice.space == 1 ? 2 : 1)) : std::nullopt);
  }
  EXPECT_LT(slower, kChoices / 3);
  EXPECT_GT(slower, 0U);
}

/// The target is 50 ms (bench/); slower machines, debug builds and sanitizers get ten times as much.
TEST_P(LearningStrategy, AsksQuicklyInAMillionConfigurations) {
  static const Space space(chain_of_ten(), problem());
  const Landscape landscape(space, 1);
  const auto strategy = GetParam().make({{&space, space.size()}}, 1);
  std::clock_t longest = 0;
  for (int i = 0; i < 30; ++i) {
    const std::clock_t start = std::clock();
    const std::vector<Choice> choices = strategy->ask(64);
    longest = std::max(longest, std::clock() - start);
    EXPECT_FALSE(choices.empty());
    for (const Choice& choice : choices) strategy->tell(choice, landscape.time_us(choice.index));
  }
  // Ten times what is promised, and forty where sanitizers slow it down.
#ifdef TILETUNE_SANITIZED
  constexpr double kMostSeconds = 2;
#else
  constexpr double kMostSeconds = 0.5;
#endif
  EXPECT_LT(static_cast<double>(longest) / CLOCKS_PER_SEC, kMostSeconds);
}

INSTANTIATE_TEST_SUITE_P(Strategies, LearningStrategy, ::testing::ValuesIn(learning()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace walkers_test
}  // namespace tiletune
