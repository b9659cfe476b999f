#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/frame.h"

namespace tiletune {

/// The file descriptor on which a worker finds its channel to the parent.
inline constexpr int kWorkerChannelFd = 3;

/// The first of the descriptors that a worker was given besides.
inline constexpr int kFirstInheritedFd = 4;

/// How a worker ended.
struct WorkerEnd {
  std::string how;            ///< "killed by signal 11 (Segmentation fault)", "exited with 3"
  bool from_outside = false;  ///< by a signal of the kind that others send, and not by its owner's kill()
};

/// A child process with a framed channel to it. The child dies with its parent (PR_SET_PDEATHSIG, and end of
/// file on the channel); destruction kills it with SIGKILL and reaps it.
class WorkerProcess {
 public:
  /// Starts `program` with `arguments` by posix_spawn; standard input is /dev/null, standard output and
  /// standard error are kept for take_printed(), the channel is kWorkerChannelFd, copies of `inherited` are
  /// kFirstInheritedFd and the numbers that follow, no other descriptor is inherited. Throws UserError when
  /// it cannot start.
  WorkerProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                const std::vector<int>& inherited = {});
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept { *this = std::move(other); }
  /// Swaps the two.
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;

  /// Sends one message. Blocks until the worker has read enough of it or is gone, ten seconds at most for one
  /// that does not read. False when it did not get the message.
  bool send(const nlohmann::ordered_json& message);

  /// Reads what has arrived without blocking and returns the next whole message, if any. Throws ProtocolError
  /// on garbage. After end of file `gone()` is true.
  std::optional<nlohmann::ordered_json> receive();

  /// Waits up to `timeout` for a message.
  std::optional<nlohmann::ordered_json> receive(std::chrono::milliseconds timeout);

  /// What it has written to standard output and standard error since the last call, as it is, also after its
  /// end. What it writes beyond 64 KiB is lost; it never waits for a reader.
  std::string take_printed();

  /// The descriptor to poll for POLLIN; -1 once gone.
  int fd() const { return channel_.number(); }
  pid_t pid() const { return pid_; }
  bool gone() const { return !channel_.is_open(); }

  /// SIGKILL and reap. A process that the kernel does not let go within two seconds is reaped later.
  void kill();
  /// Closes the channel, which tells the worker to end, and gives it so long to do so by itself, so that its
  /// own end is reported; then as kill().
  WorkerEnd reap(std::chrono::milliseconds patience = std::chrono::milliseconds(500));

 private:
  Descriptor channel_;
  pid_t pid_ = -1;
  FrameReader reader_;
  Descriptor printed_;
};

/// The worker's side of the channel.
class WorkerChannel {
 public:
  explicit WorkerChannel(int fd = kWorkerChannelFd);
  /// The next message; none at end of file (the parent is gone: the worker should exit). Throws
  /// ProtocolError.
  std::optional<nlohmann::ordered_json> receive();
  void send(const nlohmann::ordered_json& message);

 private:
  int fd_;
  FrameReader reader_;
};

/// Called first in a worker, before its channel is used: die with the parent, at once if it is dead already.
void die_with_parent();

}  // namespace tiletune
