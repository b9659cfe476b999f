// Sweeps whose answers come from a recording: no GPU, no compiler, the same ranking.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/expect_error.h"
#include "cli/fake_sweep.h"
#include "cli/process.h"
#include "store/database.h"

namespace tiletune {
namespace replay_test {

/// As the config that write_tiny_space() writes finds it.
Trial recorded(int value, Outcome outcome, double median_us) {
  Trial row;
  row.key = "recorded " + std::to_string(value);
  row.template_name = "tiny";
  row.operation = "gemm";
  row.problem = "1x1x1";
  row.scalars = "alpha=1 beta=0";
  row.element_types = "f32";
  row.cache = "cold";
  row.gpu = "NVIDIA H200";
  row.gpu_uuid = "GPU-1";
  row.architecture = "sm_90a";
  row.parameters = "{\"V\":" + std::to_string(value) + "}";
  row.outcome = outcome;
  if (outcome == Outcome::ok) row.median_us = median_us;
  if (outcome != Outcome::ok) row.reason = "the recorded reason";
  row.registers = 10 + value;
  row.compile_ms = 400;
  row.measure_ms = 100;
  row.recorded_at = "2026-11-20T10:00:00Z";
  return row;
}

/// Eight configurations, half a second each: the third failed, the fourth is the fastest.
std::vector<Trial> eight_rows() {
  std::vector<Trial> rows;
  for (int value = 0; value < 8; ++value) rows.push_back(recorded(value, Outcome::ok, 100 - 5 * value % 17));
  rows[2] = recorded(2, Outcome::wrong_result, 0);
  rows[3].median_us = 50;
  return rows;
}

void record(const Sandbox& sandbox, const std::vector<Trial>& rows) {
  Database(sandbox.folder() / "rows.db", Database::Mode::read_write).record_all(rows);
}

std::vector<std::string> replay(const std::string& config, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"sweep", config, "--replay", "rows.db", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

nlohmann::json replayed(const Sandbox& sandbox, const std::string& config,
                        const std::vector<std::string>& more = {}) {
  std::vector<std::string> with_format = more;
  with_format.insert(with_format.end(), {"--format", "json"});
  const Finished run = sandbox.run(replay(config, with_format));
  EXPECT_EQ(run.code, 0) << run.err;
  return nlohmann::json::parse(run.out);
}

/// The only row with it, wherever the order has put it.
Trial of_outcome(const std::vector<Trial>& rows, Outcome outcome) {
  EXPECT_EQ(kernels_with(rows, outcome), 1);
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Trial& row) { return row.outcome == outcome; });
  return found == rows.end() ? Trial() : *found;
}

TEST(Replay, AnExhaustiveOneRanksAsTheRecordingAndKeepsOutcomesAndReasons) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(8);
  record(sandbox, eight_rows());
  const Finished run = sandbox.run(replay(config, {"--db", "replayed.db"}));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.out, {"4.0 s", "ok 7, wrong_result 1"}));
  EXPECT_TRUE(has_line(run.out, {"1x1x1:", "found 50.0 us", "100%", "(50.0 us)", "5 evaluations and 2.5 s",
                                 "8 evaluations", "4.0 s"}));
  const std::vector<std::string> columns{"--format", "csv", "--columns",
                                         "rank,parameters,median_us,registers"};
  const auto ranking = [&](const std::string& database) {
    std::vector<std::string> arguments{"rank", "--db", database};
    arguments.insert(arguments.end(), columns.begin(), columns.end());
    std::string text = sandbox.run(arguments).out;
    for (std::size_t at = 0; (at = text.find("replayed", at)) != std::string::npos;)
      text.replace(at, 8, "measured");
    return text;
  };
  EXPECT_EQ(ranking("replayed.db"), ranking("rows.db"));
  const auto rows = Database(sandbox.folder() / "replayed.db", Database::Mode::read_only).trials({});
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_EQ(of_outcome(rows, Outcome::wrong_result).reason, "the recorded reason");
  for (const Trial& row : rows) EXPECT_EQ(row.source, Source::replayed);
}

TEST(Replay, TheTimeBudgetCountsSimulatedSeconds) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(8, R"(, "strategy": {"name": "random", "seed": 7})");
  record(sandbox, eight_rows());
  const auto problem = replayed(sandbox, config, {"--budget", "1.2s"}).at("problems").at(0);
  EXPECT_EQ(problem.at("evaluations"), 3);
  EXPECT_DOUBLE_EQ(problem.at("simulated_s"), 1.5);
  EXPECT_DOUBLE_EQ(problem.at("best_recorded_us"), 50);
  EXPECT_EQ(replayed(sandbox, config, {"--budget", "5"}).at("problems").at(0).at("evaluations"), 5);
}

