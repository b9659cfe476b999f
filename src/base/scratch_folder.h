#pragma once

#include <filesystem>

#include "base/descriptor.h"

namespace tiletune {

/// A new folder for files that nobody wants to keep; removed, with all that lies in it, with this object.
/// A process that is killed leaves its folder behind; the next one of the same user and machine that makes a
/// folder in the same place removes it. A mark in the folder, which its process keeps locked, tells whether
/// it is in use. Where the file system has no locks there is no mark, and nothing is removed.
class ScratchFolder {
 public:
  /// Where the system has its temporary files. Throws UserError, as the other, when none can be made.
  ScratchFolder();
  /// In a folder with room for what will lie in it.
  explicit ScratchFolder(const std::filesystem::path& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor mark_;
};

}  // namespace tiletune
