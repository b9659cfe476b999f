#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace tiletune {

/// The text of a file or pipe, unpacked where it is gzipped (known by its first bytes, not by its name).
/// Reading throws UserError when the file cannot be read, or its gzip stream is damaged or cut off.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& file);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// The next piece, which lasts until the one behind it; empty at the end.
  std::string_view next();

 private:
  struct Gzip;

  std::filesystem::path path_;
  std::unique_ptr<Gzip> gzip_;
  std::vector<char> buffer_;
};

}  // namespace tiletune
