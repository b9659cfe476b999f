#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace tiletune {

/// The text of a file or pipe, unpacked where it is gzipped (known by its first bytes, not by its name).
/// Reading throws UserError when the file cannot be read, or its gzip stream is damaged or cut off.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& file);

  /// The next piece, which lasts until the one behind it; empty at the end.
  std::string_view next();

 private:
  std::filesystem::path path_;
  /// zlib's reader, which returns uncompressed files unchanged.
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> gzip_;
  std::vector<char> buffer_;
};

}  // namespace tiletune
