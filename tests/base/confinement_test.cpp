#include "base/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <pthread.h>
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

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

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
               std::optional<std::array<std::uint32_t, 2>> start_key = std::nullopt) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const Folder readable(scratch_.path() / "readable");
      const Folder writable(scratch_.path() / "writable");
      confine({{readable.descriptor()}, {writable.descriptor()}, sets_priorities, start_key});
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
  cpu_set_t processors;
  ASSERT_EQ(::sched_getaffinity(0, sizeof processors, &processors), 0);
  const auto binds = [&](pid_t process) {
    return ::sched_setaffinity(process, sizeof processors, &processors) == 0;
  };
  EXPECT_EQ(error_of([&] { return binds(::getppid()); }), EPERM);
  EXPECT_EQ(error_of([&] { return binds(0); }), 0);
  EXPECT_EQ(
      error_of([] { return ::syscall(SYS_move_pages, ::getppid(), 0, nullptr, nullptr, nullptr, 0) == 0; }),
      EPERM);
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

/// What a program may do that the process becomes.
class ConfinedProgramTest : public ConfinementTest {
 protected:
  static constexpr std::array<std::uint32_t, 2> kKey{12, 0xFFFFFFF3};
  int error_of(const std::function<bool()>& action) const {
    return ConfinementTest::error_of(action, false, kKey);
  }
};

TEST_F(ConfinedProgramTest, RootReadsNoFileOfAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chown(place("readable").c_str(), 1234, 1234), 0);
  ASSERT_EQ(::chmod(place("readable").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { return opens("readable", O_RDONLY); }), EACCES);
}

