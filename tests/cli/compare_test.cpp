// `tiletune compare` as people call it: sides, predictions, messages, exit codes.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/file.h"
#include "cli/compared_rows.h"
#include "cli/expect_error.h"

namespace tiletune {
namespace compare_test {

nlohmann::ordered_json json_of(const Sandbox& sandbox, const std::vector<std::string>& command) {
  const Finished run = sandbox.run(with(command, {"--format", "json"}));
  EXPECT_EQ(run.code, 0) << run.err;
  return nlohmann::ordered_json::parse(run.out);
}

TEST(Compare, GpusOfSeveralDatabasesStandSideBySide) {
  const Sandbox sandbox;
  record_with_gaps(sandbox);
  const Finished run = sandbox.run(kBoth);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out.find("warning"), std::string::npos) << "all is measured";
  for (const std::vector<std::string>& parts : std::vector<std::vector<std::string>>{
           {"1x1x1 (gemm, f32, alpha=1 beta=0, warm)"},
           {"1 common"},
           {"only NVIDIA A100-SXM4-40GB", "2x3x4"},
           {"unmeasured (?)", "of NVIDIA A100-SXM4-40GB on NVIDIA H100 80GB HBM3"}})
    EXPECT_TRUE(has_line(run.out, parts));
}

TEST(Compare, JsonMatchesItsSchema) {
  const Sandbox sandbox;
  record_with_gaps(sandbox);
  const Finished run =
      sandbox.run(with(kBoth, {"--format", "json", "--fail-above", "3", "-o", "comparison.json"}));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::string command = "'" TILETUNE_SOURCE_DIR "/tools/check_schemas' '" +
                              (sandbox.folder() / "comparison.json").string() + "' >/dev/null 2>&1";
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): a tool of the project
  constexpr int kNoJsonschema = 77;
  if (WEXITSTATUS(status) == kNoJsonschema) GTEST_SKIP() << "python3-jsonschema is missing";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Compare, ASlowerDriverFailsTheCommand) {
  const Sandbox sandbox;
  std::vector<Trial> rows{tiny("A", 1, 100), tiny("A", 1, 107)};
  rows[1].key += "later";
  rows[0].driver_version = "570.10";
  rows[1].driver_version = "1000.1";
  record(sandbox, "a.db", rows);
  const std::vector<std::string> compare{"compare", "--by", "driver", "--db", "a.db"};
  EXPECT_EQ(sandbox.run(compare).code, 0);
  EXPECT_EQ(sandbox.run(with(compare, {"--fail-above", "8"})).code, 0);
  const Finished uncertain = sandbox.run(with(compare, {"--fail-above", "6"}));
  EXPECT_EQ(uncertain.code, 0) << "the noise reaches below 6%";
  EXPECT_TRUE(has_line(uncertain.out, {"may be slower:", "1x1x1 on A"}));
  const Finished slower = sandbox.run(with(compare, {"--fail-above", "5"}));
  EXPECT_EQ(slower.code, 1);
  EXPECT_TRUE(has_line(slower.out, {"slower:", "1x1x1 on A"}));
  EXPECT_EQ(sandbox.run(with(compare, {"1000", "570", "--fail-above", "5"})).code, 0)
      << "the other way round";
}

TEST(Compare, WhatFailsInTheLaterDatabaseFailsTheCommand) {
  const Sandbox sandbox;
  std::vector<Trial> later{tiny("A", 1, 0), tiny("A", 2, 0)};
  later[0].outcome = Outcome::wrong_result;
  later[1].outcome = Outcome::compile_failed;
  record(sandbox, "before.db", {tiny("A", 1, 100), tiny("A", 1, 7, "2x2x2")});
  record(sandbox, "after.db", {later[0], later[1], tiny("A", 1, 7, "2x2x2")});
  const Finished run = sandbox.run(
      {"compare", "--by", "database", "--db", "before.db", "--db", "after.db", "--fail-above", "5"});
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(has_line(run.out, {"slower:", "runs on before.db", "after.db", "2 configurations"}));
}

