#include "compile/included_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "base/file.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

// Other threads of a process open what they please.
thread_local IncludedFiles* at_work = nullptr;

using Open = std::FILE* (*)(const char*, const char*);

std::FILE* system_fopen(const char* name, const char* mode) {
  static const Open system = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "fopen"));
  return system(name, mode);
}

/// Leaves the file at its beginning.
bool write_all(const Descriptor& file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(file.number(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return ::lseek(file.number(), 0, SEEK_SET) == 0;
}

}  // namespace

IncludedFiles::IncludedFiles(const KernelSource& source, const std::optional<fs::path>& toolkit)
    : source_(source), toolkit_(toolkit), left_folder_(::open(".", O_PATH | O_CLOEXEC)) {
  if (!source.roots.empty() && ::fchdir(source.roots.front().folder->descriptor()) != 0)
    throw std::runtime_error("cannot change to the kernel's folder");
  at_work = this;
}

IncludedFiles::~IncludedFiles() {
  at_work = nullptr;
  // A folder that has been removed meanwhile has nothing to go back to.
  if (::fchdir(left_folder_.number()) != 0) errno = 0;
}

bool IncludedFiles::is_of_toolkit(const fs::path& name) const {
  return toolkit_ && is_within(name.lexically_normal(), *toolkit_);
}

Descriptor IncludedFiles::find_own(const fs::path& name) {
  const auto holds = [&](const fs::path& folder) { return is_within(name, folder); };
  if (std::ranges::any_of(source_.search_behind, holds))
    dependencies_[kSearchedBehind] = state_of(source_, kSearchedBehind);
  Descriptor file = open_included(source_, name);
  if (file.is_open()) return file;
  if (errno == EXDEV) {
    refused_.insert(name);
  } else {
    const std::string missing = first_missing(source_, name).value_or(name.lexically_normal());
    dependencies_.insert_or_assign(missing, state_of(source_, missing));
  }
  // Nobody learns whether a file that must not be read is there.
  errno = ENOENT;
  return file;
}

std::optional<std::string> IncludedFiles::read_own(const Descriptor& file, const fs::path& name) {
  std::optional<std::string> content = source_content(file);
  const std::string hash = content ? hash_of_content(*content) : kUnreadable;
  const auto [known, is_new] = dependencies_.try_emplace(name.lexically_normal(), hash);
  if (!is_new && known->second != hash) known->second = kUnreadable;
  return content;
}

std::FILE* IncludedFiles::open(const char* name) {
  // Names are taken as they are written: whether folders that they pass through are there shows nowhere.
  if (is_of_toolkit(name)) return system_fopen(fs::path(name).lexically_normal().c_str(), "r");
  const Descriptor file = find_own(name);
  if (!file.is_open()) return nullptr;
  // A copy in memory, so that what was hashed is what is compiled, whoever writes to the file meanwhile.
  std::optional<std::string> content = read_own(file, name);
  const auto replaced = replaced_.find(fs::path(name).lexically_normal());
  if (content && replaced != replaced_.end()) content = replaced->second;
  Descriptor copy(::memfd_create("source", MFD_CLOEXEC));
  if (!content || !copy.is_open() || !write_all(copy, *content)) {
    errno = ENOENT;
    return nullptr;
  }
  std::FILE* const stream = ::fdopen(copy.number(), "r");
  if (stream != nullptr) copy.release();
  return stream;
}

int IncludedFiles::look_at(const char* name, struct stat* status) {
  if (is_of_toolkit(name)) return ::fstatat(AT_FDCWD, fs::path(name).lexically_normal().c_str(), status, 0);
  // The text that is compiled is not in a file. What is not found is looked for by open(), too, and noted
  // there.
  const Descriptor file = name == source_.name ? Descriptor() : open_included(source_, name);
  if (!file.is_open()) {
    errno = ENOENT;
    return -1;
  }
  if (::fstat(file.number(), status) != 0) return -1;
  const bool is_noted = dependencies_.contains(fs::path(name).lexically_normal());
  if (S_ISREG(status->st_mode) && !is_noted) read_own(file, name);
  return 0;
}

}  // namespace tiletune

/// In the place of the C library's, for the whole program.
extern "C" std::FILE* fopen(const char* name, const char* mode) {
  using tiletune::at_work;
  if (at_work == nullptr) return tiletune::system_fopen(name, mode);
  if (*mode != 'r' || std::strchr(mode, '+') != nullptr) {
    errno = EACCES;
    return nullptr;
  }
  try {
    return at_work->open(name);
  } catch (const std::exception&) {
    errno = ENOMEM;
    return nullptr;
  }
}

/// What stat() was in C libraries before 2.33, for which NVRTC was built.
extern "C" int __xstat(int /*version*/, const char* name, struct stat* status) {
  using tiletune::at_work;
  if (at_work == nullptr) return ::fstatat(AT_FDCWD, name, status, 0);
  try {
    return at_work->look_at(name, status);
  } catch (const std::exception&) {
    errno = ENOMEM;
    return -1;
  }
}

extern "C" int __lxstat(int version, const char* name, struct stat* status) {
  if (tiletune::at_work != nullptr) return __xstat(version, name, status);
  return ::fstatat(AT_FDCWD, name, status, AT_SYMLINK_NOFOLLOW);
}
