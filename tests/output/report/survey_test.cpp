#include "output/report/survey.h"

#include <gtest/gtest.h>

#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace {

TEST(Survey, TheSweepThatBeganLastSaysWhatIsKnownOfAConfiguration) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Database::Mode::read_write);
  const auto add = [&](const char* key, Outcome outcome, const char* started_at) {
    SweepRecord sweep;
    sweep.started_at = started_at;
    Trial trial = timed_trial(key, 1, 0);
    trial.parameters = "{}";
    trial.outcome = outcome;
    trial.sweep_id = trial.seen_in_sweep = database.begin_sweep(sweep);
    database.record(trial);
  };
  add("new", Outcome::screened_out, "2026-11-21T10:00:00Z");
  add("of an older database", Outcome::ok, "2026-11-20T10:00:00Z");
  const Survey read = survey(database, {});
  ASSERT_EQ(read.timed.size(), 1U);
  ASSERT_EQ(read.timed.begin()->second.size(), 1U);
  const TimedRow& row = read.timed.begin()->second.front();
  EXPECT_TRUE(row.screened_out);
  EXPECT_EQ(database.row(row.id).key, "new");
}

}  // namespace
}  // namespace tiletune
