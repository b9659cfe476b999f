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

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/process.h"

namespace tiletune {
namespace portfolio_command_test {

using Json = nlohmann::ordered_json;

/// With the recorded rows in rows.db. Every test merges them for itself, so they are few.
class PortfolioCommand : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    sandbox_ = std::make_unique<Sandbox>();
    const Finished run =
        sandbox_->run({"merge", TILETUNE_SOURCE_DIR "/tests/data/sgemm_dispatch_fastest.db.gz", "-o",
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
  EXPECT_TRUE(portfolio.at("untuned").is_null());
}

TEST_F(PortfolioCommand, TablesSayTheCurveTheTimesAndWhatWasNotTuned) {
  const Finished run = sandbox_->run({"portfolio", "--db", "rows.db", "-k", "6"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"kernels for 13 problems on NVIDIA H200", "p90_regret_percent",
                                "predicted time in us on other sizes",
                                "kernel 1: ", "the best of the kernels, regret: median",
                                "regret on untuned problems: unknown", "--held-out"}));
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
      "  tuned::Device device;\n  device.name = \"NVIDIA H200\";\n  device.compute_capability = 90;\n"
      "  device.multiprocessors = 132;\n  tuned::Plan plan(device);\n"
      "  const tuned::Picked picked = tuned::choose(tuned::gemm_f32_problem{m, n, k}, device, plan);\n"
      "  std::printf(\"%s\\n\", picked.kernel ? picked.kernel->expressions[plan.launch[0].kernel] : "
      "picked.why);\n}\n"
      "int main() {\n";
  for (const Json& problem : problems) {
    std::string sizes = problem.at("problem");
    std::replace(sizes.begin(), sizes.end(), 'x', ',');
    text += "  show(" + sizes + ");\n";
  }
  return text + "}\n";
}

/// What the header tuned.h chooses for problems: kernel expressions.
std::vector<std::string> chosen_by_header(const Sandbox& sandbox, const Json& problems) {
  sandbox.write("main.cpp", program_for(problems));
  const std::string compile_and_run =
      "cd '" + sandbox.folder().string() +
      "' && c++ -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror main.cpp -o main && ./main > chosen";
  EXPECT_EQ(std::system(compile_and_run.c_str()), 0);
  std::ifstream file(sandbox.folder() / "chosen");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> chosen_in(const Json& portfolio) {
  std::vector<std::string> chosen;
  for (const Json& problem : portfolio.at("problems"))
    chosen.push_back(portfolio["kernels"][problem.at("kernel").get<std::size_t>()].at("kernel_expression"));
  return chosen;
}

TEST_F(PortfolioCommand, TheHeaderChoosesTheFastestKernelOfATunedProblem) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  for (const std::string kernels : {"5", "10"}) {
    const Json portfolio =
        json_of({"portfolio", "rows.db", "-k", kernels, "--format", "json"})["portfolios"][0];
    const Finished run = sandbox_->run(
        {"export", "--db", "rows.db", "--format", "header", "--portfolio", kernels, "-o", "tuned.h"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(chosen_by_header(*sandbox_, portfolio.at("problems")), chosen_in(portfolio));
  }
}

/// The templates tell the waves. The header and the portfolio choose by them alike.
TEST_F(PortfolioCommand, OnOtherSizesThePredictedTimeDecides) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  const auto predict = [&](const std::string& database, const std::vector<std::string>& problems) {
    std::vector<std::string> command{"sweep",   TILETUNE_SOURCE_DIR "/configs/quick.json",
                                     "--gpu",   "H200",
                                     "--db",    database,
                                     "--quiet", "-j",
                                     "2"};
    for (const std::string& problem : problems) command.insert(command.end(), {"--problem", problem});
    ASSERT_EQ(sandbox_->run(command).code, 0);
  };
  predict("tuned.db", {"512x512x512", "1024x256x512", "128x4096x256", "2048x2048x1024", "1000x1000x1000"});
  const std::vector<std::string> others{"768x768x768", "4096x128x64", "3000x3000x100"};
  predict("others_predicted.db", others);
  const Finished header = sandbox_->run(
      {"export", "--db", "tuned.db", "--portfolio", "4", "--format", "header", "-o", "tuned.h"});
  EXPECT_EQ(header.code, 0) << header.err;
  EXPECT_TRUE(carries(read_file(sandbox_->folder() / "tuned.h"), {"waves_of(", " * waves[0]"}));
  ASSERT_EQ(sandbox_->run({"merge", "tuned.db", "others_predicted.db", "-o", "both_predicted.db"}).code, 0);
  std::vector<std::string> command{"portfolio", "both_predicted.db", "-k", "4", "--format",
                                   "json",      "--held-out"};
  command.insert(command.end(), others.begin(), others.end());
  const Json portfolio = json_of(command)["portfolios"][0];
  Json untuned = Json::array();
  std::vector<std::string> chosen;
  for (const Json& problem : portfolio.at("problems")) {
    if (!problem.at("kernel_untuned").is_number()) continue;
    untuned.push_back(problem);
    chosen.push_back(
        portfolio["kernels"][problem["kernel_untuned"].get<std::size_t>()].at("kernel_expression"));
  }
  ASSERT_EQ(chosen.size(), others.size());
  EXPECT_EQ(chosen_by_header(*sandbox_, untuned), chosen);
}

TEST_F(PortfolioCommand, TheHeaderChoosesWhatWasMeasuredBeforeWhatWasPredicted) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  const Finished run = sandbox_->run({"sweep", TILETUNE_SOURCE_DIR "/configs/quick.json", "--gpu", "H200",
                                      "--db", "p.db", "--quiet", "--problem", "1024x1024x1024", "-j", "2"});
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_EQ(sandbox_->run({"merge", "p.db", "rows.db", "-o", "both.db"}).code, 0);
  ASSERT_EQ(
      sandbox_->run({"export", "--db", "both.db", "--format", "header", "--portfolio", "5", "-o", "tuned.h"})
          .code,
      0);
  const std::vector<std::string> both = chosen_by_header(*sandbox_, {{{"problem", "1024x1024x1024"}}});
  ASSERT_EQ(
      sandbox_->run({"export", "--db", "rows.db", "--format", "header", "--portfolio", "5", "-o", "tuned.h"})
          .code,
      0);
  EXPECT_EQ(both, chosen_by_header(*sandbox_, {{{"problem", "1024x1024x1024"}}}));
}

TEST_F(PortfolioCommand, JsonHasTheKernelsAndWhatWasTuned) {
  const Json portfolio =
      json_of({"portfolio", "rows.db", "-k", "5", "--format", "json"}).at("portfolios").at(0);
  EXPECT_EQ(portfolio.at("kernels").size(), 5U);
  ASSERT_EQ(portfolio.at("fastest").size(), 13U);
  EXPECT_EQ(portfolio["fastest"][0].at("sizes").size(), 3U);
  EXPECT_LT(portfolio["fastest"][0].at("kernel").get<std::size_t>(), 5U);
}

TEST_F(PortfolioCommand, HasNoKernelThatWasGivenUpAsSlowWhereverItWasMeasured) {
  std::filesystem::copy_file(sandbox_->folder() / "rows.db", sandbox_->folder() / "slow.db");
  {
    SQLite::Database database((sandbox_->folder() / "slow.db").string(), SQLite::OPEN_READWRITE);
    database.exec(
        "UPDATE trial SET outcome = 'screened_out' WHERE kind = 'kernel' AND problem = '128x128x128'");
  }
  const Json portfolio =
      json_of({"portfolio", "slow.db", "-k", "100", "--format", "json"}).at("portfolios").at(0);
  SQLite::Database database((sandbox_->folder() / "slow.db").string());
  SQLite::Statement ran(database,
                        "SELECT count(*) FROM trial WHERE outcome = 'ok' AND kernel_expression = ?");
  for (const Json& kernel : portfolio.at("kernels")) {
    ran.bind(1, kernel.at("kernel_expression").get<std::string>());
    ASSERT_TRUE(ran.executeStep());
    EXPECT_GT(ran.getColumn(0).getInt(), 0) << kernel;
    ran.reset();
  }
  EXPECT_GT(portfolio.at("kernels").size(), 5U);
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
                                "kernel 2 was not measured on 4096x4096x4096"}));
  EXPECT_TRUE(carries(run.err, {"2 configurations of 2 problems", "tiletune sweep"}));
  const Finished space = sandbox_->run({"space", "gaps.json"});
  EXPECT_EQ(space.code, 0) << space.err;
  const Finished whole =
      sandbox_->run({"portfolio", "rows.db", "--problem", "4096x4096x4096", "--fill", "none.json"});
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
               {"--portfolio", "--format"});
}

