// Few kernels for many problems, chosen from tables made by hand.

#include "rank/portfolio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace portfolio_test {

constexpr double kNone = -1;  ///< not measured

/// Times by kernel and problem; problem i has the size 2^i.
PortfolioTable table_of(const std::vector<std::vector<double>>& times) {
  PortfolioTable table;
  table.dimensions = {"N"};
  const std::size_t problems = times.front().size();
  for (std::size_t i = 0; i < problems; ++i) {
    double best = INFINITY;
    for (const auto& of_kernel : times)
      if (of_kernel[i] != kNone) best = std::min(best, of_kernel[i]);
    table.problems.push_back({std::to_string(1 << i), {std::int64_t{1} << i}, best});
  }
  for (const auto& of_kernel : times) {
    table.kernels.emplace_back();
    for (std::size_t i = 0; i < problems; ++i)
      if (of_kernel[i] != kNone)
        table.kernels.back().cells.push_back({i, of_kernel[i] / table.problems[i].best_us - 1});
  }
  return table;
}

std::vector<bool> all(std::size_t count) { return std::vector<bool>(count, true); }

/// Nothing is known of waves.
KernelFacts facts_that(bool may_run) {
  return {[=](std::size_t, std::size_t) { return may_run; },
          [](std::size_t, std::size_t) { return Waves(); }};
}
const KernelFacts kNever = facts_that(false);
const KernelFacts kAlways = facts_that(true);

TEST(Portfolio, TheFirstKernelHasTheSmallestMeanRegret) {
  const PortfolioTable table = table_of({{10, 30, 30}, {11, 11, 11}, {30, 10, 10}});
  const auto sets = choose_kernels(table, 1, all(3));
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0], (std::vector<std::size_t>{1}));
  EXPECT_NEAR(summarise_regrets(best_regrets(table, sets[0])).mean, 0.1, 1e-12);
}

TEST(Portfolio, AKernelThatTheNextOnesMakeUselessIsExchanged) {
  // 0 is the best alone; 1 and 2 are the best two.
  const auto sets =
      choose_kernels(table_of({{11, 11, 11, 11}, {10, 10, 30, 30}, {30, 30, 10, 10}}), 2, all(4));
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0], (std::vector<std::size_t>{0}));
  EXPECT_EQ(std::set<std::size_t>(sets[1].begin(), sets[1].end()), (std::set<std::size_t>{1, 2}));
}

TEST(Portfolio, CoveringAProblemComesBeforeSpeed) {
  const auto sets = choose_kernels(table_of({{10, 10, kNone}, {90, 90, 10}}), 1, all(3));
  EXPECT_EQ(sets.at(0), (std::vector<std::size_t>{1}));
}

TEST(Portfolio, CoveringAProblemComesBeforeAnySpeed) {
  const auto sets = choose_kernels(table_of({{10, kNone}, {90000, 10}}), 1, all(2));
  EXPECT_EQ(sets.at(0), (std::vector<std::size_t>{1}));
}

TEST(Portfolio, KernelsThatGainNothingAreNotAdded) {
  EXPECT_EQ(choose_kernels(table_of({{10, 10}, {20, 20}}), 5, all(2)).size(), 1U);
  EXPECT_TRUE(choose_kernels(PortfolioTable{{"N"}, {{"1", {1}, 1}}, {}}, 5, all(1)).empty());
}

TEST(Portfolio, OtherProblemsThanThoseOfTheTrainingDoNotCount) {
  const auto sets = choose_kernels(table_of({{10, 99}, {11, 10}}), 1, {true, false});
  EXPECT_EQ(sets.at(0), (std::vector<std::size_t>{0}));
}

TEST(Portfolio, TheBestKernelOfEachProblemIsKnown) {
  const Portfolio portfolio = make_portfolio(table_of({{10, 10, kNone}, {12, 12, 10}}), {}, kNever);
  ASSERT_EQ(portfolio.kernels.size(), 2U);
  for (std::size_t problem = 0; problem < 3; ++problem)
    EXPECT_EQ(portfolio.kernels[portfolio.best_on(problem).value()], problem == 2 ? 1U : 0U);
}

