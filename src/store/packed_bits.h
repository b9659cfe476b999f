#pragma once

#include <cstdint>

#include "store/columns.h"

namespace tiletune {

/// Writes a packed blob from its first byte to its last.
class BlobWriter {
 public:
  void byte(std::uint8_t value) { blob_.push_back(value); }
  void varint(std::uint64_t value);
  /// Small for numbers near zero of either sign.
  void zigzag(std::int64_t value);
  /// The lowest `width` bits, at most 64, right behind those written before.
  void bits(std::uint64_t value, int width);

  Blob take() { return std::move(blob_); }

 private:
  Blob blob_;
  int free_bits_ = 0;  ///< of the last byte
};

/// Reads one back. Every function throws UserError at the end of the blob.
class BlobReader {
 public:
  explicit BlobReader(const Blob& blob) : blob_(blob) {}

  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  std::uint64_t bits(int width);
  /// Bytes that are left; one that bits() has begun is none of them.
  std::size_t remaining() const { return blob_.size() - next_; }

 private:
  const Blob& blob_;
  std::size_t next_ = 0;
  int unread_bits_ = 0;  ///< of the byte before
};

/// The blob cannot be read.
[[noreturn]] void throw_broken_samples(const std::string& why);

}  // namespace tiletune