TEST(Compare, TheRecordingsOfTheBenchmarkHub) {
  const Sandbox sandbox;
  const std::string hub = std::string(TILETUNE_SOURCE_DIR) + "/tests/data/benchmark_hub/";
  const Finished imported = sandbox.run({"import", hub + "A100.json.gz", hub + "A4000.json.gz",
                                         hub + "A6000_original.json.gz", "--db", "hub.db"});
  ASSERT_EQ(imported.code, 0) << imported.err;
  const auto three = json_of(sandbox, {"compare", "--db", "hub.db"})["problems"][0];
  const auto two = json_of(sandbox, {"compare", "A100", "A4000", "--db", "hub.db"})["problems"][0];
  const auto expect_pair = [](const auto& pair, int common, double spearman, int top, double shared) {
    EXPECT_EQ(pair["common"], common) << pair;
    EXPECT_NEAR(pair["spearman"], spearman, 5e-4) << pair;
    EXPECT_EQ(pair["top_percent"], top) << pair;
    EXPECT_DOUBLE_EQ(pair["top_percent_shared"], shared) << pair;
  };
  expect_pair(two["pairs"][0], 4195, 0.894, 42, 4);
  EXPECT_EQ(three["pairs"][0], two["pairs"][0]) << "the third recording says nothing of these two";
  EXPECT_EQ(two["common"], 4195);
  // The A6000's rows list six of the ten parameters, so they are other configurations.
  EXPECT_EQ(three["common"], 0);
  EXPECT_EQ(three["pairs"][1]["common"], 0);
  const auto& of_a4000 = three["configurations"][1];
  EXPECT_NEAR(of_a4000["on"][0]["efficiency"], 0.672, 5e-4);
  EXPECT_TRUE(of_a4000["on"][2]["efficiency"].is_null());
  EXPECT_NEAR(three["configurations"][0]["on"][1]["efficiency"], 0.630, 5e-4);
}

TEST(Compare, DatabasesAreSidesAndTheLaterOneMayBeSlower) {
  const Sandbox sandbox;
  record(sandbox, "before.db", {tiny("A", 1, 100)});
  record(sandbox, "after.db", {tiny("A", 1, 120)});
  const Finished run = sandbox.run({"compare", "--by", "database", "--db", "before.db", "--db", "after.db",
                                    "--fail-above", "5", "--format", "json"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(nlohmann::ordered_json::parse(run.out)["slower"][0]["later"], "after.db");
}

TEST(Compare, PredictionsAreMadeForNamedGpusThatNoRowIsOf) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3);
  record(sandbox, "h200.db", {tiny("NVIDIA H200", 1, 10), tiny("NVIDIA H200", 2, 20)});
  const auto document = json_of(
      sandbox, {"compare", "A100 40GB", "H100", "H200", "--predict", config, "--db", "h200.db", "-j", "2"});
  std::vector<std::string> sides;
  for (const auto& side : document["sides"])
    sides.push_back(side["name"].get<std::string>() + side["sources"].dump());
  EXPECT_EQ(sides, (std::vector<std::string>{R"(A100 40GB["predicted"])", R"(H100 SXM["predicted"])",
                                             R"(NVIDIA H200["measured"])"}));
  EXPECT_EQ(document["mixes_sources"], true);
  ASSERT_EQ(document["problems"].size(), 1U);
  EXPECT_EQ(document["problems"][0]["common"], 2);
  EXPECT_EQ(document["problems"][0]["sides"][0]["ran"], 3);
  EXPECT_EQ(Database(sandbox.folder() / "h200.db", Database::Mode::read_only).trials({}).size(), 2U)
      << "predictions are not recorded";
}

TEST(Compare, PredictionsAreMadeProblemByProblemWhereTheGpuHasNoComparedRow) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  Trial predicted = tiny("A100 40GB", 1, 3, "1x1x1");
  predicted.source = Source::imported;
  record(sandbox, "a.db",
         {tiny("NVIDIA H200", 1, 10), tiny("NVIDIA H200", 1, 10, "2x2x2"), predicted,
          tiny("A100 40GB", 1, 5, "2x2x2")});
  const auto sources_of_a100 = [&](const std::vector<std::string>& more) {
    const auto document =
        json_of(sandbox, with({"compare", "A100 40GB", "H200", "--predict", config, "--db", "a.db", "-j", "2",
                               "--problem", "1x1x1", "--problem", "2x2x2"},
                              more));
    std::set<std::string> sources;
    for (const auto& problem : document["problems"])
      sources.insert(problem["problem"].get<std::string>() + " " + problem["sides"][0]["source"].dump());
    return sources;
  };
  EXPECT_EQ(sources_of_a100({}), (std::set<std::string>{R"(1x1x1 "imported")", R"(2x2x2 "measured")"}));
  EXPECT_EQ(sources_of_a100({"--source", "measured", "--source", "predicted"}),
            (std::set<std::string>{R"(1x1x1 "predicted")", R"(2x2x2 "measured")"}))
      << "the imported row does not count";
}

