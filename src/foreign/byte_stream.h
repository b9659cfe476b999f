#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace tiletune {

/// A single value of a file, or the space between two, may take so many bytes; a longer one is a mistake, or
/// meant to fill the memory.
inline constexpr std::size_t kLongestValue = std::size_t{16} << 20;

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
  /// Tells that a value ended here: what follows may be as long again.
  void mark() { since_mark_ = 0; }
  bool at_end() const { return at_end_; }

 private:
  struct Gzip;

  std::filesystem::path path_;
  std::unique_ptr<Gzip> gzip_;
  std::vector<char> buffer_;
  std::size_t size_ = 0;  ///< of the piece
  bool at_end_ = false;
  std::size_t since_mark_ = 0;  ///< bytes of pieces that were used up since the mark
};

}  // namespace tiletune
