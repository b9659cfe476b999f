// `tiletune portfolio`, and its export, on the fastest kernels of a recorded sweep of 13 problems.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/expect_error.h"
#include "cli/process.h"

namespace tiletune {
namespace portfolio_command_test {

using Json = nlohmann::ordered_json;

/// With the recorded rows in rows.db. Every test imports them for itself, so they are few.
class PortfolioCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    sandbox_ = std::make_unique<Sandbox>();
    const Finished run =
        sandbox_->run({"import", TILETUNE_SOURCE_DIR "/tests/data/sgemm_dispatch_fastest.json.gz", "--db",
                       (sandbox_->folder() / "rows.db").string()});
    ASSERT_EQ(run.code, 0) << run.err;
  }
  static void TearDownTestSuite() { sandbox_.reset(); }

  static Json json_of(const std::vector<std::string>& arguments) {
    const Finished run = sandbox_->run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return Json::parse(run.out, nullptr, false);
  }

  static std::unique_ptr<Sandbox> sandbox_;
};
std::unique_ptr<Sandbox> PortfolioCommand::sandbox_;

TEST_F(PortfolioCommand, TenKernelsLoseLittleOnThirteenProblems) {
  const Json json = json_of({"portfolio", "rows.db", "--format", "json"});
  ASSERT_EQ(json.at("portfolios").size(), 1U);
  const Json& portfolio = json["portfolios"][0];
  EXPECT_EQ(portfolio.at("dimensions"), Json({"M", "N", "K"}));
  EXPECT_EQ(portfolio.at("problems").size(), 13U);
  const Json& curve = portfolio.at("curve");
  ASSERT_EQ(curve.size(), 10U);
  EXPECT_TRUE(curve[0].at("max_regret_percent").is_null());  // no kernel runs on all of them
  double before = INFINITY;
  for (const Json& point : curve) {
    if (point["mean_regret_percent"].is_null()) continue;
    EXPECT_LE(point["mean_regret_percent"].get<double>(), before);
    before = point["mean_regret_percent"];
  }
  EXPECT_LT(before, 0.1);
  EXPECT_LT(portfolio.at("tuned").at("max_regret_percent").get<double>(), 1);
  EXPECT_EQ(portfolio.at("untuned").at("folds"), 10);
  // A problem that was left out has another regret than one that was tuned.
  EXPECT_GT(portfolio["untuned"]["median_regret_percent"].get<double>(),
            portfolio["tuned"]["median_regret_percent"].get<double>());
}

TEST_F(PortfolioCommand, TablesSayTheCurveTheTreeAndWhatWasNotTuned) {
  const Finished run = sandbox_->run({"portfolio", "--db", "rows.db", "-k", "6", "--folds", "100"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"kernels for 13 problems on NVIDIA H200", "p90_regret_percent",
                                "decision tree:", "with the decision tree, regret: median",
                                "problems that were not tuned (cross-validation, leaving one out)"}));
  const Finished csv = sandbox_->run({"portfolio", "rows.db", "-k", "2", "--format", "csv"});
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 14);
  const Finished markdown = sandbox_->run({"portfolio", "rows.db", "-k", "2", "--format", "markdown"});
  EXPECT_TRUE(carries(markdown.out, {"| kernel", "```"}));
}

TEST_F(PortfolioCommand, TheSameAnswerEveryTime) {
  const std::vector<std::string> command{"portfolio", "rows.db", "-k", "4", "--format", "json"};
  EXPECT_EQ(sandbox_->run(command).out, sandbox_->run(command).out);
}

/// A program that prints what the header chooses for each problem, a line each.
std::string program_for(const Json& problems) {
  std::string text =
      "#include <cstdio>\n#include \"tuned.h\"\n"
      "static void show(long long m, long long n, long long k) {\n"
      "  tiletune_best::Query query;\n  query.gpu = \"NVIDIA H200\";\n"
      "  query.sizes[0] = m; query.sizes[1] = n; query.sizes[2] = k;\n"
      "  const tiletune_best::Found found = tiletune_best::choose(query);\n"
      "  std::printf(\"%s\\n\", found.entry ? found.entry->kernel_expression : \"none\");\n}\n"
      "int main() {\n";
  for (const Json& problem : problems) {
    std::string sizes = problem.at("problem");
    std::replace(sizes.begin(), sizes.end(), 'x', ',');
    text += "  show(" + sizes + ");\n";
  }
  return text + "}\n";
}

