// What a sweep does when it is told to end: by signals, by a reader that leaves, by its budget.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "carries.h"
#include "cli/compared_rows.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace interruption_test {

constexpr int kInterrupted = 130;
constexpr int kManyConfigurations = 400;

bool has_rows(const Sandbox& sandbox, Outcome outcome, std::int64_t count) {
  return kernels_with(rows_of(sandbox), outcome) >= count;
}

/// A file of /proc about a process.
std::string said_of(pid_t process, const std::string& file) {
  std::ifstream in("/proc/" + std::to_string(process) + "/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string status_of(pid_t process) { return said_of(process, "status"); }

/// Until the signal sent last has been taken: two that are pending count as one.
bool is_taken(pid_t process) {
  return status_of(process).find("ShdPnd:\t0000000000000000") != std::string::npos;
}

bool catches(pid_t process, int signal) {
  const std::string status = status_of(process);
  const std::string name = "SigCgt:";
  const std::size_t mask = status.find(name);
  if (mask == std::string::npos) return false;
  return (std::stoull(status.substr(mask + name.size()), nullptr, 16) >> (signal - 1) & 1U) != 0;
}

bool has_worker(pid_t process) {
  return !said_of(process, "task/" + std::to_string(process) + "/children").empty();
}

void expect_interrupted(const Sandbox& sandbox, const Finished& run) {
  EXPECT_EQ(run.code, kInterrupted) << run.err;
  EXPECT_TRUE(carries(run.out, {"Interrupted", "again"}));
  EXPECT_TRUE(carries(run.out, {"so far"}));
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::ok) + 1, static_cast<std::int64_t>(rows.size()))
      << "nothing but measured kernels and a baseline";
  EXPECT_LT(rows.size(), kManyConfigurations + 1U);
  const Database database(sandbox.folder() / "results.db", Database::Mode::read_only);
  EXPECT_FALSE(database.sweeps().back().finished_at.empty());
}

class OneSignal : public testing::TestWithParam<int> {};

TEST_P(OneSignal, FinishesWhatIsInFlightAndPrintsTheRankingSoFar) {
  adopt_orphans();
  const Sandbox sandbox;
  const pid_t process = sandbox.start(measured_sweep(sandbox.write_tiny_space(kManyConfigurations), "slow"));
  ASSERT_TRUE(eventually([&] { return has_rows(sandbox, Outcome::ok, 2); }));
  ::kill(process, GetParam());
  expect_interrupted(sandbox, sandbox.wait(process));
  EXPECT_TRUE(no_orphans());
}

INSTANTIATE_TEST_SUITE_P(Interruption, OneSignal, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& tested) { return std::string("SIG") + sigabbrev_np(tested.param); });

TEST(Interruption, TheSecondCtrlCEndsAHangingSweepAtOnce) {
  adopt_orphans();
  const Sandbox sandbox;
  const pid_t process = sandbox.start(measured_sweep(sandbox.write_tiny_space(6), "hang"));
  ASSERT_TRUE(eventually(
      [&] { return has_rows(sandbox, Outcome::dispatched, 1) && has_rows(sandbox, Outcome::ok, 2); }));
  ::kill(process, SIGINT);
  ASSERT_TRUE(eventually([&] { return is_taken(process); }));
  const auto started = std::chrono::steady_clock::now();
  ::kill(process, SIGINT);
  EXPECT_EQ(sandbox.wait(process).code, kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(1));
  EXPECT_TRUE(no_orphans());
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), 2);
  const Finished again = sandbox.run(measured_sweep(sandbox.write_tiny_space(6), "none"));
  EXPECT_EQ(again.code, 0) << again.err;
  expect_complete(sandbox, 6);
}

TEST(Interruption, TheFirstCtrlCEndsTheWaitForGpusThatDoNotOpen) {
  adopt_orphans();
  const Sandbox sandbox;
  const pid_t process =
      sandbox.start(measured_sweep(sandbox.write_tiny_space(2), "mute", 3, {"--gpus", "0,1,2"}));
  ASSERT_TRUE(eventually([&] { return catches(process, SIGINT) && has_worker(process); }));
  const auto started = std::chrono::steady_clock::now();
  ::kill(process, SIGINT);
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, kInterrupted);
  EXPECT_TRUE(carries(run.err, {"--gpus:", "stopped"}));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
  EXPECT_TRUE(no_orphans());
}

