#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/version.h"
#include "carries.h"
#include "output/views.h"
#include "sample_ranking.h"
#include "temporary_folder.h"

namespace tiletune {
namespace rankings_test {

std::string written(const std::vector<Trial>& trials, Format format, const RankingRequest& view = {},
                    const TextStyle& style = {}) {
  const Ranked ranked(trials);
  std::ostringstream out;
  write_view(out, rankings_view(ranked.groups, ranked.database, view), format, style);
  return out.str();
}

nlohmann::ordered_json json_of(const std::vector<Trial>& trials, const RankingRequest& view = {}) {
  return nlohmann::ordered_json::parse(written(trials, Format::json, view));
}

TEST(RankingTable, IsWhatPeopleRead) {
  const std::string text = written(sample_trials(), Format::table);
  EXPECT_TRUE(text.starts_with(R"(64x64x64 on NVIDIA H200, measured
rank  template        parameters  registers  occupancy  limiter    median_us       ci_us  tflops  percent_of_baseline  percent_of_peak
  1=  sgemm_warptile  BM=64              96      0.250  registers        102   101..1035    51.0                  103             77.7
  1=  sgemm_warptile  BM=128            128      0.250  registers        100   97.0..103    52.1                  103             77.7
  -   cublas          (baseline)          -          -  -                103    103..104    50.6                    -                -
  3   sgemm_naive     -                   -          -  -               1234  1234..1236       -                    -                -
)")) << text;
  EXPECT_TRUE(has_line(text, {"sgemm_warptile", "VEC=true"}));
  EXPECT_TRUE(has_line(text, {"tied:", "registers", "occupancy"}));
}

TEST(RankingTable, PredictionsSayThatNothingWasTimed) {
  const std::string text = written({predicted_trial()}, Format::table);
  EXPECT_TRUE(text.starts_with("64x64x64 on H100 SXM, predicted\n"));
  EXPECT_TRUE(has_line(text, {"H100 SXM", "nothing"}));
  EXPECT_NE(text.find("predicted_us"), std::string::npos);
  EXPECT_EQ(text.find("median_us"), std::string::npos);
  EXPECT_EQ(text.find("ci_us"), std::string::npos);
  EXPECT_NE(text.find("77.8"), std::string::npos);
  EXPECT_NE(written({predicted_trial()}, Format::markdown).find("\n**predicted"), std::string::npos);
}

TEST(RankingTable, MeasuredCeilingsAndSustainedRunsHaveTheirColumns) {
  std::vector<Trial> trials = sample_trials();
  trials[0].percent_of_ceiling = 84.12;
  trials[0].bound = "compute";
  trials[0].sustained_us = 125;
  trials[0].sustained_power_w = 698.7;
  trials[1].percent_of_ceiling = 3.21;
  trials[1].bound = "memory";
  trials[2].sustained_us = 110;
  EXPECT_EQ(written({trials[0], trials[1], trials[2]}, Format::table), R"(64x64x64 on NVIDIA H200, measured
rank  template        parameters       registers  occupancy  limiter    median_us       ci_us  tflops  percent_of_baseline  percent_of_ceiling  bound    sustained_tflops  sustained_power_w
   1  sgemm_warptile  BM=128 VEC=true        128      0.250  registers        100   97.0..103    52.1                  103                84.1  compute              41.7                699
   -  cublas          (baseline)               -          -  -                103    103..104    50.6                    -                   -  -                    47.4                  -
   2  sgemm_naive     -                        -          -  -               1234  1234..1236       -                    -                3.21  memory                  -                  -
)");
}

TEST(RankingTable, OfRowsThatDeviceMemoryBoundsShowsItsRate) {
  std::vector<Trial> trials = sample_trials();
  for (Trial& trial : trials) {
    trial.bound = "memory";
    trial.gbs = 1234;
    trial.percent_of_copy = trial.percent_of_ceiling = 30.9;
    trial.percent_of_baseline.reset();
  }
  const std::string text = written(trials, Format::table);
  EXPECT_TRUE(has_line(text, {"median_us", "ci_us", "gbs", "percent_of_copy"})) << text;
  EXPECT_TRUE(has_line(text, {"BM=128", "97.0..103", "1234", "30.9"})) << text;
  for (const char* hidden :
       {"tflops", "percent_of_ceiling", "bound", "percent_of_baseline", "percent_of_peak"})
    EXPECT_EQ(text.find(hidden), std::string::npos) << hidden;
  trials.front().bound = "compute";
  EXPECT_TRUE(has_line(written(trials, Format::table), {"tflops", "percent_of_ceiling", "bound"}));
}

TEST(RankingTable, TheOrderOfTiesIsSaidOnlyWhereItIsTheOrder) {
  RankingRequest view;
  view.sort_by = "median_us";
  EXPECT_EQ(written(sample_trials(), Format::table, view).find("tied:"), std::string::npos);
  view = {};
  view.limit = 1;
  EXPECT_NE(written(sample_trials(), Format::table, view).find("\ntied:"), std::string::npos);
  EXPECT_EQ(written({timed_trial("a", 1, 0), timed_trial("b", 2, 0)}, Format::table).find("tied:"),
            std::string::npos);
}

TEST(RankingTable, ALimitCountsKernelsAndKeepsBaselines) {
  RankingRequest view;
  view.limit = 1;
  const std::string text = written(sample_trials(), Format::table, view);
  EXPECT_NE(text.find("cublas"), std::string::npos);
  EXPECT_EQ(text.find("sgemm_naive"), std::string::npos);
  EXPECT_TRUE(has_line(text, {"2 more"}));
}

TEST(RankingTable, ChosenColumnsReplaceTheStandardOnes) {
  RankingRequest view;
  view.columns = {"median_us", "rank", "parameters", "ci_high_us"};
  EXPECT_EQ(written(sample_trials(), Format::table, view),
            "64x64x64 on NVIDIA H200, measured\n"
            "median_us  rank  parameters       ci_high_us\n"
            "      102     1  BM=64 VEC=true         1035\n"
            "      100     1  BM=128 VEC=true         103\n"
            "      103     -  -                       104\n"
            "     1234     3  -                      1236\n");
}

TEST(RankingTable, FitsTheWidthAndSaysWhatIsLeftOut) {
  const std::string text = written(sample_trials(), Format::table, {}, {false, 80});
  EXPECT_TRUE(text.starts_with(R"(64x64x64 on NVIDIA H200, measured
rank  template        parameters  median_us  tflops  percent_of_baseline
  1=  sgemm_warptile  BM=64             102    51.0                  103
  1=  sgemm_warptile  BM=128            100    52.1                  103
  -   cublas          (baseline)        103    50.6                    -
  3   sgemm_naive     -                1234       -                    -
)")) << text;
  EXPECT_TRUE(has_line(text, {"80 columns", "registers, occupancy, limiter, ci_us"}));
  EXPECT_TRUE(has_line(text, {"percent_of_peak", "'tiletune rank --columns'"}));
}

TEST(RankingTable, AllOfOneOutputHaveTheSameColumns) {
  std::vector<Trial> trials = sample_trials();
  Trial narrow = timed_trial("narrow", 1, 0);
  narrow.problem = "8x8x8";
  narrow.registers = 32;
  trials.push_back(narrow);
  const std::string text = written(trials, Format::table, {}, {false, 80});
  EXPECT_TRUE(has_line(text, {"8x8x8 on"})) << text;
  EXPECT_FALSE(has_line(text, {"rank", "template", "registers"})) << text;
}

TEST(RankingTable, OfChosenColumnsTheLastAreLeftOutFirst) {
  RankingRequest view;
  view.columns = {"template", "median_us", "registers"};
  const std::string text = written(sample_trials(), Format::table, view, {false, 30});
  EXPECT_NE(text.find("\ntemplate        median_us\n"), std::string::npos) << text;
  EXPECT_TRUE(has_line(text, {"30 columns"}));
  EXPECT_TRUE(has_line(text, {"    registers"}));
}

TEST(RankingTable, HeadersOfTheStandardColumnsCanBeChosen) {
  std::vector<Trial> trials = sample_trials();
  trials[0].sustained_us = 125;
  RankingRequest view;
  view.columns = {"key", "ci_us", "limiter", "sustained_tflops"};
  view.sort_by = "-sustained_tflops";
  EXPECT_EQ(written(trials, Format::table, view),
            "64x64x64 on NVIDIA H200, measured\n"
            "key  ci_us       limiter    sustained_tflops\n"
            "k1   97.0..103   registers              41.7\n"
            "k2   101..1035   registers                 -\n"
            "b1   103..104    -                         -\n"
            "k3   1234..1236  -                         -\n");
}

TEST(RankingTable, MarksWhatWasComparedWithNothing) {
  std::vector<Trial> trials = sample_trials();
  EXPECT_FALSE(carries(written(trials, Format::table), {"verified"}));
  trials[1].relative_error.reset();
  for (const Format format : {Format::table, Format::markdown}) {
    const std::string text = written(trials, format);
    EXPECT_TRUE(has_line(text, {"sgemm_naive", "unverified"})) << text;
    EXPECT_TRUE(has_line(text, {"cublas", "verified"})) << text;
    EXPECT_TRUE(has_line(text, {"unverified:", "1 row"})) << text;
  }
  RankingRequest view;
  view.columns = {"key", "verified"};
  const std::string text = written(trials, Format::table, view);
  EXPECT_TRUE(has_line(text, {"k3", "0"})) << text;
  EXPECT_TRUE(has_line(text, {"unverified:", "1 row"})) << "whatever columns are chosen";
  const auto rows = json_of(trials)["groups"][0]["rows"];
  EXPECT_EQ(rows[0]["verified"], true);
  EXPECT_EQ(rows[3]["verified"], false);
  EXPECT_TRUE(json_of({predicted_trial()})["groups"][0]["rows"][0]["verified"].is_null());
}

TEST(RankingTable, EveryColumnIsListedWithItsMeaning) {
  const std::string list = table_of_columns().text();
  for (const std::string name : {"rank", "tied", "verified", "ci_us", "limiter", "sustained_tflops"})
    EXPECT_NE(list.find("\n" + name + " "), std::string::npos) << name;
  for (const Column& column : trial_columns())
    EXPECT_NE(list.find(column.meaning + "\n"), std::string::npos) << column.name;
}

TEST(RankingTable, WinnersAndBaselinesAreEmphasisedInColour) {
  RankingRequest view;
  view.columns = {"key"};
  EXPECT_EQ(
      written(sample_trials(), Format::table, view, {true}),
      "64x64x64 on NVIDIA H200, measured\nkey\n\x1b[1mk2\x1b[0m\n\x1b[1mk1\x1b[0m\n\x1b[1mb1\x1b[0m\nk3\n");
}

TEST(RankingTable, TheHeadingNamesTheConditions) {
  Trial trial = timed_trial("a", 1, 0);
  trial.operation = "gemm";
  trial.scalars = "alpha=1 beta=0";
  trial.cache = "cold";
  const std::string text = written({trial}, Format::table);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "64x64x64 on NVIDIA H200, measured (gemm, alpha=1 beta=0, cold)");
  EXPECT_EQ(json_of({trial})["groups"][0]["conditions"], "gemm, alpha=1 beta=0, cold");
}

TEST(RankingTable, TheAccumulatorOfIntegersIsNotShown) {
  EXPECT_EQ(relevant_types("in:i32 out:bool accumulator:f32"), "in:i32 out:bool");
  EXPECT_EQ(relevant_types("in:u8 out:f32 accumulator:f64"), "in:u8 out:f32 accumulator:f64");
  EXPECT_EQ(relevant_types("f32"), "f32");
}

TEST(RankingTable, NothingToRankIsSaid) { EXPECT_TRUE(carries(written({}, Format::table), {"No row"})); }

std::string keys_sorted_by(const std::string& column) {
  RankingRequest view;
  view.sort_by = column;
  std::string keys;
  const auto document = json_of(sample_trials(), view);
  for (const auto& row : document["groups"][0]["rows"]) keys += row["key"].get<std::string>();
  return keys;
}

TEST(RankingSort, OrdersByAnyColumnWithNullsLastBothWays) {
  EXPECT_EQ(keys_sorted_by(""), "k2k1b1k3");
  EXPECT_EQ(keys_sorted_by("median_us"), "k1k2b1k3");
  EXPECT_EQ(keys_sorted_by("-median_us"), "k3b1k2k1");
  EXPECT_EQ(keys_sorted_by("registers"), "k2k1b1k3");
  EXPECT_EQ(keys_sorted_by("-registers"), "k1k2b1k3");
  EXPECT_EQ(keys_sorted_by("template"), "b1k3k2k1");
  EXPECT_EQ(keys_sorted_by("ci_us"), "k1k2b1k3") << "by its lower end, not as text";
  EXPECT_EQ(keys_sorted_by("limiter"), keys_sorted_by("occupancy_limiter"));
}

TEST(RankingSort, UnknownColumnsAreErrorsInEveryFormatEvenWithoutRows) {
  for (const Format format : {Format::table, Format::markdown, Format::json, Format::csv}) {
    RankingRequest by_sort;
    by_sort.sort_by = "-tflop";
    RankingRequest by_columns;
    by_columns.columns = {"tflop"};
    for (const RankingRequest& view : {by_sort, by_columns}) {
      const std::string text = error_of([&] { written({}, format, view); });
      EXPECT_TRUE(carries(text, {"'tflop'", "'tflops'"}));
    }
  }
}

TEST(RankingSort, AWordOfAColumnIsEnoughToSuggestIt) {
  const auto remedy = [](const std::string& column) {
    RankingRequest view;
    view.columns = {column};
    return error_of([&] { written({}, Format::table, view); });
  };
  EXPECT_TRUE(carries(remedy("median"), {"'median_us'"}));
  EXPECT_TRUE(carries(remedy("time"), {"'median_us'"}));
  EXPECT_TRUE(carries(remedy("baseline_percent"), {"Known"}));
}

TEST(RankingJson, HoldsEveryColumnWithNullsAndNestedJson) {
  const auto document = json_of(sample_trials());
  EXPECT_EQ(document["tiletune"], kVersion);
  ASSERT_EQ(document["groups"].size(), 1U);
  const auto& group = document["groups"][0];
  EXPECT_EQ(group["gpu"], "NVIDIA H200");
  EXPECT_EQ(group["problem"], "64x64x64");
  EXPECT_EQ(group["source"], "measured");
  EXPECT_EQ(group["total_rows"], 4);
  const auto& row = group["rows"][0];
  EXPECT_EQ(row["rank"], 1);
  EXPECT_EQ(row["tied"], true);
  EXPECT_EQ(row["parameters"].dump(), R"({"BM":64,"VEC":true})");
  EXPECT_EQ(row["median_us"], 102.0);
  EXPECT_TRUE(row["min_us"].is_null());
  EXPECT_TRUE(group["rows"][2]["rank"].is_null());
  for (const Column& column : trial_columns()) {
    EXPECT_EQ(row.contains(column.name), column.type != CellType::blob) << column.name;
  }
}

/// What is streamed looks as the whole document would.
TEST(RankingJson, IsLaidOutAsOneDocument) {
  std::vector<Trial> trials = sample_trials();
  Trial other = timed_trial("other []", 7, 0);
  other.problem = "[]";
  trials.push_back(other);
  for (const std::size_t limit : {0, 1}) {
    RankingRequest view;
    view.limit = limit;
    const std::string text = written(trials, Format::json, view);
    EXPECT_EQ(text, nlohmann::ordered_json::parse(text).dump(2) + "\n");
  }
  EXPECT_EQ(written({}, Format::json), json_of({}).dump(2) + "\n");
}

TEST(RankingJson, ChosenColumnsIncludeSamplesWhenAsked) {
  std::vector<Trial> trials{timed_trial("a", 1, 0)};
  trials[0].samples_us = {1.5, 2.5};
  RankingRequest view;
  view.columns = {"key", "samples_us"};
  EXPECT_EQ(json_of(trials, view)["groups"][0]["rows"][0].dump(), R"({"key":"a","samples_us":[1.5,2.5]})");
}

TEST(RankingJson, BrokenUtf8AndBrokenJsonStillMakeADocument) {
  std::vector<Trial> trials{timed_trial("a", 1, 0)};
  trials[0].warnings = "caf\xe9";
  trials[0].parameters = "{\"BM\": ";
  const auto row = json_of(trials)["groups"][0]["rows"][0];
  EXPECT_EQ(row["warnings"], "caf\uFFFD");
  EXPECT_EQ(row["parameters"], "{\"BM\": ");
}

TEST(RankingCsv, QuotesByRfc4180AndSaysWhereEachRowBelongs) {
  std::vector<Trial> trials{timed_trial("a", 0.1, 0)};
  trials[0].warnings = "spills 4 B, \"slow\"\nsecond line";
  trials[0].parameters = R"({"BM":128})";
  RankingRequest view;
  view.columns = {"rank", "gpu", "parameters", "warnings", "median_us", "tflops"};
  EXPECT_EQ(written(trials, Format::csv, view),
            "gpu,problem,source,operation,operation_hash,options,element_types,scalars,cache,rank,parameters,"
            "warnings,"
            "median_us,tflops\r\n"
            "NVIDIA H200,64x64x64,measured,,,,,,,1,\"{\"\"BM\"\":128}\",\"spills 4 B, \"\"slow\"\"\nsecond "
            "line\",0.1,\r\n");
}

TEST(RankingCsv, HasOneHeaderForAllGroupsAndAllDigits) {
  std::vector<Trial> trials{timed_trial("a", 1.0 / 3, 0), timed_trial("b", 2, 0)};
  trials[1].problem = "1x1x1";
  RankingRequest view;
  view.columns = {"median_us"};
  EXPECT_EQ(written(trials, Format::csv, view),
            "gpu,problem,source,operation,operation_hash,options,element_types,scalars,cache,median_us\r\n"
            "NVIDIA H200,64x64x64,measured,,,,,,,0.3333333333333333\r\n"
            "NVIDIA H200,1x1x1,measured,,,,,,,2\r\n");
}

TEST(RankingMarkdown, IsATableUnderAHeading) {
  RankingRequest view;
  view.columns = {"rank", "key"};
  view.limit = 1;
  const std::string text = written(sample_trials(), Format::markdown, view);
  EXPECT_TRUE(text.starts_with(
      "### 64x64x64 on NVIDIA H200, measured\n\n| rank | key |\n| ---: | --- |\n| 1 | k2 |\n| - | b1 |\n\n"))
      << text;
  EXPECT_TRUE(has_line(text, {"2 more"}));
}

}  // namespace rankings_test
}  // namespace tiletune
