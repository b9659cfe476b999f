#include "base/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <zlib.h>

#include <new>

#include "base/error.h"

namespace tiletune {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

}  // namespace

ByteStream::ByteStream(const std::filesystem::path& file)
    : path_(file), gzip_(nullptr, ::gzclose), buffer_(kBufferBytes) {
  const Descriptor input = open_input(file);
  // zlib waits for the writers of a pipe, and closes a descriptor of its own.
  ::fcntl(input.number(), F_SETFL, O_RDONLY);
  gzip_.reset(::gzdopen(::fcntl(input.number(), F_DUPFD_CLOEXEC, 0), "rb"));
  if (!gzip_) throw std::bad_alloc();
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
