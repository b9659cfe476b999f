#include "base/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.h"

namespace tiletune {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

/// A device may never end, and merely opening it may do something.
int open_file_or_pipe(const std::filesystem::path& path) {
  const Where where{path.string(), ""};
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw UserError(
        errno == ENOENT ? "there is no such file" : fmt::format("cannot be opened: {}", std::strerror(errno)),
        where, "Check the path.");
  }
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    throw UserError(S_ISDIR(status.st_mode) ? "this is a folder, not a file" : "not a file", where,
                    "Name a file.");
  }
  // Opening a pipe that has no writer must not wait for one; reading from one that has a writer does.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor >= 0 && ::fcntl(descriptor, F_SETFL, O_RDONLY) == 0) return descriptor;
  throw UserError(fmt::format("cannot be opened: {}", std::strerror(errno)), where,
                  "Check the path and the permissions of the file.");
}

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& file)
    : path_(file), gzip_(nullptr, ::gzclose), buffer_(kBufferBytes) {
  const int descriptor = open_file_or_pipe(file);
  gzip_.reset(::gzdopen(descriptor, "rb"));
  if (!gzip_) {
    ::close(descriptor);
    throw std::bad_alloc();
  }
  ::gzbuffer(gzip_.get(), kBufferBytes);
}

std::string_view ByteStream::next() {
  const int read = ::gzread(gzip_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int error = Z_OK;
  const char* text = ::gzerror(gzip_.get(), &error);
  if (read < 0 || error != Z_OK) {
    const bool cut = error == Z_BUF_ERROR;
    // zlib puts "<fd:6>: " before it.
    const std::string why = text;
    const std::size_t colon = why.find(">: ");
    throw UserError(cut ? "the gzip file is cut off"
                        : "cannot be read: " + why.substr(colon == std::string::npos ? 0 : colon + 3),
                    Where{path_.string(), ""}, cut ? "Copy it again." : "Check the file, or copy it again.");
  }
  return {buffer_.data(), static_cast<std::size_t>(read)};
}

}  // namespace tiletune
