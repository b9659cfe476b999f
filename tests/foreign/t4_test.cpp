// Export to T4 and back.

#include <sstream>

#include "importing.h"
#include "output/export.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace {

class T4 : public Importing {
 protected:
  std::string exported(const TrialFilter& filter = {}) const {
    std::ostringstream out;
    write_t4(out, database_, filter);
    return out.str();
  }
};

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
  Trial bare = kernel;
  bare.key = "b";
  bare.parameters.clear();
  bare.samples_us.clear();
  bare.median_us.reset();
  bare.outcome = Outcome::dispatched;
  Trial baseline = filled_trial("c", 1);
  baseline.kind = "baseline";
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
  EXPECT_NE(refused.find(
                "rows of 2 GPUs match, and T4 cannot tell them apart\n  Choose one with --gpu. Known: NVIDIA "
                "A100, NVIDIA H200."),
            std::string::npos)
      << refused;
  TrialFilter filter;
  filter.gpus = {"A100"};
  EXPECT_EQ(nlohmann::ordered_json::parse(exported(filter))["results"].size(), 1U);
  filter.gpus = {"none"};
  EXPECT_THROW(exported(filter), NothingToDo);
}

}  // namespace
}  // namespace tiletune
