#include "store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "sample_trial.h"
#include "store/schema.h"
#include "temporary_folder.h"

namespace tiletune {
namespace database_test {

using Mode = Database::Mode;

std::vector<std::string> keys_of(const std::vector<Trial>& trials) {
  std::vector<std::string> keys;
  for (const Trial& trial : trials) keys.push_back(trial.key);
  return keys;
}

std::vector<std::string> keys_of(const Database& database, const TrialFilter& filter) {
  return keys_of(database.trials(filter));
}

TEST(Database, EveryColumnSurvivesClosingAndReopening) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "new/folder/a.db";
  Trial written;
  {
    Database database(file, Mode::read_write);
    written = filled_trial("key", database.begin_sweep({}));
    database.record(written);
  }
  const Database database(file, Mode::read_only);
  const std::optional<Trial> read = database.find("key");
  ASSERT_TRUE(read.has_value());
  for (const Column& column : trial_columns())
    EXPECT_EQ(column.read(*read), column.read(written)) << column.name;
}

TEST(Database, AbsentNumbersStayAbsent) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  Trial empty;
  empty.key = "empty";
  database.record(empty);
  const std::optional<Trial> read = database.find("empty");
  ASSERT_TRUE(read.has_value());
  for (const Column& column : trial_columns())
    EXPECT_EQ(column.read(*read), column.read(empty)) << column.name;
}

TEST(Database, HoldsOneShardAlone) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  SweepRecord third;
  third.shard = "3/16";
  SweepRecord fourth;
  fourth.shard = "4/16";
  database.begin_sweep({});
  database.begin_sweep(third);
  database.begin_sweep(third);
  database.begin_sweep({});
  try {
    database.begin_sweep(fourth);
    FAIL() << "another shard must be refused";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("3/16"), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("4/16"), std::string::npos) << error.what();
  }
  EXPECT_EQ(database.sweeps().size(), 4U);
}

TEST(Database, SweepsKeepAllFieldsAndTheirEnd) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  const SweepRecord sweep{
      0,      "start",       "",    "tiletune sweep 'x'", "configs/x.json", "{\"a\": 1}", "0.1.0", "abc",
      "host", "NVIDIA H200", "3/16"};
  const std::int64_t first = database.begin_sweep(sweep);
  const std::int64_t second = database.begin_sweep({});
  EXPECT_NE(first, second);
  database.end_sweep(first, "end");
  const std::vector<SweepRecord> sweeps = database.sweeps();
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0].id, first);
  EXPECT_EQ(sweeps[0].started_at, "start");
  EXPECT_EQ(sweeps[0].finished_at, "end");
  EXPECT_EQ(sweeps[0].command, "tiletune sweep 'x'");
  EXPECT_EQ(sweeps[0].config_file, "configs/x.json");
  EXPECT_EQ(sweeps[0].config, "{\"a\": 1}");
  EXPECT_EQ(sweeps[0].tiletune_version, "0.1.0");
  EXPECT_EQ(sweeps[0].git_commit, "abc");
  EXPECT_EQ(sweeps[0].host, "host");
  EXPECT_EQ(sweeps[0].gpu, "NVIDIA H200");
  EXPECT_EQ(sweeps[0].shard, "3/16");
  EXPECT_EQ(sweeps[1].finished_at, "");
  EXPECT_THROW(database.end_sweep(99, "end"), std::out_of_range);
}

TEST(Database, ReplacingAKeyKeepsItsPlaceAndLeavesNothingOfTheOldRow) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  const std::int64_t sweep = database.begin_sweep({});
  database.record(filled_trial("a", sweep));
  database.record(filled_trial("b", sweep));
  Trial dispatched;
  dispatched.key = "a";
  database.record(dispatched);
  EXPECT_EQ(keys_of(database, {}), (std::vector<std::string>{"a", "b"}));
  const std::optional<Trial> read = database.find("a");
  dispatched.chosen_at = read->chosen_at;  // it is still what a sweep chose
  for (const Column& column : trial_columns())
    EXPECT_EQ(column.read(*read), column.read(dispatched)) << column.name;
}

