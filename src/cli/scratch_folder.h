#pragma once

#include <filesystem>

namespace tiletune {

/// A folder for files that nobody wants to keep; it goes with this object.
class ScratchFolder {
 public:
  /// Below TMPDIR. Throws UserError.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tiletune
