// Replays of what others have recorded, and comparisons of strategies on it.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "cli/expect_error.h"
#include "cli/process.h"
#include "store/database.h"

namespace tiletune {
namespace replay_foreign_test {

const std::filesystem::path kHub = std::filesystem::path(TILETUNE_SOURCE_DIR) / "tests/data/benchmark_hub";
/// Its kernel file is not there, and it says nothing of buffers and references.
const std::string kT1 = (kHub / "T1_convolution_milo.json").string();

std::vector<std::string> replay(const std::string& config, const std::string& recording,
                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"sweep", config, "--replay", recording, "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> replay_hub(const std::string& recording, const std::vector<std::string>& more = {}) {
  return replay(kT1, (kHub / recording).string(), more);
}

nlohmann::json json_of(const Sandbox& sandbox, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Finished run = sandbox.run(arguments);
  EXPECT_EQ(run.code, 0) << run.err;
  return nlohmann::json::parse(run.out, nullptr, false);
}

/// The lines of a Markdown table.
std::vector<std::string> table_of(const std::string& page) {
  std::vector<std::string> lines = split(page, '\n');
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with('|'); });
  return lines;
}

TEST(ReplayForeign, ATuningProblemWithoutItsKernelRanksAsTheRecording) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(replay_hub("A100.json.gz", {"--limit", "0", "--format", "markdown"}));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("ok 4201, compile_failed 6, launch_failed 155"), std::string::npos) << run.err;
  EXPECT_TRUE(carries(run.err, {"4096x4096:", "found 550 us", "100%", "(550 us)", "1070 evaluations"}));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox.folder() / "cache"))
    EXPECT_FALSE(entry.is_regular_file()) << "nothing is compiled, and so there is no " << entry.path();
  ASSERT_EQ(sandbox.run({"import", (kHub / "A100.json.gz").string(), "--db", "imported.db"}).code, 0);
  const Finished ranked =
      sandbox.run({"rank", "--db", "imported.db", "--limit", "0", "--format", "markdown"});
  const std::vector<std::string> recorded = table_of(ranked.out);
  EXPECT_GT(recorded.size(), 4201U);
  EXPECT_TRUE(table_of(run.out) == recorded) << "the two tables differ";
}

TEST(ReplayForeign, KeptRowsAreReplayedOnesOfTheSameTimes) {
  const Sandbox sandbox;
  ASSERT_EQ(sandbox.run(replay_hub("A100.json.gz", {"--db", "kept.db"})).code, 0);
  const Database kept(sandbox.folder() / "kept.db", Database::Mode::read_only);
  const std::vector<Trial> rows = kept.trials({});
  ASSERT_EQ(rows.size(), 4362U);
  double best_us = rows.front().median_us.value();
  for (const Trial& row : rows) {
    EXPECT_EQ(row.source, Source::replayed);
    EXPECT_EQ(row.outcome == Outcome::ok, row.median_us.has_value());
    best_us = std::min(best_us, row.median_us.value_or(best_us));
  }
  EXPECT_NEAR(best_us, 549.888, 0.001);
  ASSERT_EQ(sandbox.run(replay_hub("A100.json.gz", {"--db", "kept.db"})).code, 0);
  EXPECT_EQ(kept.trials({}).size(), 4362U) << "the same rows again";
}

TEST(ReplayForeign, ADatabaseAndTheFileItselfAnswerAlike) {
  const Sandbox sandbox;
  ASSERT_EQ(sandbox.run({"import", (kHub / "A4000.json.gz").string(), "--db", "a.db"}).code, 0);
  const std::vector<std::string> random{"--strategy", "random", "--seed", "5", "--budget", "300"};
  const auto expected = json_of(sandbox, replay_hub("A4000.json.gz", random));
  EXPECT_GT(expected.at("problems").at(0).at("curve").size(), 2U);
  EXPECT_EQ(json_of(sandbox, replay(kT1, "a.db", random)).at("problems"), expected.at("problems"));
}

/// The config's problem need not be the recording's.
TEST(ReplayForeign, WhatT4LeavesOutMustBeSaid) {
  const Sandbox sandbox;
  expect_error(sandbox.run(replay_hub("A100_T4.json.gz")), kUserError,
               {"A100_T4.json.gz:", "which GPU", "--gpu"});
  expect_error(sandbox.run(replay_hub("A100_T4.json.gz", {"--gpu", "A100"})), kUserError,
               {"A100_T4.json.gz:", "which problem", "--problem", "--replay"});
  const std::vector<std::string> import{
      "import", (kHub / "A100_T4.json.gz").string(), "--gpu", "A100", "--kernel", "convolution_kernel"};
  const auto imported_as = [&](const std::string& problem) {
    std::vector<std::string> arguments = import;
    arguments.insert(arguments.end(), {"--problem", problem, "--db", problem + ".db"});
    EXPECT_EQ(sandbox.run(arguments).code, 0);
    return replay(kT1, problem + ".db");
  };
  expect_error(sandbox.run(imported_as("1024x1024")), kNothingToDo, {"4096x4096", "1024x1024"});
  const auto problem = json_of(sandbox, imported_as("4096x4096")).at("problems").at(0);
  EXPECT_EQ(problem.at("recorded"), 4362);
  EXPECT_EQ(problem.at("percent_of_best"), 100);
  EXPECT_EQ(problem.at("found_after_evaluations"), 1070);
}

