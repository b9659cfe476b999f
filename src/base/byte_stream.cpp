#include "foreign/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace tiletune {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

/// A descriptor that zlib takes over. A device may never end, and merely opening it may do something.
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

/// zlib's reader also passes on what is not compressed.
struct ByteStream::Gzip {
  explicit Gzip(int descriptor) : file(::gzdopen(descriptor, "rb")) {
    if (file == nullptr) {
      ::close(descriptor);
      throw std::bad_alloc();
    }
    ::gzbuffer(file, kBufferBytes);
  }
  ~Gzip() { ::gzclose(file); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  gzFile file;
};

ByteStream::ByteStream(const std::filesystem::path& file)
    : path_(file), gzip_(std::make_unique<Gzip>(open_file_or_pipe(file))), buffer_(kBufferBytes) {}

ByteStream::~ByteStream() = default;

std::string_view ByteStream::next() {
  const int read = ::gzread(gzip_->file, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int error = Z_OK;
  const char* text = ::gzerror(gzip_->file, &error);
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
