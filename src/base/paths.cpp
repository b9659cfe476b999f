#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"

namespace tiletune {

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

fs::path executable_path() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw UserError("cannot find the running executable through /proc/self/exe", "Mount /proc.");
  return path;
}

fs::path home_folder() {
  if (const char* home = std::getenv("TILETUNE_HOME"); home != nullptr && *home != '\0') {
    if (!fs::is_directory(fs::path(home) / "kernel_templates")) {
      throw UserError(
          "TILETUNE_HOME has no folder kernel_templates/", Where{home, ""},
          "Set TILETUNE_HOME to a checkout of tiletune or to share/tiletune of an installed one, or "
          "unset it.");
    }
    return home;
  }
  const auto is_home = [](const fs::path& folder) {
    return fs::is_directory(folder / "kernel_templates") && fs::is_directory(folder / "configs");
  };
  const fs::path own_folder = executable_path().parent_path();
  if (fs::path installed = own_folder.parent_path() / "share" / "tiletune"; is_home(installed))
    return installed;
  for (fs::path folder = own_folder;; folder = folder.parent_path()) {
    if (is_home(folder)) return folder;
    if (folder == folder.parent_path()) break;
  }
  throw UserError(
      "found no folder with kernel_templates/ and configs/: neither share/tiletune/ beside the executable's "
      "folder, nor one above the executable",
      Where{executable_path().string(), ""},
      "Install tiletune again, or set TILETUNE_HOME to a checkout of tiletune.");
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return fs::path(cache) / "tiletune";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return fs::path(home) / ".cache" / "tiletune";
  }
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) {
    throw UserError(
        "there is no folder for compiled kernels: neither XDG_CACHE_HOME nor HOME is set, and TMPDIR is "
        "not a folder",
        "Set XDG_CACHE_HOME to a folder of your own that can be written.");
  }
  fs::path last_resort = temporary / ("tiletune-" + std::to_string(::geteuid()));
  const std::string distrust = folder_distrust(last_resort, Links::refuse);
  if (distrust.empty()) return last_resort;
  throw UserError(distrust, Where{last_resort.string(), ""},
                  "Set XDG_CACHE_HOME to a folder of your own that can be written.");
}

}  // namespace tiletune