TEST_F(PortfolioCommand, TheHeaderChoosesWhatTheTreeChooses) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  for (const std::string kernels : {"5", "10"}) {
    const Json portfolio =
        json_of({"portfolio", "rows.db", "-k", kernels, "--format", "json"})["portfolios"][0];
    const Finished run = sandbox_->run(
        {"export", "--db", "rows.db", "--format", "header", "--portfolio", kernels, "-o", "tuned.h"});
    ASSERT_EQ(run.code, 0) << run.err;
    sandbox_->write("main.cpp", program_for(portfolio.at("problems")));
    const std::string folder = sandbox_->folder().string();
    ASSERT_EQ(
        std::system(("cd '" + folder +
                     "' && c++ -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror main.cpp -o main && "
                     "./main > chosen")
                        .c_str()),
        0);
    std::ifstream chosen(sandbox_->folder() / "chosen");
    for (const Json& problem : portfolio["problems"]) {
      std::string line;
      std::getline(chosen, line);
      const Json& kernel = portfolio["kernels"][problem.at("kernel").get<std::size_t>()];
      EXPECT_EQ(line, kernel.at("kernel_expression").get<std::string>()) << problem.at("problem");
    }
  }
}

TEST_F(PortfolioCommand, BestJsonHasTheKernelsAndTheTree) {
  const Json json = json_of({"export", "--db", "rows.db", "--best", "--portfolio", "5"});
  EXPECT_EQ(json.at("best").size(), 5U);
  EXPECT_FALSE(json["best"][0].at("launch").is_null());
  const Json& portfolio = json.at("portfolios").at(0);
  EXPECT_EQ(portfolio.at("kernels"), Json({0, 1, 2, 3, 4}));
  Json node = portfolio.at("tree");
  EXPECT_TRUE(node.contains("limit"));
  while (node.contains("at_most")) node = Json(node["at_most"]);
  EXPECT_EQ(node.at("kernels").size(), 5U);
}

TEST_F(PortfolioCommand, ExportsNoKernelThatWasGivenUpAsSlowWhereverItWasMeasured) {
  std::filesystem::copy_file(sandbox_->folder() / "rows.db", sandbox_->folder() / "slow.db");
  {
    SQLite::Database database((sandbox_->folder() / "slow.db").string(), SQLite::OPEN_READWRITE);
    database.exec(
        "UPDATE trial SET outcome = 'screened_out' WHERE kind = 'kernel' AND problem = '128x128x128'");
  }
  const Json json = json_of({"export", "--db", "slow.db", "--best", "--portfolio", "100"});
  for (const Json& entry : json.at("best")) EXPECT_NE(entry.at("problem"), "128x128x128");
  EXPECT_GT(json["best"].size(), 5U);
}

TEST_F(PortfolioCommand, WhatWasNotMeasuredIsSaidAndCanBeFilled) {
  std::filesystem::copy_file(sandbox_->folder() / "rows.db", sandbox_->folder() / "few.db");
  {
    // One kernel on each of two problems, each able to run on both.
    SQLite::Database database((sandbox_->folder() / "few.db").string(), SQLite::OPEN_READWRITE);
    const auto best = [&](const std::string& problem, const std::string& order) {
      return "(SELECT id FROM trial WHERE template = 'sgemm_hierarchical' AND outcome = 'ok' AND problem = "
             "'" +
             problem + "' ORDER BY median_us " + order + " LIMIT 1)";
    };
    database.exec("CREATE TEMP TABLE kept AS SELECT " + best("4096x4096x4096", "ASC") +
                  " AS id UNION SELECT " + best("8192x8192x8192", "DESC"));
    database.exec("DELETE FROM sweep_trial WHERE trial_id NOT IN (SELECT id FROM kept)");
    database.exec("DELETE FROM trial WHERE id NOT IN (SELECT id FROM kept)");
  }
  const Finished run = sandbox_->run({"portfolio", "few.db", "--fill", "gaps.json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"kernel 1 was not measured on 8192x8192x8192",
                                "kernel 2 was not measured on 4096x4096x4096", "choice was not measured"}));
  EXPECT_TRUE(carries(run.err, {"2 configurations of 2 problems", "tiletune sweep"}));
  const Finished space = sandbox_->run({"space", "gaps.json"});
  EXPECT_EQ(space.code, 0) << space.err;
  const Finished whole = sandbox_->run({"portfolio", "rows.db", "-k", "2", "--fill", "none.json"});
  EXPECT_EQ(whole.code, kNothingToDo);
  EXPECT_TRUE(carries(whole.err, {"nothing to fill"}));
}

