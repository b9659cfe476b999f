#include "store/samples.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.h"

namespace tiletune {

static_assert(std::endian::native == std::endian::little,
              "samples are stored as the host lays out its doubles");

namespace {

enum Layout : std::uint8_t { doubles = 0, deflated = 3 };

/// Few bytes must not become gigabytes. A sweep takes at most 10000.
constexpr std::size_t kMostPacked = std::size_t{1} << 14;
/// Fewer have next to nothing in common, and an import of a million such rows would take half as long again.
constexpr std::size_t kFewestPacked = 8;
/// The head of a deflated blob: its layout and the number of samples.
constexpr std::size_t kHeadBytes = 3;
/// A raw stream with the smallest window: samples are few, and a larger one takes longer to set up than to
/// use.
constexpr int kWindowBits = -9;

[[noreturn]] void throw_broken(const std::string& why) {
  throw UserError("packed samples cannot be read: " + why,
                  "The row was not written by tiletune, or is damaged; measure that configuration again.");
}

/// Empty where it takes no fewer bytes than `plain`.
Blob deflated_blob(const Blob& plain) {
  constexpr int kLeastMemory = 1;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits, kLeastMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&::deflateEnd)> end(&stream, ::deflateEnd);
  Blob blob(plain.size() - 1);
  const std::size_t count = (plain.size() - 1) / sizeof(double);
  blob[0] = deflated;
  blob[1] = static_cast<std::uint8_t>(count & 0xFF);
  blob[2] = static_cast<std::uint8_t>(count >> 8);
  stream.next_in = const_cast<Bytef*>(plain.data() + 1);
  stream.avail_in = static_cast<uInt>(plain.size() - 1);
  stream.next_out = blob.data() + kHeadBytes;
  stream.avail_out = static_cast<uInt>(blob.size() - kHeadBytes);
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) return {};
  blob.resize(kHeadBytes + stream.total_out);
  return blob;
}

std::vector<double> inflate_samples(const Blob& blob) {
  if (blob.size() < kHeadBytes) throw_broken("they end too early");
  const std::size_t count = blob[1] | std::size_t{blob[2]} << 8;
  if (count > kMostPacked) throw_broken(fmt::format("there are {}, at most {} can be", count, kMostPacked));
  z_stream stream{};
  if (::inflateInit2(&stream, kWindowBits) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&::inflateEnd)> end(&stream, ::inflateEnd);
  std::vector<double> samples(count);
  stream.next_in = const_cast<Bytef*>(blob.data() + kHeadBytes);
  stream.avail_in = static_cast<uInt>(blob.size() - kHeadBytes);
  stream.next_out = reinterpret_cast<Bytef*>(samples.data());
  stream.avail_out = static_cast<uInt>(count * sizeof(double));
  if (::inflate(&stream, Z_FINISH) != Z_STREAM_END || stream.avail_out != 0 || stream.avail_in != 0)
    throw_broken(fmt::format("{} bytes do not unpack to {} samples", blob.size(), count));
  return samples;
}

}  // namespace

Blob pack_samples(const std::vector<double>& samples) {
  Blob plain(1 + samples.size() * sizeof(double), doubles);
  if (samples.empty()) return plain;
  std::memcpy(plain.data() + 1, samples.data(), plain.size() - 1);
  if (samples.size() < kFewestPacked || samples.size() > kMostPacked) return plain;
  Blob packed = deflated_blob(plain);
  return packed.empty() ? plain : packed;
}

std::vector<double> unpack_samples(const Blob& blob) {
  if (blob.empty()) throw_broken("they end too early");
  if (blob[0] == deflated) return inflate_samples(blob);
  if (blob[0] != doubles) throw_broken(fmt::format("this tiletune knows no layout {}", blob[0]));
  const std::size_t bytes = blob.size() - 1;
  if (bytes % sizeof(double) != 0)
    throw_broken(fmt::format("{} bytes are not a whole number of doubles", bytes));
  std::vector<double> samples(bytes / sizeof(double));
  if (!samples.empty()) std::memcpy(samples.data(), blob.data() + 1, bytes);
  return samples;
}

}  // namespace tiletune
