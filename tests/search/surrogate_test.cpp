// What the surrogate does beside what tests of all strategies ask of it.

#include <gtest/gtest.h>

#include "search/landscapes.h"

namespace tiletune {
namespace surrogate_test {

std::unique_ptr<Strategy> make(const Space& space, std::uint64_t seed) {
  return find_strategy({.name = "surrogate"}).make({{&space, space.size()}}, seed);
}

/// The fastest of so many choices, as a share of the best of all.
double found(Strategy& strategy, const Landscape& landscape, int evaluations) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < evaluations; ++i) {
    const std::vector<Choice> choices = strategy.ask(1);
    if (choices.empty()) break;
    const auto time = landscape.time_us(choices.front().index);
    best = std::min(best, time.value_or(best));
    strategy.tell(choices.front(), time);
  }
  return best;
}

class Surrogate : public testing::Test {
 protected:
  const Space space_{chain_of_ten(), problem()};
  const Landscape landscape_{space_, 3};
};

TEST_F(Surrogate, BeginsWithWhatIsKnownOfOtherProblems) {
  const auto other = make(space_, 1);
  std::vector<Lesson> lessons;
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::pair<std::uint64_t, double>> seen;
  for (int i = 0; i < 150; ++i) {
    const Choice choice = other->ask(1).front();
    const auto time = landscape_.time_us(choice.index);
    other->tell(choice, time);
    if (!time) continue;
    seen.emplace_back(choice.index, *time);
    best = std::min(best, *time);
  }
  for (const auto& [index, time] : seen) lessons.push_back({0, space_.positions(index), time / best, 0.2});
  double taught = 0, untaught = 0;
  for (std::uint64_t seed = 10; seed < 15; ++seed) {
    const auto with = make(space_, seed), without = make(space_, seed);
    with->learn(lessons);
    taught += found(*with, landscape_, 20) / best;
    untaught += found(*without, landscape_, 20) / best;
  }
  EXPECT_LT(taught, 5 * 1.05);
  EXPECT_LT(taught, untaught);
}

TEST_F(Surrogate, BeginsWithTheBestOfTheNearestProblems) {
  std::vector<Lesson> lessons;
  for (std::uint64_t index = 0; index < 40; ++index) {
    const bool is_best = index % 10 == 7;
    lessons.push_back(
        {0, space_.positions(index), is_best ? 1.0 : 1.1, 0.1 * static_cast<double>(4 - index / 10)});
  }
  const auto strategy = make(space_, 1);
  strategy->learn(lessons);
  for (const std::uint64_t expected : {37U, 27U, 17U}) {
    const std::vector<Choice> choices = strategy->ask(1);
    ASSERT_EQ(choices.size(), 1U);
    EXPECT_EQ(choices.front().index, expected) << "the nearest problem's first";
    strategy->tell(choices.front(), 1.0);
  }
  const auto together = make(space_, 1);
  together->learn(lessons);
  const std::vector<Choice> first = together->ask(8);
  ASSERT_EQ(first.size(), 8U);
  EXPECT_EQ(first[0].index, 37U);
  EXPECT_EQ(first[2].index, 17U);
}

TEST_F(Surrogate, ChoosesAmongWhatCostsLess) {
  const auto strategy = make(space_, 1);
  EXPECT_TRUE(strategy->ask_among({{0, 1}, {0, 2}}, 2).empty()) << "nothing is known yet";
  std::vector<std::pair<double, std::uint64_t>> known;
  for (int i = 0; i < 20; ++i) {
    const Choice choice = strategy->ask(1).front();
    const auto time = landscape_.time_us(choice.index);
    strategy->tell(choice, time);
    if (time) known.emplace_back(*time, choice.index);
  }
  std::sort(known.begin(), known.end());
  EXPECT_TRUE(strategy->ask_among({{0, known.front().second}}, 1).empty()) << "it was tried";
  std::vector<Choice> some;
  for (std::uint64_t index = 0; index < space_.size(); index += 3) some.push_back({0, index});
  const std::vector<Choice> chosen = strategy->ask_among(some, 4);
  ASSERT_EQ(chosen.size(), 4U);
  double chosen_us = 0, all_us = 0;
  for (const Choice& choice : chosen) {
    EXPECT_NE(std::find(some.begin(), some.end(), choice), some.end());
    chosen_us += landscape_.time_us(choice.index).value_or(1e3) / 4;
  }
  for (const Choice& choice : some)
    all_us += landscape_.time_us(choice.index).value_or(1e3) / static_cast<double>(some.size());
  EXPECT_LT(chosen_us, all_us);
  for (const Choice& choice : strategy->ask(16))
    EXPECT_EQ(std::find(chosen.begin(), chosen.end(), choice), chosen.end()) << "each once in a search";
}

TEST_F(Surrogate, ChoosesNothingAmongWhatCostsLessOnlyWhereNothingMayBeFaster) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto strategy = make(space_, seed);
    std::pair<double, std::uint64_t> best{std::numeric_limits<double>::infinity(), 0};
    for (int i = 0; i < 20; ++i) {
      const Choice choice = strategy->ask(1).front();
      const auto time = landscape_.time_us(choice.index);
      strategy->tell(choice, time);
      if (time) best = std::min(best, {*time, choice.index});
    }
    // Some are one change away from the best: now and then a choice is one of them, whatever others promise.
    std::vector<Choice> some;
    for (std::uint64_t index = 0; index < space_.size() && some.size() < 40; ++index) {
      const auto own = space_.positions(index), of_best = space_.positions(best.second);
      std::size_t changes = 0;
      for (std::size_t i = 0; i < own.size(); ++i) changes += own[i] != of_best[i] ? 1 : 0;
      if (changes == 1 || (index % 97 == 0 && some.size() < 30)) some.push_back({0, index});
    }
    std::size_t taken = 0;
    while (!strategy->ask_among(some, 1).empty()) ++taken;
    for (int i = 0; i < 12; ++i)
      EXPECT_TRUE(strategy->ask_among(some, 1).empty()) << "seed " << seed << ", after " << taken;
  }
}

TEST_F(Surrogate, ExpectsNoGainAfterManyResultsWithoutOne) {
  const auto strategy = make(space_, 1);
  EXPECT_FALSE(strategy->remaining_gain_percent());
  found(*strategy, landscape_, 30);
  EXPECT_FALSE(strategy->remaining_gain_percent()) << "too early to tell";
}

TEST(SurrogateOfFew, ExpectsNoGainWhenAllIsKnown) {
  SpecBuilder builder;
  builder.integers("p", {1, 2, 3});
  const Space space(builder, problem());
  const auto strategy = make(space, 1);
  for (int i = 0; i < 3; ++i) strategy->tell(strategy->ask(1).front(), std::nullopt);
  EXPECT_TRUE(strategy->ask(1).empty());
  EXPECT_EQ(strategy->remaining_gain_percent(), 0);
}

}  // namespace surrogate_test
}  // namespace tiletune
