#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "carries.h"
#include "output/export.h"
#include "sample_ranking.h"

namespace tiletune {
namespace best_test {

using Json = nlohmann::ordered_json;

void collect_names(const Json& json, std::set<std::string>& names) {
  for (const auto& item : json.items()) {
    names.insert(item.key());
    if (item.value().is_object()) collect_names(item.value(), names);
  }
}

Json best_of(const std::vector<Trial>& trials, const std::vector<SweepRecord>& sweeps = {}) {
  const Ranked ranked(trials, sweeps);
  return best_as_json(ranked.groups, ranked.database);
}

/// All columns but those that are the same for every best row, and the raw samples.
TEST(Best, CarriesEveryColumnSomewhere) {
  const std::vector<SweepRecord> sweeps(3);
  Trial trial = filled_trial("a", 3);
  trial.kind = "kernel";
  trial.outcome = Outcome::ok;
  const Json document = best_of({trial}, sweeps);
  ASSERT_EQ(document["best"].size(), 1U);
  std::set<std::string> names;
  collect_names(document["best"][0], names);
  const std::set<std::string> left_out{"kind",       "chosen_at",  "outcome",  "reason",       "printed",
                                       "samples_us", "clocks_mhz", "sweep_id", "seen_in_sweep"};
  for (const Column& column : trial_columns()) {
    EXPECT_NE(names.contains(column.name), left_out.contains(column.name)) << column.name;
  }
}

TEST(Best, OfScalarsThatWereCorrectedTheNewestComeFirstAndAreNoted) {
  std::vector<Trial> trials;
  for (const char* scalars : {"eps=1", "eps=1e-05"}) {
    for (const char* problem : {"64x64", "8x8"}) {
      Trial trial = timed_trial(std::string(scalars) + problem, 10, 0);
      trial.problem = problem;
      trial.scalars = scalars;
      trial.recorded_at = std::string(scalars) == "eps=1" ? "2026-11-20T10:00:00Z" : "2026-11-21T10:00:00Z";
      trials.push_back(trial);
    }
  }
  const Ranked ranked(trials);
  std::ostringstream out;
  std::vector<std::string> notes;
  ExportRequest request;
  request.note = [&](const std::string& note) { notes.push_back(note); };
  write_best(out, ranked.database, request);
  const Json best = Json::parse(out.str())["best"];
  ASSERT_EQ(best.size(), 4U);
  const char* const expected[] = {"64x64 eps=1e-05", "8x8 eps=1e-05", "64x64 eps=1", "8x8 eps=1"};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(best[i]["problem"].get<std::string>() + " " + best[i]["scalars"].get<std::string>(),
              expected[i]);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(carries(notes[0], {"eps=1e-05; eps=1", "1 more problem", "--sweep"})) << notes[0];
}

TEST(Best, IsTheFirstKernelOfEachGroupWithItsTies) {
  std::vector<Trial> trials = sample_trials();
  Trial other = timed_trial("other", 7, 0);
  other.problem = "1x1x1";
  trials.push_back(other);
  const Json document = best_of(trials);
  EXPECT_EQ(document["tiletune_best"], 1);
  ASSERT_EQ(document["best"].size(), 2U);
  const Json& best = document["best"][0];
  EXPECT_EQ(best["gpu"], "NVIDIA H200");
  EXPECT_EQ(best["problem"], "64x64x64");
  EXPECT_EQ(best["template"], "sgemm_warptile");
  EXPECT_EQ(best["parameters"]["BM"], 64);
  EXPECT_EQ(best["resources"]["registers"], 96) << "of the two tied kernels the one with fewer registers";
  EXPECT_EQ(best["occupancy"]["occupancy_limiter"], "registers");
  EXPECT_EQ(best["timing"]["median_us"], 102.0);
  EXPECT_TRUE(best["timing"]["min_us"].is_null());
  EXPECT_EQ(best["tied_with"], 1);
  EXPECT_EQ(best["provenance"]["key"], "k2");
  EXPECT_TRUE(best["provenance"]["sweep"].is_null());
  EXPECT_FALSE(best.contains("note"));
  EXPECT_EQ(document["best"][1]["tied_with"], 0);
}

TEST(Best, SaysWhetherItsResultWasCompared) {
  Trial trial = timed_trial("a", 1, 0);
  EXPECT_EQ(best_of({trial})["best"][0]["verified"], true);
  trial.relative_error.reset();
  EXPECT_EQ(best_of({trial})["best"][0]["verified"], false);
  EXPECT_TRUE(best_of({predicted_trial()})["best"][0]["verified"].is_null());
}

TEST(Best, NamesTheSweepThatMeasuredIt) {
  Trial trial = timed_trial("a", 1, 0);
  trial.sweep_id = 2;
  SweepRecord first;
  SweepRecord second;
  second.command = "tiletune sweep configs/x.json";
  second.git_commit = "abc-dirty";
  const Json sweep = best_of({trial}, {first, second})["best"][0]["provenance"]["sweep"];
  EXPECT_EQ(sweep["id"], 2);
  EXPECT_EQ(sweep["command"], "tiletune sweep configs/x.json");
  EXPECT_EQ(sweep["git_commit"], "abc-dirty");
  EXPECT_TRUE(sweep["finished_at"].is_null());
}

TEST(Best, ListsWhatItWasComparedWith) {
  std::vector<Trial> trials = sample_trials();
  Trial lt = trials[2];
  lt.key = lt.template_name = "cublaslt";
  lt.median_us = 99;
  lt.relative_error = 5e-7;
  lt.kernel_expression = "sm80_xmma_gemm";
  lt.derived = R"({"library":"cuBLASLt 13.1","algorithm":"heuristic 3 of 8"})";
  trials.push_back(lt);
  trials[2].derived = "[[";
  const Json baselines = best_of(trials)["best"][0]["baselines"];
  EXPECT_EQ(baselines.dump(),
            R"([{"name":"cublaslt","library":"cuBLASLt 13.1","kernel":"sm80_xmma_gemm",)"
            R"("algorithm":"heuristic 3 of 8","median_us":99.0,"relative_error":5e-07},)"
            R"({"name":"cublas","library":null,"kernel":"","algorithm":null,"median_us":103.04,)"
            R"("relative_error":1e-07}])");
}

TEST(Best, HasTheSizesThatADispatcherComparesAsNumbers) {
  std::vector<Trial> trials{timed_trial("a", 1, 0), timed_trial("b", 1, 0), timed_trial("c", 1, 0)};
  trials[0].operation = trials[1].operation = "gemm";
  trials[0].dimensions = R"({"M":1000,"N":77,"K":513})";
  trials[1].problem = "64x32x16 lda=48 ldc=40";
  trials[1].dimensions = R"({"M":64,"N":32,"K":16,"lda":48,"ldc":40})";
  trials[2].operation = "softmax";
  const Json best = best_of(trials)["best"];
  EXPECT_EQ(best[0]["dimensions"].dump(), R"({"M":1000,"N":77,"K":513})");
  EXPECT_EQ(best[1]["dimensions"].dump(), R"({"M":64,"N":32,"K":16,"lda":48,"ldc":40})");
  EXPECT_TRUE(best[2]["dimensions"].is_null());
}

TEST(Best, ALabelThatNoSweepWroteHasNoSizes) {
  for (const char* label :
       {"40seli96x4096x4096", "4xx4", "64x32x16  lda=48", "64x32x16 lda", "64x32x16 lda=", "1.5x2x3"}) {
    std::vector<Trial> trials{timed_trial("a", 1, 0)};
    trials[0].operation = "gemm";
    trials[0].problem = label;
    EXPECT_EQ(best_of(trials)["best"][0]["dimensions"].dump(), "null") << label;
  }
}

TEST(Best, PredictionsAreMarked) {
  const Json best = best_of({predicted_trial()})["best"][0];
  EXPECT_EQ(best["source"], "predicted");
  EXPECT_TRUE(carries(best["note"].get<std::string>(), {"H100 SXM", "nothing"}));
  EXPECT_EQ(best["timing"]["predicted_us"], 77.77);
}

TEST(Best, GroupsOfBaselinesAloneHaveNone) {
  Trial baseline = timed_trial("b", 1, 0);
  baseline.kind = "baseline";
  EXPECT_EQ(best_of({baseline})["best"], Json::array());
}

}  // namespace best_test
}  // namespace tiletune
