#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "carries.h"
#include "output/views.h"
#include "sample_ranking.h"

namespace tiletune {
namespace ladders_test {

std::string written(const std::vector<Trial>& trials, Format format) {
  const Ranked ranked(trials);
  RankingRows rows = ranking_rows(ranked.database, {});
  std::ostringstream out;
  write_view(out,
             ladders_view(build_ladders(rows, {{"sgemm_naive", "", {}}, {"sgemm_warptile", "", {}}}),
                          ranked.database),
             format, {});
  return out.str();
}

TEST(LadderTable, ShowsEachStepAndTheBaselineLast) {
  EXPECT_EQ(written(sample_trials(), Format::table),
            "64x64x64 on NVIDIA H200, measured\n"
            "template        parameters       median_us  tflops  speedup_over_first  speedup_over_previous  "
            "percent_of_baseline\n"
            "sgemm_naive     -                     1234       -                1.00                   1.00  "
            "                  -\n"
            "sgemm_warptile  BM=128 VEC=true        100    52.1                12.3                   12.3  "
            "                103\n"
            "cublas          (baseline)             103    50.6                12.0                  0.970  "
            "                  -\n");
}

TEST(LadderSteps, AreTheTemplatesOfAConfigThatAsksForALadder) {
  const Ranked ranked(sample_trials());
  const auto steps = ladder_steps(
      R"({"templates": ["b", {"template": "a", "parameters": {}}, {"template": 3}], "view": "ladder"})",
      ranked.database);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].template_name, "b");
  EXPECT_EQ(steps[1].template_name, "a");
  EXPECT_TRUE(ladder_steps(R"({"templates": ["c"], "view": "ranking"})", ranked.database).empty());
  EXPECT_TRUE(ladder_steps("[]", ranked.database).empty());
}

TEST(LadderSteps, TakeRowsWithTheirValues) {
  const Ranked ranked(sample_trials());
  const auto rungs_of = [&](const std::string& values) {
    const auto steps =
        ladder_steps(R"({"view": "ladder", "steps": [{"name": "vectors", "template": "sgemm_warptile",
                                        "parameters": )" +
                         values + "}]}",
                     ranked.database);
    RankingRows rows = ranking_rows(ranked.database, {});
    std::ostringstream out;
    write_view(out, ladders_view(build_ladders(rows, steps), ranked.database), Format::table, {});
    return out.str();
  };
  EXPECT_TRUE(has_line(rungs_of(R"({"VEC": [true, 4], "BM": [128]})"), {"vectors", "sgemm_warptile"}));
  EXPECT_TRUE(carries(rungs_of(R"({"VEC": [false]})"), {"No row"}));
  EXPECT_TRUE(carries(rungs_of(R"({"OTHER": [1]})"), {"No row"}));
}

TEST(LadderTable, EveryBaselineIsARung) {
  std::vector<Trial> trials = sample_trials();
  Trial lt = trials[2];
  lt.key = lt.template_name = "cublaslt";
  lt.median_us = 90;
  trials.push_back(lt);
  const std::string text = written(trials, Format::table);
  EXPECT_NE(text.find("cublaslt        (baseline)            90.0    50.6                13.7"),
            std::string::npos)
      << text;
  EXPECT_LT(text.find("cublaslt"), text.find("cublas  "));
}

TEST(LadderTable, MarkdownAndNothing) {
  EXPECT_EQ(written(sample_trials(), Format::markdown)
                .rfind("### 64x64x64 on NVIDIA H200, measured\n\n| template |", 0),
            0U);
  EXPECT_TRUE(carries(written({}, Format::table), {"No row", "ladder"}));
}

TEST(LadderJson, HoldsRungsWithSpeedupsAndColumns) {
  const auto document = nlohmann::ordered_json::parse(written(sample_trials(), Format::json));
  const auto& ladder = document["ladders"][0];
  EXPECT_EQ(ladder["gpu"], "NVIDIA H200");
  EXPECT_EQ(ladder["source"], "measured");
  ASSERT_EQ(ladder["rungs"].size(), 3U);
  EXPECT_DOUBLE_EQ(ladder["rungs"][1]["speedup_over_first"].get<double>(), 12.345);
  EXPECT_EQ(ladder["rungs"][1]["parameters"]["BM"], 128);
  EXPECT_EQ(ladder["rungs"][2]["kind"], "baseline");
}

TEST(LadderCsv, HasOneRecordPerRung) {
  const std::string text = written(sample_trials(), Format::csv);
  EXPECT_EQ(
      text.rfind(
          "gpu,problem,source,operation,operation_hash,options,element_types,scalars,cache,template,"
          "parameters,median_us,"
          "predicted_us,tflops,gbs,percent_of_baseline,"
          "speedup_over_first,speedup_over_previous,verified,step\r\n"
          "NVIDIA H200,64x64x64,measured,,,,,,,sgemm_naive,{},1234.5,,,,,1,1,1,\r\n"
          "NVIDIA "
          "H200,64x64x64,measured,,,,,,,sgemm_warptile,\"{\"\"BM\"\":128,\"\"VEC\"\":true}\",100,,52.123,,"
          "103.04,12.345,12.345,1,\r\n",
          0),
      0U)
      << text;
}

TEST(LadderTable, MarksWhatWasComparedWithNothing) {
  std::vector<Trial> trials = sample_trials();
  EXPECT_FALSE(carries(written(trials, Format::table), {"verified"}));
  trials[0].relative_error.reset();
  for (const Format format : {Format::table, Format::markdown}) {
    const std::string text = written(trials, format);
    EXPECT_TRUE(has_line(text, {"sgemm_warptile", "unverified"})) << text;
    EXPECT_TRUE(has_line(text, {"sgemm_naive", "verified"})) << text;
    EXPECT_TRUE(has_line(text, {"unverified:", "1 row"})) << text;
  }
  const auto document = nlohmann::ordered_json::parse(written(trials, Format::json));
  EXPECT_EQ(document["ladders"][0]["rungs"][1]["verified"], false);
}

}  // namespace ladders_test
}  // namespace tiletune
