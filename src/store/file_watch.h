#pragma once

#include <sys/types.h>

#include <filesystem>

namespace tiletune {

/// Notices what SQLite does not: that another program has removed, replaced or cut off the file of an open
/// database, so that further rows would be written to a file that has no name, or into a damaged one.
class FileWatch {
 public:
  /// The file must be there.
  explicit FileWatch(std::filesystem::path file);
  /// Throws UserError when the file is no longer the same, or has become shorter and does not hold a sound
  /// database any more. Costs one stat().
  void check();

 private:
  std::filesystem::path file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t bytes_ = 0;
};

}  // namespace tiletune
