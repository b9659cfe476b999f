#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace tiletune {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path, std::size_t limit_bytes) {
  const Where where{path.string(), ""};
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw UserError("there is no such file", where, "Check the path.");
  if (fs::is_directory(status))
    throw UserError("this is a folder, not a file", where, "Name the file in it.");
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw UserError(fmt::format("cannot be opened: {}", std::strerror(errno)), where,
                    "Check the permissions of the file.");
  }
  std::string content;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0) {
    content.append(chunk, 0, static_cast<std::size_t>(in.gcount()));
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
