#pragma once

#include <filesystem>
#include <string>

namespace tiletune {

/// A file system in memory on a folder, in a mount namespace of this process, so that nobody else sees it.
class SmallDisk {
 public:
  /// Makes the folder and mounts there, with a size such as "64k". See mounted().
  SmallDisk(std::filesystem::path folder, const std::string& size);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// False where this process may not mount.
  bool mounted() const { return mounted_; }
  const std::filesystem::path& folder() const { return folder_; }
  void resize(const std::string& size) const;
  void write_protect() const;
  /// Writes a file until no byte more fits.
  void fill() const;

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

}  // namespace tiletune
