#include "output/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "carries.h"
#include "output/display.h"
#include "temporary_folder.h"

namespace tiletune {
namespace comparison_test {

Trial of_gpu(const std::string& gpu, int x, double median_us) {
  Trial trial;
  trial.gpu = gpu;
  trial.key = gpu + " " + std::to_string(x);
  trial.template_name = "sgemm";
  trial.parameters = "{\"X\":" + std::to_string(x) + ",\"Y\":8}";
  trial.operation = "gemm";
  trial.problem = "64x64x64";
  trial.cache = "cold";
  trial.outcome = Outcome::ok;
  trial.median_us = median_us;
  trial.relative_error = 1e-7;
  return trial;
}

Trial predicted_for(const std::string& gpu, int x, double predicted_us) {
  Trial trial = of_gpu(gpu, x, predicted_us);
  trial.source = Source::predicted;
  trial.predicted_us = predicted_us;
  trial.cache.clear();
  return trial;
}

/// A is predicted; B has measured two configurations, refused one and given up another.
std::vector<Trial> rows_of_two_sources() {
  std::vector<Trial> rows{predicted_for("A", 1, 100), predicted_for("A", 2, 125), predicted_for("A", 3, 200),
                          of_gpu("B", 2, 50),         of_gpu("B", 3, 40),         of_gpu("B", 1, 0),
                          of_gpu("B", 4, 160)};
  rows[3].ci_low_us = 49;
  rows[3].ci_high_us = 51;
  rows[5].outcome = Outcome::refused;
  rows[5].median_us.reset();
  rows[6].outcome = Outcome::screened_out;
  return rows;
}

struct ComparisonView {
  std::optional<double> fail_above;
  bool colour = false;
  std::size_t width = kAnyWidth;
};

std::string written(const std::vector<Trial>& rows, Format format, const ComparisonView& view = {},
                    CompareBy by = CompareBy::gpu) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Database::Mode::read_write);
  database.record_all(rows);
  const Databases databases({&database});
  const Comparison comparison = compare_databases(databases, {by, {}, {}, {"a.db"}, Statistic::median},
                                                  [](const std::string& gpu) { return gpu; });
  std::ostringstream out;
  write_view(out, comparison_view(comparison, databases, view.fail_above), format, {view.colour, view.width});
  return out.str();
}

