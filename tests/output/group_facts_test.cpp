
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "carries.h"
#include "output/views.h"
#include "sample_ranking.h"

namespace tiletune {
namespace group_facts_test {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;

Trial finalist(const std::string& key, double median_us, std::int64_t samples) {
  Trial trial = timed_trial(key, median_us, 0);
  trial.timed_in = "final";
  trial.noise_floor_percent = 0.1234;
  trial.sample_count = samples;
  trial.gpu_uuid = "GPU-1";
  trial.driver_version = "580.1";
  return trial;
}

Trial baseline(const std::string& name, double median_us) {
  Trial trial = finalist(name, median_us, 40);
  trial.kind = "baseline";
  trial.template_name = name;
  return trial;
}

Lines lines(const std::vector<Trial>& trials) {
  const Ranked ranked(trials, {SweepRecord{}, SweepRecord{}});
  return lines_of(facts_of(ranked.groups.at(0), ranked.database));
}

TEST(GroupFacts, NothingIsSaidOfWhatIsNotKnown) {
  EXPECT_EQ(lines(sample_trials()), Lines{});
  EXPECT_EQ(lines({predicted_trial()}), Lines{});
}

TEST(GroupFacts, FinalsSayWhoTookTurns) {
  Trial best = finalist("a", 100, 40);
  best.probability_near_best = 0.9871;
  Trial twin = finalist("twin", 99, 40);
  twin.kind = "twin";
  const Lines said = lines({best, finalist("b", 101, 12), twin, baseline("cublas", 103),
                            baseline("cublaslt", 102), timed_trial("c", 150, 1)});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_TRUE(carries(said[0], {"2 configurations", "cublaslt, cublas", "40 rounds", "0.123%"}));
  EXPECT_TRUE(carries(said[1], {"1%", "probability 0.987"}));
}

TEST(GroupFacts, FinalsWithoutBaselineAndTwinSayLess) {
  Trial only = finalist("a", 100, 6);
  only.noise_floor_percent.reset();
  const Lines said = lines({only});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(carries(said[0], {"1 configuration", "6 rounds"}));
  EXPECT_FALSE(carries(said[0], {"noise"}));
}

TEST(GroupFacts, FinalsOfAnotherHourAreNotCounted) {
  Trial former = finalist("former", 101, 99);
  Trial former_baseline = baseline("cublas", 101);
  Trial latest = finalist("a", 100, 40);
  former.sweep_id = former_baseline.sweep_id = 1;
  latest.sweep_id = 2;
  Trial faster = timed_trial("never in finals", 90, 1);
  const Lines said = lines({latest, former, former_baseline, faster});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(carries(said[0], {"1 configuration", "40 rounds", "0.123%"}));
  EXPECT_FALSE(carries(said[0], {"cublas"}));
}

TEST(GroupFacts, DiscardedSamplesAreCountedWithTheirReasons) {
  Trial first = timed_trial("a", 1, 0);
  first.discarded_samples = 2;
  first.throttle_reasons = "sw_power_cap, hw_slowdown";
  Trial second = timed_trial("b", 2, 0);
  second.discarded_samples = 3;
  second.throttle_reasons = "sw_power_cap";
  Trial calm = timed_trial("c", 3, 0);
  calm.discarded_samples = 0;
  calm.throttle_reasons = "sw_thermal_slowdown";
  EXPECT_TRUE(carries(lines({first, second, calm}).at(0), {"5 samples", "90%", "hw_slowdown, sw_power_cap"}));
  first.discarded_samples = 1;
  first.throttle_reasons.clear();
  EXPECT_TRUE(carries(lines({first, calm}).at(0), {"1 sample", "90%"}));
  EXPECT_FALSE(carries(lines({first, calm}).at(0), {"throttled"}));
}

TEST(GroupFacts, TheFloorIsThatOfTheGpuAndItsDriver) {
  Ranked ranked({finalist("a", 100, 40)});
  CalibrationRecord calibration;
  calibration.gpu_uuid = "GPU-1";
  calibration.driver_version = "570.0";
  calibration.empty_kernel_us = 9;
  ranked.database.record_calibration(calibration);
  EXPECT_FALSE(facts_of(ranked.groups[0], ranked.database).floor.has_value());
  calibration.driver_version = "580.1";
  calibration.empty_kernel_us = 1.504;
  ranked.database.record_calibration(calibration);
  EXPECT_TRUE(
      carries(lines_of(facts_of(ranked.groups[0], ranked.database)).back(), {"empty kernel", "1.50 us"}));
  calibration.empty_kernel_batch_us = 0.75;
  ranked.database.record_calibration(calibration);
  EXPECT_TRUE(carries(lines_of(facts_of(ranked.groups[0], ranked.database)).back(),
                      {"empty kernel", "1.50 us", "0.750 us"}));
}

Json group_of(const Ranked& ranked) {
  std::ostringstream out;
  write_view(out, rankings_view(ranked.groups, ranked.database), Format::json, {});
  Json group = Json::parse(out.str())["groups"][0];
  group.erase("rows");
  return group;
}

TEST(GroupFacts, AreMembersOfTheJsonGroup) {
  Trial best = finalist("a", 100, 40);
  best.probability_near_best = 0.5;
  best.discarded_samples = 4;
  best.throttle_reasons = "sw_power_cap";
  Ranked ranked({best, baseline("cublas", 120)});
  CalibrationRecord calibration;
  calibration.gpu_uuid = "GPU-1";
  calibration.driver_version = "580.1";
  calibration.event_floor_us = 1.25;
  calibration.empty_kernel_us = 1.5;
  ranked.database.record_calibration(calibration);
  EXPECT_EQ(group_of(ranked).dump(),
            R"({"gpu":"NVIDIA H200","problem":"64x64x64","source":"measured","conditions":"","total_rows":2,)"
            R"("finalists":1,"final_baselines":["cublas"],"final_rounds":40,"noise_floor_percent":0.1234,)"
            R"("probability_near_best":0.5,"discarded_samples":4,"throttle_reasons":["sw_power_cap"],)"
            R"("floor":{"event_floor_us":1.25,"empty_kernel_us":1.5,"empty_kernel_batch_us":0.0}})");
}

TEST(GroupFacts, AreNullInJsonWhereNotKnown) {
  EXPECT_EQ(group_of(Ranked({predicted_trial()})).dump(),
            R"({"gpu":"H100 SXM","problem":"64x64x64","source":"predicted","conditions":"","total_rows":1,)"
            R"("finalists":0,"final_baselines":[],"final_rounds":null,"noise_floor_percent":null,)"
            R"("probability_near_best":null,"discarded_samples":0,"throttle_reasons":[],"floor":null})");
}

TEST(GroupFacts, StandUnderTheTable) {
  const Ranked ranked({finalist("a", 100, 40)});
  for (const auto& [format, line] : {std::pair{Format::table, "\nfinal: 1 configuration"},
                                     std::pair{Format::markdown, "\n\nfinal: 1 configuration"}}) {
    std::ostringstream out;
    write_view(out, rankings_view(ranked.groups, ranked.database), format, {});
    EXPECT_NE(out.str().find(line), std::string::npos) << out.str();
  }
}

}  // namespace group_facts_test
}  // namespace tiletune
