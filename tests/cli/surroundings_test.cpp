// Sweeps whose surroundings fail: full and write-protected disks, locked, removed and damaged databases, and
// two sweeps in one database.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "carries.h"
#include "cli/fake_sweep.h"
#include "cli/small_disk.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace surroundings_test {

namespace fs = std::filesystem;
constexpr int kUserError = 2;

std::vector<std::string> into(std::vector<std::string> sweep, const std::string& database) {
  for (std::size_t i = 0; i + 1 < sweep.size(); ++i) {
    if (sweep[i] == "--db") sweep[i + 1] = database;
  }
  return sweep;
}

std::string error_about(const std::string& file, const std::string& what, const std::string& remedy) {
  return "tiletune: error: " + file + ": " + what + "\n  " + remedy + "\n";
}

bool has_results(const Sandbox& sandbox, std::int64_t count, const std::string& database = "results.db") {
  return kernels_with(rows_of(sandbox, database), Outcome::ok) >= count;
}

const std::string kFull = "this database cannot be read or written: database or disk is full";
const std::string kMakeRoom = "Free space on the disk and check it, or name another file with --db FILE.";

class OnASmallDisk : public testing::Test {
 protected:
  void SetUp() override {
    adopt_orphans();
    if (!disk_.mounted()) GTEST_SKIP() << "mounting a file system is not allowed here";
  }
  void TearDown() override { EXPECT_TRUE(no_orphans()); }

  const Sandbox sandbox_;
  const SmallDisk disk_{sandbox_.folder() / "disk", "400k"};
};

TEST_F(OnASmallDisk, ADatabaseThatDoesNotFitIsNamedWithTheRemedy) {
  disk_.fill();
  const Finished run = sandbox_.run(into(measured_sweep(sandbox_.write_tiny_space(2), "none"), "disk/a.db"));
  EXPECT_EQ(run.code, kUserError);
  EXPECT_EQ(run.err, error_about("disk/a.db", kFull, kMakeRoom));
}

TEST_F(OnASmallDisk, ADiskThatFillsUpKeepsWhatWasRecordedAndTheSweepGoesOnLater) {
  const auto sweep = into(measured_sweep(sandbox_.write_tiny_space(60), "none"), "disk/a.db");
  const Finished run = sandbox_.run(sweep);
  EXPECT_EQ(run.code, kUserError) << run.out;
  EXPECT_EQ(run.err, error_about("disk/a.db", kFull, kMakeRoom));
  const Finished rank = sandbox_.run({"rank", "--db", "disk/a.db"});
  EXPECT_EQ(rank.code, 0) << rank.err;
  disk_.resize("40m");
  EXPECT_TRUE(has_results(sandbox_, 1, "disk/a.db"));
  EXPECT_EQ(sandbox_.run(sweep).code, 0);
  expect_complete(sandbox_, 60, "disk/a.db");
}

TEST_F(OnASmallDisk, OutputsThatDoNotFitLeaveTheOldFileAlone) {
  sandbox_.run(measured_sweep(sandbox_.write_tiny_space(5), "none"));
  std::ofstream(disk_.folder() / "best.json") << "old";
  disk_.fill();
  const std::string remedy = "Check that the folder is writable and the disk has space.";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"export", "--best", "-o", "disk/best.json"},
        std::vector<std::string>{"export", "-o", "disk/best.json"},
        std::vector<std::string>{"rank", "--limit", "0", "--format", "json", "-o", "disk/best.json"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--db", "results.db"});
    const Finished run = sandbox_.run(words);
    EXPECT_EQ(run.code, kUserError);
    EXPECT_EQ(run.err, error_about("disk/best.json", "cannot be written: No space left on device", remedy));
  }
  EXPECT_EQ(read_file(disk_.folder() / "best.json"), "old");
  const auto files = std::distance(fs::directory_iterator(disk_.folder()), fs::directory_iterator());
  EXPECT_EQ(files, 2) << "the old output and what fills the disk; nothing half-written";
}

