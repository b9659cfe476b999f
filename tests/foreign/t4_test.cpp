// Export to T4 and back.

#include <set>
#include <sstream>

#include "importing.h"
#include "output/export.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace t4_test {

class T4 : public Importing {
 protected:
  std::string exported(const TrialFilter& filter = {}) const {
    std::ostringstream out;
    write_t4(out, database_, {filter});
    return out.str();
  }
};

/// The keys of the rows that belong to a sweep.
std::set<std::string> keys_of_sweep(const Database& database, std::int64_t sweep) {
  TrialFilter filter;
  filter.sweep_id = sweep;
  std::set<std::string> keys;
  for (const Trial& trial : database.trials(filter)) keys.insert(trial.key);
  return keys;
}

CalibrationRecord calibration_of(const std::string& uuid, const std::string& recorded_at, double copy_gbs) {
  CalibrationRecord calibration;
  calibration.gpu_uuid = uuid;
  calibration.driver_version = "580";
  calibration.recorded_at = recorded_at;
  calibration.copy_gbs = copy_gbs;
  return calibration;
}

SweepRecord sweep_number(int number) {
  SweepRecord sweep;
  sweep.started_at = "2026-11-21T10:00:0" + std::to_string(number) + "Z";
  sweep.command = "tiletune sweep";
  return sweep;
}

TEST_F(T4, BackAndForthLosesNothing) {
  database_.begin_sweep(sweep_number(1));
  database_.begin_sweep(sweep_number(2));
  Trial kernel = filled_trial("a", 2);
  kernel.kind = "kernel";
  kernel.occupancy = 0.5;
  Trial bare = kernel;
  bare.key = "b";
  bare.parameters.clear();
  bare.samples_us.clear();
  bare.median_us.reset();
  bare.outcome = Outcome::dispatched;
  Trial baseline = filled_trial("c", 1);
  baseline.kind = "baseline";
  baseline.occupancy = 0.25;
  Trial missing = kernel;
  missing.key = "d";
  missing.outcome = Outcome::not_recorded;
  database_.record_all({baseline, kernel, bare, missing});

  const auto file = write("results.T4.json", exported());
  Database other(folder_ / "other.db", Database::Mode::read_write);
  const ImportSummary summary = import_file(other, file, {}, [](std::uint64_t) {});
  EXPECT_EQ(summary.new_rows, 4U);
  EXPECT_EQ(summary.format, "tiletune T4 export");
  for (const Trial& expected : rows()) {
    const auto found = other.find(expected.key);
    ASSERT_TRUE(found) << expected.key;
    for (const Column& column : trial_columns())
      EXPECT_EQ(column.read(*found), column.read(expected)) << column.name << " of " << expected.key;
  }
  EXPECT_EQ(other.sweeps().size(), 2U);
  EXPECT_EQ(import_file(other, file, {}, [](std::uint64_t) {}).new_rows, 0U);
  EXPECT_EQ(other.sweeps().size(), 2U);
}

TEST_F(T4, BackAndForthEveryRowStaysInItsSweeps) {
  for (int number = 1; number <= 3; ++number) database_.begin_sweep(sweep_number(number));
  Trial kernel = timed_trial("kernel", 1, 0);
  kernel.sweep_id = kernel.seen_in_sweep = 1;
  Trial baseline = timed_trial("baseline", 2, 0);
  baseline.kind = "baseline";
  baseline.sweep_id = baseline.seen_in_sweep = 1;
  database_.record_all({kernel, timed_trial("of none", 1, 0), baseline, timed_trial("late", 1, 0)});
  database_.mark_seen("kernel", 3);
  database_.mark_seen("baseline", 2);
  database_.mark_seen("late", 3);
  database_.record_calibration(calibration_of("GPU-1", "2026-11-21T10:00:00Z", 4000));
  database_.record_calibration(calibration_of("GPU-2", "2026-11-21T10:00:00Z", 3000));
  std::ostringstream json;
  write_export(json, database_, {});

  int copies = 0;
  for (const std::string& text : {exported(), json.str()}) {
    const auto file = write("export.json", text);
    Database other(folder_ / std::to_string(++copies), Database::Mode::read_write);
    SweepRecord own = sweep_number(0);
    other.begin_sweep(own);
    other.record_calibration(calibration_of("GPU-2", "2026-11-22T10:00:00Z", 5000));
    for (int i = 0; i < 2; ++i) {
      import_file(other, file, {}, [](std::uint64_t) {});
      EXPECT_EQ(keys_of_sweep(other, 1), std::set<std::string>{});
      EXPECT_EQ(keys_of_sweep(other, 2), (std::set<std::string>{"kernel", "baseline"}));
      EXPECT_EQ(keys_of_sweep(other, 3), std::set<std::string>{"baseline"});
      EXPECT_EQ(keys_of_sweep(other, 4), (std::set<std::string>{"kernel", "late"}));
      EXPECT_EQ(other.find("kernel")->seen_in_sweep, 4);
      EXPECT_EQ(other.calibration("GPU-1", "580")->copy_gbs, 4000);
      EXPECT_EQ(other.calibration("GPU-2", "580")->copy_gbs, 5000) << "the later one";
    }
  }
}