TEST_F(PortfolioCommand, MistakesAreSaidWithPlaceAndRemedy) {
  expect_error(sandbox_->run({"portfolio", "nowhere.db"}), kUserError, {"nowhere.db"});
  expect_error(sandbox_->run({"portfolio", "rows.db", "-k", "0"}), kUserError, {"--kernels"});
  expect_error(sandbox_->run({"portfolio", "rows.db", "--gpu", "A100"}), kNothingToDo, {"rows.db"});
  expect_error(sandbox_->run({"portfolio", "rows.db", "--db", "rows.db"}), kUserError, {"--db"});
  expect_error(sandbox_->run({"portfolio", "rows.db", "-o", "rows.db"}), kUserError, {"rows.db"});
  expect_error(sandbox_->run({"export", "--db", "rows.db", "--portfolio", "3"}), kUserError,
               {"--portfolio", "--best"});
  expect_error(sandbox_->run({"export", "--db", "rows.db", "--best", "--depth", "3"}), kUserError,
               {"--portfolio"});
}

TEST_F(PortfolioCommand, AppliedToItsOwnProblemsItComesToWhatItWasChosenFor) {
  const Json chosen = json_of({"portfolio", "rows.db", "-k", "6", "--format", "json"})["portfolios"][0];
  ASSERT_EQ(sandbox_->run({"export", "--db", "rows.db", "--best", "--portfolio", "6", "-o", "six.json"}).code,
            0);
  const Json all = json_of({"portfolio", "rows.db", "--apply", "six.json", "--format", "json"});
  ASSERT_EQ(all.at("applied").size(), 1U);
  EXPECT_TRUE(all.at("without_portfolio").empty());
  const Json& applied = all["applied"][0];
  ASSERT_EQ(applied.at("problems").size(), chosen.at("problems").size());
  for (std::size_t i = 0; i < applied["problems"].size(); ++i) {
    const Json& problem = applied["problems"][i];
    for (const char* key : {"problem", "kernel", "best_us"})
      EXPECT_EQ(problem[key], chosen["problems"][i][key]);
    EXPECT_DOUBLE_EQ(problem["regret_percent"].get<double>(),
                     chosen["problems"][i]["regret_percent"].get<double>());
    EXPECT_EQ(problem["result"], "measured");
    EXPECT_LE(problem["least_regret_percent"], problem["regret_percent"]);
  }
  for (const char* key : {"median_regret_percent", "p90_regret_percent", "max_regret_percent"})
    EXPECT_DOUBLE_EQ(applied["with_the_tree"][key].get<double>(), chosen["tuned"][key].get<double>());
  const Finished csv = sandbox_->run({"portfolio", "rows.db", "--apply", "six.json", "--format", "csv"});
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 14);
}

