#pragma once

#include <filesystem>

namespace tiletune {

/// A new folder for files that nobody wants to keep; removed, with all that lies in it, with this object.
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
};

}  // namespace tiletune
