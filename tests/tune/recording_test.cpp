#include "tune/recording.h"

#include <gtest/gtest.h>

#include "store/sample_trial.h"
#include "store/temporary_folder.h"

namespace tiletune {
namespace {

/// A database that has taken in an older one after its own sweep.
class OlderMerged : public ::testing::Test {
 protected:
  void SetUp() override {
    add("kernel", "new", "2026-11-21T10:00:00Z");
    add("baseline", "new baseline", "2026-11-21T11:00:00Z");
    add("kernel", "old", "2026-11-20T10:00:00Z");
    add("baseline", "old baseline", "2026-11-20T11:00:00Z");
  }

  void add(const std::string& kind, const std::string& key, const std::string& started_at) {
    SweepRecord sweep;
    sweep.started_at = started_at;
    Trial trial = timed_trial(key, 1, 0);
    trial.kind = kind;
    trial.parameters = "{}";
    trial.sweep_id = trial.seen_in_sweep = database_.begin_sweep(sweep);
    database_.record(trial);
  }

  TemporaryFolder folder_;
  Database database_{folder_ / "a.db", Database::Mode::read_write};
};

TEST_F(OlderMerged, ReplayTakesWhatTheSweepThatBeganLastHasRecorded) {
  const Recording recording = read_recording(database_, recorded_sets(database_).front());
  const Trial candidate = *database_.find("old");
  EXPECT_EQ(recording.find(candidate)->key, "new");
  const std::vector<Trial> baselines = recording.baselines(candidate);
  ASSERT_EQ(baselines.size(), 1U);
  EXPECT_EQ(baselines.front().key, "new baseline");
}

}  // namespace
}  // namespace tiletune
