#include "output/export.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "carries.h"
#include "output/views.h"
#include "sample_ranking.h"

namespace tiletune {
namespace export_test {

TEST(Formats, AreKnownByName) {
  EXPECT_EQ(format_from_name("markdown"), Format::markdown);
  EXPECT_TRUE(carries(error_of([] { format_from_name("xml"); }), {"'xml'", "table, json, csv, markdown"}));
}

TEST(TrialJson, HasEveryColumnUnderItsName) {
  const Trial trial = filled_trial("a", 4);
  const auto json = to_json(trial, true);
  EXPECT_EQ(json.size(), trial_columns().size());
  for (const Column& column : trial_columns()) {
    ASSERT_TRUE(json.contains(column.name)) << column.name;
    EXPECT_FALSE(json[column.name].is_null()) << column.name;
    EXPECT_EQ(json[column.name].is_structured(),
              column.type == CellType::json || column.type == CellType::blob)
        << column.name;
  }
  EXPECT_EQ(json["samples_us"].size(), trial.samples_us.size());
  EXPECT_FALSE(to_json(trial).contains("samples_us"));
}

TEST(TrialJson, AbsentAndNonFiniteNumbersAreNull) {
  Trial trial;
  trial.median_us = std::numeric_limits<double>::quiet_NaN();
  trial.samples_us = {1.5, std::numeric_limits<double>::infinity()};
  const auto json = to_json(trial, true);
  EXPECT_TRUE(json["median_us"].is_null());
  EXPECT_TRUE(json["tflops"].is_null());
  EXPECT_EQ(nlohmann::ordered_json::parse(json.dump())["samples_us"].dump(), "[1.5,null]");
}

/// Text of a database that somebody else made: written as it stands, because writing it as JSON takes the
/// stack.
TEST(TrialJson, JsonNestedWithoutEndIsText) {
  Trial trial = timed_trial("a", 1, 0);
  trial.parameters = std::string(2000000, '[') + std::string(2000000, ']');
  EXPECT_TRUE(to_json(trial)["parameters"].is_string());
  EXPECT_EQ(parameters_text(trial).size(), trial.parameters.size());
}

TEST(Trials, RowsThatDidNotRunAreListedInEveryFormat) {
  Trial failed = timed_trial("a", 1, 0);
  failed.outcome = Outcome::compile_failed;
  failed.reason = "kernel.cuh(3): error\nidentifier \"x\" is undefined";
  Trial other = failed;
  other.key = "b";
  const Ranked ranked({failed, timed_trial("ran", 1, 0), other});
  const auto written = [&](Format format) {
    std::ostringstream out;
    write_view(out,
               trials_view(ranked.database, {.outcomes = {Outcome::compile_failed}},
                           {"key", "outcome", "reason"}, 1),
               format, {});
    return out.str();
  };
  EXPECT_EQ(written(Format::table),
            "key  outcome         reason\n"
            "a    compile_failed  kernel.cuh(3): error identifier \"x\" is undefined\n"
            "1 more row not shown\n");
  EXPECT_EQ(written(Format::csv),
            "key,outcome,reason\r\n"
            "a,compile_failed,\"kernel.cuh(3): error\nidentifier \"\"x\"\" is undefined\"\r\n");
  const auto document = nlohmann::ordered_json::parse(written(Format::json));
  EXPECT_EQ(document["total_rows"], 2);
  ASSERT_EQ(document["trials"].size(), 1U);
  EXPECT_EQ(document["trials"][0]["reason"], failed.reason);
}

TEST(Trials, ColumnsThatNoRowHasAreLeftOutOfTables) {
  Trial screened = timed_trial("screened", 150.25, 0);
  screened.outcome = Outcome::screened_out;
  screened.reason = "slower";
  Trial refused = timed_trial("refused", 1, 0);
  refused.outcome = Outcome::refused;
  refused.median_us.reset();
  const Ranked ranked({refused, screened});
  const auto written = [&](Outcome outcome, Format format) {
    std::ostringstream out;
    write_view(out, trials_view(ranked.database, {.outcomes = {outcome}}, {"key", "median_us", "reason"}, 0),
               format, {});
    return out.str();
  };
  EXPECT_EQ(written(Outcome::screened_out, Format::table),
            "key       median_us  reason\nscreened        150  slower\n");
  EXPECT_EQ(written(Outcome::refused, Format::table), "key\nrefused\n");
  EXPECT_EQ(written(Outcome::refused, Format::csv), "key,median_us,reason\r\nrefused,,\r\n");
}

TEST(Export, HoldsTwinsAmongAllRows) {
  Trial twin = timed_trial("twin", 1, 0);
  twin.kind = "twin";
  const Ranked ranked({timed_trial("a", 2, 0), twin});
  std::ostringstream out;
  write_export(out, ranked.database, {});
  const auto document = nlohmann::ordered_json::parse(out.str());
  ASSERT_EQ(document["trials"].size(), 2U);
  EXPECT_EQ(document["trials"][1]["kind"], "twin");
  EXPECT_EQ(ranked.groups.at(0).rows.size(), 1U);
}

TEST(Export, HoldsAllRowsAndSweepsInOneDocument) {
  Trial failed = timed_trial("b", 1, 0);
  failed.outcome = Outcome::crashed;
  failed.reason = "caf\xe9 []";
  const Ranked ranked({filled_trial("a", 1), failed}, {SweepRecord{}});
  std::ostringstream out;
  write_export(out, ranked.database, {.samples = true});
  const auto document = nlohmann::ordered_json::parse(out.str());
  EXPECT_EQ(out.str(), document.dump(1) + "\n") << "streamed, but laid out as the whole would be";
  EXPECT_EQ(document["tiletune_trials"], 2);
  EXPECT_EQ(document["sweeps"].size(), 1U);
  ASSERT_EQ(document["trials"].size(), 2U);
  EXPECT_EQ(document["trials"][0]["samples_us"].size(), 3U);
  EXPECT_EQ(document["trials"][1]["reason"], "caf\uFFFD []");
}

TEST(OutcomeSummary, FollowsTheOrderOfOutcomes) {
  EXPECT_EQ(outcome_summary(
                {{Outcome::crashed, 1}, {Outcome::refused, 12}, {Outcome::timeout, 0}, {Outcome::ok, 210}}),
            "ok 210, refused 12, crashed 1");
  EXPECT_EQ(outcome_summary({}), "nothing");
}

TEST(Banner, EverySourceButMeasuredHasOne) {
  EXPECT_EQ(source_banner(Source::measured, "X"), "");
  for (const Source source : {Source::predicted, Source::replayed, Source::imported}) {
    EXPECT_NE(source_banner(source, "X").find("X"), std::string::npos);
  }
}

}  // namespace export_test
}  // namespace tiletune
