#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "carries.h"
#include "output/views.h"
#include "sample_ranking.h"

namespace tiletune {
namespace winners_test {

Trial winner_of(const std::string& problem, double median_us, double percent) {
  Trial trial = timed_trial(problem, median_us, 0);
  trial.problem = problem;
  trial.template_name = "sgemm_warptile";
  trial.parameters = R"({"BM":128,"VEC":true})";
  trial.baseline = "cublaslt";
  trial.baseline_us = percent / 100 * median_us;
  trial.percent_of_baseline = percent;
  return trial;
}

/// The three kernels and the baseline of sample_trials(), and two more problems.
std::vector<Trial> three_problems() {
  std::vector<Trial> trials = sample_trials();
  trials[3].baseline = "cublas";
  trials[3].baseline_us = 103.04;
  trials[3].percent_of_baseline = 101.02;
  trials[3].noise_floor_percent = 0.15;
  trials.push_back(winner_of("128x128x128", 4, 200));
  Trial alone = winner_of("8x8x8", 2, 0);
  alone.baseline.clear();
  alone.baseline_us.reset();
  alone.percent_of_baseline.reset();
  trials.push_back(alone);
  return trials;
}

std::string written(const std::vector<Trial>& trials, Format format) {
  const Ranked ranked(trials);
  std::ostringstream out;
  write_view(out, winners_view(ranked.groups, ranked.database), format, {});
  return out.str();
}

TEST(Winners, OnANarrowTerminalTiesGoBeforeWhatTheyGain) {
  const auto columns = kDroppedColumns;
  const auto place = [&](const char* name) { return std::find(columns.begin(), columns.end(), name); };
  EXPECT_LT(place("tied_with"), place("tflops"));
  EXPECT_LT(place("tied_with"), place("percent_of_baseline"));
}

TEST(Winners, AreALineEachWithTheMeanOfWhatTheyGain) {
  const std::string text = written(three_problems(), Format::table);
  EXPECT_TRUE(has_line(text, {"NVIDIA H200, measured"}));
  EXPECT_NE(text.find("\nproblem      template        parameters  median_us  tflops  baseline  baseline_us  "
                      "percent_of_baseline  "
                      "tied_with  noise_floor_percent\n"
                      "64x64x64     sgemm_warptile  BM=64             102    51.0  cublas            103     "
                      "             "
                      "101  "
                      "        1                0.150\n"
                      "128x128x128  sgemm_warptile  BM=128           4.00       -  cublaslt         8.00     "
                      "             "
                      "200  "
                      "        0                    -\n"
                      "8x8x8        sgemm_warptile  BM=128           2.00       -  -                   -     "
                      "               "
                      "-  "
                      "        0                    -\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(has_line(text, {"sgemm_warptile", "VEC=true"}));
  EXPECT_TRUE(has_line(text, {"tied_with:"}));
  EXPECT_TRUE(has_line(text, {"2 problems", "142.1%", "1 more"}));
}

TEST(Winners, KeepParametersThatAreTheSameEverywhere) {
  const std::string text =
      written({winner_of("64x64x64", 4, 110), winner_of("32x32x32", 2, 90)}, Format::table);
  EXPECT_TRUE(has_line(text, {"64x64x64", "BM=128 VEC=true"})) << text;
  EXPECT_TRUE(has_line(text, {"32x32x32", "BM=128 VEC=true"})) << text;
  EXPECT_FALSE(has_line(text, {"in every"})) << text;
}

TEST(Winners, OfOtherGpusAndConditionsStandInTablesOfTheirOwn) {
  std::vector<Trial> trials{winner_of("64x64x64", 4, 110), winner_of("32x32x32", 2, 90)};
  trials[1].gpu = "NVIDIA H100";
  Trial warm = winner_of("64x64x64", 3, 120);
  warm.key = "warm";
  warm.cache = "warm";
  trials.push_back(warm);
  const std::string text = written(trials, Format::markdown);
  for (const std::vector<std::string>& parts :
       std::vector<std::vector<std::string>>{{"###", "NVIDIA H200, measured"},
                                             {"1 problem", "110.0%"},
                                             {"###", "NVIDIA H100, measured"},
                                             {"1 problem", "90.0%"},
                                             {"###", "NVIDIA H200, measured (warm)"},
                                             {"1 problem", "120.0%"}})
    EXPECT_TRUE(has_line(text, parts));
}

TEST(Winners, ArePredictedUnderABannerWithoutABaseline) {
  const std::string text = written({predicted_trial()}, Format::table);
  EXPECT_TRUE(has_line(text, {"problem", "H100 SXM", "predicted"}));
  EXPECT_TRUE(has_line(text, {"H100 SXM", "nothing"}));
  EXPECT_TRUE(
      text.ends_with("problem   template     parameters  predicted_us  tied_with\n"
                     "64x64x64  sgemm_tiled  id=p1               77.8          0\n"))
      << text;
  EXPECT_TRUE(carries(written({}, Format::table), {"No row"}));
}

TEST(Winners, JsonListsWhatIsTied) {
  const auto document = nlohmann::ordered_json::parse(written(three_problems(), Format::json));
  const auto& winners = document["winners"][0];
  EXPECT_NEAR(winners["geometric_mean_percent_of_baseline"].get<double>(), std::sqrt(101.02 * 200), 1e-9);
  EXPECT_EQ(winners["problems_with_baseline"], 2);
  ASSERT_EQ(winners["best"].size(), 3U);
  EXPECT_EQ(winners["best"][0]["parameters"]["BM"], 64);
  EXPECT_EQ(winners["best"][0]["tied_with"].dump(),
            R"([{"template":"sgemm_warptile","parameters":{"BM":128,"VEC":true},"median_us":100.0,)"
            R"("ci_low_us":97.0,"ci_high_us":103.0,"predicted_us":null}])");
  EXPECT_TRUE(winners["best"][1]["tied_with"].empty());
}

TEST(Winners, CsvHasARecordPerProblem) {
  std::istringstream lines(written(three_problems(), Format::csv));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "gpu,problem,source,operation,operation_hash,options,element_types,scalars,cache,template,"
            "parameters,median_us,"
            "ci_low_us,"
            "ci_high_us,predicted_us,tflops,gbs,baseline,baseline_us,percent_of_baseline,noise_floor_percent,"
            "tied_with,verified\r");
  std::getline(lines, line);
  EXPECT_EQ(
      line,
      "NVIDIA "
      "H200,64x64x64,measured,,,,,,,sgemm_warptile,\"{\"\"BM\"\":64,\"\"VEC\"\":true}\",102,101,1034.56,"
      ",51,,cublas,103.04,101.02,0.15,1,1\r");
}

TEST(Winners, ThatWereComparedWithNothingAreNeverTheBestWithoutTheWord) {
  std::vector<Trial> trials{winner_of("64x64x64", 4, 110), winner_of("32x32x32", 2, 90)};
  EXPECT_FALSE(carries(written(trials, Format::table), {"verified"}));
  trials[0].relative_error.reset();
  for (const Format format : {Format::table, Format::markdown}) {
    const std::string text = written(trials, format);
    EXPECT_TRUE(has_line(text, {"64x64x64", "unverified"})) << text;
    EXPECT_TRUE(has_line(text, {"32x32x32", " verified"})) << text;
    EXPECT_TRUE(has_line(text, {"unverified:", "1 row", "nothing"})) << text;
  }
  const auto winners = nlohmann::ordered_json::parse(written(trials, Format::json))["winners"][0];
  EXPECT_EQ(winners["best"][0]["verified"], false);
  EXPECT_EQ(winners["best"][1]["verified"], true);
  EXPECT_TRUE(has_line(written(trials, Format::csv), {"64x64x64", ",0\r"}));
}

}  // namespace winners_test
}  // namespace tiletune
