#include "base/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// A descriptor of the file, or one below zero with errno. A first opening by O_PATH touches no device.
int open_beneath(int folder, const char* name, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int descriptor = -1;
  do {
    // EAGAIN: something was renamed while the kernel followed the name.
    descriptor = static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how));
  } while (descriptor < 0 && (errno == EAGAIN || errno == EINTR));
  return descriptor;
}

bool is_regular(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Folder::Folder(const fs::path& path)
    : path_(path),
      descriptor_(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_.is_open()) return;
  throw UserError(fmt::format("this folder cannot be opened: {}", std::strerror(errno)),
                  Where{path.string(), ""}, "Check the path and the permissions of the folder.");
}

std::optional<Folder> Folder::folder(const fs::path& name) const {
  Descriptor found(open_beneath(descriptor(), name.c_str(), O_PATH | O_DIRECTORY));
  if (!found.is_open()) return std::nullopt;
  return Folder(path_ / name, std::move(found));
}

Descriptor Folder::open(const fs::path& name) const {
  const Descriptor place(open_beneath(descriptor(), name.c_str(), O_PATH));
  if (!place.is_open()) return Descriptor();
  if (!is_regular(place.number())) {
    errno = EINVAL;
    return Descriptor();
  }
  // The file that was looked at, whatever the name means by now.
  const std::string same = fmt::format("/proc/self/fd/{}", place.number());
  return Descriptor(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

std::string Folder::read(const fs::path& name, std::size_t limit_bytes) const {
  const fs::path shown = path_ / name;
  const Descriptor file = open(name);
  if (file.is_open()) return read_open_file(file, shown, limit_bytes);
  const Where where{shown.string(), ""};
  switch (errno) {
    case ENOENT:
      throw UserError("there is no such file", where, "Check the path.");
    case EXDEV:
      throw UserError(fmt::format("leads out of {}", path_.string()), where,
                      "Copy the file there, or pass --allow-outside-paths.");
    case EINVAL:
      throw UserError("this is not a regular file", where, "Name a file.");
    default:
      throw UserError(fmt::format("cannot be opened: {}", std::strerror(errno)), where,
                      "Check the path and the permissions of the file.");
  }
}

}  // namespace tiletune
