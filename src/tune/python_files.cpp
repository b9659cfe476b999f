#include "tune/python_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text.h"
#include "measure/input_values.h"
#include "spec/npy.h"

namespace tiletune {

namespace {

template <typename T>
void append_number(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_number(std::string& bytes, double value, ElementType type) {
  switch (type) {
    case ElementType::f16:
      return append_number(bytes, half_bits(value));
    case ElementType::f64:
      return append_number(bytes, value);
    case ElementType::i8:
      return append_number(bytes, static_cast<std::int8_t>(value));
    case ElementType::u8:
      return append_number(bytes, static_cast<std::uint8_t>(value));
    case ElementType::boolean:
      return append_number(bytes, static_cast<std::uint8_t>(value != 0));
    case ElementType::i16:
      return append_number(bytes, static_cast<std::int16_t>(value));
    case ElementType::u16:
      return append_number(bytes, static_cast<std::uint16_t>(value));
    case ElementType::i32:
      return append_number(bytes, static_cast<std::int32_t>(value));
    case ElementType::u32:
      return append_number(bytes, static_cast<std::uint32_t>(value));
    case ElementType::i64:
      return append_number(bytes, static_cast<std::int64_t>(value));
    case ElementType::u64:
      return append_number(bytes, static_cast<std::uint64_t>(value));
    default:
      return append_number(bytes, static_cast<float>(value));
  }
}

}  // namespace

ElementType numpy_type_of(ElementType type) {
  using enum ElementType;
  return type == bf16 || type == tf32 || type == e4m3 || type == e5m2 ? f32 : type;
}

void write_input(const std::filesystem::path& path, const Workload::SizedBuffer& buffer, std::uint64_t seed) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  const Workload::Values values = values_of(buffer);
  const auto count = static_cast<std::uint64_t>(buffer.values());
  const ElementType type = numpy_type_of(buffer.type);
  std::ofstream out(path, std::ios::binary);
  std::string bytes = npy_header(type, buffer.values());
  for (std::uint64_t n = 0; n < count && out; ++n) {
    append_number(bytes, rounded(input_value(values, seed, count, n), buffer.type), type);
    if (bytes.size() < kChunk) continue;
    out << bytes;
    bytes.clear();
  }
  out << bytes;
  out.close();
  if (!out)
    throw UserError(fmt::format("{} cannot be written", path.string()),
                    "Make space there, or set TMPDIR to another folder.");
}

void make_zeros(const std::filesystem::path& path, std::uint64_t bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const int error = file.is_open() ? ::posix_fallocate(file.number(), 0,
                                                       static_cast<off_t>(std::max<std::uint64_t>(bytes, 1)))
                                   : errno;
  if (error == 0) return;
  throw UserError(
      fmt::format("{} of {} cannot be made: {}", path.string(), human_bytes(bytes), std::strerror(error)),
      "Make space there, or set TMPDIR to another folder.");
}

}  // namespace tiletune