TEST_F(PortfolioCommand, WhatCannotBeJudgedOnOtherProblemsIsSaidAndCanBeFilled) {
  ASSERT_EQ(sandbox_
                ->run({"export", "--db", "rows.db", "--best", "--portfolio", "1", "--problem",
                       "4096x4096x4096", "-o", "one.json"})
                .code,
            0);
  std::filesystem::copy_file(sandbox_->folder() / "rows.db", sandbox_->folder() / "others.db");
  std::ifstream file(sandbox_->folder() / "one.json");
  const Json kernel = Json::parse(file)["best"][0];
  {
    SQLite::Database database((sandbox_->folder() / "others.db").string(), SQLite::OPEN_READWRITE);
    const std::string of_kernel =
        "kernel_expression = '" + kernel.at("kernel_expression").get<std::string>() + "'";
    database.exec("DELETE FROM sweep_trial WHERE trial_id IN (SELECT id FROM trial WHERE " + of_kernel +
                  " AND problem = '8192x8192x8192')");
    database.exec("DELETE FROM trial WHERE " + of_kernel + " AND problem = '8192x8192x8192'");
    database.exec("UPDATE trial SET outcome = 'wrong_result', median_us = NULL WHERE " + of_kernel +
                  " AND problem = '2048x2048x2048'");
  }
  const std::vector<std::string> command{"portfolio", "others.db",      "--apply",   "one.json",
                                         "--problem", "8192x8192x8192", "--problem", "2048x2048x2048",
                                         "--problem", "128x128x128",    "--problem", "4096x4096x4096"};
  const Finished run = sandbox_->run(command);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"1 kernel on 4 problems", "on 1 of 4 problems: regret median 0.00%",
                                "the chosen kernel was not measured at 8192x8192x8192",
                                "the chosen kernel failed at 2048x2048x2048", "wrong_result",
                                "no kernel's constraints hold at 128x128x128"}));
  std::vector<std::string> filling = command;
  filling.insert(filling.end(), {"--fill", "missing.json"});
  const Finished filled = sandbox_->run(filling);
  EXPECT_EQ(filled.code, 0) << filled.err;
  EXPECT_TRUE(carries(filled.err, {"missing.json", "1 configuration of 1 problem", "tiletune sweep"}));
  const Finished space = sandbox_->run({"space", "missing.json"});
  EXPECT_TRUE(carries(space.out, {"8192x8192x8192", "1 valid"})) << space.out;
}

TEST_F(PortfolioCommand, FilesThatCannotBeAppliedAreRefused) {
  const auto expect_refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    sandbox_->write("wrong.json", text);
    expect_error(sandbox_->run({"portfolio", "rows.db", "--apply", "wrong.json"}), kUserError, parts);
  };
  expect_error(sandbox_->run({"portfolio", "rows.db", "--apply", "nowhere.json"}), kUserError,
               {"nowhere.json"});
  expect_refused("", {"wrong.json"});
  expect_refused("[]", {"wrong.json", "export --best"});
  expect_refused(R"({"tiletune_best":1,"best":[]})", {"wrong.json", "--portfolio"});
  expect_refused(R"({"tiletune_best":1,"best":[],"portfolios":[]})", {"wrong.json", "/best"});
  ASSERT_EQ(sandbox_->run({"export", "--db", "rows.db", "--best", "--portfolio", "2", "-o", "two.json"}).code,
            0);
  std::ifstream file(sandbox_->folder() / "two.json");
  const Json good = Json::parse(file);
  const auto changed = [&](const std::string& pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return json.dump();
  };
  expect_refused(changed("/portfolios/0/kernels/0", 2), {"/portfolios/0/kernels/0"});
  expect_refused(changed("/portfolios/0/tree", {{"kernels", {7}}}), {"/portfolios/0/tree/kernels/0", "7"});
  expect_refused(changed("/portfolios/0/tree", {{"limit", 7}}), {"/portfolios/0/tree", "sizes"});
  expect_refused(changed("/portfolios/0/tree", {{"sizes", {"X"}}, {"limit", 7}}),
                 {"/portfolios/0/tree/sizes/0", "X"});
  expect_refused(changed("/portfolios/0/conditions", "softmax, f32"),
                 {"softmax, f32", "gemm, f32", "rows.db"});
  expect_error(sandbox_->run({"portfolio", "rows.db", "--apply", "two.json", "-k", "3"}), kUserError,
               {"--apply"});
  expect_error(sandbox_->run({"portfolio", "rows.db", "--apply", "two.json", "--gpu", "A100"}), kNothingToDo,
               {"rows.db"});
}

}  // namespace portfolio_command_test
}  // namespace tiletune
