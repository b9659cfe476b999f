#include "measure/input_values.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace tiletune {

namespace {

using u64 = std::uint64_t;
// The device compiles the same text.
#define HOST_DEVICE
#include "measure/input_values.cuh"
#undef HOST_DEVICE

/// Elements that are read at a time.
constexpr std::size_t kChunk = std::size_t{4} << 20;

template <typename T>
T number_at(const std::byte* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

double widened(const std::byte* bytes, std::size_t i, ElementType type) {
  if (type == ElementType::f16) return static_cast<double>(number_at<_Float16>(bytes, i));
  return type == ElementType::f32 ? number_at<float>(bytes, i) : number_at<double>(bytes, i);
}

class ArrayReader {
 public:
  explicit ArrayReader(const ArrayFile& file) : file_(file), at_(file.offset) {
    try {
      open_ = open_array(file);
    } catch (const UserError& error) {
      fail(error.message());
    }
  }

  void read(std::byte* to, std::size_t bytes) {
    while (bytes > 0) {
      const ssize_t got = ::pread(open_.number(), to, bytes, static_cast<off_t>(at_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::strerror(errno));
      if (got == 0) fail("it has become shorter");
      const auto count = static_cast<std::size_t>(got);
      to += count;
      at_ += count;
      bytes -= count;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw GpuError(fmt::format("{} cannot be read: {}", file_.path, why));
  }

  const ArrayFile& file_;
  Descriptor open_;
  std::uint64_t at_;
};

/// Copies the file's numbers as they are: a piece is read while the one before it is on its way.
void move_bytes(Gpu& gpu, const ArrayFile& file, DeviceAddress to, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{8} << 20;
  ArrayReader reader(file);
  const std::array<PinnedBuffer, 2> pieces{PinnedBuffer(std::min(bytes, kPiece)),
                                           PinnedBuffer(std::min(bytes, kPiece))};
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    const std::size_t count = std::min(bytes - done, kPiece);
    const PinnedBuffer& piece = pieces.at(done / kPiece % 2);
    reader.read(piece.data(), count);
    gpu.synchronize();
    gpu.copy_to_device(to + done, piece.data(), count);
  }
  gpu.synchronize();
}

/// Elements of a row, and from one row to the next. Without padding a row is as long as a piece.
std::pair<std::size_t, std::size_t> row_sizes(const Workload::SizedBuffer& buffer) {
  if (buffer.is_padded())
    return {static_cast<std::size_t>(buffer.rows->columns), static_cast<std::size_t>(buffer.rows->pitch)};
  const std::size_t columns = std::min(static_cast<std::size_t>(buffer.values()), kChunk);
  return {columns, columns};
}

/// Copies the file's numbers to the GPU, in elements of `bytes_each`; `convert(from, to, count)` makes them
/// of what the file holds.
void move_numbers(Gpu& gpu, const Workload::SizedBuffer& buffer, const ArrayFile& file, DeviceAddress to,
                  std::size_t bytes_each,
                  const std::function<void(const std::byte*, std::byte*, std::size_t)>& convert) {
  ArrayReader reader(file);
  const auto values = static_cast<std::size_t>(buffer.values());
  const auto [columns, pitch] = row_sizes(buffer);
  const std::size_t rows_at_a_time = buffer.is_padded() ? std::max<std::size_t>(kChunk / pitch, 1) : 1;
  const std::size_t file_bytes = size_bytes(file.type);
  std::vector<std::byte> read;
  std::vector<std::byte> made;
  for (std::size_t done = 0; done < values;) {
    const std::size_t count = std::min(values - done, columns * rows_at_a_time);
    read.resize(count * file_bytes);
    reader.read(read.data(), read.size());
    const std::size_t rows = (count + columns - 1) / columns;
    made.assign(((rows - 1) * pitch + count - (rows - 1) * columns) * bytes_each, std::byte{0});
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t first = row * columns;
      convert(read.data() + first * file_bytes, made.data() + row * pitch * bytes_each,
              std::min(columns, count - first));
    }
    gpu.copy_to_device(to + done / columns * pitch * bytes_each, made.data(), made.size());
    gpu.synchronize();
    done += count;
  }
}

}  // namespace

Workload::Values values_of(const Workload::SizedBuffer& buffer) {
  if (buffer.input) return *buffer.input;
  if (is_floating(buffer.type)) return {Distribution::uniform, -1, 1};
  // A sum of some thousand products of them fits into 32 bits.
  constexpr double kMost = 100;
  const TypeRange range = range_of(buffer.type);
  return {Distribution::randint, std::max(range.lowest, -kMost), std::min(range.highest, kMost) + 1};
}

double input_value(const Workload::Values& values, std::uint64_t seed, std::uint64_t count, std::uint64_t n) {
  return value_at(static_cast<int>(values.distribution), values.a, values.b, seed, count, n);
}

/// What is too large becomes the largest number, but of f32.
double rounded(double value, ElementType type) {
  if (!is_floating(type) || type == ElementType::f64) return value;
  const TypeFacts& facts = facts_of(type);
  if (!std::isfinite(value) && facts.bytes > 1) return value;
  if (std::isnan(value)) return facts.range.highest;
  if (facts.bytes > 1) value = static_cast<float>(value);
  if (type == ElementType::f32 || value == 0) return value;
  const double size = std::min(std::abs(value), facts.range.highest);
  const int step = std::max(std::ilogb(size), facts.lowest_exponent) - facts.fraction_bits;
  return std::copysign(std::ldexp(std::nearbyint(std::ldexp(size, -step)), step), value);
}

std::uint16_t half_bits(double value) { return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)); }

