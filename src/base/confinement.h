#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace tiletune {

/// What a confined process may still reach, as open descriptors of folders and files.
struct Confinement {
  std::vector<int> readable;  ///< may be read, with all that lies beneath
  std::vector<int> writable;  ///< may be read and written, but nothing is made, renamed or removed
  /// Priorities and scheduling may be set by number: a GPU's driver may do so with its threads, which no
  /// filter can tell from other processes.
  bool sets_priorities = false;
  /// Two numbers that nobody can guess: it may become another program that lies in a readable folder, once,
  /// by an execve() whose fourth and fifth arguments, which Linux ignores, are these. That program has the
  /// system calls that Python and NumPy need, makes no files in memory, and ends with its parent. Root keeps
  /// no capability at all.
  std::optional<std::array<std::uint32_t, 2>> start_key = std::nullopt;
};

/// Files and folders that are held open so that a Confinement can name them.
class Places {
 public:
  /// A path that does not exist is skipped.
  void add(const std::filesystem::path& path);
  void add(const std::filesystem::path& path, Descriptor place) {
    places_.emplace_back(path, std::move(place));
  }
  std::vector<int> numbers() const;
  const std::vector<std::pair<std::filesystem::path, Descriptor>>& all() const { return places_; }

 private:
  std::vector<std::pair<std::filesystem::path, Descriptor>> places_;
};

/// Why this system confines no process; empty where it can. That needs Landlock (Linux 5.13) and seccomp.
std::string why_system_cannot_confine();

/// Why this process cannot be confined, for what the system lacks or for a profiler that was injected into
/// it: those write files and open sockets of their own.
std::string why_not_confinable();

/// For a worker, whose libraries are not its parent's: false where it cannot be confined. Throws
/// std::runtime_error instead where it `must` be.
bool may_be_confined(bool must);

/// Takes from this thread, and from all that it starts, for good: every file but those named, starting
/// programs and processes (threads may be started), making sockets, signalling, tracing or slowing other
/// processes, and root's capabilities except that of reading everybody's files. Descriptors that are open
/// stay open. Threads that run already keep their access to files and their capabilities.
/// Throws std::runtime_error where the system refuses.
void confine(const Confinement& reach);

}  // namespace tiletune