TEST(Compare, MistakesAreNamedWithTheirRemedies) {
  const Sandbox sandbox;
  record(sandbox, "a.db", {tiny("NVIDIA H200", 1, 10)});
  const auto run = [&](const std::vector<std::string>& more) {
    return sandbox.run(with({"compare", "--db", "a.db"}, more));
  };
  expect_error(run({}), kUserError,
               {"a.db:", "nothing to compare", "NVIDIA H200", "--db", "--predict CONFIG"});
  expect_error(run({"H200", "B100"}), kUserError, {"gpu 'B100'", "NVIDIA H200", "--predict CONFIG"});
  expect_error(run({"--by", "colour"}), kUserError,
               {"--by", "'colour'", "gpu, driver, date, sweep, source, database"});
  expect_error(run({"--gpu", "H200"}), kUserError, {"--gpu:", "compared"});
  expect_error(run({"--predict", "x.json"}), kUserError, {"--predict:", "names"});
  expect_error(run({"--by", "driver", "--predict", "x.json"}), kUserError, {"--predict: predicts for GPUs"});
  expect_error(run({"--db", "./a.db"}), kUserError, {"./a.db", "twice"});
  expect_error(run({"-o", "a.db"}), kUserError, {"a.db:", "replace"});
  expect_error(run({"--fill", "a.db"}), kUserError, {"a.db:", "replace"});
  for (const std::string percent : {"nan", "inf", "-1"})
    expect_error(run({"--fail-above", percent}), kUserError, {"--fail-above", percent, "0"});
  expect_error(run({"--source", "guessed"}), kUserError, {"--source: unknown source 'guessed'"});
  expect_error(run({"H200", "--by", "sweep"}), kUserError, {"sweep 'H200'", "nothing"});
  record(sandbox, "a.db", {tiny("NVIDIA H100", 1, 10, "2x2x2")});
  expect_error(run({}), kNothingToDo, {"two sides"});
  expect_error(run({"H200"}), kUserError,
               {"Only NVIDIA H200", "NVIDIA H200, NVIDIA H100", "--predict CONFIG"});
}

TEST(Compare, NoMessageNamesTheFileOfPredictions) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  const Finished run = sandbox.run({"compare", "A100 40GB", "--predict", config, "-j", "2"});
  expect_error(run, kUserError, {"predictions:", "nothing to compare", "A100"});
  EXPECT_EQ(run.err.find("/tmp/tiletune"), std::string::npos) << run.err;
}

TEST(Compare, LinesFitTheWidthThatIsAskedFor) {
  const Sandbox sandbox;
  record_with_gaps(sandbox);
  const auto run_in = [&](const std::string& columns, const std::vector<std::string>& command) {
    const Finished run =
        sandbox.wait(sandbox.start(command, [&] { ::setenv("COLUMNS", columns.c_str(), 1); }));
    EXPECT_EQ(run.code, 0) << run.err;
    return run.out;
  };
  for (const auto& [columns, longest] :
       std::map<std::string, std::size_t>{{"80", 80}, {"1", 60}, {"x", 120}}) {
    const std::string text = run_in(columns, kBoth);
    EXPECT_NE(text.find("1x1x1 (gemm, f32, alpha=1 beta=0, warm)\n"), std::string::npos) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), longest) << line;
  }
  EXPECT_EQ(run_in("60", with(kBoth, {"-o", "comparison.txt"})), "");
  EXPECT_EQ(read_file(sandbox.folder() / "comparison.txt"), run_in("120", kBoth)) << "a file is no terminal";
  EXPECT_NE(run_in("60", kBoth), run_in("120", kBoth));
}

TEST(Compare, ComparesTheStatisticThatIsAskedFor) {
  const Sandbox sandbox;
  const auto cache = [](const char* gpu, const char* times) {
    return fmt::format(
        R"({{"device_name": "{}", "kernel_name": "k", "problem_size": 1, "tune_params_keys": ["x"],
        "cache": {{"1": {{"x": 1, "time": 3{}}}, "2": {{"x": 2, "time": 4}}}}}})",
        gpu, times);
  };
  sandbox.write("a.json", cache("GPU A", R"(, "times": [1, 2, 6])"));
  sandbox.write("b.json", cache("GPU B", R"(, "times": [2, 2, 5])"));
  ASSERT_EQ(sandbox.run({"import", "a.json", "b.json", "--db", "r.db"}).code, 0);
  const auto compared = [&](const std::string& statistic) {
    return nlohmann::json::parse(
        sandbox.run({"compare", "--db", "r.db", "--statistic", statistic, "--format", "json"}).out);
  };
  const auto best_us = [](const nlohmann::json& document) {
    return document["problems"][0]["configurations"][0]["on"][0]["time_us"].get<double>();
  };
  EXPECT_EQ(best_us(compared("median")), 2000);
  EXPECT_EQ(best_us(compared("mean")), 3000);
  EXPECT_EQ(best_us(compared("min")), 1000);
  EXPECT_EQ(compared("min")["statistic"], "min");
  EXPECT_EQ(compared("median")["other_statistic"], 2) << "rows without samples have a mean alone";
  EXPECT_EQ(compared("mean")["other_statistic"], 0);
  EXPECT_TRUE(
      has_line(sandbox.run({"compare", "--db", "r.db"}).out, {"note", "2 rows without a median", "mean"}));
  EXPECT_TRUE(
      has_line(sandbox.run({"compare", "--db", "r.db", "--statistic", "min"}).out, {"min", "--statistic"}));
  expect_error(sandbox.run({"compare", "--db", "r.db", "--statistic", "mode"}), kUserError,
               {"--statistic", "'mode'", "median, mean, min"});
}

}  // namespace compare_test
}  // namespace tiletune