TEST_F(PortfolioCommand, ProblemsThatAreHeldOutAreJudgedByKernelsThatAreChosenWithoutThem) {
  const std::vector<std::string> held_out{"128x128x128", "8192x8192x8192", "2048x2048x2048"};
  std::vector<std::string> command{"portfolio", "rows.db", "-k", "6", "--format", "json", "--held-out"};
  command.insert(command.end(), held_out.begin(), held_out.end());
  const Json portfolio = json_of(command)["portfolios"][0];
  std::vector<std::string> others{"portfolio", "rows.db", "-k", "6", "--format", "json"};
  for (const Json& problem : portfolio.at("problems")) {
    const std::string label = problem.at("problem");
    const bool is_held_out = std::find(held_out.begin(), held_out.end(), label) != held_out.end();
    if (is_held_out) continue;
    others.insert(others.end(), {"--problem", label});
    EXPECT_TRUE(problem.at("regret_percent_untuned").is_null()) << label;
  }
  EXPECT_EQ(portfolio.at("tuned").at("problems"), 10);
  const Json& untuned = portfolio.at("untuned");
  EXPECT_EQ(untuned.at("problems").get<int>() + untuned.at("unmeasured").get<int>(), 3);
  const Json without = json_of(others).at("portfolios").at(0).at("kernels");
  ASSERT_EQ(portfolio.at("kernels").size(), without.size());
  for (std::size_t i = 0; i < without.size(); ++i)
    EXPECT_EQ(portfolio["kernels"][i].at("parameters"), without[i].at("parameters"));
  command = {"portfolio", "rows.db", "--held-out"};
  command.insert(command.end(), held_out.begin(), held_out.end());
  EXPECT_TRUE(carries(sandbox_->run(command).out, {"problems that were not tuned (3 held out)"}));
}

TEST_F(PortfolioCommand, OnlyARecordedProblemCanBeHeldOut) {
  expect_error(sandbox_->run({"portfolio", "rows.db", "--held-out", "7x7x7"}), kUserError,
               {"--held-out", "7x7x7"});
  expect_error(sandbox_->run({"portfolio", "rows.db", "--held-out", "7y"}), kUserError, {"7y"});
}

}  // namespace portfolio_command_test
}  // namespace tiletune
