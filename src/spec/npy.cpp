#include "spec/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/folder.h"
#include "base/printable.h"
#include "base/text.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = std::size_t{64} << 10;
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

/// The header's dictionary of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : left_(text) {}

  NpyHeader read() {
    NpyHeader header;
    std::set<std::string> found;
    expect('{');
    while (!take('}')) {
      const std::string key = text();
      expect(':');
      if (key == "descr")
        header.type = text();
      else if (key == "fortran_order")
        header.is_column_major = truth();
      else if (key == "shape")
        header.shape = shape();
      else
        refuse(fmt::format("its header has an unknown key '{}'", printable(key)));
      found.insert(key);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (found.size() < 3) refuse("its header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  void skip_spaces() {
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\n')) left_.remove_prefix(1);
  }

  bool take(char c) {
    skip_spaces();
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) refuse(fmt::format("its header has no '{}' where one belongs", c));
  }

  std::string text() {
    if (left_.starts_with('[') || (skip_spaces(), left_.starts_with('[')))
      refuse("it holds records, not numbers");
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = left_.find(quote);
    if (end == std::string_view::npos) refuse("its header has a text without an end");
    std::string text(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    return text;
  }

  bool truth() {
    skip_spaces();
    for (const auto& [name, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!left_.starts_with(name)) continue;
      left_.remove_prefix(std::string_view(name).size());
      return value;
    }
    refuse("its header has a fortran_order that is neither True nor False");
  }

  std::vector<std::int64_t> shape() {
    constexpr std::size_t kMostDimensions = 64;
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!take(')')) {
      skip_spaces();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), size);
      if (error != std::errc() || size < 0) refuse("its header has a shape that is not a list of sizes");
      left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
      sizes.push_back(size);
      if (sizes.size() > kMostDimensions) refuse("its header has a shape of too many dimensions");
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view left_;
};

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

/// What an .npy file begins with, and its version. Throws std::runtime_error.
std::pair<std::string, FileVersion> beginning_of(const std::filesystem::path& file) {
  const Descriptor open = Folder(file.parent_path(), Links::refuse).open(file.filename());
  if (!open.is_open()) refuse(errno == EINVAL ? "it is not a regular file" : "it cannot be opened");
  struct stat status {};
  if (::fstat(open.number(), &status) != 0) refuse("it cannot be opened");
  std::string bytes(kLongestHeader, '\0');
  const ssize_t got = ::pread(open.number(), bytes.data(), bytes.size(), 0);
  if (got < 0) refuse("it cannot be read");
  bytes.resize(static_cast<std::size_t>(got));
  return {std::move(bytes), version_of(status)};
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

std::int64_t NpyHeader::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (size > 0 && product > kMostElements / size) refuse("its shape has too many elements");
    product *= size;
  }
  return product;
}

NpyHeader parse_npy_header(std::string_view beginning) {
  constexpr std::size_t kVersionBytes = 2;
  const std::size_t before = kMagic.size() + kVersionBytes;
  if (!beginning.starts_with(kMagic) || beginning.size() < before + 4) refuse("it is not an .npy file");
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(beginning[at])}; };
  const std::size_t version = byte(kMagic.size());
  if (version < 1 || version > 3) refuse(fmt::format("it is of version {} of the format", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | byte(before + i);
  const std::size_t start = before + length_bytes;
  if (length > kLongestHeader || beginning.size() < start + length) refuse("its header is cut off");
  NpyHeader header = HeaderText(beginning.substr(start, length)).read();
  header.offset = start + length;
  return header;
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
  const std::string save = "Write it with numpy.save() as a row-major array of numbers.";
  try {
    const auto [beginning, version] = beginning_of(file);
    const NpyHeader header = parse_npy_header(beginning);
    const auto type = std::ranges::find_if(types, [&](ElementType each) { return holds(header, each); });
    if (type == types.end()) {
      fail(fmt::format("it holds numbers of NumPy's type {}, not {} ({})", printable(header.type),
                       join(names_of(types, name<ElementType>), " or "), npy_type(types.front())),
           "Convert it with astype() before numpy.save().");
    }
    if (header.is_column_major && header.shape.size() > 1)
      fail("it is stored by columns", "Save numpy.ascontiguousarray() of it.");
    if (header.elements() != elements) {
      const std::string shape = header.shape.empty()
                                    ? "a single number"
                                    : fmt::format("the shape {}", fmt::join(header.shape, " x "));
      fail(fmt::format("it is of {}, and {} elements are needed", shape, elements),
           "Save as many as the buffer has for this problem.");
    }
    const std::uint64_t needed = header.offset + static_cast<std::uint64_t>(elements) * size_bytes(*type);
    if (version.bytes < needed)
      fail(fmt::format("it is cut off: {} bytes of {}", version.bytes, needed), "Save it again.");
    return {file.string(), header.offset, *type, version};
  } catch (const UserError&) {
    throw;
  } catch (const std::runtime_error& error) {
    fail(error.what(), save);
    throw;
  }
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
