#include "base/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "base/folder.h"

namespace tiletune {
namespace confinement_test {

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

  int error_of(const std::function<bool()>& action, bool sets_priorities = false,
               bool becomes_a_program = false) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const Folder readable(scratch_.path() / "readable");
      const Folder writable(scratch_.path() / "writable");
      confine({{readable.descriptor()}, {writable.descriptor()}, sets_priorities, becomes_a_program});
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

TEST_F(ConfinementTest, NoDescriptorSignalsAnotherProcess) {
  const int file = ::open("/dev/null", O_RDONLY);
  const f_owner_ex parent{F_OWNER_PID, ::getpid()};
  const int number = ::getpid();
  EXPECT_EQ(error_of([&] { return ::fcntl(file, F_SETOWN, ::getppid()) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::fcntl(file, F_SETOWN_EX, &parent) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::fcntl(file, F_SETSIG, SIGKILL) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::ioctl(file, FIOSETOWN, &number) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::ioctl(file, SIOCSPGRP, &number) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::fcntl(file, F_SETFD, FD_CLOEXEC) == 0; }), 0);
  EXPECT_EQ(error_of([&] { return ::fcntl(file, F_SETFL, O_NONBLOCK) == 0; }), 0);
  ::close(file);
}

TEST_F(ConfinementTest, OtherProcessesAreNeitherSlowedNorSentMemory) {
  const sched_param usual{};
  EXPECT_EQ(error_of([&] { return ::sched_setscheduler(::getppid(), SCHED_BATCH, &usual) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::sched_setparam(::getppid(), &usual) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::sched_setscheduler(0, SCHED_BATCH, &usual) == 0; }), 0);
  EXPECT_EQ(error_of([] { return ::setpriority(PRIO_PROCESS, ::getppid(), 19) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::setpriority(PRIO_PROCESS, 0, 19) == 0; }, true), 0);
  EXPECT_EQ(error_of([&] { return ::sched_setscheduler(::gettid(), SCHED_BATCH, &usual) == 0; }, true), 0);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_ioprio_set, 1, ::getppid(), 3 << 13) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::shmget(IPC_PRIVATE, 4096, 0600) >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::msgget(IPC_PRIVATE, 0600) >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::semget(IPC_PRIVATE, 1, 0600) >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_mq_open, "queue", O_CREAT | O_RDWR, 0600, nullptr) >= 0; }),
            EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_mq_unlink, "queue") == 0; }), EPERM);
}

TEST_F(ConfinementTest, FlagsOfFilesStayAsTheyAre) {
  EXPECT_EQ(error_of([&] {
              const int file = ::open(place("writable").c_str(), O_RDWR);
              long flags = 0;
              return ::ioctl(file, FS_IOC_SETFLAGS, &flags) == 0;
            }),
            EPERM);
  EXPECT_EQ(error_of([&] {
              const int file = ::open(place("writable").c_str(), O_RDWR);
              fsxattr flags{};
              return ::ioctl(file, FS_IOC_FSSETXATTR, &flags) == 0;
            }),
            EPERM);
}

TEST_F(ConfinementTest, TheSystemStaysAsItIs) {
  // With values that fail otherwise where nothing refuses them.
  EXPECT_EQ(error_of([] { return ::syscall(SYS_delete_module, nullptr, 0) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_kexec_load, 0, ~0UL, nullptr, ~0UL) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_reboot, 0, 0, 0, nullptr) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_clock_settime, -1, nullptr) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_adjtimex, nullptr) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_sethostname, nullptr, -1) == 0; }), EPERM);
}

TEST_F(ConfinementTest, RootKeepsNothingButReadingTheFoldersThatWereNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(error_of([] {
              __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
              __user_cap_data_struct held[2]{};
              if (::syscall(SYS_capget, &header, held) != 0) return false;
              const std::uint32_t others = ~CAP_TO_MASK(CAP_DAC_READ_SEARCH);
              errno = E2BIG;
              return ((held[0].effective | held[0].permitted) & others) == 0 && held[1].permitted == 0 &&
                     held[0].inheritable == 0;
            }),
            0);
  for (const char* folder : {"readable", "writable"}) {
    ASSERT_EQ(::chown(place(folder).c_str(), 1234, 1234), 0);
    ASSERT_EQ(::chmod(place(folder).c_str(), 0600), 0);
    ASSERT_EQ(::chown(place(folder).parent_path().c_str(), 1234, 1234), 0);
    ASSERT_EQ(::chmod(place(folder).parent_path().c_str(), 0700), 0);
  }
  EXPECT_EQ(error_of([&] { return opens("readable", O_RDONLY); }), 0);
  EXPECT_EQ(error_of([&] { return opens("writable", O_RDWR); }), EACCES);
  EXPECT_EQ(error_of([] { return ::chroot("/") == 0; }), EPERM);
}

TEST_F(ConfinementTest, NothingIsStartedReachedOrSignalled) {
  EXPECT_EQ(error_of([] { return ::fork() >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::vfork() >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::execl("/bin/true", "true", nullptr) == 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }), EPERM);
  EXPECT_EQ(error_of([] { return ::kill(::getppid(), 0) == 0; }), EPERM);
}

TEST_F(ConfinementTest, AProgramHasNoCapabilityNoFilesInMemoryAndEndsWithItsParent) {
  const auto error_of_a_program = [&](const std::function<bool()>& action) {
    return error_of(action, false, true);
  };
  EXPECT_EQ(error_of_a_program([] { return ::syscall(SYS_memfd_create, "x", 0) >= 0; }), EPERM);
  EXPECT_EQ(error_of_a_program([] { return ::syscall(447, 0) >= 0; }), EPERM);
  EXPECT_EQ(error_of_a_program([] { return ::prctl(PR_SET_PDEATHSIG, 0) == 0; }), EPERM);
  EXPECT_EQ(error_of_a_program([] { return ::prctl(PR_SET_NAME, "name") == 0; }), 0);
  EXPECT_EQ(error_of_a_program([] {
              __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
              __user_cap_data_struct held[2]{};
              if (::syscall(SYS_capget, &header, held) != 0) return false;
              errno = E2BIG;
              return held[0].effective == 0 && held[0].permitted == 0 && held[1].permitted == 0;
            }),
            0);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_memfd_create, "x", 0) >= 0; }), 0);
}

TEST_F(ConfinementTest, AProgramAllocatesNothingBeyondTheEndsOfFiles) {
  /// FS_IOC_RESVSP takes this, and allocates as fallocate() does.
  struct Space {
    std::int16_t kind, whence;
    std::int64_t start, bytes;
    std::int32_t unused[6];
  };
  const auto allocates = [&] {
    const int file = ::open(place("writable").c_str(), O_RDWR);
    return ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) == 0;
  };
  const auto reserves = [&] {
    const int file = ::open(place("writable").c_str(), O_RDWR);
    const Space space{0, SEEK_SET, 0, 1 << 20, {}};
    return ::ioctl(file, _IOW('X', 40, Space), &space) == 0;
  };
  EXPECT_EQ(error_of(allocates, false, true), EOPNOTSUPP);
  EXPECT_EQ(error_of(reserves, false, true), EPERM);
  EXPECT_EQ(error_of([&] { return ::ioctl(::open(place("readable").c_str(), O_RDONLY), FIOCLEX) == 0; },
                     false, true),
            0);
  struct stat status {};
  ASSERT_EQ(::stat(place("writable").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
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

}  // namespace confinement_test
}  // namespace tiletune