TEST(Interruption, TheBudgetEndsTheWaitForAGpuThatDoesNotOpen) {
  const Sandbox sandbox;
  const auto started = std::chrono::steady_clock::now();
  const Finished run =
      sandbox.run(measured_sweep(sandbox.write_tiny_space(2), "mute", 3, {"--budget", "1s"}));
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
}

TEST(Interruption, NohupKeepsTheSweepGoing) {
  const Sandbox sandbox;
  const pid_t process = sandbox.start(measured_sweep(sandbox.write_tiny_space(20), "slow"),
                                      [] { std::signal(SIGHUP, SIG_IGN); });
  ASSERT_TRUE(eventually([&] { return has_rows(sandbox, Outcome::ok, 1); }));
  ::kill(process, SIGHUP);
  EXPECT_EQ(sandbox.wait(process).code, 0);
  expect_complete(sandbox, 20);
}

TEST(Interruption, CountingWhatAConfigWouldFillInEnds) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(1);
  const std::string manifest = read_file(sandbox.folder() / "tiny/template.json");
  std::string lists;
  std::string values = "0";
  for (int i = 1; i < 30; ++i) values += ", " + std::to_string(i);
  for (const std::string name : {"P", "Q", "R", "S", "T"})
    lists += ", {\"name\": \"" + name + "\", \"values\": [" + values + R"(], "meaning": "nothing"})";
  const std::string only = R"("meaning": "what is added"})";
  std::string wide = manifest;
  wide.replace(wide.find(only), only.size(), only + lists);
  sandbox.write("tiny/template.json", wide);
  // 30 configurations without a value in common: 30^5 combinations are looked through for them.
  std::vector<Trial> rows;
  for (int i = 0; i < 30; ++i) {
    Trial row = tiny("A", 0, 10);
    const std::string v = std::to_string(i);
    row.problem = std::to_string(i + 1) + "x1x1";
    row.parameters =
        R"({"V":0,"P":)" + v + R"(,"Q":)" + v + R"(,"R":)" + v + R"(,"S":)" + v + R"(,"T":)" + v + "}";
    row.key = row.problem;
    rows.push_back(row);
    row = tiny("B", 0, 10);
    row.problem = rows.back().problem;
    row.parameters = R"({"V":0,"P":0,"Q":0,"R":0,"S":0,"T":1})";
    row.key = "b" + row.problem;
    rows.push_back(row);
  }
  record(sandbox, "a.db", rows);
  const pid_t process =
      sandbox.start({"compare", "A", "B", "--db", "a.db", "--predict", "tiny.json", "--fill", "gaps.json"});
  EXPECT_TRUE(eventually([&] { return catches(process, SIGINT); }));
  ::kill(process, SIGINT);
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, kInterrupted);
  EXPECT_TRUE(carries(run.err, {"gaps-a.json:", "stopped", "again"}));
}

TEST(Interruption, AMergeThatIsInterruptedChangesNothing) {
  const Sandbox sandbox;
  Trial row;
  row.key = "a";
  Database(sandbox.folder() / "a.db", Database::Mode::read_write).record(row);
  { const Database output(sandbox.folder() / "all.db", Database::Mode::read_write); }
  // Another program that writes holds it up.
  sqlite3* other = nullptr;
  sqlite3_open((sandbox.folder() / "all.db").c_str(), &other);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const pid_t process = sandbox.start({"merge", "a.db", "-o", "all.db"});
  const bool caught = eventually([&] { return catches(process, SIGINT); });
  ::kill(process, SIGINT);
  EXPECT_TRUE(caught && eventually([&] { return is_taken(process); }));
  sqlite3_close(other);
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, kInterrupted);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(carries(run.err, {"all.db:", "interrupted", "nothing"}));
  EXPECT_TRUE(rows_of(sandbox, "all.db").empty());
  for (const auto& entry : std::filesystem::directory_iterator(sandbox.folder()))
    EXPECT_FALSE(entry.is_directory()) << entry.path();
}

