#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "compile/binary.h"

namespace tiletune {

/// Compiled kernels by content address in a folder shared by any number of processes. Files appear by atomic
/// rename and carry a checksum, so that a torn or altered one reads as absent (and is replaced), never as a
/// wrong kernel; so does one that another user owns or could have written.
class CubinCache {
 public:
  /// The folder is made private. Throws UserError as make_private_folder() does; on a full disk nothing is
  /// cached.
  explicit CubinCache(std::filesystem::path folder);

  /// What was compiled from the request of that key. It still holds if its dependencies do.
  std::optional<Compiled> load(const std::string& key) const;
  /// Publishes what has a binary, in the place of what was there. Failing to write is no error: the cache is
  /// an optimisation.
  void store(const Compiled& compiled) const;
  std::filesystem::path path_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
};

/// cache_folder()/cubin
CubinCache default_cubin_cache();

/// What was compiled lately, by key, within a number of bytes: configurations that differ in their launch
/// alone share a binary, and what failed once would fail again. The oldest results are forgotten first.
class RecentResults {
 public:
  explicit RecentResults(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<Compiled> find(const std::string& key) const;
  /// In the place of an earlier result of the key.
  void add(const std::string& key, const Compiled& compiled);

 private:
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::map<std::string, Compiled> results_;
  std::deque<std::string> keys_;  ///< oldest first
};

}  // namespace tiletune