TEST(Comparison, TellsTheBestTheirWorthElsewhereAndWhereFromTheTimesAre) {
  const std::string text = written(rows_of_two_sources(), Format::table);
  EXPECT_TRUE(has_line(text, {"warning:", "A predicted; B measured"}));
  EXPECT_NE(text.find("\n64x64x64 (gemm, cold)\n"
                      "[1] A: sgemm X=1\n"
                      "[2] B: sgemm X=3\n"),
            std::string::npos);
  EXPECT_TRUE(has_line(text, {"Pennycook", "sgemm X=2"}));
  EXPECT_TRUE(has_line(text, {"sgemm", "Y=8"}));
  EXPECT_NE(text.find("best of  source     time_us  ci_us  tflops  tied_with  ran  failed  difference\n"
                      "[1] A    predicted      100      -       -          0    3       0  -\n"
                      "[2] B    measured      40.0      -       -          0    3       1  -60.0% unclear\n"
                      "efficiency of      on [1] A  on [2] B  harmonic_mean  minimum  pennycook\n"
                      "[1] A                1.000=         x           1.00        0          0\n"
                      "[2] B                0.500     1.000=          0.667    0.500      0.667\n"
                      "largest pennycook    0.800     0.800           0.800    0.800      0.800\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(has_line(text, {"efficiency:", "=:", "x:"})) << "what the marks mean";
  EXPECT_TRUE(has_line(text, {"difference:", "95%", "1.5%", "1%"})) << "no finals measured the noise of B";
  EXPECT_TRUE(has_line(text, {"A and B:", "-1.000", "2 common"}));
  EXPECT_TRUE(has_line(text, {"B:", "1 of 3", "(~)"}));
}

TEST(Comparison, SaysWhatIsUnmeasuredAndWhatOneSideAloneHas) {
  std::vector<Trial> rows{of_gpu("A", 1, 100), of_gpu("B", 2, 50), of_gpu("B", 9, 7)};
  rows[2].problem = "8x8x8";
  const std::string text = written(rows, Format::table);
  for (const std::vector<std::string>& parts :
       std::vector<std::vector<std::string>>{{"unmeasured", "of A on B", "--fill FILE"},
                                             {"unmeasured", "of B on A", "--fill FILE"},
                                             {"A and B:", "no configuration"},
                                             {"no compromise"},
                                             {"only B", "8x8x8 (gemm, cold)"}})
    EXPECT_TRUE(has_line(text, parts));
}

TEST(Comparison, PromisesNoConfigForKernelsOfOtherTools) {
  std::vector<Trial> rows{of_gpu("A", 1, 100), of_gpu("B", 2, 50)};
  for (Trial& row : rows) row.source = Source::imported;
  const std::string text = written(rows, Format::table);
  EXPECT_TRUE(has_line(text, {"of A on B", "--fill FILE", "if"}));
}

TEST(Comparison, SaysByHowMuchALaterSideIsSlowerAndWhetherThatIsNoise) {
  std::vector<Trial> rows{of_gpu("A", 1, 100), of_gpu("A", 1, 110), of_gpu("A", 2, 100), of_gpu("A", 2, 110)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].key = std::to_string(i);
    rows[i].driver_version = i % 2 == 0 ? "570.1" : "580.2";
    const double half = i < 2 ? 1 : 6;
    rows[i].ci_low_us = *rows[i].median_us - half;
    rows[i].ci_high_us = *rows[i].median_us + half;
    rows[i].problem = i < 2 ? "64x64x64" : "8x8x8";
  }
  ComparisonView view;
  view.fail_above = 5;
  const std::string text = written(rows, Format::table, view, CompareBy::driver);
  EXPECT_TRUE(has_line(text, {"slower:", "64x64x64 on A (gemm, cold)", "100 us on 570.1", "110 us on 580.2",
                              "+10.0% (+8.2 to +11.9) slower", "5%"}));
  EXPECT_TRUE(has_line(text, {"may be slower:", "8x8x8 on A (gemm, cold)", "100 us on 570.1",
                              "110 us on 580.2", "+10.0% (+1.4 to +19.4) slower", "5%"}));
  EXPECT_NE(text.find("  +10.0% (+1.4 to +19.4) slower\n"), std::string::npos) << "in the table";
  const std::string json = written(rows, Format::json, view, CompareBy::driver);
  const auto document = nlohmann::ordered_json::parse(json);
  EXPECT_EQ(document["slower"][0]["beyond_noise"], true);
  EXPECT_EQ(document["slower"][1]["beyond_noise"], false);
  const auto& sides = document["problems"][1]["sides"];
  EXPECT_TRUE(sides[0]["difference"].is_null());
  EXPECT_TRUE(sides[0]["noise_floor_percent"].is_null());
  const auto& difference = sides[1]["difference"];
  EXPECT_NEAR(difference["percent"], 10, 1e-9);
  EXPECT_NEAR(difference["low_percent"], 1.4, 0.05);
  EXPECT_NEAR(difference["high_percent"], 19.4, 0.05);
  EXPECT_EQ(difference["noise_percent"], kAssumedNoisePercent);
  EXPECT_EQ(difference["verdict"], "slower");
  EXPECT_NE(written(rows, Format::csv, view, CompareBy::driver).find(",slower\r\n"), std::string::npos);
  view.fail_above = 10.5;
  EXPECT_TRUE(has_line(written(rows, Format::table, view, CompareBy::driver), {"no problem's", "10.5%"}));
}

TEST(Comparison, SaysWhatNoLongerRunsWhatIsNotCheckedAndWhereNothingIsKnownOfTheNoise) {
  std::vector<Trial> rows{of_gpu("A", 1, 100), of_gpu("A", 1, 120), of_gpu("A", 2, 100),
                          of_gpu("A", 2, 0),   of_gpu("A", 3, 0),   of_gpu("A", 4, 100)};
  const std::vector<std::string> problems{"1x1x1", "1x1x1", "2x2x2", "2x2x2", "2x2x2", "4x4x4"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].key = std::to_string(i);
    rows[i].problem = problems[i];
    rows[i].driver_version = i == 0 || i == 2 || i == 5 ? "570.1" : "580.2";
    rows[i].source = Source::imported;
  }
  rows[3].outcome = Outcome::wrong_result;
  rows[4].outcome = Outcome::compile_timeout;
  ComparisonView view;
  view.fail_above = 5;
  const std::string text = written(rows, Format::table, view, CompareBy::driver);
  EXPECT_TRUE(has_line(
      text, {"only 570.1", "2x2x2 on A (gemm, cold)", "nothing", "580.2", "4x4x4 on A (gemm, cold)"}));
  EXPECT_TRUE(has_line(text, {"slower:", "1x1x1 on A (gemm, cold)", "100 us on 570.1", "120 us on 580.2",
                              "+20.0% (+18.8 to +21.2)", "5%"}));
  EXPECT_TRUE(
      has_line(text, {"slower:", "2x2x2 on A (gemm, cold)", "runs on 570.1", "580.2", "2 configurations"}));
  EXPECT_TRUE(has_line(text, {"not checked:", "580.2", "4x4x4 on A (gemm, cold)"}));
  const auto document = nlohmann::ordered_json::parse(written(rows, Format::json, view, CompareBy::driver));
  EXPECT_TRUE(document["slower"][1]["percent"].is_null());
  EXPECT_EQ(document["slower"][1]["beyond_noise"], true);
  EXPECT_EQ(document["unchecked"].dump(), R"([{"problem":"4x4x4","conditions":"gemm, cold","on":"580.2"}])");
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& line : split(text, '\n')) longest = std::max(longest, display_width(line));
  return longest;
}