TEST(Portfolio, AProblemWithoutAKernelHasNoBestOne) {
  PortfolioTable table = table_of({{10, 10}});
  table.problems.push_back({"3", {3}, 10});
  EXPECT_FALSE(make_portfolio(table, {}, kAlways).best_on(2));
}

TEST(Portfolio, AKernelThatWasNotMeasuredHasAnUnknownRegret) {
  const PortfolioTable table = table_of({{10, 10, kNone}, {12, 12, 10}});
  EXPECT_TRUE(std::isnan(regrets_of(table, {0}, kAlways)[0][2]));
  EXPECT_TRUE(std::isinf(regrets_of(table, {0}, kNever)[0][2]));
  EXPECT_EQ(summarise_regrets({0.1, NAN, 0.3}).unmeasured, 1U);
  EXPECT_EQ(summarise_regrets({0.1, NAN, 0.3}).problems, 2U);
}

/// The first kernel takes 2 us for each size of up to 4, and the second 1 us for each plus 20.
TEST(Portfolio, ChoosesOnHeldOutProblemsByPredictedTimes) {
  std::vector<std::vector<double>> times(2);
  for (int i = 0; i < 10; ++i) {
    const double size = std::ldexp(1, i);
    times[0].push_back(2 * size);
    times[1].push_back(size + 20);
  }
  const PortfolioTable table = table_of(times);
  const Portfolio portfolio =
      make_portfolio(table, {.held_out = {table.problems[2].label, table.problems[7].label}}, kNever);
  ASSERT_EQ(portfolio.untuned.size(), 2U);
  for (const UntunedProblem& one : portfolio.untuned) EXPECT_NEAR(one.regret, 0, 1e-9);
}

/// The first kernel is predicted to be the fastest everywhere, but cannot run on every second problem.
TEST(Portfolio, AKernelThatCannotRunIsNotChosenByItsPredictedTime) {
  std::vector<std::vector<double>> times(2);
  for (int i = 0; i < 10; ++i) {
    times[0].push_back(i % 2 == 0 ? std::ldexp(1, i) : kNone);
    times[1].push_back(std::ldexp(3, i));
  }
  const PortfolioTable table = table_of(times);
  const Portfolio portfolio =
      make_portfolio(table, {.held_out = {table.problems[2].label, table.problems[7].label}}, kNever);
  ASSERT_EQ(portfolio.kernels.size(), 2U);
  ASSERT_EQ(portfolio.untuned.size(), 2U);
  for (const UntunedProblem& one : portfolio.untuned) EXPECT_NEAR(one.regret, 0, 1e-9);
}

TEST(Portfolio, ModelsAreMadeOfTheTrainingAlone) {
  const PortfolioTable table = table_of({{2, 4, 8, 1000}, {3, 3, 3, 3}});
  const auto models = time_models(table, {0, 1}, {true, true, true, false}, kNever);
  ASSERT_EQ(models.size(), 2U);
  EXPECT_NEAR(models[0].time_us({16}, {}), 32, 0.2);
  EXPECT_NEAR(models[1].time_us({16}, {}), 3, 0.2);
}

/// Where one row says nothing of waves, none counts.
TEST(Portfolio, WavesAreUsedWhereAllOfAKernelsRowsHaveThem) {
  const PortfolioTable table = table_of({{2, 4, 8, 16}});
  KernelFacts facts = kNever;
  facts.waves = [](std::size_t, std::size_t problem) { return problem == 3 ? Waves() : Waves{1}; };
  const auto uses_waves = [&](const std::vector<bool>& training) {
    const TimeModel model = time_models(table, {0}, training, facts)[0];
    return std::any_of(model.terms().begin(), model.terms().end(),
                       [](const TimeModel::Term& term) { return term.launch.has_value(); });
  };
  EXPECT_TRUE(uses_waves({true, true, true, false}));
  EXPECT_FALSE(uses_waves(all(4)));
}

