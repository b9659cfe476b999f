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

/// A descriptor that stands for a place in the file system, or one below zero with errno. Nothing is opened
/// for reading yet, so that no device and no pipe takes notice.
int find_place(int folder, const char* name, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  // EAGAIN: something was renamed while the kernel followed the name. Somebody may do so without end.
  constexpr int kMostAttempts = 1000;
  int descriptor = -1;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    descriptor = static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how));
    if (descriptor >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return descriptor;
}

/// What openat2 says where there is none; EPERM comes from filters of system calls that do not know it.
bool lacks_openat2(int error) { return error == ENOSYS || error == EPERM; }

UserError no_openat2(const Where& where) {
  return {"cannot be opened: this system has no openat2()", where,
          "Use Linux 5.6 or newer; in a container, one whose seccomp profile allows openat2."};
}

constexpr std::uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

bool is_regular(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Folder::Folder(const fs::path& path, Links links)
    : path_(path),
      descriptor_(find_place(AT_FDCWD, path.empty() ? "." : path.c_str(), O_DIRECTORY,
                             links == Links::refuse ? RESOLVE_NO_SYMLINKS : 0)) {
  if (descriptor_.is_open()) return;
  if (lacks_openat2(errno)) throw no_openat2({path.string(), ""});
  throw UserError(fmt::format("this folder cannot be opened: {}", std::strerror(errno)),
                  Where{path.string(), ""}, "Check the path and the permissions of the folder.");
}

fs::path Folder::real_path() const {
  std::error_code error;
  fs::path path = fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor()), error);
  struct stat status {};
  if (!error && ::fstat(descriptor(), &status) == 0 && status.st_nlink > 0) return path;
  throw UserError("this folder no longer exists", Where{path_.string(), ""}, "Check the path.");
}

std::optional<Folder> Folder::folder(const fs::path& name) const {
  Descriptor found(find_place(descriptor(), name.c_str(), O_DIRECTORY, kBeneath));
  if (!found.is_open()) return std::nullopt;
  return Folder(path_ / name, std::move(found));
}

Descriptor Folder::open(const fs::path& name) const {
  const Descriptor place(find_place(descriptor(), name.c_str(), 0, kBeneath));
  if (!place.is_open()) return Descriptor();
  if (!is_regular(place.number())) {
    errno = EINVAL;
    return Descriptor();
  }
  // The file that was looked at, whatever the name means by now.
  const std::string same = fmt::format("/proc/self/fd/{}", place.number());
  Descriptor file(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) errno = ENOTSUP;  // there is no /proc
  return file;
}

bool Folder::has(const fs::path& name) const {
  return Descriptor(find_place(descriptor(), name.c_str(), 0, kBeneath)).is_open();
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
    case ENOTSUP:
      throw UserError("cannot be opened: /proc is not mounted", where, "Mount it: mount -t proc proc /proc");
    default:
      if (lacks_openat2(errno)) throw no_openat2(where);
      throw UserError(fmt::format("cannot be opened: {}", std::strerror(errno)), where,
                      "Check the path and the permissions of the file.");
  }
}

}  // namespace tiletune