TEST_F(ConfinedProgramTest, IsStartedWithTheKeyAlone) {
  char name[] = "/bin/true";
  char* const words[] = {name, nullptr};
  char* const none[] = {nullptr};
  const auto starts = [&](std::uint64_t first, std::uint64_t second) {
    const Folder everything("/");
    const pid_t child = ::fork();
    if (child == 0) {
      confine({{everything.descriptor()}, {}, false, kKey});
      ::syscall(SYS_execve, name, words, none, first, second);
      ::_exit(errno);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(starts(12, 0xFFFFFFF3), 0);
  EXPECT_EQ(starts(12, 0xFFFFFFF2), EPERM);
  EXPECT_EQ(starts(13, 0xFFFFFFF3), EPERM);
  EXPECT_EQ(error_of([&] { return ::execve(name, words, none) == 0; }), EPERM);
  EXPECT_EQ(error_of([&] { return ::syscall(SYS_execveat, AT_FDCWD, name, words, none, 0xFFFFFFF3) == 0; }),
            EPERM);
}

TEST_F(ConfinedProgramTest, ReachesNothingBeyondItself) {
  const auto refused = [&](auto... call) {
    return error_of([=] { return ::syscall(call...) >= 0; }) == EPERM;
  };
  const pid_t parent = ::getpid();
  const itimerspec none{};
  EXPECT_TRUE(refused(SYS_sched_setaffinity, 0, 0, nullptr));
  EXPECT_TRUE(refused(SYS_sched_setscheduler, 0, SCHED_BATCH, &none));
  EXPECT_TRUE(refused(SYS_setpriority, PRIO_PROCESS, 0, 19));
  EXPECT_TRUE(refused(SYS_prlimit64, parent, RLIMIT_CPU, nullptr, nullptr));
  EXPECT_TRUE(refused(SYS_kill, parent, 0));
  EXPECT_TRUE(refused(SYS_tgkill, parent, parent, 0));
  EXPECT_TRUE(refused(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  EXPECT_TRUE(refused(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0, 0, 0, 0));
  EXPECT_TRUE(refused(SYS_ptrace, 0, 0, 0, 0));
  EXPECT_TRUE(refused(SYS_process_vm_readv, parent, nullptr, 0, nullptr, 0, 0));
  EXPECT_TRUE(refused(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
  EXPECT_TRUE(refused(SYS_io_uring_setup, 1, nullptr));
  EXPECT_TRUE(refused(SYS_prctl, PR_SET_PDEATHSIG, 0));
  EXPECT_TRUE(refused(SYS_prctl, PR_SET_DUMPABLE, 0));
  EXPECT_TRUE(refused(SYS_timer_create, CLOCK_MONOTONIC, nullptr, nullptr));
  EXPECT_TRUE(refused(SYS_setitimer, ITIMER_REAL, &none, nullptr));
  EXPECT_TRUE(refused(SYS_timerfd_create, CLOCK_MONOTONIC, 0));
  EXPECT_TRUE(refused(SYS_inotify_init1, 0));
  EXPECT_TRUE(refused(SYS_fanotify_init, 0, 0));
  EXPECT_TRUE(refused(SYS_msgget, IPC_PRIVATE, 0600));
  EXPECT_TRUE(refused(SYS_shmget, IPC_PRIVATE, 4096, 0600));
  EXPECT_TRUE(refused(SYS_semget, IPC_PRIVATE, 1, 0600));
  EXPECT_TRUE(refused(SYS_mq_open, "queue", O_CREAT | O_RDWR, 0600, nullptr));
  EXPECT_TRUE(refused(SYS_pipe2, nullptr, 0));
  EXPECT_TRUE(refused(SYS_splice, 0, nullptr, 1, nullptr, 1, 0));
  EXPECT_TRUE(refused(SYS_tee, 0, 1, 1, 0));
  EXPECT_TRUE(refused(SYS_vmsplice, 1, nullptr, 0, 0));
  EXPECT_TRUE(refused(SYS_sendfile, 1, 0, nullptr, 1));
  EXPECT_TRUE(refused(SYS_keyctl, 0, 0));
  EXPECT_TRUE(refused(SYS_userfaultfd, 0));
  EXPECT_TRUE(refused(SYS_perf_event_open, nullptr, 0, 0, 0, 0));
  EXPECT_TRUE(refused(SYS_bpf, 0, nullptr, 0));
  EXPECT_TRUE(refused(SYS_mount, nullptr, nullptr, nullptr, 0, nullptr));
  EXPECT_TRUE(refused(SYS_unshare, 0));
  EXPECT_TRUE(refused(SYS_memfd_create, "x", 0));
  EXPECT_TRUE(refused(SYS_mlock, nullptr, 0));
  EXPECT_EQ(error_of([] { return ::syscall(SYS_clone3, nullptr, 0) >= 0; }), ENOSYS);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_pidfd_getfd, 0, 0, 0) >= 0; }), ENOSYS);
  EXPECT_EQ(error_of([] { return ::syscall(500, 0) >= 0; }), ENOSYS) << "a call of the future";
}

TEST_F(ConfinedProgramTest, AllocatesNothingBeyondTheEndsOfFiles) {
  /// FS_IOC_RESVSP takes this, and allocates as fallocate() does.
  struct Space {
    std::int16_t kind, whence;
    std::int64_t start, bytes;
    std::int32_t unused[6];
  };
  EXPECT_EQ(error_of([&] {
              const int file = ::open(place("writable").c_str(), O_RDWR);
              return ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) == 0;
            }),
            EPERM);
  EXPECT_EQ(error_of([&] {
              const int file = ::open(place("writable").c_str(), O_RDWR);
              const Space space{0, SEEK_SET, 0, 1 << 20, {}};
              return ::ioctl(file, _IOW('X', 40, Space), &space) == 0;
            }),
            EPERM);
  struct stat status {};
  ASSERT_EQ(::stat(place("writable").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
}

TEST_F(ConfinedProgramTest, ComputesAndReads) {
  EXPECT_EQ(error_of([&] {
              std::vector<char> memory(1 << 24);
              bool ran = false;
              const auto run = [](void* it_ran) -> void* {
                *static_cast<bool*>(it_ran) = true;
                return nullptr;
              };
              // Without std::thread, whose virtual functions the undefined-behaviour sanitizer looks up by a
              // pipe.
              pthread_t thread{};
              if (::pthread_create(&thread, nullptr, run, &ran) != 0 || ::pthread_join(thread, nullptr) != 0)
                return false;
              const int file = ::open(place("readable").c_str(), O_RDONLY);
              return ran && ::read(file, memory.data(), 4) == 4 && ::ioctl(file, FIOCLEX) == 0 &&
                     ::fcntl(file, F_SETFD, 0) == 0 && ::prctl(PR_SET_NAME, "name") == 0 &&
                     ::prlimit(0, RLIMIT_CORE, nullptr, nullptr) == 0;
            }),
            0);
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
