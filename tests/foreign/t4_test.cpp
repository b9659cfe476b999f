// Export to T4.

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

TEST_F(T4, IsReadAsOtherToolsReadIt) {
  Trial kernel = timed_trial("a", 12.5, 0.5);
  kernel.parameters = R"({"BM":64,"MAP":"x"})";
  kernel.samples_us = {12, 12.5, 13};
  Trial refused = kernel;
  refused.key = "b";
  refused.parameters = R"({"BM":128,"MAP":"x"})";
  refused.median_us.reset();
  refused.samples_us.clear();
  refused.outcome = Outcome::refused;
  Trial slow = kernel;
  slow.key = "c";
  slow.parameters = R"({"BM":256,"MAP":"x"})";
  slow.outcome = Outcome::screened_out;
  database_.record_all({kernel, refused, slow});
  Database other(folder_ / "other.db", Database::Mode::read_write);
  const auto file = write("results.T4.json", exported());
  EXPECT_EQ(import_file(other, file, {}, [](std::uint64_t) {}).new_rows, 3U);
  const std::vector<Trial> rows = other.trials({});
  EXPECT_EQ(rows[0].source, Source::imported);
  EXPECT_EQ(rows[0].parameters, kernel.parameters);
  EXPECT_EQ(rows[0].samples_us, kernel.samples_us);
  EXPECT_EQ(rows[0].median_us, 12.5);
  EXPECT_EQ(rows[0].gpu, kernel.gpu);
  EXPECT_EQ(rows[0].problem, kernel.problem);
  EXPECT_EQ(rows[0].template_name, kernel.template_name);
  EXPECT_EQ(rows[1].outcome, Outcome::refused);
  EXPECT_EQ(rows[2].outcome, Outcome::screened_out) << "few samples, which are no rank";
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
}

/// A mean and a median may be far apart, and an import must find the row again.
TEST_F(T4, WritesTheStatisticThatTheSourceHas) {
  import_text(cache(R"("1": {"x": 1, "time": 3, "times": [1, 1, 7]}, "2": {"x": 2, "time": 5})"));
  const auto document = nlohmann::ordered_json::parse(exported());
  EXPECT_EQ(document["results"][0]["measurements"].dump(),
            R"([{"name":"time","value":3000.0,"unit":"us","statistic":"mean"}])");
  EXPECT_EQ(import(write("mean.T4.json", exported())).known_rows, 2U);
  Trial measured = timed_trial("m", 12.5, 0.5);
  measured.parameters = R"({"x":3})";
  measured.samples_us = {12, 12.5, 16};
  Database own(folder_ / "own.db", Database::Mode::read_write);
  own.record(measured);
  std::ostringstream out;
  write_t4(out, own, {});
  import(write("median.T4.json", out.str()));
  const Trial row = rows().back();
  EXPECT_EQ(row.median_us, 12.5);
  EXPECT_EQ(row.mean_us, 13.5) << "of the samples";
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
  EXPECT_EQ(row["measurements"].dump(), R"([{"name":"time","value":12.5,"unit":"us","statistic":"median"}])");
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
