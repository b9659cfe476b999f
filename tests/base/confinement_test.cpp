#include "base/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "base/folder.h"
#include "base/scratch_folder.h"

namespace tiletune {
namespace {

namespace fs = std::filesystem;

/// Whether something works in a process of its own that was confined; errno when it does not.
class ConfinementTest : public testing::Test {
 protected:
  ConfinementTest() {
    for (const char* folder : {"readable", "writable", "other"}) {
      fs::create_directory(scratch_.path() / folder);
      std::ofstream(place(folder)) << "text";
    }
  }
  void SetUp() override {
    if (!why_not_confinable().empty()) GTEST_SKIP() << why_not_confinable();
  }

  fs::path place(const std::string& folder) const { return scratch_.path() / folder / "file"; }

  int error_of(const std::function<bool()>& action) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const Folder readable(scratch_.path() / "readable");
      const Folder writable(scratch_.path() / "writable");
      confine({{readable.descriptor()}, {writable.descriptor()}});
      errno = 0;
      ::_exit(action() ? 0 : errno);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  bool opens(const std::string& folder, int flags) const { return ::open(place(folder).c_str(), flags) >= 0; }

  ScratchFolder scratch_;
};

TEST_F(ConfinementTest, FilesAreReadAndWrittenWhereThatWasNamed) {
  EXPECT_EQ(error_of([&] { return opens("readable", O_RDONLY); }), 0);
  EXPECT_EQ(error_of([&] { return opens("writable", O_RDWR | O_TRUNC); }), 0);
  EXPECT_EQ(error_of([&] { return opens("readable", O_WRONLY); }), EACCES);
  EXPECT_EQ(error_of([&] { return opens("other", O_RDONLY); }), EACCES);
  EXPECT_EQ(error_of([&] { return ::unlink(place("writable").c_str()) == 0; }), EACCES);
  EXPECT_EQ(error_of([&] { return ::mkdir((place("writable").string() + "2").c_str(), 0700) == 0; }), EACCES);
  EXPECT_EQ(error_of([&] { return ::rename(place("writable").c_str(), place("readable").c_str()) == 0; }),
            EACCES);
}

TEST_F(ConfinementTest, OwnersModesAndTimesOfFilesStayAsTheyAre) {
  EXPECT_EQ(error_of([&] { return ::chmod(place("writable").c_str(), 0777) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::chown(place("other").c_str(), 1, 1) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::utimensat(AT_FDCWD, place("other").c_str(), nullptr, 0) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::truncate(place("other").c_str(), 0) == 0; }), EPERM);
}

TEST_F(ConfinementTest, LimitsOfOtherProcessesStayAsTheyAre) {
  const rlimit limit{1000000, 1000000};
  EXPECT_EQ(error_of([&] { return ::prlimit(::getppid(), RLIMIT_CPU, &limit, nullptr) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::prlimit(0, RLIMIT_CPU, &limit, nullptr) == 0; }), 0);
  EXPECT_EQ(error_of([&] { return ::prlimit(::getpid(), RLIMIT_CPU, &limit, nullptr) == 0; }), 0);
}

TEST_F(ConfinementTest, NothingIsStartedReachedOrSignalled) {
  EXPECT_EQ(error_of([] { return ::fork() >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::vfork() >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::execl("/bin/true", "true", nullptr) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::kill(::getppid(), 0) == 0; }), EPERM);
}

TEST_F(ConfinementTest, ThreadsStartAndAbortStillEndsTheProcess) {
  EXPECT_EQ(error_of([] {
              bool ran = false;
              std::thread([&] { ran = true; }).join();
              return ran;
            }),
            0);
  EXPECT_EQ(error_of([&] {
              int error = 0;
              std::thread([&] { error = opens("other", O_RDONLY) ? 0 : errno; }).join();
              errno = error;
              return false;
            }),
            EACCES);
  EXPECT_EQ(error_of([] {
              ::signal(SIGABRT, [](int) { ::_exit(55); });
              ::raise(SIGABRT);
              return true;
            }),
            55);
}

}  // namespace
}  // namespace tiletune