TEST(Database, RowsOfEarlierSourcesCanBeLeftOut) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  // The later of two sweeps may have the smaller number.
  SweepRecord sweep;
  sweep.started_at = "2026-11-22T10:00:00Z";
  const std::int64_t late = database.begin_sweep(sweep);
  sweep.started_at = "2026-11-21T10:00:00Z";
  const std::int64_t early = database.begin_sweep(sweep);
  const auto add = [&](const std::string& key, std::int64_t in, const std::string& source,
                       const std::string& files, const std::string& of = "t") {
    Trial row = timed_trial(key, 100, 1);
    row.template_name = of;
    row.source_hash = source;
    row.included_files = files;
    row.sweep_id = row.seen_in_sweep = in;
    row.recorded_at = "2026-11-22T10:00:00Z";
    database.record(row);
  };
  add("new", late, "2", R"({"a.h":"1","b.h":"1"})");
  add("new without files", late, "2", "");
  add("new with other files", early, "2", R"({"b.h":"1","c.h":"9"})");
  add("new with a changed file", early, "2", R"({"a.h":"1","b.h":"0"})");
  add("new with a long list", early, "2", R"({"<hash of the list>":"7"})");
  add("new with no list", early, "2", "{");
  add("old", early, "1", std::string("{\"a\0\":\"b\"}", 10));
  add("unknown", early, "", "");
  add("another template", early, "1", "", "u");
  add("of no sweep", 0, "1", "", "v");
  TrialFilter filter;
  filter.source_age = SourceAge::newest;
  const std::vector<std::string> newest{
      "new",     "new without files", "new with other files", "new with a long list", "new with no list",
      "unknown", "another template",  "of no sweep"};
  EXPECT_EQ(keys_of(database, filter), newest);
  database.at_one_state([&] {
    EXPECT_EQ(keys_of(database, filter), newest);
    EXPECT_EQ(database.rows_hidden_by(filter), 2);
    EXPECT_EQ(database.rows_hidden_by({}), 0) << "all rows pass";
  });
  filter.source_age = SourceAge::earlier;
  EXPECT_EQ(keys_of(database, filter), (std::vector<std::string>{"new with a changed file", "old"}));
}

TEST(Database, ReusedRowsBelongToTheLaterSweepToo) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  const std::int64_t first = database.begin_sweep({});
  const std::int64_t second = database.begin_sweep({});
  database.record(filled_trial("a", first));
  database.record(filled_trial("b", first));
  database.mark_seen("a", second);
  EXPECT_EQ(keys_of(database, {.sweep_id = second}), std::vector<std::string>{"a"});
  EXPECT_EQ(keys_of(database, {.sweep_id = first}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(database.find("a")->sweep_id, first) << "who measured it does not change";
}

TEST(Database, AResultIsNotGivenUpForTheMarkThatItIsMeasuredAgain) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  database.record(timed_trial("a", 5, 0));
  Trial dispatched = timed_trial("a", 9, 0);
  dispatched.outcome = Outcome::dispatched;
  database.record(dispatched);
  EXPECT_EQ(database.find("a")->median_us, 5);
  EXPECT_EQ(database.find("a")->outcome, Outcome::ok);
  database.record(timed_trial("a", 7, 0));
  EXPECT_EQ(database.find("a")->median_us, 7);
}

