#include "base/private_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

bool others_can_write(const struct stat& status) { return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw UserError(what, Where{path.string(), ""},
                  "Set XDG_CACHE_HOME to a folder of your own that can be written.");
}

std::string distrust_of(const struct stat& folder) {
  if (!S_ISDIR(folder.st_mode)) return "this is not a folder";
  if (folder.st_uid == ::geteuid()) return "";
  return fmt::format("this folder belongs to the user {}, not to you ({})", folder.st_uid, ::geteuid());
}

/// What a link leads to may have another purpose, so that nothing in it is removed.
std::string distrust_of_target(const fs::path& link) {
  struct stat status {};
  if (::stat(link.c_str(), &status) != 0)
    return fmt::format("the folder that this symbolic link leads to cannot be used: {}",
                       std::strerror(errno));
  std::string distrust = distrust_of(status);
  if (!distrust.empty() || !others_can_write(status)) return distrust;
  return "others can write to the folder that this symbolic link leads to";
}

/// Of a folder that is there; what others could write is gone afterwards.
void check_and_clear(const fs::path& path) {
  if (const std::string distrust = folder_distrust(path); !distrust.empty()) refuse(path, distrust);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISLNK(status.st_mode) || !others_can_write(status)) return;
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    refuse(path, fmt::format("others can write here, and it cannot be removed: {}", error.message()));
}

/// With the folders above it, as the XDG base directory specification has them. Returns 0 or errno.
int make_closed(const fs::path& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return 0;
  if (errno != ENOENT || !path.has_relative_path()) return errno;
  make_closed(path.parent_path());
  return ::mkdir(path.c_str(), S_IRWXU) == 0 ? 0 : errno;
}

}  // namespace

std::string folder_distrust(const fs::path& path, Links links) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return "";
  if (!S_ISLNK(status.st_mode)) return distrust_of(status);
  if (links == Links::refuse) return "this is a symbolic link, not a folder of your own";
  if (status.st_uid == ::geteuid()) return distrust_of_target(path);
  return fmt::format("this symbolic link belongs to the user {}, not to you ({})", status.st_uid,
                     ::geteuid());
}

void make_private_folder(const fs::path& path) {
  check_and_clear(path);
  const int error = make_closed(path);
  if (error == 0 || error == ENOSPC) return;
  if (error != EEXIST) refuse(path, fmt::format("the folder cannot be created: {}", std::strerror(error)));
  // It was there already, or somebody else has just made it.
  if (const std::string distrust = folder_distrust(path); !distrust.empty()) refuse(path, distrust);
}

bool is_private_folder(const Descriptor& folder) {
  struct stat status {};
  return ::fstat(folder.number(), &status) == 0 && distrust_of(status).empty() && !others_can_write(status);
}

bool is_private_file(const Descriptor& file) {
  struct stat status {};
  return ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         !others_can_write(status);
}

}  // namespace tiletune