TEST(Replay, ABudgetOfSecondsNeedsRowsThatSayWhatTheyTook) {
  const Sandbox sandbox;
  std::vector<Trial> rows = eight_rows();
  for (Trial& row : rows) row.compile_ms = row.measure_ms = std::nullopt;
  record(sandbox, rows);
  expect_error(sandbox.run(replay(sandbox.write_tiny_space(8), {"--budget", "1s"})), kUserError,
               {"--budget", "rows.db", "--budget 500"});
  const Finished run =
      sandbox.run(replay(sandbox.write_tiny_space(8, R"(, "budget": {"seconds": 1})"), {"--format", "json"}));
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(has_line(run.err, {"note:", "7 of 7 rows"}));
}

TEST(Replay, OneRowThatSaysWhatItTookIsEnoughForABudgetOfSeconds) {
  const Sandbox sandbox;
  std::vector<Trial> rows = eight_rows();
  for (auto row = rows.begin() + 1; row != rows.end(); ++row)
    row->compile_ms = row->measure_ms = std::nullopt;
  record(sandbox, rows);
  const Finished run = sandbox.run(replay(sandbox.write_tiny_space(8), {"--budget", "100s"}));
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(has_line(run.out, {"note:", "6 of 7 rows"}));
}

TEST(Replay, ABudgetOfEvaluationsIsSharedByTheProblems) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(8);
  record(sandbox, eight_rows());
  const std::vector<std::string> two{"--budget", "5", "--problem", "1x1x1", "--problem", "2x2x2"};
  EXPECT_EQ(replayed(sandbox, config, two).at("budget_evaluations"), 5);
  std::vector<std::string> arguments = replay(config, two);
  std::erase(arguments, "--quiet");
  const Finished run = sandbox.run(arguments);
  EXPECT_TRUE(has_line(run.out, {"at most 5 to try"}));
}

TEST(Replay, EndsByAnEstimateOnlyWhereAStrategyMakesOne) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(8);
  record(sandbox, eight_rows());
  expect_error(sandbox.run(replay(config, {"--until", "1%", "--strategy", "random"})), kUserError,
               {"--until", "random", "surrogate"});
  for (const char* text : {"0", "-1%", "101%", "1x", "%", "nan"})
    expect_error(sandbox.run(replay(config, {"--until", text})), kUserError, {"--until", text, "1%"});
  EXPECT_EQ(replayed(sandbox, config, {"--until", "1%"}).at("problems").at(0).at("evaluations"), 8)
      << "eight are too few to tell";
}

TEST(Replay, WhatNoClockCouldHaveSaidCostsNothing) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3);
  std::vector<Trial> rows = eight_rows();
  rows[0].compile_ms = -1e12;
  rows[1].outcome = Outcome::compile_timeout;
  rows[1].compile_ms = rows[1].measure_ms = rows[1].median_us = std::nullopt;
  record(sandbox, rows);
  EXPECT_DOUBLE_EQ(replayed(sandbox, config).at("simulated_s"), 0 + 60 + 0.5);
}

TEST(Replay, ASeedDecidesTheCurve) {
  const Sandbox sandbox;
  record(sandbox, eight_rows());
  const auto curve = [&](int seed) {
    const std::string config = sandbox.write_tiny_space(
        8, R"(, "strategy": {"name": "random", "seed": )" + std::to_string(seed) + "}");
    return replayed(sandbox, config).at("problems").at(0).at("curve");
  };
  const auto first = curve(1);
  EXPECT_EQ(first, curve(1));
  bool differs = false;
  for (int seed = 2; seed < 6 && !differs; ++seed) differs = curve(seed) != first;
  EXPECT_TRUE(differs);
  double best_us = 1e9;
  for (const auto& step : first) {
    EXPECT_LT(step.at("best_us"), best_us);
    best_us = step.at("best_us");
  }
  EXPECT_DOUBLE_EQ(first.back().at("percent_of_best"), 100);
}

TEST(Replay, ARandomOrderGoesAcrossTemplates) {
  const Sandbox sandbox;
  const std::string source = TILETUNE_SOURCE_DIR;
  const std::filesystem::path recorded = sandbox.folder() / "quick.db";
  std::filesystem::copy_file(source + "/results/h200/quick.db", recorded);
  std::set<std::string> first;
  std::set<std::string> orders;
  for (int seed = 1; seed <= 12; ++seed) {
    const Finished run = sandbox.run({"sweep", source + "/configs/quick.json", "--replay", recorded.string(),
                                      "--cache", "dirty", "--strategy", "random", "--seed",
                                      std::to_string(seed), "--db", "random.db", "--quiet"});
    ASSERT_EQ(run.code, 0) << run.err;
    std::string order;
    Database database(sandbox.folder() / "random.db", Database::Mode::read_only);
    for (const Trial& row : database.trials({.baselines = false})) order += row.template_name + " ";
    first.insert(order.substr(0, order.find(' ')));
    orders.insert(order);
    std::filesystem::remove(sandbox.folder() / "random.db");
  }
  EXPECT_GT(first.size(), 1U);
  EXPECT_GT(orders.size(), 6U);
}

