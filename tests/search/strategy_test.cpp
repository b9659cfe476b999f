#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "carries.h"
#include "search/strategies.h"
#include "space/spec_builder.h"

namespace tiletune {
namespace strategy_test {

Space space_of(int values) {
  SpecBuilder builder;
  std::vector<int> list;
  for (int i = 0; i < values; ++i) list.push_back(i);
  builder.integers("A", list);
  return {builder, problem()};
}

/// All that a strategy chooses, asked for so many at a time.
std::vector<Choice> choices_of(const StrategyEntry& entry, std::uint64_t seed,
                               const std::vector<SearchedSpace>& spaces, std::size_t batch = 1) {
  const auto strategy = entry.make(spaces, seed);
  std::vector<Choice> all;
  while (true) {
    const std::vector<Choice> choices = strategy->ask(batch);
    EXPECT_LE(choices.size(), batch);
    if (choices.empty()) return all;
    for (const Choice& choice : choices) {
      all.push_back(choice);
      strategy->tell(choice, 100.0 + static_cast<double>(choice.index));
    }
  }
}

class EveryStrategy : public ::testing::TestWithParam<StrategyEntry> {};

TEST_P(EveryStrategy, ChoosesWithinThePlanEachOnceAndTheSameWithOneSeed) {
  const Space large = space_of(1000);
  const Space small = space_of(100);
  const std::vector<SearchedSpace> spaces{{&large, 600}, {&small, 100}};
  const std::vector<Choice> choices = choices_of(GetParam(), 1, spaces);
  std::map<std::size_t, std::uint64_t> counts;
  for (const Choice& choice : choices) {
    ASSERT_LT(choice.space, spaces.size());
    ASSERT_LT(choice.index, spaces[choice.space].space->size());
    ++counts[choice.space];
  }
  EXPECT_EQ(std::set<Choice>(choices.begin(), choices.end()).size(), choices.size());
  EXPECT_LE(counts[0], 600U);
  EXPECT_LE(counts[1], 100U);
  EXPECT_EQ(choices, choices_of(GetParam(), 1, spaces));
  EXPECT_EQ(choices != choices_of(GetParam(), 2, spaces), GetParam().depends_on_seed);
}

TEST_P(EveryStrategy, HasNothingToChooseInAnEmptySpace) {
  SpecBuilder builder;
  builder.integers("A", {1}).require("A > 1");
  const Space space(builder, problem());
  EXPECT_TRUE(GetParam().make({{&space, 0}}, 1)->ask(10).empty());
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy,
                         ::testing::ValuesIn(strategies().begin(), strategies().end()),
                         [](const auto& info) { return std::string(info.param.name); });

const StrategyEntry& named(const std::string& name) { return find_strategy({.name = name}); }

TEST(Exhaustive, ChoosesAllInAShuffledOrder) {
  const Space space = space_of(1000);
  const std::vector<Choice> all = choices_of(named("exhaustive"), 1, {{&space, 1000}}, 7);
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
}

TEST(Exhaustive, TakesTurnsInProportionToWhatIsPlanned) {
  const Space space = space_of(1000);
  const std::vector<Choice> all = choices_of(named("exhaustive"), 1, {{&space, 300}, {&space, 100}}, 5);
  ASSERT_EQ(all.size(), 400U);
  for (std::size_t end = 4; end <= all.size(); end += 4) {
    const auto second = std::count_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](const Choice& choice) { return choice.space == 1; });
    ASSERT_NEAR(static_cast<double>(second), static_cast<double>(end) / 4, 1);
  }
}

TEST(Random, ChoosesAllAcrossTheSpaces) {
  const Space space = space_of(1000);
  const std::vector<Choice> all = choices_of(named("random"), 3, {{&space, 1000}, {&space, 1000}}, 9);
  EXPECT_EQ(all.size(), 2000U);
  const auto first =
      std::count_if(all.begin(), all.begin() + 1000, [](const Choice& choice) { return choice.space == 0; });
  EXPECT_NEAR(static_cast<double>(first), 500, 80);
}

TEST(Strategies, AnUnknownNameIsRefusedWhereItStands) {
  try {
    find_strategy({.name = "randon", .where = {"a.json", "/strategy/name"}});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.where().text(), "a.json: /strategy/name");
    EXPECT_TRUE(carries(error.what(), {"\"randon\"", "exhaustive, random", "'random'"}));
  }
}

TEST(Strategies, TheSchemaOfConfigsHasTheirNames) {
  std::ifstream file(std::string(TILETUNE_SOURCE_DIR) + "/schemas/config.schema.json");
  const auto schema = nlohmann::json::parse(file);
  std::vector<std::string> names{kAutomaticStrategy};
  for (const StrategyEntry& entry : strategies()) names.emplace_back(entry.name);
  EXPECT_EQ(schema["properties"]["strategy"]["properties"]["name"]["enum"].get<std::vector<std::string>>(),
            names);
}

}  // namespace strategy_test
}  // namespace tiletune
