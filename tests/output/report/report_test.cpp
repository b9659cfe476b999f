#include "output/report/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "carries.h"
#include "output/sample_ranking.h"

namespace tiletune {
namespace {

using Json = nlohmann::ordered_json;

Json data_of(const Ranked& ranked, std::size_t limit = 0) {
  return report_data(ranked.database, {}, {limit, "tiletune report", "2026-11-22T00:00:00Z"});
}

/// A column as the page unpacks it.
std::vector<Json> unpacked(const Json& rows, const std::string& name) {
  const Json& column = rows.at(name);
  const auto count = rows.at("count").get<std::size_t>();
  if (column.contains("all")) return std::vector<Json>(count, column["all"]);
  std::vector<Json> values;
  for (const Json& value : column["values"]) {
    const bool named = column.contains("names");
    values.push_back(!named ? value : value == -1 ? Json() : column["names"].at(value.get<std::size_t>()));
  }
  return values;
}

Trial screened(const std::string& key, double median_us) {
  Trial trial = timed_trial(key, median_us, 1);
  trial.outcome = Outcome::screened_out;
  return trial;
}

Trial refused(const std::string& key, const std::string& reason) {
  Trial trial = timed_trial(key, 0, 0);
  trial.outcome = Outcome::refused;
  trial.median_us.reset();
  trial.reason = reason;
  trial.cache.clear();
  return trial;
}

TEST(ReportData, ColumnsTakeTheShortestShape) {
  EXPECT_EQ(packed_column({1, 1, 1}).dump(), R"({"all":1})");
  EXPECT_EQ(packed_column({1, nullptr, 3}).dump(), R"({"values":[1,null,3]})");
  EXPECT_EQ(packed_column({"b", nullptr, "a", "b"}).dump(), R"({"names":["b","a"],"values":[0,-1,1,0]})");
  EXPECT_EQ(packed_column({true, "true"}).dump(), R"({"names":[true,"true"],"values":[0,1]})");
  EXPECT_TRUE(packed_column({nullptr, nullptr}).is_null());
  EXPECT_TRUE(packed_column({}).is_null());
  EXPECT_EQ(rounded(1234.56789).dump(), "1234.6");
  EXPECT_EQ(rounded(std::numeric_limits<double>::infinity()), Json());
}

TEST(ReportData, RowsStandInTheOrderOfTheRankingWithWhatWasScreenedOutBehind) {
  std::vector<Trial> trials = sample_trials();
  trials.push_back(screened("s2", 900));
  trials.push_back(screened("s1", 300));
  const Json data = data_of(Ranked(trials));
  ASSERT_EQ(data["groups"].size(), 1U);
  const Json& group = data["groups"][0];
  EXPECT_EQ(Json(unpacked(group["rows"], "rank")).dump(), "[1,1,null,3,null,null]");
  EXPECT_EQ(Json(unpacked(group["rows"], "median_us")).dump(), "[102.0,100.0,103.04,1234.5,300.0,900.0]");
  EXPECT_EQ(Json(unpacked(group["rows"], "kind")).dump(),
            R"(["kernel","kernel","baseline","kernel","kernel","kernel"])");
  EXPECT_EQ(group["timed"], 5);
  EXPECT_EQ(group["shown"], 5);
}

TEST(ReportData, TheLimitKeepsTheFastestAndEveryBaseline) {
  std::vector<Trial> trials = sample_trials();
  trials.push_back(screened("s1", 300));
  const Json data = data_of(Ranked(trials), 1);
  const Json& group = data["groups"][0];
  EXPECT_EQ(Json(unpacked(group["rows"], "template")).dump(), R"(["sgemm_warptile","cublas"])");
  EXPECT_EQ(group["timed"], 4);
  EXPECT_EQ(group["shown"], 1);
}

TEST(ReportData, FiguresAreOfAllRowsWhateverTheLimit) {
  std::vector<Trial> trials;
  for (int i = 0; i < 30; ++i) trials.push_back(timed_trial(std::to_string(10 + i), 100 + i, 0.1));
  trials.push_back(screened("s", std::numeric_limits<double>::max()));
  for (const std::size_t limit : {0U, 2U}) {
    const Json data = data_of(Ranked(trials), limit);
    const Json& group = data["groups"][0];
    EXPECT_EQ(group["near_best"].dump(),
              R"([{"percent":1,"count":2},{"percent":2,"count":3},{"percent":5,"count":6},)"
              R"({"percent":10,"count":11},{"percent":20,"count":21},{"percent":50,"count":30},)"
              R"({"percent":100,"count":30},{"percent":400,"count":30},{"percent":900,"count":30}])");
    std::size_t left_out = 0;
    for (const char* outcome : {"ok", "screened_out"})
      for (const Json& time : group["times_left_out"][outcome]) left_out += time[1].get<std::size_t>();
    EXPECT_EQ(left_out + group["shown"].get<std::size_t>(), 31);
  }
}

TEST(ReportData, FiguresAreOfManyRows) {
  constexpr std::size_t kLimit = 10, kRows = 10100;
  std::vector<Trial> trials;
  std::size_t within_1_percent = 0, within_20_percent = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const double time_us = 1000 + static_cast<double>((i * 7919) % kRows);
    trials.push_back(timed_trial(std::to_string(100000 + i), time_us, 0.1));
    within_1_percent += time_us <= 1010 ? 1 : 0;
    within_20_percent += time_us <= 1200 ? 1 : 0;
  }
  const Json group = data_of(Ranked(trials), kLimit)["groups"][0];
  EXPECT_EQ(group["timed"], kRows);
  EXPECT_EQ(group["shown"], kLimit);
  EXPECT_EQ(group["near_best"][0]["count"], within_1_percent);
  EXPECT_EQ(group["near_best"][4]["count"], within_20_percent);
  std::size_t left_out = 0;
  for (const Json& time : group["times_left_out"]["ok"]) left_out += time[1].get<std::size_t>();
  EXPECT_EQ(left_out, kRows - kLimit);
  EXPECT_EQ(group["outcomes"][0]["count"], kRows);
}

TEST(ReportData, OnlyTheLatestRowOfAConfigurationIsShown) {
  Trial former = screened("former", 300);
  former.parameters = R"({"BM":64})";
  former.recorded_at = "2026-11-20T00:00:00Z";
  Trial now = timed_trial("now", 100, 1);
  now.parameters = former.parameters;
  now.recorded_at = "2026-11-21T00:00:00Z";
  const Json data = data_of(Ranked({former, now}));
  EXPECT_EQ(Json(unpacked(data["groups"][0]["rows"], "median_us")).dump(), "[100.0]");
  EXPECT_EQ(data["groups"][0]["timed"], 1);
}

TEST(ReportData, AllRowsTellHowManyResultsWereCompared) {
  Trial best = timed_trial("a", 100, 1);
  Trial slow = screened("c", 300);
  Trial other = timed_trial("b", 200, 1);
  other.relative_error.reset();
  const Json data = data_of(Ranked({best, other, slow}), 1);
  EXPECT_EQ(data["groups"][0]["shown"], 1);
  EXPECT_EQ(data["groups"][0]["outcomes"][0].dump(), R"({"outcome":"ok","count":2})");
  EXPECT_EQ(data["groups"][0]["verified"], 1);
}

TEST(ReportData, FailuresStandTogetherByReasonUpToItsNumbers) {
  Trial wrong = refused("w", "relative error 0.3 > 1e-06");
  wrong.outcome = Outcome::wrong_result;
  const Json data = data_of(Ranked({timed_trial("a", 100, 1), refused("r1", "1024 threads > 512"),
                                    refused("r2", "2048 threads > 512"), refused("r3", "too large"), wrong}));
  ASSERT_EQ(data["groups"].size(), 1U) << "rows that were not timed have no state of the cache";
  const Json& group = data["groups"][0];
  EXPECT_EQ(group["outcomes"].dump(), R"([{"outcome":"ok","count":1},{"outcome":"refused","count":3},)"
                                      R"({"outcome":"wrong_result","count":1}])");
  ASSERT_EQ(group["failures"].size(), 3U);
  EXPECT_EQ(group["failures"][0].dump(), R"({"outcome":"refused","template":"sgemm_tiled",)"
                                         R"("reason":"1024 threads > 512","count":2,"example":"id=r1"})");
  EXPECT_EQ(group["more_failures"], 0);
}

TEST(ReportData, ReasonsWithoutEndAreCounted) {
  std::vector<Trial> trials;
  for (int i = 0; i < 26 * 10; ++i)
    trials.push_back(
        refused(fmt::format("r{}", i), fmt::format("{}{}", char('a' + i % 26), std::string(i / 26, 'x'))));
  const Json data = data_of(Ranked(trials));
  EXPECT_EQ(data["groups"][0]["failures"].size(), 200U);
  EXPECT_EQ(data["groups"][0]["more_failures"], 60);
}

TEST(ReportData, AProblemOfWhichNothingRanHasItsOutcomes) {
  Trial elsewhere = refused("r", "too large");
  elsewhere.problem = "1x1x1";
  const Json data = data_of(Ranked({timed_trial("a", 100, 1), elsewhere}));
  ASSERT_EQ(data["groups"].size(), 2U);
  EXPECT_EQ(data["groups"][1]["problem"], "1x1x1");
  EXPECT_EQ(data["groups"][1]["rows"]["count"], 0);
  EXPECT_EQ(data["groups"][1]["outcomes"].dump(), R"([{"outcome":"refused","count":1}])");
}

TEST(ReportData, OutcomesStandWithTheirOwnConditions) {
  Trial ran = timed_trial("a", 100, 1);
  ran.scalars = "alpha=1 beta=0.5";
  ran.cache = "cold";
  Trial other_beta = refused("r", "too large");
  other_beta.scalars = "alpha=1 beta=0";
  Trial own_beta = refused("s", "too large");
  own_beta.scalars = "alpha=1 beta=0.5";
  const Json data = data_of(Ranked({ran, other_beta, own_beta}));
  ASSERT_EQ(data["groups"].size(), 2U);
  EXPECT_EQ(data["groups"][0]["cache"], "cold");
  EXPECT_EQ(data["groups"][0]["outcomes"].dump(),
            R"([{"outcome":"ok","count":1},{"outcome":"refused","count":1}])");
  EXPECT_EQ(data["groups"][1]["conditions"], "alpha=1 beta=0");
  EXPECT_EQ(data["groups"][1]["cache"], "");
  EXPECT_EQ(data["groups"][1]["outcomes"].dump(), R"([{"outcome":"refused","count":1}])");
}

TEST(ReportData, TheCacheMayBeTheOnlyCondition) {
  Trial ran = timed_trial("a", 100, 1);
  ran.cache = "cold";
  const Json data = data_of(Ranked({ran, refused("r", "too large")}));
  ASSERT_EQ(data["groups"].size(), 1U);
  EXPECT_EQ(data["groups"][0]["outcomes"].size(), 2U);
}

TEST(ReportData, AComparisonOfGpusNamesTheCacheOfItsProblems) {
  std::vector<Trial> trials;
  for (const char* gpu : {"NVIDIA A100", "NVIDIA H200"}) {
    for (const char* cache : {"cold", "warm"}) {
      trials.push_back(timed_trial(std::string(gpu) + cache, 100, 1));
      trials.back().gpu = gpu;
      trials.back().cache = cache;
    }
  }
  const Json comparison = data_of(Ranked(trials))["comparison"];
  ASSERT_EQ(comparison["problems"].size(), 2U);
  EXPECT_EQ(comparison["problems"][0]["cache"], "cold");
  EXPECT_EQ(comparison["problems"][1]["cache"], "warm");
}

TEST(ReportData, TheHistoryHoldsTheStepsOfTheBestTime) {
  Trial first = timed_trial("a", 200, 1);
  first.compile_ms = 1500;
  Trial slower = timed_trial("b", 300, 1);
  Trial best = timed_trial("c", 100, 1);
  best.measure_ms = 500;
  const Json data = data_of(Ranked({first, slower, refused("r", "too large"), best}), 1);
  const Json& history = data["groups"][0]["history"];
  EXPECT_EQ(history["evaluations"], 4);
  EXPECT_EQ(history["steps"], 2);
  EXPECT_EQ(history["evaluation"].dump(), "[1,4]");
  EXPECT_EQ(history["at_s"].dump(), "[1.5,2.0]");
  EXPECT_EQ(history["best_us"].dump(), "[200.0,100.0]");
  EXPECT_EQ(history["parameters"].dump(), R"(["id=a","id=c"])");
  EXPECT_EQ(history["template"].dump(), R"({"all":"sgemm_tiled"})");
}

TEST(ReportData, TheHistoryOfManyStepsIsThinned) {
  std::vector<Trial> trials;
  for (int i = 0; i < 500; ++i) trials.push_back(timed_trial(fmt::format("k{}", i), 1000 - i, 1));
  const Json history = data_of(Ranked(trials), 1)["groups"][0]["history"];
  EXPECT_EQ(history["steps"], 500);
  EXPECT_LE(history["best_us"].size(), 200U);
  EXPECT_EQ(history["best_us"].back(), 501);
}

TEST(ReportData, WhereNothingRanThereIsNoHistory) {
  const Json data = data_of(Ranked({refused("r", "too large")}));
  EXPECT_TRUE(data["groups"][0]["history"].is_null());
}

TEST(ReportData, PredictedRowsAreApartAndSaySo) {
  const Json data = data_of(Ranked({timed_trial("a", 100, 1), predicted_trial()}));
  ASSERT_EQ(data["groups"].size(), 2U);
  EXPECT_EQ(data["groups"][0]["banner"], "");
  EXPECT_EQ(data["groups"][1]["source"], "predicted");
  EXPECT_TRUE(carries(data["groups"][1]["banner"].get<std::string>(), {"H100 SXM", "nothing"}));
}

TEST(ReportData, TheLadderIsInTheOrderOfTheConfigThatAsksForOne) {
  SweepRecord sweep;
  sweep.config = R"({"templates":["sgemm_naive",{"template":"sgemm_warptile"}],"view":"ladder"})";
  const Json ladder = data_of(Ranked(sample_trials(), {sweep}))["groups"][0]["ladder"];
  ASSERT_EQ(ladder.size(), 3U);
  EXPECT_EQ(ladder[0]["template"], "sgemm_naive");
  EXPECT_EQ(ladder[1]["template"], "sgemm_warptile");
  EXPECT_EQ(ladder[1]["speedup_over_first"], 12.345);
  EXPECT_EQ(ladder[2]["kind"], "baseline");
  sweep.config = R"({"templates":7,"view":"ladder"})";
  EXPECT_TRUE(data_of(Ranked(sample_trials(), {sweep}))["groups"][0]["ladder"].is_null());
  EXPECT_TRUE(data_of(Ranked(sample_trials()))["groups"][0]["ladder"].is_null());
}

TEST(ReportPage, TextOfTheDatabaseCannotLeaveItsScript) {
  Trial trial = timed_trial("a", 100, 1);
  trial.template_name = "</script><!-- & \xE2\x80\xA8 \xFF";
  const Ranked ranked({trial});
  std::ostringstream out;
  const ReportSize size = write_report(out, ranked.database, {}, {0, "tiletune report", "now"});
  EXPECT_EQ(size.configurations, 1U);
  const std::string page = out.str();
  const std::string start = R"(<script id="data" type="application/json">)";
  const auto from = page.find(start) + start.size();
  const std::string data = page.substr(from, page.find("</script>", from) - from);
  EXPECT_EQ(data.find_first_of("<>&\xE2\xFF"), std::string::npos);
  EXPECT_EQ(Json::parse(data)["groups"][0]["rows"]["template"]["all"],
            "</script><!-- & \\u2028 \xEF\xBF\xBD");
}

TEST(ReportPage, ParametersThatAreNoObjectAndNamesWithoutEndDoNoHarm) {
  std::vector<Trial> trials;
  for (int i = 0; i < 150; ++i) trials.push_back(timed_trial(fmt::format("k{}", i), 100 + i, 1));
  for (int i = 0; i < 150; ++i) trials[i].parameters = fmt::format(R"({{"p{}":[1,{{"x":2}}]}})", i);
  trials[3].parameters = "[1, 2";
  const Json data = data_of(Ranked(trials));
  EXPECT_EQ(data["groups"][0]["parameters"].size(), 100U);
  EXPECT_EQ(data["groups"][0]["parameters"][0]["names"].dump(), R"(["[1,{\"x\":2}]"])");
}

}  // namespace
}  // namespace tiletune