TEST(Database, CalibrationsAreKeptPerGpuAndDriver) {
  const TemporaryFolder folder;
  const CalibrationRecord first{
      {61.5, 4200.25, 33000, 1.25, 1.5, 0.75}, "NVIDIA H200", "GPU-1", "580.1", "now"};
  {
    Database database(folder / "a.db", Mode::read_write);
    CalibrationRecord other_driver = first;
    other_driver.driver_version = "590.2";
    other_driver.ffma_tflops = 62;
    CalibrationRecord outdated = first;
    outdated.copy_gbs = 1;
    database.record_calibration(outdated);
    database.record_calibration(other_driver);
    database.record_calibration(first);
  }
  const Database database(folder / "a.db", Mode::read_only);
  const auto read = database.calibration("GPU-1", "580.1");
  ASSERT_TRUE(read.has_value());
  for (const CalibrationColumn& column : calibration_columns()) {
    std::visit([&](auto member) { EXPECT_EQ((*read).*member, first.*member) << column.name; }, column.member);
  }
  EXPECT_EQ(database.calibration("GPU-1", "590.2")->ffma_tflops, 62);
  EXPECT_FALSE(database.calibration("GPU-2", "580.1").has_value());
  EXPECT_FALSE(database.calibration("GPU-1", "").has_value());
}

TEST(Database, TextWithZeroBytesAndBrokenUtf8ComesBackAsItWas) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  Trial trial;
  trial.key = "a";
  trial.reason = std::string("error: \0 and \xff\xfe", 15);
  database.record(trial);
  EXPECT_EQ(database.find("a")->reason, trial.reason);
}

class FilterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sweep_ = database_.begin_sweep({});
    add("h200", [](Trial& t) { t.gpu = "NVIDIA H200"; });
    add("a100", [](Trial& t) { t.gpu = "NVIDIA A100-SXM4-80GB"; });
    add("naive", [](Trial& t) { t.template_name = "sgemm_naive"; });
    add("small", [](Trial& t) { t.problem = "1x1x1"; });
    add("refused", [](Trial& t) { t.outcome = Outcome::refused; });
    add("predicted", [](Trial& t) { t.source = Source::predicted; });
    add("swept", [this](Trial& t) { t.seen_in_sweep = sweep_; });
    add("cublas", [](Trial& t) {
      t.kind = "baseline";
      t.template_name = "cublas";
    });
  }

  template <typename Change>
  void add(const std::string& key, Change change) {
    Trial trial = timed_trial(key, 10, 1);
    trial.gpu = "NVIDIA T4";
    change(trial);
    database_.record(trial);
  }

  using Keys = std::vector<std::string>;
  TemporaryFolder folder_;
  Database database_{folder_ / "a.db", Mode::read_write};
  std::int64_t sweep_ = 0;
};

TEST_F(FilterTest, GpusMatchWithoutCaseSpacesAndPunctuationAndInPart) {
  EXPECT_EQ(keys_of(database_, {.gpus = {"h200"}}), Keys{"h200"});
  EXPECT_EQ(keys_of(database_, {.gpus = {"a100 sxm4 80 gb"}}), Keys{"a100"});
  EXPECT_EQ(keys_of(database_, {.gpus = {"Nvidia-H200", "A100"}}), (Keys{"h200", "a100"}));
  EXPECT_EQ(keys_of(database_, {.gpus = {"L40S"}}), Keys{});
  EXPECT_EQ(keys_of(database_, {.gpus = {"--"}}), Keys{}) << "nothing to compare is no match, not any match";
}

TEST_F(FilterTest, EveryMemberFiltersAndMembersCombine) {
  EXPECT_EQ(keys_of(database_, {.templates = {"sgemm_naive"}, .baselines = false}), Keys{"naive"});
  EXPECT_EQ(keys_of(database_, {.templates = {"sgemm_naive"}}), (Keys{"naive", "cublas"}));
  EXPECT_EQ(keys_of(database_, {.templates = {"naive"}, .baselines = false}), Keys{}) << "names are whole";
  EXPECT_EQ(keys_of(database_, {.problems = {"1x1x1"}}), Keys{"small"});
  EXPECT_EQ(keys_of(database_, {.outcomes = {Outcome::refused, Outcome::crashed}}), Keys{"refused"});
  EXPECT_EQ(keys_of(database_, {.sources = {Source::predicted}}), Keys{"predicted"});
  EXPECT_EQ(keys_of(database_, {.sweep_id = sweep_}), Keys{"swept"});
  EXPECT_EQ(keys_of(database_, {.gpus = {"T4"}, .problems = {"1x1x1"}, .outcomes = {Outcome::ok}}),
            Keys{"small"});
  EXPECT_EQ(keys_of(database_, {.gpus = {"H200"}, .problems = {"1x1x1"}}), Keys{});
  EXPECT_EQ(keys_of(database_, {}).size(), 8U);
}

