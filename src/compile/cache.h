#pragma once

#include <filesystem>
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

}  // namespace tiletune
