#include "compile/included_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string_view>

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
  if (!toolkit_) return false;
  const fs::path normal = name.lexically_normal();
  return std::mismatch(toolkit_->begin(), toolkit_->end(), normal.begin(), normal.end()).first ==
         toolkit_->end();
}

bool IncludedFiles::is_searched_behind(const fs::path& name) const {
  return std::any_of(source_.search_behind.begin(), source_.search_behind.end(), [&](const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), name.begin(), name.end()).first == folder.end();
  });
}

std::FILE* IncludedFiles::open_own(const char* name) {
  const Descriptor file = open_included(source_, name);
  const std::string normal = fs::path(name).lexically_normal();
  if (file.is_open()) return snapshot(file, normal);
  if (errno == EXDEV) {
    refused_.insert(name);
  } else {
    const std::string missing = first_missing(source_, name).value_or(normal);
    dependencies_.insert_or_assign(missing, state_of(source_, missing));
  }
  // Of what must not be read nobody learns whether it is there.
  errno = ENOENT;
  return nullptr;
}

/// A copy in memory, so that what was hashed is what is compiled, whoever writes to the file meanwhile.
std::FILE* IncludedFiles::snapshot(const Descriptor& file, const std::string& name) {
  const std::optional<std::string> content = source_content(file);
  const std::string hash = content ? hash_of_content(*content) : kUnreadable;
  const auto [known, is_new] = dependencies_.try_emplace(name, hash);
  if (!is_new && known->second != hash) known->second = kUnreadable;
  Descriptor copy(::memfd_create("source", MFD_CLOEXEC));
  if (!content || !copy.is_open() || !write_all(copy, *content)) {
    errno = ENOENT;
    return nullptr;
  }
  std::FILE* const stream = ::fdopen(copy.number(), "r");
  if (stream != nullptr) copy.release();
  return stream;
}

std::FILE* IncludedFiles::open(const char* name) {
  if (is_of_toolkit(name)) return system_fopen(name, "r");
  if (is_searched_behind(name)) dependencies_[kSearchedBehind] = state_of(source_, kSearchedBehind);
  return open_own(name);
}

}  // namespace tiletune

/// In the place of the C library's, for the whole program.
extern "C" std::FILE* fopen(const char* name, const char* mode) {
  using tiletune::at_work;
  if (at_work == nullptr) return tiletune::system_fopen(name, mode);
  try {
    return at_work->open(name);
  } catch (const std::exception&) {
    errno = ENOMEM;
    return nullptr;
  }
}