TEST_F(FilterTest, OptionsAndTypesTellProblemsApart) {
  add("transposed", [](Trial& t) {
    t.problem = "1x1x1";
    t.options = "layout=nt";
  });
  const auto all = database_.stated_problems();
  const auto of = [&](const std::string& options) {
    return *std::find_if(all.begin(), all.end(), [&](const StatedProblem& one) {
      return one.problem == "1x1x1" && one.options == options;
    });
  };
  EXPECT_EQ(keys_of(database_, {.stated_problems = {of("layout=nt")}}), Keys{"transposed"});
  EXPECT_EQ(keys_of(database_, {.stated_problems = {of("")}}), Keys{"small"});
  EXPECT_EQ(keys_of(database_, {.problems = {"none"}, .stated_problems = {of(""), of("layout=nt")}}),
            (Keys{"small", "transposed"}));
}

TEST_F(FilterTest, NamesAreNeverSql) {
  const std::string hostile = "x') OR 1=1; DROP TABLE trial; --";
  for (const TrialFilter& filter :
       {TrialFilter{.gpus = {hostile}}, TrialFilter{.templates = {hostile}, .baselines = false},
        TrialFilter{.problems = {hostile}}}) {
    EXPECT_EQ(keys_of(database_, filter), Keys{});
  }
  EXPECT_FALSE(database_.find(hostile).has_value());
  add(hostile, [&](Trial& t) { t.gpu = t.template_name = t.problem = hostile; });
  EXPECT_EQ(keys_of(database_, {.gpus = {hostile}}), Keys{hostile});
  EXPECT_EQ(keys_of(database_, {.templates = {hostile}, .problems = {hostile}}), Keys{hostile});
  EXPECT_EQ(keys_of(database_, {}).size(), 9U);
}

TEST_F(FilterTest, CountsFollowTheFilterInTheOrderOfOutcomes) {
  const std::vector<std::pair<Outcome, std::int64_t>> all{{Outcome::ok, 7}, {Outcome::refused, 1}};
  EXPECT_EQ(database_.outcome_counts({}), all);
  const std::vector<std::pair<Outcome, std::int64_t>> kernels{{Outcome::ok, 1}};
  EXPECT_EQ(database_.outcome_counts({.gpus = {"h200"}}), kernels);
}

TEST_F(FilterTest, VisitingStopsWhenAsked) {
  int visited = 0;
  database_.for_each({}, [&](const Trial&) { return ++visited < 3; });
  EXPECT_EQ(visited, 3);
}

TEST(Database, ManyRowsGoInOneTransactionOrNotAtAll) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  Trial keyless = timed_trial("", 1, 0);
  EXPECT_ANY_THROW(database.record_all({timed_trial("a", 1, 0), timed_trial("b", 1, 0), keyless}));
  EXPECT_TRUE(database.trials({}).empty());
  database.record_all({timed_trial("a", 1, 0), timed_trial("b", 1, 0)});
  EXPECT_EQ(database.trials({}).size(), 2U) << "the failed transaction must not stay open";
}

TEST(Database, RowsOfUnknownSweepsAreRefused) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  Trial trial = timed_trial("a", 1, 0);
  trial.sweep_id = 5;
  EXPECT_ANY_THROW(database.record(trial));
  EXPECT_FALSE(database.find("a").has_value());
}

