#include "replay/recording.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "carries.h"
#include "foreign/t1.h"
#include "replay/replay.h"
#include "spec/load.h"
#include "store/sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace recording_test {

constexpr const char* kT1 = R"json({
  "ConfigurationSpace": {"TuningParameters": [
    {"Name": "X", "Values": "[1, 2, 3]"}, {"Name": "F", "Values": "[0.5, 1.0]"}, {"Name": "S", "Values": "[7]"}]},
  "KernelSpecification": {"KernelName": "k", "ProblemSize": [64], "LocalSize": {"X": "no_such_name"}}})json";

/// Rows of the tuning problem above, kept here in place of a database.
class Recordings : public ::testing::Test {
 protected:
  void SetUp() override {
    const TemporaryFolder folder;
    LoadOptions options;
    options.read_other = read_t1;
    spec_ = load_tune_spec(folder.write("t1.json", kT1), options);
    leave_out_kernels(spec_);
    tasks_ = plan_tasks_without_sources(spec_);
  }

  void add(const std::string& parameters, std::optional<double> median_us) {
    Trial& row = rows_.emplace_back();
    row.source = Source::imported;
    row.gpu = "G";
    row.operation = "custom";
    row.template_name = "k";
    row.problem = "64";
    row.parameters = parameters;
    row.outcome = median_us ? Outcome::ok : Outcome::launch_failed;
    row.median_us = median_us;
  }

  Recording& recording() {
    recording_.emplace(RecordedSet{"G", Source::imported, 0}, SweepOrder(),
                       [this](std::int64_t id) { return rows_.at(static_cast<std::size_t>(id)); });
    for (std::size_t id = 0; id < rows_.size(); ++id)
      recording_->add(static_cast<std::int64_t>(id), rows_[id]);
    recording_->finish();
    return *recording_;
  }

  RecordedTask task() { return {spec_, tasks_.front(), recording(), target_}; }

  TuneSpec spec_;
  std::vector<Task> tasks_;
  std::vector<Trial> rows_;
  std::optional<Recording> recording_;
  Target target_;
};

TEST_F(Recordings, FindWhatIsWrittenOtherwise) {
  add(R"({"S": 7, "F": 1, "X": 2})", 30);
  add(R"({"S": 7.0, "F": 0.5, "X": 2})", 20);
  add(R"({"S": 7, "F": 0.5, "X": 9})", 10);
  add(R"({"S": 7, "F": 0.5, "X": true})", 15);
  const RecordedTask task = this->task();
  int found = 0;
  for (std::uint64_t i = 0; i < tasks_.front().space.size(); ++i) found += task.find(i) != nullptr ? 1 : 0;
  EXPECT_EQ(found, 3);
  EXPECT_EQ(task.fastest_us(), 15) << "X = 9 is not in the space";
  EXPECT_TRUE(task.taken_for_granted().empty());
}

TEST_F(Recordings, TakeForGrantedWhatHasOneValue) {
  add(R"({"F": 1, "X": 2})", 30);
  const RecordedTask task = this->task();
  EXPECT_EQ(to_text(task.taken_for_granted()), "S=7");
  EXPECT_EQ(task.fastest_us(), 30);
  const Replay replay = plan_replay(spec_, tasks_, *recording_, target_, "r.json");
  ASSERT_EQ(replay.notes.size(), 1U);
  EXPECT_TRUE(carries(replay.notes.front(), {"S=7"}));
}

TEST_F(Recordings, RefuseRowsThatCannotBeDistinguished) {
  add(R"({"X": 2})", 30);
  EXPECT_EQ(task().find(0), nullptr);
  EXPECT_EQ(task().fastest_us(), std::nullopt);
  try {
    plan_replay(spec_, tasks_, *recording_, target_, "r.json");
    FAIL() << "F has two values";
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.message(), {"1 of the 3", "without F"}));
    EXPECT_EQ(error.where().file, "r.json");
  }
  rows_.clear();
  add(R"({"X": 2, "F": 1, "S": 7, "Y": 1})", 30);
  recording();
  try {
    plan_replay(spec_, tasks_, *recording_, target_, "r.json");
    FAIL() << "Y is no parameter";
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.message(), {"parameter Y", "k"}));
  }
}

TEST_F(Recordings, SayWhatTheyHoldInstead) {
  add(R"({"X": 2})", 30);
  rows_.back().problem = "65";
  recording();
  try {
    plan_replay(spec_, tasks_, *recording_, target_, "r.json");
    FAIL() << "there is nothing of this problem";
  } catch (const NothingToDo& error) {
    EXPECT_TRUE(carries(error.message(), {"nothing", "k 64"}));
    EXPECT_TRUE(carries(error.remedy(), {"k 65 (custom)"}));
  }
}

TEST_F(Recordings, CannotCountSecondsThatNobodyRecorded) {
  add(R"({"X": 2, "F": 1, "S": 7})", 30);
  spec_.budget.seconds = 60;
  const auto notes = [&] {
    recording();
    return plan_replay(spec_, tasks_, *recording_, target_, "r.json").notes;
  };
  ASSERT_EQ(notes().size(), 1U);
  EXPECT_TRUE(carries(notes().front(), {"1 of 1 rows"}));
  add(R"({"X": 3, "F": 1, "S": 7})", 40);
  rows_.back().measure_ms = 1;
  EXPECT_TRUE(carries(notes().front(), {"1 of 2 rows"}));
  rows_.front().compile_ms = 1;
  EXPECT_TRUE(notes().empty());
}

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
  const std::string place = recording.place_of(candidate);
  EXPECT_EQ(recording.row(recording.find(place, "{}")->id).key, "new");
  const std::vector<std::int64_t> baselines = recording.baselines(candidate);
  ASSERT_EQ(baselines.size(), 1U);
  EXPECT_EQ(recording.row(baselines.front()).key, "new baseline");
}

}  // namespace recording_test
}  // namespace tiletune
