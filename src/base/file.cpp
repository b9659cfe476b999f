#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// An open file, closed with its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail_to_read(const Where& where) {
  if (errno == ENOENT) throw UserError("there is no such file", where, "Check the path.");
  throw UserError(fmt::format("cannot be opened: {}", std::strerror(errno)), where,
                  "Check the path and the permissions of the file.");
}

/// A device may never end, and merely opening it may do something.
void require_file_or_pipe(const fs::path& path, const Where& where) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail_to_read(where);
  if (S_ISDIR(status.st_mode)) throw UserError("this is a folder, not a file", where, "Name the file in it.");
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) return;
  throw UserError(S_ISSOCK(status.st_mode) ? "this is a socket, not a file" : "this is a device, not a file",
                  where, "Name a file.");
}

/// The number of bytes read. Waits for the writers of a pipe; one without writers is at its end.
std::size_t read_some(int descriptor, std::string& chunk, const Where& where) {
  while (true) {
    const ssize_t n = ::read(descriptor, chunk.data(), chunk.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN) {
      pollfd readable{descriptor, POLLIN, 0};
      ::poll(&readable, 1, -1);
    } else if (errno != EINTR) {
      throw UserError(fmt::format("cannot be read: {}", std::strerror(errno)), where, "Check the file.");
    }
  }
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t limit_bytes) {
  const Where where{path.string(), ""};
  require_file_or_pipe(path, where);
  // Opening a pipe that has no writer must not wait for one.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.number() < 0) fail_to_read(where);
  std::string content;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (const std::size_t n = read_some(file.number(), chunk, where)) {
    content.append(chunk, 0, n);
    if (content.size() > limit_bytes) {
      throw UserError(fmt::format("is larger than {} bytes", limit_bytes), where,
                      "Is this the file you meant?");
    }
  }
  return content;
}

namespace {

[[noreturn]] void fail_to_write(const fs::path& path, const fs::path& temporary, const std::string& what) {
  const std::string reason = std::strerror(errno);
  std::error_code ignored;
  if (!temporary.empty()) fs::remove(temporary, ignored);
  throw UserError(fmt::format("{}: {}", what, reason), Where{path.string(), ""},
                  "Check that the folder is writable and the disk has room.");
}

}  // namespace

void write_file(const fs::path& path, std::string_view content) {
  std::error_code error;
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  const fs::file_status status = fs::status(target, error);
  if (!fs::exists(status) || fs::is_regular_file(status)) return write_file_atomically(target, content);
  std::ofstream out(target, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) fail_to_write(path, fs::path(), "cannot be written");
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) fail_to_write(path, temporary, "cannot be written");
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t n = ::write(fd, content.data() + written, content.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      ::close(fd);
      fail_to_write(path, temporary, "cannot be written");
    }
    written += static_cast<std::size_t>(n);
  }
  constexpr mode_t kReadableByAll = 0644;
  ::fchmod(fd, kReadableByAll);
  if (::close(fd) != 0) fail_to_write(path, temporary, "cannot be written");
  fs::rename(temporary, path, error);
  if (error) {
    errno = error.value();
    fail_to_write(path, temporary, "cannot be replaced");
  }
}

}  // namespace tiletune
