#pragma once

#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace tiletune {

/// An empty folder of a test's own, which exists as long as this object: tests run at the same time.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tiletune_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = std::filesystem::canonical(pattern);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// The path of the file that now holds `text`.
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    write_file_atomically(path_ / name, text);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// The message of the UserError that `action` throws, or "no error".
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tiletune