TEST(Database, TwoConnectionsWriteAtOnce) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "a.db";
  constexpr int kRows = 300;
  const auto write = [&](const std::string& prefix) {
    Database database(file, Mode::read_write);
    for (int i = 0; i < kRows; ++i) database.record(timed_trial(prefix + std::to_string(i), i + 1, 0));
    database.record_all({timed_trial("shared", 1, 0)});
  };
  std::thread other([&] { write("b"); });
  write("a");
  other.join();
  EXPECT_EQ(Database(file, Mode::read_only).trials({}).size(), 2U * kRows + 1);
}

TEST(Database, ManyFirstUsersCreateOneDatabase) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "a.db";
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&, i] { Database(file, Mode::read_write).record(timed_trial(std::to_string(i), 1, 0)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Database(file, Mode::read_only).trials({}).size(), 8U);
}

TEST(Database, AReaderSeesWhatAnotherConnectionHasRecorded) {
  const TemporaryFolder folder;
  Database writer(folder / "a.db", Mode::read_write);
  const Database reader(folder / "a.db", Mode::read_only);
  EXPECT_FALSE(reader.find("a").has_value());
  writer.record(timed_trial("a", 1, 0));
  EXPECT_TRUE(reader.find("a").has_value());
}

TEST(Database, ClosingLeavesOneFile) {
  const TemporaryFolder folder;
  { Database(folder / "a.db", Mode::read_write).record(timed_trial("a", 1, 0)); }
  { Database(folder / "a.db", Mode::read_only).trials({}); }
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1);
}

/// The child is killed right after record() returned, while the connection is open.
TEST(Database, WhatWasRecordedSurvivesKillMinusNine) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "a.db";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Database database(file, Mode::read_write);
    for (int i = 0; i < 50; ++i) database.record(timed_trial(std::to_string(i), 1, 0));
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Database(file, Mode::read_only).trials({}).size(), 50U);
}

TEST(Database, ManyRowsTakeReasonableTime) {
  const TemporaryFolder folder;
  Database database(folder / "a.db", Mode::read_write);
  std::vector<Trial> trials(50000, filled_trial("", database.begin_sweep({})));
  for (std::size_t i = 0; i < trials.size(); ++i)
    trials[i].key = std::to_string(i * 2654435761U % 500000007U);
  const auto start = std::chrono::steady_clock::now();
  database.record_all(trials);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::int64_t count = 0;
  database.for_each({}, [&](const Trial&) { return ++count > 0; });
  EXPECT_EQ(count, 50000);
  RecordProperty("rows_per_second", std::to_string(50000 / elapsed.count()));
  EXPECT_LT(elapsed.count(), 60) << "a few seconds are normal";
}

TEST(Database, RowsWithoutADefinitionAreAdopted) {
  const TemporaryFolder folder;
  Database database(folder / "rows.db", Database::Mode::read_write);
  const auto product = [](const std::string& key) {
    Trial trial = timed_trial(key, 10, 1);
    trial.operation = "gemm";
    return trial;
  };
  Trial other = product("b");
  other.operation_hash = "02";
  Trial imported = product("c");
  imported.source = Source::imported;
  Trial sum = timed_trial("d", 10, 1);
  sum.operation = "reduction";
  database.record_all({product("a"), other, imported, sum});
  database.adopt("gemm", timed_trial("a", 10, 1).template_name, "01");
  std::vector<std::string> hashes;
  for (const Trial& trial : database.trials({})) hashes.push_back(trial.operation_hash);
  EXPECT_EQ(hashes, (std::vector<std::string>{"01", "02", "", ""}));
}

TEST(Database, ARowThatIsMeasuredAgainStaysChosen) {
  const TemporaryFolder folder;
  Database database(folder / "rows.db", Database::Mode::read_write);
  database.record(timed_trial("a", 10, 1));
  constexpr std::int64_t row = 1;
  database.choose(row, "2026-11-28T06:00:00Z");
  database.record(timed_trial("a", 11, 1));
  EXPECT_EQ(database.row(row).chosen_at, "2026-11-28T06:00:00Z");
  EXPECT_EQ(database.row(row).median_us, 11);
}

}  // namespace database_test
}  // namespace tiletune
