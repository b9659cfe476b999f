#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/folder.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

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

std::string read_open_file(const Descriptor& file, const fs::path& name, std::size_t limit_bytes) {
  const Where where{name.string(), ""};
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

std::string read_file(const fs::path& path, std::size_t limit_bytes) {
  const Where where{path.string(), ""};
  require_file_or_pipe(path, where);
  // Opening a pipe that has no writer must not wait for one.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.number() < 0) fail_to_read(where);
  return read_open_file(file, path, limit_bytes);
}

}  // namespace tiletune
