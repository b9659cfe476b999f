#include "base/worker_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "carries.h"

namespace tiletune {
namespace worker_process_test {

using namespace std::chrono_literals;

/// A worker made of a shell command with its channel on descriptor 3.
WorkerProcess shell(const std::string& script) { return {"/bin/sh", {"-c", script}}; }

TEST(WorkerProcess, EchoesMessages) {
  WorkerProcess worker = shell("exec cat <&3 >&3");
  const nlohmann::ordered_json message{{"type", "hello"}, {"text", std::string(300000, 'x')}};
  std::thread sender([&] { EXPECT_TRUE(worker.send(message)); });
  const auto echoed = worker.receive(10s);
  sender.join();
  ASSERT_TRUE(echoed.has_value());
  EXPECT_EQ(*echoed, message);
}

TEST(WorkerProcess, ReportsHowItEnded) {
  WorkerProcess exits = shell("exit 3");
  EXPECT_FALSE(exits.receive(10s).has_value());
  EXPECT_TRUE(exits.gone());
  EXPECT_EQ(exits.reap().how, "exited with 3");
  WorkerProcess crashes = shell("kill -SEGV $$");
  EXPECT_FALSE(crashes.receive(10s).has_value());
  EXPECT_EQ(crashes.reap().how, "killed by signal 11 (Segmentation fault)");
  EXPECT_FALSE(crashes.send({{"type", "late"}}));
}

TEST(WorkerProcess, KnowsASignalFromOutside) {
  WorkerProcess killed = shell("kill -KILL $$");
  EXPECT_FALSE(killed.receive(10s).has_value());
  EXPECT_TRUE(killed.reap().from_outside);
  WorkerProcess crashed = shell("kill -SEGV $$");
  EXPECT_FALSE(crashed.receive(10s).has_value());
  EXPECT_FALSE(crashed.reap().from_outside);
  WorkerProcess lingers = shell("exec 3>&-; exec sleep 30");
  EXPECT_FALSE(lingers.receive(10s).has_value());
  const WorkerEnd end = lingers.reap(10ms);
  EXPECT_FALSE(end.from_outside) << "it was killed for its silence";
  EXPECT_EQ(end.how, "closed its channel and did not end");
}

TEST(WorkerProcess, GarbageAndHalfFramesAreProtocolErrors) {
  WorkerProcess garbage = shell("echo garbage >&3; exec sleep 5");
  EXPECT_THROW(garbage.receive(10s), ProtocolError);
  WorkerProcess half = shell("printf TTF1 >&3");
  EXPECT_THROW(half.receive(10s), ProtocolError);
}

TEST(WorkerProcess, SilenceEndsWithTheTimeout) {
  WorkerProcess silent = shell("exec sleep 30");
  EXPECT_FALSE(silent.receive(50ms).has_value());
  EXPECT_FALSE(silent.gone());
  silent.kill();
  EXPECT_EQ(silent.pid(), -1);
}

TEST(WorkerProcess, WhatItPrintsIsKeptAlsoAfterItsEnd) {
  WorkerProcess worker = shell("echo out; echo err >&2; kill -SEGV $$");
  EXPECT_FALSE(worker.receive(10s).has_value());
  EXPECT_EQ(worker.reap().how, "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(worker.take_printed(), "out\nerr\n");
  EXPECT_EQ(worker.take_printed(), "");
}

TEST(WorkerProcess, ItNeverWaitsForSomebodyToReadWhatItPrints) {
  WorkerProcess worker = shell("head -c 10000000 /dev/zero 2>/dev/null; exit 3");
  EXPECT_FALSE(worker.receive(10s).has_value());
  EXPECT_EQ(worker.reap().how, "exited with 3");
  const std::size_t kept = worker.take_printed().size();
  EXPECT_GT(kept, 4096U);
  EXPECT_LE(kept, std::size_t{64} << 10);
}

TEST(WorkerProcess, DestructionLeavesNoProcess) {
  pid_t pid = 0;
  {
    WorkerProcess worker = shell("exec sleep 30");
    pid = worker.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(WorkerProcess, InheritsNoOtherDescriptors) {
  WorkerProcess first = shell("exec sleep 30");
  // Lift the parent's ends above the channel's own number, then look for the first worker's in the second.
  const int high = ::fcntl(first.fd(), F_DUPFD_CLOEXEC, 20);
  WorkerProcess second = shell("test -e /proc/$$/fd/" + std::to_string(high) + " && exit 8; exit 7");
  EXPECT_FALSE(second.receive(10s).has_value());
  EXPECT_EQ(second.reap().how, "exited with 7");
  ::close(high);
}

TEST(WorkerProcess, InheritsNoDescriptorsThatItsParentWasStartedWith) {
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY);
  const int low = ::fcntl(folder, F_DUPFD, kFirstInheritedFd + 1);
  const int high = ::fcntl(folder, F_DUPFD, 900);
  ASSERT_GE(high, 900);
  WorkerProcess worker("/bin/sh",
                       {"-c", "cd /proc/$$/fd; [ -e 4 ] || exit 9; for fd in " + std::to_string(low) + " " +
                                  std::to_string(high) + "; do [ ! -e $fd ] || exit 8; done; exit 7"},
                       {folder});
  EXPECT_FALSE(worker.receive(10s).has_value());
  EXPECT_EQ(worker.reap().how, "exited with 7");
  for (const int descriptor : {folder, low, high}) ::close(descriptor);
}

TEST(WorkerProcess, AWorkerWhoseParentDiedBeforeItStartedEndsAtOnce) {
  for (const bool parent_lives : {true, false}) {
    const pid_t worker = ::fork();
    if (worker == 0) {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) ::_exit(9);
      // Out of the way of the channel's own number.
      const int parents_end = ::fcntl(pair[0], F_DUPFD, 20);
      const int own_end = ::fcntl(pair[1], F_DUPFD, 20);
      ::close(pair[0]);
      ::close(pair[1]);
      ::dup2(own_end, kWorkerChannelFd);
      if (!parent_lives) ::close(parents_end);
      die_with_parent();
      ::_exit(7);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), parent_lives ? 7 : 1);
  }
}

TEST(WorkerProcess, MissingProgramIsNamed) {
  try {
    const WorkerProcess worker("/nonexistent/program", {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(std::string(error.what()), {"/nonexistent/program:", "worker"}));
  }
}

}  // namespace worker_process_test
}  // namespace tiletune