TEST_F(OnASmallDisk, AMergeThatDoesNotFitBlamesTheDiskAndLeavesNothing) {
  std::vector<Trial> rows(500);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].key = std::to_string(i) + std::string(1000, 'x');
  Database(sandbox_.folder() / "a.db", Database::Mode::read_write).record_all(rows);
  const Finished copying = sandbox_.run({"merge", "a.db", "-o", "disk/all.db"});
  EXPECT_EQ(copying.code, kUserError);
  EXPECT_EQ(copying.err,
            error_about(disk_.folder().string(), "a.db cannot be copied to here: database or disk is full",
                        "Free space on the disk, or merge into a file on another one."));
  EXPECT_TRUE(fs::is_empty(disk_.folder()));
  // Both copies, but not all rows of both once more.
  disk_.resize(std::to_string(fs::file_size(sandbox_.folder() / "a.db") * 5 / 2 / 1024) + "k");
  for (Trial& row : rows) row.key += "b";
  Database(sandbox_.folder() / "b.db", Database::Mode::read_write).record_all(rows);
  const Finished merging = sandbox_.run({"merge", "a.db", "b.db", "-o", "disk/all.db"});
  EXPECT_EQ(merging.code, kUserError) << merging.out;
  EXPECT_TRUE(merging.err.ends_with(error_about(
      "disk/all.db", kFull, "Free space on the disk and check it, or name another file with -o FILE.")))
      << merging.err;
  EXPECT_TRUE(fs::is_empty(disk_.folder()));
}

TEST_F(OnASmallDisk, AFullDiskLeavesWhatAnImportOrAMergeFoundThereAndLaterRunsGoOn) {
  std::vector<Trial> rows(500);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].key = std::to_string(i) + std::string(1000, 'x');
  Database(sandbox_.folder() / "b.db", Database::Mode::read_write).record_all(rows);
  nlohmann::json cache;
  for (std::size_t i = 0; i < rows.size(); ++i)
    cache[std::to_string(i)] = {{"x", i}, {"y", std::string(1000, 'x')}, {"time", 1}};
  sandbox_.write("b.json", nlohmann::json({{"device_name", "NVIDIA A100"},
                                           {"kernel_name", "k"},
                                           {"problem_size", {64}},
                                           {"tune_params_keys", {"x", "y"}},
                                           {"cache", cache}})
                               .dump());
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"import", "b.json", "--db", "disk/a.db"},
        std::vector<std::string>{"merge", "b.db", "-o", "disk/a.db"}}) {
    int failed = 0;
    for (const char* size : {"400k", "700k", "1200k", "2000k", "2400k"}) {
      disk_.resize("40m");
      for (const char* ending : {"", "-wal", "-shm", "-journal"})
        fs::remove(disk_.folder() / (std::string("a.db") + ending));
      Database(disk_.folder() / "a.db", Database::Mode::read_write).record(timed_trial("mine", 1, 0));
      disk_.resize(size);
      const Finished run = sandbox_.run(command);
      const Database left(disk_.folder() / "a.db", Database::Mode::read_only);
      EXPECT_EQ(left.trials({}).size(), run.code == 0 ? 501U : 1U) << command[0] << " on " << size << run.err;
      EXPECT_TRUE(run.code == 0 || run.code == kUserError) << run.err;
      failed += run.code == 0 ? 0 : 1;
      disk_.resize("40m");
      EXPECT_EQ(sandbox_.run(command).code, 0) << command[0] << " after " << size;
      EXPECT_EQ(left.trials({}).size(), 501U);
    }
    EXPECT_GE(failed, 2) << command[0];
  }
}

TEST_F(OnASmallDisk, AWriteProtectedOneCanBeReadButNotSweptInto) {
  const auto sweep = into(measured_sweep(sandbox_.write_tiny_space(3), "none"), "disk/a.db");
  EXPECT_EQ(sandbox_.run(sweep).code, 0);
  disk_.write_protect();
  const std::string remedy =
      "Check the permissions of the file and of its folder, or name another file with --db FILE.";
  const Finished run = sandbox_.run(sweep);
  EXPECT_EQ(run.code, kUserError);
  EXPECT_EQ(run.err, error_about("disk/a.db", "this database is write-protected", remedy));
  const Finished fresh = sandbox_.run(into(sweep, "disk/b.db"));
  EXPECT_EQ(fresh.code, kUserError);
  EXPECT_EQ(fresh.err,
            error_about("disk/b.db", "this database cannot be opened: unable to open database file", remedy));
  EXPECT_EQ(sandbox_.run({"rank", "--db", "disk/a.db"}).code, 0);
}

class WithASmallCache : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "mounting a file system is not allowed here";
  }
  const Sandbox sandbox_;
  const SmallDisk disk_{sandbox_.folder() / "cache", "64k"};
};