std::uint64_t seed_of_set(std::uint64_t seed, std::size_t set) { return set == 0 ? seed : mixed(seed + set); }

std::uint64_t seed_of_buffer(std::uint64_t seed, std::size_t place) { return mixed(mixed(seed) + place); }

void load_values(Gpu& gpu, const Workload::SizedBuffer& buffer, DeviceAddress to) {
  const std::size_t bytes = size_bytes(buffer.type);
  if (!buffer.is_padded() && buffer.type != ElementType::tf32)
    return move_bytes(gpu, *buffer.file, to, static_cast<std::size_t>(buffer.values()) * bytes);
  move_numbers(gpu, buffer, *buffer.file, to, bytes,
               [&](const std::byte* from, std::byte* into, std::size_t count) {
                 std::memcpy(into, from, count * bytes);
                 if (buffer.type != ElementType::tf32) return;
                 for (std::size_t i = 0; i < count; ++i) {
                   const auto value = number_at<float>(into, i);
                   if (!std::isfinite(value)) continue;
                   const auto number = static_cast<float>(rounded(value, ElementType::tf32));
                   std::memcpy(into + i * bytes, &number, bytes);
                 }
               });
}

void store_output(Gpu& gpu, const Workload::SizedBuffer& buffer, DeviceAddress from, const std::string& path,
                  std::uint64_t offset) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const std::size_t bytes_each = size_bytes(buffer.type);
  const auto values = static_cast<std::size_t>(buffer.values());
  const auto [columns, pitch] = row_sizes(buffer);
  std::vector<std::byte> row(columns * bytes_each);
  for (std::size_t done = 0; done < values; done += columns) {
    const std::size_t bytes = std::min(columns, values - done) * bytes_each;
    gpu.copy_to_host(row.data(), from + done / columns * pitch * bytes_each, bytes);
    if (!file.is_open() ||
        ::pwrite(file.number(), row.data(), bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes))
      throw GpuError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
    offset += bytes;
  }
}

DeviceBuffer load_expected(Gpu& gpu, const Workload::SizedBuffer& buffer) {
  const ArrayFile& file = *buffer.expected;
  const bool widens = is_floating(buffer.type);
  const std::size_t bytes = widens ? sizeof(double) : size_bytes(buffer.type);
  DeviceBuffer expected(std::max<std::size_t>(static_cast<std::size_t>(buffer.elements) * bytes, 1));
  move_numbers(gpu, buffer, file, expected.address(), bytes,
               [&](const std::byte* from, std::byte* into, std::size_t count) {
                 if (!widens) return void(std::memcpy(into, from, count * bytes));
                 for (std::size_t i = 0; i < count; ++i) {
                   const double value = widened(from, i, file.type);
                   std::memcpy(into + i * bytes, &value, bytes);
                 }
               });
  return expected;
}

}  // namespace tiletune
