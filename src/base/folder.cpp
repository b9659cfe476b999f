#include "base/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/byte_stream.h"
#include "base/error.h"
#include "base/system.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "tiletune_";
constexpr std::string_view kWildcards = "XXXXXX";  ///< for mkdtemp()
constexpr const char* kMark = ".tiletune_scratch";
constexpr const char* kUnfinishedMark = ".tiletune_unlocked";

fs::path folder_for_temporary_files() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder;
  throw UserError(fmt::format("the folder for temporary files cannot be used: {}", error.message()),
                  Where{"TMPDIR", ""}, "Set it to a folder that can be written.");
}

bool lock(const Descriptor& file) { return ::flock(file.number(), LOCK_EX | LOCK_NB) == 0; }

/// Nobody sees the mark before it is locked. It names this machine: some file systems are shared by machines
/// that do not see each other's locks. Not open where that cannot be done.
Descriptor make_mark(const fs::path& folder) {
  const fs::path new_mark = folder / kUnfinishedMark;
  Descriptor mark(::open(new_mark.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!mark.is_open()) return mark;
  const std::string machine = host_name();
  const auto written = ::write(mark.number(), machine.data(), machine.size());
  if (lock(mark) && written == static_cast<ssize_t>(machine.size()) &&
      ::rename(new_mark.c_str(), (folder / kMark).c_str()) == 0)
    return mark;
  ::unlink(new_mark.c_str());
  return Descriptor();
}

/// The mark goes last, so that whoever is killed here leaves a folder that is still marked.
void remove_marked(const fs::path& path, const Descriptor& folder) {
  std::error_code error;
  std::vector<fs::path> contents;
  for (auto entry = fs::directory_iterator(fmt::format("/proc/self/fd/{}", folder.number()), error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() != kMark) contents.push_back(entry->path());
  }
  for (const fs::path& entry : contents) fs::remove_all(entry, error);
  ::unlinkat(folder.number(), kMark, 0);
  ::rmdir(path.c_str());
}

void remove_if_abandoned(const fs::path& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open() || !is_private_folder(folder)) return;
  const Descriptor mark(::openat(folder.number(), kMark, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!mark.is_open() || !is_private_file(mark) || !lock(mark)) return;
  std::array<char, 256> machine{};
  const ssize_t length = ::read(mark.number(), machine.data(), machine.size());
  if (length >= 0 && std::string_view(machine.data(), static_cast<std::size_t>(length)) == host_name())
    remove_marked(path, folder);
}

void remove_abandoned(const fs::path& parent) {
  std::error_code error;
  std::vector<fs::path> found;
  for (auto entry = fs::directory_iterator(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix) && name.size() == kPrefix.size() + kWildcards.size())
      found.push_back(entry->path());
  }
  std::for_each(found.begin(), found.end(), remove_if_abandoned);
}

}  // namespace

ScratchFolder::ScratchFolder() : ScratchFolder(folder_for_temporary_files()) {}

ScratchFolder::ScratchFolder(const fs::path& parent) {
  remove_abandoned(parent);
  std::string pattern = (fs::absolute(parent) / fmt::format("{}{}", kPrefix, kWildcards)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw UserError(fmt::format("no folder for temporary files can be made here: {}", std::strerror(errno)),
                    Where{parent.string(), ""}, "Check that the folder is writable and the disk has space.");
  }
  path_ = pattern;
  mark_ = make_mark(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

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

/// Checks a folder that is there; what others could write is gone afterwards.
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
  // The file that was looked at, whatever the name means by now.
  const std::string same = fmt::format("/proc/self/fd/{}", place.number());
  struct stat status {};
  if (::fstat(place.number(), &status) != 0 || !S_ISREG(status.st_mode) || is_of_kernel(same)) {
    errno = EINVAL;
    return Descriptor();
  }
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
