#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "carries.h"
#include "output/replay.h"

namespace tiletune {
namespace replay_runs_test {

/// A run that found these times after so many evaluations.
Replay run_of(std::uint64_t seed, const std::vector<std::pair<std::uint64_t, double>>& found,
              std::uint64_t evaluations) {
  Replay run;
  run.strategy = "random";
  run.seed = seed;
  ReplayedProblem& problem = run.problems.emplace_back();
  problem.problem = "64x64";
  problem.best_recorded_us = 10;
  problem.evaluations = evaluations;
  for (const auto& [evaluation, best_us] : found)
    problem.curve.push_back({evaluation, static_cast<double>(evaluation), best_us, "t", "{}"});
  return run;
}

/// After three evaluations 20, 30, 40 and nothing; in the end 10, 20, 30 and 40.
std::vector<Replay> four_runs() {
  return {run_of(1, {{1, 20}, {5, 10}}, 10), run_of(2, {{2, 30}, {5, 20}}, 10),
          run_of(3, {{3, 40}, {9, 30}}, 10), run_of(4, {{7, 40}}, 7)};
}

TEST(ReplayRuns, QuartilesAreInterpolatedAndUnknownWhereRunsHaveFoundNothing) {
  const auto quartiles = quartiles_of(four_runs(), 0);
  const auto at = [&](std::uint64_t evaluation) {
    for (const ReplayQuartiles& each : quartiles) {
      if (each.evaluation == evaluation) return each;
    }
    return ReplayQuartiles{};
  };
  EXPECT_EQ(at(1).lower_us, std::nullopt) << "between a time and nothing lies no time";
  EXPECT_EQ(at(2).lower_us, 27.5) << "20 and, for three quarters of the way, 30";
  EXPECT_EQ(at(2).median_us, std::nullopt);
  EXPECT_EQ(at(3).median_us, 35);
  EXPECT_EQ(at(3).upper_us, std::nullopt);
  EXPECT_EQ(at(7).upper_us, 40);
  EXPECT_EQ(at(9).lower_us, 17.5);
  EXPECT_EQ(at(9).median_us, 25) << "the run that ended after seven keeps what it found";
  EXPECT_EQ(at(9).upper_us, 32.5);
}

TEST(ReplayRuns, TheTableHasFewRowsAndTheLastEvaluation) {
  const std::string text = replay_runs_text(four_runs());
  EXPECT_TRUE(has_line(text, {"64x64:", "4 runs", "random", "1 to 4", "10.0 us"}));
  EXPECT_NE(text.find("         10               17.5       25.0               32.5             40.0\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("\n          3 "), std::string::npos) << text;
}

TEST(ReplayRuns, TheDocumentHasEveryRunsEnd) {
  const auto json = replay_runs_json(four_runs());
  EXPECT_EQ(json.at("runs"), 4);
  const auto& problem = json.at("problems").at(0);
  ASSERT_EQ(problem.at("runs").size(), 4U);
  EXPECT_EQ(problem.at("runs").at(2).at("seed"), 3);
  EXPECT_EQ(problem.at("runs").at(2).at("best_found_us"), 30);
  EXPECT_EQ(problem.at("runs").at(2).at("found_after_evaluations"), 9);
  EXPECT_EQ(problem.at("quartiles").back().at("percent_of_best"), 40);
}

TEST(ReplayRuns, TheDocumentHasEveryRunsCurve) {
  const auto json = replay_runs_json(four_runs());
  const auto& curve = json.at("problems").at(0).at("runs").at(1).at("curve");
  ASSERT_EQ(curve.size(), 2U);
  EXPECT_EQ(curve.at(1).dump(), R"({"evaluation":5,"simulated_s":5.0,"best_us":20.0})");
}

}  // namespace replay_runs_test
}  // namespace tiletune
