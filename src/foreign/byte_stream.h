#pragma once

#include <filesystem>
#include <memory>
#include <streambuf>
#include <vector>

namespace tiletune {

/// A single value of a file, or the space between two, may take so many bytes; a longer one is a mistake, or
/// meant to fill the memory.
inline constexpr std::size_t kLongestValue = std::size_t{16} << 20;

/// The text of a file or pipe, unpacked where it is gzipped (known by its first bytes, not by its name).
/// Reading throws UserError when the file cannot be read, or its gzip stream is damaged or cut off.
class ByteStream : public std::streambuf {
 public:
  explicit ByteStream(const std::filesystem::path& file);
  ~ByteStream() override;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  /// Tells that a value ended here: what follows may be as long again.
  void mark() { since_mark_ = 0; }
  bool at_end() const { return at_end_; }

 protected:
  int_type underflow() override;

 private:
  struct Gzip;

  std::filesystem::path path_;
  std::unique_ptr<Gzip> gzip_;
  std::vector<char> buffer_;
  bool at_end_ = false;
  std::size_t since_mark_ = 0;  ///< bytes of buffers that were used up since the mark
};

}  // namespace tiletune