/// The controlling terminal of a sweep, as a person has it.
class Terminal {
 public:
  Terminal() : fd_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (fd_ < 0 || ::grantpt(fd_) != 0 || ::unlockpt(fd_) != 0) throw std::runtime_error("no terminal");
  }
  ~Terminal() { hang_up(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// In the child: a session of its own, with this terminal.
  void control() const {
    ::setsid();
    ::open(::ptsname(fd_), O_RDWR);
  }
  void type(char key) const { EXPECT_EQ(::write(fd_, &key, 1), 1); }
  void hang_up() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

TEST(Interruption, CtrlCAtATerminalDoesNotReachTheWorkers) {
  const Sandbox sandbox;
  const Terminal terminal;
  const pid_t process = sandbox.start(measured_sweep(sandbox.write_tiny_space(kManyConfigurations), "slow"),
                                      [&] { terminal.control(); });
  ASSERT_TRUE(eventually([&] { return has_rows(sandbox, Outcome::ok, 2); }));
  constexpr char kCtrlC = 3;
  terminal.type(kCtrlC);
  expect_interrupted(sandbox, sandbox.wait(process));
}

TEST(Interruption, ATerminalThatIsClosedIsOneCtrlC) {
  adopt_orphans();
  const Sandbox sandbox;
  Terminal terminal;
  const pid_t process = sandbox.start(measured_sweep(sandbox.write_tiny_space(kManyConfigurations), "slow"),
                                      [&] { terminal.control(); });
  ASSERT_TRUE(eventually([&] { return has_rows(sandbox, Outcome::ok, 2); }));
  terminal.hang_up();
  expect_interrupted(sandbox, sandbox.wait(process));
  EXPECT_TRUE(no_orphans());
}

/// A pipe whose reader takes one line and leaves.
class ImpatientReader {
 public:
  ImpatientReader() {
    if (::pipe2(fds_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~ImpatientReader() { ::close(fds_[0]); }
  ImpatientReader(const ImpatientReader&) = delete;
  ImpatientReader& operator=(const ImpatientReader&) = delete;

  void take(int descriptor) const { ::dup2(fds_[1], descriptor); }
  std::string read_line_and_leave() {
    ::close(fds_[1]);
    std::string line;
    for (char c = 0; c != '\n' && ::read(fds_[0], &c, 1) == 1;) line += c;
    ::close(std::exchange(fds_[0], -1));
    return line;
  }

 private:
  int fds_[2] = {-1, -1};
};

TEST(Interruption, AReaderOfTheResultsThatLeavesCostsNoRow) {
  const Sandbox sandbox;
  ImpatientReader head;
  const pid_t process =
      sandbox.start(sweep_with(sandbox.write_tiny_space(10), "slow"), [&] { head.take(STDOUT_FILENO); });
  EXPECT_EQ(head.read_line_and_leave().rfind("tiletune ", 0), 0U);
  EXPECT_EQ(sandbox.wait(process).code, 128 + SIGPIPE) << "as any filter ends whose reader has left";
  expect_complete(sandbox, 10);
}

/// Makes a descriptor the end of a pipe whose reader has left.
void close_reader_of(int descriptor) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) std::abort();
  ::close(fds[0]);
  ::dup2(fds[1], descriptor);
}

TEST(Interruption, AReaderOfTheProgressThatLeavesDoesNotEndTheSweep) {
  const Sandbox sandbox;
  const pid_t process =
      sandbox.start(sweep_with(sandbox.write_tiny_space(10), "none"), [] { close_reader_of(STDERR_FILENO); });
  EXPECT_EQ(sandbox.wait(process).code, 0);
  expect_complete(sandbox, 10);
}

TEST(Interruption, OtherCommandsEndQuietlyWhenTheirReaderLeaves) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(2), "none"));
  const Finished rank =
      sandbox.wait(sandbox.start({"rank", "--db", "results.db"}, [] { close_reader_of(STDOUT_FILENO); }));
  EXPECT_EQ(rank.code, 128 + SIGPIPE);
  EXPECT_EQ(rank.err, "");
}

TEST(Interruption, ABudgetOfTimeEndsWithEverythingRecordedAndGoesOn) {
  adopt_orphans();
  const Sandbox sandbox;
  // 100 measurements of 20 ms each take twice the budget, and without compiling the first is soon made.
  const std::string config = sandbox.write_tiny_space(100);
  warm_kernel_cache(sandbox, config);
  std::vector<std::string> arguments = measured_sweep(config, "slow");
  arguments.insert(arguments.end(), {"--budget", "1s"});
  const Finished first = sandbox.run(arguments);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(carries(first.out, {"time budget", "again"}));
  EXPECT_TRUE(no_orphans());
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::ok) + 2, static_cast<std::int64_t>(rows.size()))
      << "a baseline, and the twin of the fastest: the finals come on top";
  EXPECT_LT(rows.size(), 102U);
  arguments.back() = "10min";
  EXPECT_EQ(sandbox.run(arguments).code, 0);
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::ok), 100);
}

}  // namespace interruption_test
}  // namespace tiletune
