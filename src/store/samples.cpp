#include "store/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "store/packed_bits.h"

namespace tiletune {

static_assert(std::endian::native == std::endian::little,
              "samples are stored as the host lays out its doubles");

namespace {

enum Layout : std::uint8_t { doubles, binary, decimal };

/// Samples as multiples of a unit.
struct Grid {
  Layout layout = doubles;
  int exponent = 0;  ///< the unit is 2^exponent or 10^-exponent
  std::vector<std::int64_t> multiples = {};
};

constexpr std::array kPowersOfTen{1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
/// Doubles hold all whole numbers up to here.
constexpr double kLargestWhole = 9007199254740992.0;
constexpr int kMantissaBits = 53;
/// Differences of multiples stay within 64 bits.
constexpr int kLargestMultipleBits = 62;
/// Few bytes must not become gigabytes. A sweep takes at most 10000.
constexpr std::size_t kMostPacked = std::size_t{1} << 14;

double value_of(Layout layout, int exponent, std::int64_t multiple) {
  const auto whole = static_cast<double>(multiple);
  return layout == decimal ? whole / kPowersOfTen[static_cast<std::size_t>(exponent)]
                           : std::ldexp(whole, exponent);
}

/// A grid of that many digits behind the point, if all samples are on it.
std::optional<Grid> decimal_grid(const std::vector<double>& samples, int digits) {
  Grid grid{decimal, digits};
  grid.multiples.reserve(samples.size());
  for (const double sample : samples) {
    const double multiple = std::nearbyint(sample * kPowersOfTen[static_cast<std::size_t>(digits)]);
    if (!(std::abs(multiple) <= kLargestWhole)) return std::nullopt;
    grid.multiples.push_back(static_cast<std::int64_t>(multiple));
    if (value_of(decimal, digits, grid.multiples.back()) != sample) return std::nullopt;
  }
  return grid;
}

/// The grid of the lowest bit that is set in any sample.
std::optional<Grid> binary_grid(const std::vector<double>& samples) {
  int lowest = std::numeric_limits<int>::max();
  int highest = std::numeric_limits<int>::min();
  for (const double sample : samples) {
    if (sample == 0) continue;
    int exponent = 0;
    const double mantissa = std::ldexp(std::frexp(sample, &exponent), kMantissaBits);
    const auto whole = static_cast<std::uint64_t>(std::abs(mantissa));
    lowest = std::min(lowest, exponent - kMantissaBits + std::countr_zero(whole));
    highest = std::max(highest, exponent);
  }
  if (highest - std::int64_t{lowest} > kLargestMultipleBits) return std::nullopt;
  Grid grid{binary, lowest};
  grid.multiples.reserve(samples.size());
  for (const double sample : samples)
    grid.multiples.push_back(static_cast<std::int64_t>(std::ldexp(sample, -lowest)));
  return grid;
}

Grid grid_of(const std::vector<double>& samples) {
  const bool on_a_grid = std::all_of(samples.begin(), samples.end(), [](double sample) {
    return std::isfinite(sample) && !(sample == 0 && std::signbit(sample));
  });
  if (!on_a_grid || samples.empty() || samples.size() > kMostPacked) return {};
  for (int digits = 0; digits < static_cast<int>(kPowersOfTen.size()); ++digits) {
    if (auto grid = decimal_grid(samples, digits)) return *std::move(grid);
  }
  return binary_grid(samples).value_or(Grid{});
}

Blob pack_doubles(const std::vector<double>& samples) {
  Blob blob(1 + samples.size() * sizeof(double), doubles);
  if (!samples.empty()) std::memcpy(blob.data() + 1, samples.data(), blob.size() - 1);
  return blob;
}

Blob pack_grid(const Grid& grid) {
  const std::int64_t smallest = *std::min_element(grid.multiples.begin(), grid.multiples.end());
  const auto above = [&](std::int64_t multiple) {
    return static_cast<std::uint64_t>(multiple) - static_cast<std::uint64_t>(smallest);
  };
  std::uint64_t step = 0;
  std::uint64_t highest = 0;
  for (const std::int64_t multiple : grid.multiples) {
    step = std::gcd(step, above(multiple));
    highest = std::max(highest, above(multiple));
  }
  const int width = step == 0 ? 0 : static_cast<int>(std::bit_width(highest / step));
  BlobWriter blob;
  blob.byte(grid.layout);
  blob.zigzag(grid.exponent);
  blob.varint(grid.multiples.size());
  blob.zigzag(smallest);
  blob.varint(step);
  blob.byte(static_cast<std::uint8_t>(width));
  for (const std::int64_t multiple : grid.multiples) {
    if (width != 0) blob.bits(above(multiple) / step, width);
  }
  return blob.take();
}

std::vector<double> unpack_doubles(const Blob& blob) {
  const std::size_t bytes = blob.size() - 1;
  if (bytes % sizeof(double) != 0)
    throw_broken_samples(fmt::format("{} bytes are not a whole number of doubles", bytes));
  std::vector<double> samples(bytes / sizeof(double));
  if (!samples.empty()) std::memcpy(samples.data(), blob.data() + 1, bytes);
  return samples;
}

int read_exponent(BlobReader& reader, Layout layout) {
  constexpr std::int64_t kMostBits = 1100;  // The exponents of doubles lie between.
  const std::int64_t exponent = reader.zigzag();
  const std::int64_t least = layout == decimal ? 0 : -kMostBits;
  const std::int64_t most = layout == decimal ? std::int64_t{kPowersOfTen.size()} - 1 : kMostBits;
  if (exponent < least || exponent > most)
    throw_broken_samples(fmt::format("their exponent is {}", exponent));
  return static_cast<int>(exponent);
}

std::vector<double> unpack_grid(BlobReader& reader, Layout layout) {
  const int exponent = read_exponent(reader, layout);
  const std::uint64_t count = reader.varint();
  const auto smallest = static_cast<std::uint64_t>(reader.zigzag());
  const std::uint64_t step = reader.varint();
  const int width = reader.byte();
  if (count > kMostPacked || width > 64 ||
      reader.remaining() != (count * static_cast<unsigned>(width) + 7) / 8) {
    throw_broken_samples(fmt::format("{} of {} bits do not fill {} bytes", count, width, reader.remaining()));
  }
  std::vector<double> samples(count);
  for (double& sample : samples) {
    const std::uint64_t multiple = smallest + step * reader.bits(width);
    sample = value_of(layout, exponent, static_cast<std::int64_t>(multiple));
  }
  return samples;
}

}  // namespace

Blob pack_samples(const std::vector<double>& samples) {
  const Grid grid = grid_of(samples);
  Blob plain = pack_doubles(samples);
  if (grid.layout == doubles) return plain;
  Blob packed = pack_grid(grid);
  return packed.size() < plain.size() ? packed : plain;
}

std::vector<double> unpack_samples(const Blob& blob) {
  BlobReader reader(blob);
  const std::uint8_t layout = reader.byte();
  if (layout == doubles) return unpack_doubles(blob);
  if (layout != binary && layout != decimal)
    throw_broken_samples(fmt::format("this tiletune knows no layout {}", layout));
  return unpack_grid(reader, static_cast<Layout>(layout));
}

}  // namespace tiletune