/// The second kernel is the best of the problems that are held out, and unknown there.
TEST(Portfolio, KernelsAndTimesAreThoseOfTheProblemsThatAreNotHeldOut) {
  const PortfolioTable table = table_of({{1, 2, 4, 8}, {2, 4, 4, 4}});
  const Portfolio portfolio = make_portfolio(table, {.held_out = {"4", "8"}}, kNever);
  EXPECT_EQ(portfolio.kernels, (std::vector<std::size_t>{0}));
  EXPECT_EQ(portfolio.training, (std::vector<bool>{true, true, false, false}));
  ASSERT_EQ(portfolio.untuned.size(), 2U);
  EXPECT_EQ(portfolio.untuned[0].problem, 2U);
  EXPECT_EQ(portfolio.untuned[0].kernel, std::optional<std::size_t>(0));
  EXPECT_DOUBLE_EQ(portfolio.untuned[0].regret, 0);
  EXPECT_DOUBLE_EQ(portfolio.untuned[1].regret, 1);
}

/// Nobody knows beforehand that it fails there.
TEST(Portfolio, AKernelThatFailsOnAHeldOutProblemMayBeChosen) {
  PortfolioTable table = table_of({{1, 2, kNone}, {2, 4, 8}});
  table.kernels[0].failed_on = {2};
  EXPECT_EQ(make_portfolio(table, {}, kAlways).kernels, (std::vector<std::size_t>{1}));
  const Portfolio portfolio = make_portfolio(table, {.held_out = {"4"}}, kAlways);
  EXPECT_EQ(portfolio.kernels, (std::vector<std::size_t>{0}));
  EXPECT_EQ(portfolio.untuned.at(0).kernel, std::optional<std::size_t>(0));
  EXPECT_TRUE(std::isinf(portfolio.untuned[0].regret));
}

TEST(Portfolio, QuantilesOfRegrets) {
  const RegretSummary summary = summarise_regrets({0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0});
  EXPECT_DOUBLE_EQ(summary.median, 0.55);
  EXPECT_DOUBLE_EQ(summary.percentile_90, 0.9);
  EXPECT_DOUBLE_EQ(summary.maximum, 1.0);
  EXPECT_EQ(summarise_regrets({}).problems, 0U);
}

Trial row_of(const std::string& parameters, int size, double median_us) {
  Trial row = timed_trial(parameters + std::to_string(size), median_us, 0.1);
  row.template_name = "t";
  row.parameters = parameters;
  row.problem = std::to_string(size) + "x8";
  row.dimensions = "{\"M\":" + std::to_string(size) + ",\"N\":8,\"ld\":16}";
  row.kernel_expression = "t" + parameters;
  return row;
}

std::vector<PortfolioGroup> groups_of(const std::vector<Trial>& rows) {
  const TemporaryFolder folder;
  Database database(folder / "rows.db", Database::Mode::read_write);
  database.record_all(rows);
  return portfolio_groups(database, {});
}

TEST(PortfolioRows, AKernelIsAConfigurationOnAllProblems) {
  const auto groups = groups_of({row_of(R"({"B":1})", 1, 10), row_of(R"({"B":2})", 1, 20),
                                 row_of(R"({"B":1})", 2, 30), row_of(R"({"B":2})", 2, 15)});
  ASSERT_EQ(groups.size(), 1U);
  const PortfolioTable& table = groups[0].table;
  EXPECT_EQ(table.dimensions, (std::vector<std::string>{"M", "N"}));
  ASSERT_EQ(table.problems.size(), 2U);
  EXPECT_EQ(table.problems[1].sizes, (std::vector<std::int64_t>{2, 8}));
  ASSERT_EQ(table.kernels.size(), 2U);
  EXPECT_EQ(table.kernels[0].cells.size(), 2U);
  EXPECT_DOUBLE_EQ(table.kernels[0].cells[1].regret, 1);
}

TEST(PortfolioRows, WhatIsCompiledForOneProblemIsNoKernelOfAnother) {
  Trial other = row_of(R"({"B":1})", 2, 30);
  other.compile_options = R"(["-DM=2"])";
  const auto groups = groups_of({row_of(R"({"B":1})", 1, 10), other});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].table.kernels.size(), 2U);
}

