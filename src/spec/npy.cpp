#include "spec/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/folder.h"
#include "base/printable.h"
#include "base/text.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = std::size_t{64} << 10;
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

/// Reads the header's dictionary of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
/// False where numpy.save() does not write it for one array of numbers.
bool read_dictionary(std::string_view text, NpyHeader& header) {
  constexpr std::size_t kMostDimensions = 64;
  const auto value_of = [&](std::string_view key) {
    const std::size_t at = text.find(key);
    return at == std::string_view::npos ? "" : trim(text.substr(at + key.size()));
  };
  const auto between = [](std::string_view value, char first, char last) {
    const std::size_t end = value.find(last, 1);
    const bool is_whole = value.starts_with(first) && end != std::string_view::npos;
    return is_whole ? std::optional(value.substr(1, end - 1)) : std::nullopt;
  };
  const auto type = between(value_of("'descr':"), '\'', '\'');
  const std::string_view order = value_of("'fortran_order':");
  const auto shape = between(value_of("'shape':"), '(', ')');
  header.is_column_major = order.starts_with("True");
  if (!type || !shape || !(header.is_column_major || order.starts_with("False"))) return false;
  header.type = *type;
  for (const std::string& part : split(*shape, ',')) {
    if (trim(part).empty()) continue;
    const auto size = parsed_number<std::int64_t>(trim(part));
    if (!size || *size < 0 || header.shape.size() == kMostDimensions) return false;
    if (*size > 0 && header.elements > kMostElements / *size) return false;
    header.shape.push_back(*size);
    header.elements *= *size;
  }
  return true;
}

bool holds(const NpyHeader& header, ElementType type) {
  if (header.type == npy_type(type)) return true;
  // "V2", as ml_dtypes writes bf16: bytes without a meaning.
  const bool is_own = type == ElementType::bf16 || type == ElementType::e4m3 || type == ElementType::e5m2;
  return is_own && (header.type == fmt::format("|V{}", size_bytes(type)) ||
                    header.type == fmt::format("<V{}", size_bytes(type)));
}

FileVersion version_of(const struct stat& status) {
  constexpr std::int64_t kNanosecondsPerSecond = 1000000000;
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec};
}

}  // namespace

std::string npy_type(ElementType type) {
  static_assert(std::endian::native == std::endian::little);
  if (type == ElementType::boolean) return "|b1";
  if (type == ElementType::tf32) return npy_type(ElementType::f32);
  const std::size_t bytes = size_bytes(type);
  const std::string_view spelled = name(type);
  const bool is_own = type == ElementType::bf16 || type == ElementType::e4m3 || type == ElementType::e5m2;
  const char kind = is_own ? 'u' : spelled.front();
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

std::optional<NpyHeader> parse_npy_header(std::string_view beginning) {
  constexpr std::size_t kVersionBytes = 2;
  const std::size_t before = kMagic.size() + kVersionBytes;
  if (!beginning.starts_with(kMagic) || beginning.size() < before + 4) return std::nullopt;
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(beginning[at])}; };
  const std::size_t version = byte(kMagic.size());
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | byte(before + i);
  const std::size_t start = before + length_bytes;
  const bool is_whole = length <= kLongestHeader && beginning.size() >= start + length;
  NpyHeader header;
  header.offset = start + length;
  const bool is_read = is_whole && read_dictionary(beginning.substr(start, length), header);
  return is_read && version >= 1 && version <= 3 ? std::optional(header) : std::nullopt;
}

Descriptor open_array(const ArrayFile& file) {
  Descriptor open(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  const Where where{file.path, ""};
  if (!open.is_open())
    throw UserError(fmt::format("cannot be opened: {}", std::strerror(errno)), where,
                    "Check its permissions, and that nothing moves it while it is in use.");
  struct stat status {};
  const bool is_known = ::fstat(open.number(), &status) == 0;
  if (file.version && !(is_known && version_of(status) == *file.version))
    throw UserError("the file has changed since it was checked", where,
                    "Leave it as it is until the command ends, and run the command again.");
  return open;
}

ArrayFile open_npy(const std::filesystem::path& file, std::int64_t elements,
                   const std::vector<ElementType>& types, const Where& where) {
  const auto fail = [&](const std::string& why, const std::string& remedy) {
    throw UserError(fmt::format("{}: {}", file.string(), why), where, remedy);
  };
  const char* const save = "Write it with numpy.save() as a row-major array of numbers.";
  const Descriptor open = Folder(file.parent_path(), Links::refuse).open(file.filename());
  if (!open.is_open()) fail(errno == EINVAL ? "it is not a regular file" : "it cannot be opened", save);
  struct stat status {};
  std::string beginning(kLongestHeader, '\0');
  const bool is_known = ::fstat(open.number(), &status) == 0;
  const ssize_t got = ::pread(open.number(), beginning.data(), beginning.size(), 0);
  if (!is_known || got < 0) fail("it cannot be read", save);
  beginning.resize(static_cast<std::size_t>(got));
  const auto header = parse_npy_header(beginning);
  if (!header) fail("it is not an .npy file of one array of numbers, in version 1 to 3 of the format", save);
  const auto type = std::ranges::find_if(types, [&](ElementType each) { return holds(*header, each); });
  if (type == types.end()) {
    fail(fmt::format("it holds numbers of NumPy's type {}, not {} ({})", printable(header->type),
                     join(names_of(types, name<ElementType>), " or "), npy_type(types.front())),
         "Convert it with astype() before numpy.save().");
  }
  if (header->is_column_major && header->shape.size() > 1)
    fail("it is stored by columns", "Save numpy.ascontiguousarray() of it.");
  if (header->elements != elements) {
    const std::string shape = header->shape.empty()
                                  ? "a single element"
                                  : fmt::format("the shape {}", fmt::join(header->shape, " x "));
    fail(fmt::format("it has {}, and the buffer needs {} elements", shape, elements),
         "Save as many as the buffer has for this problem.");
  }
  const FileVersion version = version_of(status);
  const std::uint64_t needed = header->offset + static_cast<std::uint64_t>(elements) * size_bytes(*type);
  if (version.bytes < needed)
    fail(fmt::format("it is cut off: {} bytes of {}", version.bytes, needed), "Save it again.");
  return {file.string(), header->offset, *type, version};
}

std::string npy_header(ElementType type, std::int64_t elements) {
  constexpr std::size_t kAlignment = 64;
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", npy_type(type), elements);
  const std::size_t before = kMagic.size() + 4;
  while ((before + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace tiletune