TEST_F(T4, WhatIsOutOfDateIsNoResult) {
  Trial old = timed_trial("old", 5, 0);
  old.parameters = R"({"BM":64})";
  Trial now = timed_trial("now", 8, 0);
  now.parameters = old.parameters;
  now.recorded_at = "2099-01-01T00:00:00Z";
  database_.record_all({old, now});
  const auto document = nlohmann::ordered_json::parse(exported());
  ASSERT_EQ(document["results"].size(), 1U);
  EXPECT_EQ(document["results"][0]["measurements"][0]["value"], 8.0);
  EXPECT_EQ(document["metadata"]["tiletune"]["other_rows"][0]["key"], "old") << "nothing is lost";
}

TEST_F(T4, SaysWhatOthersRead) {
  Trial fast = timed_trial("fast", 12.5, 0.5);
  fast.parameters = R"({"BM":64})";
  fast.samples_us = {12, 12.5, 13};
  fast.compile_ms = 2;
  Trial broken = timed_trial("broken", 0, 0);
  broken.median_us.reset();
  broken.outcome = Outcome::out_of_bounds;
  database_.record_all({fast, broken});
  const auto document = nlohmann::ordered_json::parse(exported());
  EXPECT_EQ(document["metadata"]["timeunit"], "microseconds");
  ASSERT_EQ(document["results"].size(), 2U);
  const auto& row = document["results"][0];
  EXPECT_EQ(row["configuration"].dump(), R"({"BM":64})");
  EXPECT_EQ(row["times"].dump(), R"({"compilation_time":2000.0,"runtimes":[12.0,12.5,13.0]})");
  EXPECT_EQ(row["invalidity"], "correct");
  EXPECT_EQ(row["measurements"].dump(), R"([{"name":"time","value":12.5,"unit":"us"}])");
  EXPECT_EQ(document["results"][1]["invalidity"], "correctness");
  EXPECT_EQ(document["results"][1]["correctness"], 0);
}

TEST_F(T4, WhatARecordingDidNotHoldIsNoResultForOthers) {
  Trial missing = timed_trial("missing", 0, 0);
  missing.median_us.reset();
  missing.outcome = Outcome::not_recorded;
  database_.record_all({timed_trial("a", 1, 0), missing});
  const auto document = nlohmann::ordered_json::parse(exported());
  ASSERT_EQ(document["results"].size(), 1U);
  EXPECT_EQ(document["results"][0]["tiletune"]["key"], "a");
  ASSERT_EQ(document["metadata"]["tiletune"]["other_rows"].size(), 1U);
  EXPECT_EQ(document["metadata"]["tiletune"]["other_rows"][0]["outcome"], "not_recorded");
}

TEST_F(T4, OneFileIsOfOneSpace) {
  Trial first = timed_trial("a", 1, 0);
  Trial second = timed_trial("b", 1, 0);
  second.gpu = "NVIDIA A100";
  database_.record_all({first, second});
  const std::string refused = error_of([&] { exported(); });
  EXPECT_TRUE(carries(refused, {"2", "GPUs", "T4", "--gpu", "NVIDIA A100, NVIDIA H200"}));
  TrialFilter filter;
  filter.gpus = {"A100"};
  EXPECT_EQ(nlohmann::ordered_json::parse(exported(filter))["results"].size(), 1U);
  filter.gpus = {"none"};
  EXPECT_THROW(exported(filter), NothingToDo);
}

}  // namespace t4_test
}  // namespace tiletune
