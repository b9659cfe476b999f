#include "store/packed_bits.h"

#include <algorithm>

#include "base/error.h"

namespace tiletune {

namespace {

constexpr int kBitsOfVarint = 7;
constexpr std::uint64_t kMore = 0x80;

std::uint64_t lowest(std::uint64_t value, int width) {
  return width >= 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

void throw_broken_samples(const std::string& why) {
  throw UserError("packed samples cannot be read: " + why,
                  "The row was not written by tiletune, or is damaged; measure that configuration again.");
}

void BlobWriter::varint(std::uint64_t value) {
  for (; value >= kMore; value >>= kBitsOfVarint) byte(static_cast<std::uint8_t>(value | kMore));
  byte(static_cast<std::uint8_t>(value));
}

void BlobWriter::zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  varint(value < 0 ? ~(bits << 1) : bits << 1);
}

void BlobWriter::bits(std::uint64_t value, int width) {
  while (width > 0) {
    if (free_bits_ == 0) {
      byte(0);
      free_bits_ = 8;
    }
    const int taken = std::min(width, free_bits_);
    blob_.back() |= static_cast<std::uint8_t>(lowest(value, taken) << (8 - free_bits_));
    free_bits_ -= taken;
    width -= taken;
    value >>= taken;
  }
}

std::uint8_t BlobReader::byte() {
  if (remaining() == 0) throw_broken_samples("they end too early");
  return blob_[next_++];
}

std::uint64_t BlobReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += kBitsOfVarint) {
    const std::uint64_t group = byte();
    value |= lowest(group, kBitsOfVarint) << shift;
    if (group < kMore) return value;
  }
  throw_broken_samples("a number has no end");
}

std::int64_t BlobReader::zigzag() {
  const std::uint64_t bits = varint();
  return static_cast<std::int64_t>((bits & 1) != 0 ? ~(bits >> 1) : bits >> 1);
}

std::uint64_t BlobReader::bits(int width) {
  std::uint64_t value = 0;
  for (int done = 0; done < width;) {
    if (unread_bits_ == 0) {
      byte();
      unread_bits_ = 8;
    }
    const int taken = std::min(width - done, unread_bits_);
    const std::uint64_t unread = std::uint64_t{blob_[next_ - 1]} >> (8 - unread_bits_);
    value |= lowest(unread, taken) << done;
    unread_bits_ -= taken;
    done += taken;
  }
  return value;
}

}  // namespace tiletune
