#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ext/stdio_filebuf.h>
#include <fstream>
#include <optional>
#include <random>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/unfinished_file.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNotWritten = "cannot be written";
constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
constexpr mode_t kUmaskDecides = 0666;

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw UserError(fmt::format("{}: {}", what, std::strerror(error)), Where{path.string(), ""},
                  "Check that the folder is writable and the disk has space.");
}

/// Of a file beside another one, that nobody else takes.
std::string draft_name(const fs::path& target) {
  std::random_device random;
  return fmt::format("{}.{:08x}{:08x}", target.string(), random(), random());
}

using Buffer = __gnu_cxx::stdio_filebuf<char>;

/// `path` is for messages.
void write_through(const fs::path& path, std::filebuf& file,
                   const std::function<void(std::ostream&)>& write) {
  if (!file.is_open()) fail(path, kNotWritten, errno);
  std::ostream out(&file);
  try {
    out.exceptions(std::ios::badbit | std::ios::failbit);
    write(out);
    if (file.close() == nullptr) fail(path, kNotWritten, errno);
  } catch (const std::ios_base::failure&) {
    fail(path, kNotWritten, errno);
  }
}

/// A new empty file beside another one; removed unless it has taken that one's place, with its permissions.
/// Until then it is private where it replaces one, which may be secret.
class Draft {
 public:
  Draft(const fs::path& target, const std::string& name, mode_t permissions) : target_(target) {
    std::error_code ignored;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), ignored);
    struct stat old {};
    if (::stat(target.c_str(), &old) == 0) permissions_ = old.st_mode & ~static_cast<mode_t>(S_IFMT);
    descriptor_ = Descriptor(
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions_ ? kPrivate : permissions));
    if (!descriptor_.is_open()) fail(target, kNotWritten, errno);
    name_ = name;
  }
  ~Draft() {
    std::error_code ignored;
    if (!name_.empty()) fs::remove(name_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  /// What is written comes into the file that was made here, whatever its name means by now.
  void write(const std::function<void(std::ostream&)>& write) {
    Buffer buffer(::fcntl(descriptor_.number(), F_DUPFD_CLOEXEC, 0), std::ios::out | std::ios::binary);
    write_through(target_, buffer, write);
  }

  void replace_target() {
    std::error_code error;
    if (permissions_) ::fchmod(descriptor_.number(), *permissions_);
    fs::rename(name_, target_, error);
    if (error) fail(target_, "cannot be replaced", error.value());
    name_.clear();
  }

 private:
  fs::path target_;
  std::string name_;
  Descriptor descriptor_;
  std::optional<mode_t> permissions_;  ///< of the file there; none: there is none yet
};

void stream_atomically(const fs::path& target, const std::string& name,
                       const std::function<void(std::ostream&)>& write, mode_t permissions = kUmaskDecides) {
  Draft draft(target, name, permissions);
  draft.write(write);
  draft.replace_target();
}

/// For a stream.
auto all_of(std::string_view content) {
  return [content](std::ostream& out) {
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  };
}

}  // namespace

void stream_to_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // Also the pipe behind /dev/stdout, whose link names no file.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    std::filebuf file;
    file.open(path, std::ios::out | std::ios::binary);
    return write_through(path, file, write);
  }
  fs::path target = path;
  if (fs::is_symlink(path, error)) {
    target = fs::weakly_canonical(path, error);
    if (error) fail(path, kNotWritten, error.value());
  }
  const std::string name = draft_name(target);
  const UnfinishedFile removed_with_the_program(name);
  stream_atomically(target, name, write);
}

void write_file(const fs::path& path, std::string_view content) { stream_to_file(path, all_of(content)); }

void write_file_atomically(const fs::path& path, std::string_view content) {
  stream_atomically(path, draft_name(path), all_of(content));
}

void write_private_file_atomically(const fs::path& path, std::string_view content) {
  stream_atomically(path, draft_name(path), all_of(content), kPrivate);
}

}  // namespace tiletune
