#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/file.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNotWritten = "cannot be written";

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw UserError(fmt::format("{}: {}", what, std::strerror(error)), Where{path.string(), ""},
                  "Check that the folder is writable and the disk has room.");
}

/// A new empty file beside another one; removed unless it has taken that one's place.
class Draft {
 public:
  explicit Draft(const fs::path& target) : target_(target), name_(target.string() + ".XXXXXX") {
    std::error_code ignored;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), ignored);
    const int fd = ::mkostemp(name_.data(), O_CLOEXEC);
    if (fd < 0) fail(target, kNotWritten, errno);
    constexpr mode_t kReadableByAll = 0644;
    ::fchmod(fd, kReadableByAll);
    ::close(fd);
  }
  ~Draft() {
    std::error_code ignored;
    if (!name_.empty()) fs::remove(name_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& name() const { return name_; }

  void replace_target() {
    std::error_code error;
    fs::rename(name_, target_, error);
    if (error) fail(target_, "cannot be replaced", error.value());
    name_.clear();
  }

 private:
  fs::path target_;
  std::string name_;
};

void write_through(const fs::path& path, const std::string& place,
                   const std::function<void(std::ostream&)>& write) {
  std::ofstream out(place, std::ios::binary);
  if (!out) fail(path, kNotWritten, errno);
  try {
    out.exceptions(std::ios::badbit | std::ios::failbit);
    write(out);
    out.close();
  } catch (const std::ios_base::failure&) {
    fail(path, kNotWritten, errno);
  }
}

void stream_atomically(const fs::path& target, const std::function<void(std::ostream&)>& write) {
  Draft draft(target);
  write_through(target, draft.name(), write);
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
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  const fs::file_status status = fs::status(target, error);
  if (!fs::exists(status) || fs::is_regular_file(status)) return stream_atomically(target, write);
  write_through(path, target.string(), write);
}

void write_file(const fs::path& path, std::string_view content) { stream_to_file(path, all_of(content)); }

void write_file_atomically(const fs::path& path, std::string_view content) {
  stream_atomically(path, all_of(content));
}

}  // namespace tiletune