TEST_F(WithASmallCache, KernelsThatDoNotFitAreMeasuredAllTheSame) {
  disk_.fill();
  const Finished run = sandbox_.run(measured_sweep(sandbox_.write_tiny_space(5), "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  expect_complete(sandbox_, 5);
}

TEST_F(WithASmallCache, OneThatFillsUpOnTheWayDoesNotStopTheSweep) {
  const Finished run = sandbox_.run(measured_sweep(sandbox_.write_tiny_space(30), "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  expect_complete(sandbox_, 30);
  EXPECT_EQ(fs::space(disk_.folder()).available, 0U) << "a test of something";
}

TEST(Surroundings, AFileThatMayNotGrowIsAnErrorOfTheDatabaseAndNotTheEndOfTheProcess) {
  adopt_orphans();
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(60);
  const pid_t process = sandbox.start(measured_sweep(config, "none"), [] {
    const rlimit limit{300000, 300000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, kUserError) << run.out;
  EXPECT_TRUE(carries(run.err, {"results.db"}));
  EXPECT_NE(run.out.find("\nStopped by an error, shown last. "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("is the best choice so far at"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("export the best"), std::string::npos) << run.out;
  EXPECT_TRUE(no_orphans());
  EXPECT_TRUE(has_results(sandbox, 1));
  EXPECT_EQ(sandbox.run(measured_sweep(config, "none")).code, 0);
  expect_complete(sandbox, 60);
}

TEST(Surroundings, StandardOutputOnAFullDiskIsAnError) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(2), "none"));
  const pid_t process = sandbox.start({"rank", "--db", "results.db"},
                                      [] { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); });
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, kUserError);
  EXPECT_EQ(
      run.err,
      "tiletune: error: standard output cannot be written\n  Is the disk full, or did the reader exit?\n");
}

/// Another program that holds the database for writing.
class Lock {
 public:
  explicit Lock(const fs::path& database) {
    sqlite3_open(database.c_str(), &connection_);
    sqlite3_busy_timeout(connection_, 10000);
    EXPECT_EQ(sqlite3_exec(connection_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~Lock() { sqlite3_close(connection_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  sqlite3* connection_ = nullptr;
};

TEST(Surroundings, ALockHeldForAMomentIsWaitedFor) {
  const Sandbox sandbox;
  const pid_t process = sandbox.start(measured_sweep(sandbox.write_tiny_space(40), "slow"));
  ASSERT_TRUE(eventually([&] { return has_results(sandbox, 1); }));
  {
    const Lock lock(sandbox.folder() / "results.db");
    const std::size_t rows = rows_of(sandbox).size();
    EXPECT_FALSE(eventually([&] { return rows_of(sandbox).size() > rows; }, std::chrono::milliseconds(700)));
  }
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, 0) << run.err;
  expect_complete(sandbox, 40);
}

bool says_that_it_waits(const Sandbox& sandbox) {
  const std::string note =
      "another program is writing results.db: waiting until it has ended; interrupt to stop\n";
  return read_file(sandbox.folder() / "stderr").find(note) != std::string::npos;
}

TEST(Surroundings, ALockIsWaitedForHoweverLongAndThatIsSaid) {
  const Sandbox sandbox;
  const pid_t process = sandbox.start(sweep_with(sandbox.write_tiny_space(40), "slow"));
  ASSERT_TRUE(eventually([&] { return has_results(sandbox, 1); }));
  {
    const Lock lock(sandbox.folder() / "results.db");
    EXPECT_TRUE(eventually([&] { return says_that_it_waits(sandbox); }));
  }
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, 0) << run.err;
  expect_complete(sandbox, 40);
}

TEST(Surroundings, CtrlCEndsTheWaitForALock) {
  adopt_orphans();
  const Sandbox sandbox;
  const pid_t process = sandbox.start(sweep_with(sandbox.write_tiny_space(400), "slow"));
  ASSERT_TRUE(eventually([&] { return has_results(sandbox, 2); }));
  const Lock lock(sandbox.folder() / "results.db");
  EXPECT_TRUE(eventually([&] { return says_that_it_waits(sandbox); }));
  const std::size_t recorded = rows_of(sandbox).size();
  ::kill(process, SIGINT);
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, 130);
  EXPECT_TRUE(carries(run.err, {"results.db", "locked"}));
  EXPECT_NE(run.out.find("Stopped by an error, shown last"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("is the best choice so far at"), std::string::npos) << run.out;
  EXPECT_EQ(rows_of(sandbox).size(), recorded);
  EXPECT_TRUE(no_orphans());
}

TEST(Surroundings, TwoSweepsIntoOneDatabaseBothComplete) {
  const Sandbox one;
  const Sandbox other;
  const auto sweep =
      into(measured_sweep(one.write_tiny_space(30), "slow"), (one.folder() / "results.db").string());
  const pid_t first = one.start(sweep);
  const pid_t second = other.start(sweep);
  for (const Finished& run : {one.wait(first), other.wait(second)}) {
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("30 of 30 configurations"), std::string::npos) << run.out;
    EXPECT_TRUE(carries(run.out, {"10"})) << "20 of its 30: " << run.out;
    EXPECT_NE(run.out.find("is the best choice at"), std::string::npos) << run.out;
  }
  expect_complete(one, 30);
  const Database database(one.folder() / "results.db", Database::Mode::read_only);
  ASSERT_EQ(database.sweeps().size(), 2U);
  for (const SweepRecord& run : database.sweeps()) {
    EXPECT_FALSE(run.finished_at.empty());
    TrialFilter filter;
    filter.sweep_id = run.id;
    EXPECT_EQ(database.trials(filter).size(), 32U) << "rows of sweep " << run.id;
  }
}

/// What another program does to the database in the middle of a sweep.
Finished sweep_while(const Sandbox& sandbox, const std::function<void(const fs::path&)>& interfere) {
  const std::string config = sandbox.write_tiny_space(60);
  std::vector<std::string> sweep = measured_sweep(config, "slow");
  sweep.insert(sweep.end(), {"--budget", "3"});
  // Rows of an earlier run lie in the file itself, and not only in its log.
  EXPECT_EQ(sandbox.run(sweep).code, 0);
  sweep.resize(sweep.size() - 2);
  const pid_t process = sandbox.start(sweep);
  EXPECT_TRUE(eventually([&] { return has_results(sandbox, 5); }));
  interfere(sandbox.folder() / "results.db");
  return sandbox.wait(process);
}

const std::string kRestore =
    "Restore it from a copy, or name another file with --db FILE: compiled kernels stay cached, so that only "
    "measuring is repeated.";
const std::string kMadeAnew =
    "Rows that are not in the file of this name are lost; run the same command again to write them again.";

TEST(Surroundings, ADatabaseThatIsRemovedEndsTheSweep) {
  adopt_orphans();
  const Sandbox sandbox;
  const Finished run = sweep_while(sandbox, [](const fs::path& file) { fs::remove(file); });
  EXPECT_EQ(run.code, kUserError) << run.out;
  EXPECT_EQ(run.err, error_about("results.db", "this database was removed while in use", kMadeAnew));
  EXPECT_TRUE(no_orphans());
  EXPECT_EQ(sandbox.run(measured_sweep(sandbox.write_tiny_space(4), "none")).code, 0);
  expect_complete(sandbox, 4);
}

TEST(Surroundings, ADatabaseThatIsReplacedEndsTheSweepAndTheNewOneIsLeftAlone) {
  const Sandbox sandbox;
  const Finished run = sweep_while(sandbox, [](const fs::path& file) {
    // At once: without any file in between, of which the sweep would say something else.
    const fs::path moved = file.parent_path() / "moved.db";
    write_file_atomically(moved, "somebody else's");
    ASSERT_EQ(::renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, moved.c_str(), RENAME_EXCHANGE), 0);
  });
  EXPECT_EQ(run.code, kUserError) << run.out;
  EXPECT_EQ(run.err, error_about("results.db", "another file has taken this database's place", kMadeAnew));
  EXPECT_EQ(read_file(sandbox.folder() / "results.db"), "somebody else's");
}

TEST(Surroundings, ADatabaseThatIsCutOffEndsTheSweep) {
  adopt_orphans();
  const Sandbox sandbox;
  const Finished run = sweep_while(sandbox, [](const fs::path& file) { fs::resize_file(file, 5000); });
  EXPECT_EQ(run.code, kUserError) << run.out;
  EXPECT_EQ(run.err,
            error_about("results.db", "this database was cut off or overwritten while in use", kRestore));
  EXPECT_TRUE(no_orphans());
}

TEST(Surroundings, ADatabaseThatIsOverwrittenIsRefusedAtTheNextReading) {
  const Sandbox sandbox;
  sweep_while(sandbox, [](const fs::path& file) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(4096);
    stream << std::string(32768, '\x55');
  });
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"rank", "--db", "results.db"},
        measured_sweep((sandbox.folder() / "tiny.json").string(), "none")}) {
    const Finished run = sandbox.run(command);
    EXPECT_EQ(run.code, kUserError) << run.out;
    // In SQLite's words, which depend on what it meets first.
    EXPECT_EQ(run.err.rfind("tiletune: error: results.db: this database is damaged: ", 0), 0U) << run.err;
    EXPECT_TRUE(run.err.ends_with("\n  " + kRestore + "\n")) << run.err;
  }
}

}  // namespace surroundings_test
}  // namespace tiletune