TEST(PortfolioRows, AKernelThatFailedSomewhereIsNotChosen) {
  Trial wrong = row_of(R"({"B":1})", 2, 30);
  wrong.outcome = Outcome::wrong_result;
  Trial never_ran = row_of(R"({"B":3})", 2, 30);
  never_ran.outcome = Outcome::wrong_result;
  const auto groups = groups_of({row_of(R"({"B":1})", 1, 10), row_of(R"({"B":2})", 1, 20), wrong, never_ran,
                                 row_of(R"({"B":2})", 2, 15)});
  const PortfolioTable& table = groups.at(0).table;
  ASSERT_EQ(table.kernels.size(), 2U);
  EXPECT_EQ(table.kernels[0].failed_on, (std::vector<std::size_t>{1}));
  EXPECT_DOUBLE_EQ(table.kernels[1].cells[0].regret, 1);  // beside the fastest that ran
  EXPECT_EQ(choose_kernels(table, 2, all(2)), (std::vector<std::vector<std::size_t>>{{1}}));
}

TEST(PortfolioRows, WhatWasScreenedOutHasTheTimeOfItsSamples) {
  Trial screened = row_of(R"({"B":1})", 1, 30);
  screened.outcome = Outcome::screened_out;
  const auto groups = groups_of({row_of(R"({"B":2})", 1, 10), screened});
  ASSERT_EQ(groups.at(0).table.kernels.size(), 2U);
  EXPECT_DOUBLE_EQ(groups[0].table.kernels[1].cells[0].regret, 2);
}

TEST(PortfolioRows, ARowThatWasTimedToItsEndStandsForAKernel) {
  Trial screened = row_of(R"({"B":1})", 1, 30);
  screened.outcome = Outcome::screened_out;
  Trial slow = row_of(R"({"B":3})", 1, 40);
  slow.outcome = Outcome::screened_out;
  const auto groups = groups_of({row_of(R"({"B":2})", 1, 10), screened, slow, row_of(R"({"B":2})", 2, 10),
                                 row_of(R"({"B":1})", 2, 90)});
  const PortfolioTable& table = groups.at(0).table;
  ASSERT_EQ(table.kernels.size(), 3U);
  EXPECT_EQ(table.kernels[1].row, 5);  // although its regret is larger there
  EXPECT_FALSE(table.kernels[1].is_screened);
  EXPECT_TRUE(table.kernels[2].is_screened);
}

TEST(Portfolio, WhatWasGivenUpEverywhereIsNotChosen) {
  PortfolioTable table;
  table.problems.resize(1);
  table.kernels.resize(2);
  table.kernels[0] = {{{0, 0}}, 1, true};
  table.kernels[1] = {{{0, 0.5}}, 2, false};
  EXPECT_EQ(choose_kernels(table, 2, {true}), (std::vector<std::vector<std::size_t>>{{1}}));
}

/// Operations may have problems with equal labels; the row of one may say nothing of sizes.
TEST(PortfolioRows, NamesOfDimensionsAreThoseOfTheOperation) {
  Trial other = row_of(R"({"B":1})", 1, 10);
  other.key = "other";
  other.operation = "softmax";
  other.dimensions = R"({"rows":1,"columns":8})";
  Trial imported = row_of(R"({"B":1})", 1, 10);
  imported.key = "imported";
  imported.operation = "convolution";
  imported.dimensions.clear();
  const auto groups = groups_of({imported, other, row_of(R"({"B":1})", 1, 10), row_of(R"({"B":1})", 2, 10)});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].table.dimensions, (std::vector<std::string>{"rows", "columns"}));
  EXPECT_EQ(groups[1].table.dimensions, (std::vector<std::string>{"M", "N"}));
  EXPECT_EQ(groups[1].table.problems.size(), 2U);
}

TEST(PortfolioRows, ConditionsAndGpusAreApartAndUnknownSizesDoNotCount) {
  Trial other = row_of(R"({"B":1})", 1, 10);
  other.key = "other";
  other.gpu = "other";
  Trial unknown = row_of(R"({"B":1})", 3, 10);
  unknown.dimensions.clear();
  EXPECT_EQ(groups_of({row_of(R"({"B":1})", 1, 10), other, unknown}).size(), 2U);
}

}  // namespace portfolio_test
}  // namespace tiletune