TEST(Comparison, FitsTheWidthWithManyGpusOfLongNames) {
  std::vector<Trial> rows;
  for (int gpu = 0; gpu < 12; ++gpu) {
    rows.push_back(of_gpu("NVIDIA GPU of a long name, number " + std::to_string(gpu), 1, 100 + gpu));
    for (int i = 0; i < 20; ++i)
      rows.back().parameters.insert(1,
                                    "\"a_long_name_" + std::to_string(i) + "\":" + std::to_string(gpu) + ",");
  }
  for (const std::size_t width : {80, 120, 200}) {
    ComparisonView view;
    view.width = width;
    const std::string text = written(rows, Format::table, view);
    EXPECT_LE(longest_line(text), width) << text;
    for (const std::string part :
         {"\n[12] NVIDIA GPU of a long name, number 11: sgemm ", " on [12]", "a_long_name_19=11"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  EXPECT_GT(longest_line(written(rows, Format::table)), 200U) << "without a width";
}

TEST(Comparison, NamesGiveWayToTheWidth) {
  ComparisonView view;
  view.width = 60;
  const std::string text = written(rows_of_two_sources(), Format::table, view);
  for (const std::string line : {"\nbest of  source     time_us  ci_us", "\n[2]      measured      40.0",
                                 "\nefficiency of      on [1]  on [2]  harmonic_mean  minimum\n"
                                 "[1]                1.000=       x           1.00        0\n",
                                 "\nefficiency of      pennycook\n[1]                        0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
}

TEST(Comparison, SaysThatNothingRanOnASide) {
  std::vector<Trial> rows{of_gpu("A", 1, 100), of_gpu("B", 1, 50), of_gpu("C", 1, 0)};
  rows[2].outcome = Outcome::refused;
  rows[2].median_us.reset();
  const std::string text = written(rows, Format::table);
  EXPECT_NE(text.find("\n[3] C: nothing ran\n"), std::string::npos) << text;
}

TEST(Comparison, SaysThatSidesHaveSeveralGpus) {
  std::vector<Trial> rows{of_gpu("A", 1, 100), of_gpu("B", 1, 50), of_gpu("A", 2, 70), of_gpu("B", 2, 60)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].recorded_at = i < 3 ? "2026-11-20T" : "2026-11-21T";
  EXPECT_TRUE(has_line(written(rows, Format::table, {}, CompareBy::date),
                       {"note:", "--gpu", "2026-11-20 of A, B", "2026-11-21 of B"}));
  EXPECT_FALSE(written(rows, Format::table).starts_with("note")) << "by GPU";
}

TEST(Comparison, NamesOfOthersAreInertText) {
  std::vector<Trial> rows{of_gpu("A\x1b[31m", 1, 100), of_gpu("<b>B", 1, 50)};
  rows[0].template_name = rows[1].template_name = "evil\x1b]0;x\x07";
  const std::string text = written(rows, Format::markdown);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("<b>"), std::string::npos) << text;
}

TEST(Comparison, NamesWhatIsUnverified) {
  std::vector<Trial> rows{of_gpu("A", 1, 100), of_gpu("B", 1, 60), of_gpu("B", 2, 50)};
  rows[2].relative_error.reset();
  const std::string text = written(rows, Format::table);
  EXPECT_NE(text.find("\n[1] A: sgemm X=1\n[2] B: sgemm X=2 (unverified)\n"), std::string::npos) << text;
  EXPECT_TRUE(has_line(text, {"unverified:", "nothing"}));
  const auto document = nlohmann::ordered_json::parse(written(rows, Format::json));
  const auto& chosen = document["problems"][0]["configurations"];
  EXPECT_EQ(chosen[0]["on"][1]["verified"], true);
  EXPECT_EQ(chosen[1]["on"][1]["verified"], false);
  EXPECT_NE(written(rows, Format::csv).find(",false,"), std::string::npos);
  rows[1].relative_error.reset();
  EXPECT_TRUE(has_line(written(rows, Format::table), {"compromise", "sgemm X=1", "(unverified)"}))
      << "it is a compromise where it is unverified on one side";
}

TEST(Comparison, JsonHasEveryFigure) {
  ComparisonView view;
  view.fail_above = 1;
  const auto document = nlohmann::ordered_json::parse(written(rows_of_two_sources(), Format::json, view));
  EXPECT_EQ(document["by"], "gpu");
  EXPECT_EQ(document["mixes_sources"], true);
  EXPECT_EQ(document["sides"][1].dump(),
            R"({"name":"B","gpus":["B"],"driver_versions":[],"sources":["measured"],"problems":1})");
  const auto& problem = document["problems"][0];
  auto side = problem["sides"][1];
  EXPECT_NEAR(side["difference"]["percent"], -60, 1e-9);
  side["difference"].erase("percent");
  EXPECT_EQ(
      side.dump(),
      R"({"side":"B","gpu":"B","source":"measured","ran":3,"screened":1,"failed":1,"undecided":0,)"
      R"("tied_with_best":0,"sources_left_out":[],"noise_floor_percent":null,)"
      R"("difference":{"low_percent":-100.0,"high_percent":null,"noise_percent":null,"verdict":"unclear"}})")
      << "nothing is known of the error of a prediction";
  EXPECT_EQ(problem["configurations"][1]["parameters"].dump(), R"({"X":3,"Y":8})");
  EXPECT_EQ(problem["configurations"][1]["on"][0].dump(),
            R"({"side":"A","known":"timed","time_us":200.0,"low_us":200.0,"high_us":200.0,"efficiency":0.5,)"
            R"("is_with_best":false,"verified":null})");
  EXPECT_EQ(problem["configurations"][1]["on"][1]["verified"], true);
  EXPECT_EQ(problem["configurations"][0]["on"][1]["known"], "failed");
  EXPECT_EQ(problem["configurations"][0]["pennycook"], 0);
  EXPECT_EQ(problem["configurations"][2]["compromise"], "pennycook");
  EXPECT_EQ(problem["pairs"].dump(),
            R"([{"sides":["A","B"],"common":2,"spearman":-1.0,"top_percent":1,"top_percent_shared":0.0}])");
  EXPECT_TRUE(document["unmeasured"].empty());
  EXPECT_TRUE(document["slower"].empty());
}

TEST(Comparison, CsvHasARecordPerConfigurationAndSide) {
  std::istringstream lines(written(rows_of_two_sources(), Format::csv));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "problem,conditions,gpu,configuration,template,parameters,side,source,known,time_us,efficiency,"
            "harmonic_mean,minimum,pennycook,verified,difference_percent,difference_low_percent,difference_"
            "high_percent,verdict\r");
  std::getline(lines, line);
  std::getline(lines, line);
  EXPECT_TRUE(
      line.starts_with("64x64x64,\"gemm, cold\",,best of "
                       "A,sgemm,\"{\"\"X\"\":1,\"\"Y\"\":8}\",B,measured,failed,,0,1,0,0,,-"))
      << line;
  EXPECT_TRUE(line.ends_with(",-100,,unclear\r")) << line;
}

}  // namespace comparison_test
}  // namespace tiletune