TEST(Replay, WhatIsNotRecordedSaysSoAndIsCounted) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(8);
  std::vector<Trial> rows = eight_rows();
  rows.erase(rows.begin() + 3);
  record(sandbox, rows);
  const Finished run = sandbox.run(replay(config, {"--db", "replayed.db"}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("not_recorded 1"), std::string::npos) << run.out;
  EXPECT_TRUE(has_line(run.out, {"8 evaluations", "3.5 s", "1 not recorded"}));
  const auto trials = Database(sandbox.folder() / "replayed.db", Database::Mode::read_only).trials({});
  EXPECT_TRUE(
      carries(of_outcome(trials, Outcome::not_recorded).reason, {"rows.db", "no row", "NVIDIA H200"}));
}

TEST(Replay, TheBestRecordedIsOfTheConfigsSpace) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3);
  record(sandbox, eight_rows());
  const auto problem = replayed(sandbox, config).at("problems").at(0);
  EXPECT_EQ(problem.at("recorded"), 8);
  EXPECT_DOUBLE_EQ(problem.at("best_recorded_us"), problem.at("best_found_us"));
}

TEST(Replay, OfSeveralRowsOfOneConfigurationTheLatestCounts) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  Trial former = recorded(0, Outcome::ok, 10);
  former.key = "former";
  former.recorded_at = "2026-11-19T10:00:00Z";
  record(sandbox, {recorded(0, Outcome::ok, 20), former});
  EXPECT_DOUBLE_EQ(replayed(sandbox, config).at("problems").at(0).at("best_found_us"), 20);
}

TEST(Replay, WithSeveralGpusOneHasToBeNamed) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  Trial other = recorded(0, Outcome::ok, 30);
  other.key = "other";
  other.gpu = "NVIDIA A100-SXM4-40GB";
  Trial predicted = recorded(0, Outcome::ok, 1);
  predicted.key = "predicted";
  predicted.source = Source::predicted;
  record(sandbox, {predicted, recorded(0, Outcome::ok, 20), other});
  expect_error(sandbox.run(replay(config)), kUserError,
               {"--gpu", "rows.db", "NVIDIA H200, NVIDIA A100-SXM4-40GB"});
  expect_error(sandbox.run(replay(config, {"--gpu", "B200"})), kUserError,
               {"rows.db", "'B200'", "NVIDIA H200, NVIDIA A100-SXM4-40GB"});
  EXPECT_DOUBLE_EQ(replayed(sandbox, config, {"--gpu", "a100"}).at("problems").at(0).at("best_found_us"), 30);
  const auto measured = replayed(sandbox, config, {"--gpu", "h200"});
  EXPECT_EQ(measured.at("recorded_as"), "measured");
  EXPECT_DOUBLE_EQ(measured.at("problems").at(0).at("best_found_us"), 20);
}

TEST(Replay, MistakesAreSaidWithPlaceAndRemedy) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  expect_error(sandbox.run(replay(config)), kUserError, {"rows.db"});
  record(sandbox, {});
  expect_error(sandbox.run(replay(config)), kUserError, {"rows.db", "no row", "'tiletune sweep'"});
  Trial elsewhere = recorded(0, Outcome::ok, 10);
  elsewhere.problem = "2x2x2";
  record(sandbox, {elsewhere});
  expect_error(sandbox.run(replay(config)), kNothingToDo,
               {"rows.db:", "tiny 1x1x1 (gemm, f32, alpha=1 beta=0, cold)",
                "tiny 2x2x2 (gemm, f32, alpha=1 beta=0, cold)"});
  expect_error(sandbox.run(replay(config, {"--db", "./rows.db"})), kUserError,
               {
                   "--db",
                   "recording itself",
               });
  expect_error(sandbox.run(replay(config, {"--screening", "2"})), kUserError,
               {"--screening", "no effect", "--replay"});
  expect_error(sandbox.run({"sweep", config, "--replay", "nowhere.json"}), kUserError,
               {"nowhere.json:", "no such", "'tiletune import'"});
}

}  // namespace replay_test
}  // namespace tiletune