TEST(ReplayForeign, SecondsAreThoseOfTheRecording) {
  const Sandbox sandbox;
  const auto replayed = json_of(
      sandbox, replay_hub("A100.json.gz", {"--strategy", "random", "--seed", "3", "--budget", "10min"}));
  const auto& problem = replayed.at("problems").at(0);
  EXPECT_EQ(replayed.at("strategy"), "random");
  EXPECT_GE(problem.at("simulated_s"), 600);
  EXPECT_LT(problem.at("simulated_s"), 620) << "no configuration takes longer than 20 s";
  EXPECT_LT(problem.at("evaluations"), 1000);
  EXPECT_LE(problem.at("found_after_simulated_s"), problem.at("simulated_s"));
}

TEST(ReplayForeign, ParametersThatWereNotRecordedNeedOneValue) {
  const Sandbox sandbox;
  expect_error(
      sandbox.run(replay_hub("A6000_original.json.gz")), kUserError,
      {"A6000_original.json.gz", "6 of the 10 parameters", "convolution_kernel", "without use_shmem"});
  auto narrowed = nlohmann::json::parse(read_file(kT1));
  for (auto& parameter : narrowed.at("ConfigurationSpace").at("TuningParameters")) {
    if (parameter.at("Name") == "use_shmem") parameter.at("Values") = "[1]";
  }
  const std::string config = sandbox.write("t1.json", narrowed.dump());
  const auto replayed = json_of(sandbox, replay(config, (kHub / "A6000_original.json.gz").string()));
  EXPECT_EQ(replayed.at("problems").at(0).at("recorded"), 2442);
  EXPECT_EQ(replayed.at("problems").at(0).at("evaluations"), 2442);
  EXPECT_EQ(replayed.at("problems").at(0).at("not_recorded"), 0);
  ASSERT_EQ(replayed.at("notes").size(), 1U);
  EXPECT_TRUE(carries(replayed.at("notes").at(0).get<std::string>(),
                      {"use_shmem=1 use_cmem=1 filter_height=15 filter_width=15"}));
}

TEST(ReplayForeign, AFileThatIsBeingWrittenIsReplayedAsFarAsItGoes) {
  const Sandbox sandbox;
  const std::string config = sandbox.write("t1.json", R"({"ConfigurationSpace": {"TuningParameters": [
      {"Name": "X", "Type": "int", "Values": "[1, 2]"}]},
    "KernelSpecification": {"KernelName": "k", "ProblemSize": [64]}})");
  const std::string cache = sandbox.write("cache.json", R"({"device_name": "G", "kernel_name": "k",
    "problem_size": [64], "tune_params_keys": ["X"], "tune_params": {"X": [1, 2]},
    "cache": {"1": {"X": 1, "time": 0.5, "compile_time": 1000, "benchmark_time": 500})");
  const Finished run = sandbox.run(replay(config, cache));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"not finished"}));
  EXPECT_TRUE(has_line(
      run.out, {"found 500 us", "100%", "2 evaluations and 1.5 s", "2 evaluations in", "1 not recorded"}));
}

TEST(ReplayForeign, ARealSweepOfATuningProblemSaysWhatIsMissing) {
  const Sandbox sandbox;
  expect_error(sandbox.run({"sweep", kT1}), kUserError,
               {"T1_convolution_milo.json", "convolution_milo.cu", "not exist"});
}

TEST(ReplayForeign, RunsOfSeveralSeedsGiveQuartiles) {
  const Sandbox sandbox;
  const std::vector<std::string> runs{"--strategy", "random", "--repeat", "5", "--budget", "200"};
  const auto replayed = json_of(sandbox, replay_hub("A100.json.gz", runs));
  const auto& problem = replayed.at("problems").at(0);
  ASSERT_EQ(problem.at("runs").size(), 5U);
  std::vector<double> found_us;
  for (const auto& run : problem.at("runs")) {
    const auto alone =
        json_of(sandbox, replay_hub("A100.json.gz", {"--strategy", "random", "--budget", "200", "--seed",
                                                     std::to_string(run.at("seed").get<int>())}));
    EXPECT_EQ(alone.at("problems").at(0).at("best_found_us"), run.at("best_found_us"));
    found_us.push_back(run.at("best_found_us"));
  }
  std::sort(found_us.begin(), found_us.end());
  EXPECT_EQ(problem.at("quartiles").back().at("lower_us"), found_us[1]);
  EXPECT_EQ(problem.at("quartiles").back().at("median_us"), found_us[2]);
  EXPECT_EQ(problem.at("quartiles").back().at("upper_us"), found_us[3]);
  const Finished table = sandbox.run(replay_hub("A100.json.gz", runs));
  EXPECT_TRUE(has_line(table.out, {"4096x4096:", "5 runs", "random", "1 to 5", "550 us"}));
}

TEST(ReplayForeign, RunsThatCannotDifferOrBeKeptAreRefused) {
  const Sandbox sandbox;
  expect_error(sandbox.run(replay_hub("A100.json.gz", {"--repeat", "3", "--strategy", "exhaustive"})),
               kUserError, {"--repeat:", "exhaustive", "--strategy random"});
  expect_error(
      sandbox.run(replay_hub("A100.json.gz", {"--repeat", "3", "--strategy", "random", "--db", "a.db"})),
      kUserError, {"--repeat:", "--db"});
  expect_error(sandbox.run({"sweep", kT1, "--repeat", "3"}), kUserError, {"--repeat", "--replay"});
}

}  // namespace replay_foreign_test
}  // namespace tiletune
