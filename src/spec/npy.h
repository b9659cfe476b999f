#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/fields.h"
#include "spec/element_type.h"

namespace tiletune {

/// Which file lies under a name, and of when: another file, or one that was written to, has another.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970

  auto operator<=>(const FileVersion&) const = default;
  static constexpr auto fields() {
    using F = FileVersion;
    return fields_of<&F::device, &F::inode, &F::bytes, &F::modified_ns>();
  }
};

/// Where the numbers of an array lie in a file.
struct ArrayFile {
  std::string path;
  std::uint64_t offset = 0;  ///< of the first, in bytes
  ElementType type = ElementType::f32;
  std::optional<FileVersion> version = {};  ///< that was checked; none: a file that the sweep itself makes

  bool operator==(const ArrayFile&) const = default;
  static constexpr auto fields() {
    using A = ArrayFile;
    return fields_of<&A::path, &A::offset, &A::type, &A::version>();
  }
};

/// Opens it for reading, without waiting. Throws UserError, with the file for its place, when it cannot be
/// opened, is a symbolic link, or is no longer the version that was checked.
Descriptor open_array(const ArrayFile& file);

/// What the header of an .npy file says (numpy.lib.format, versions 1.0 to 3.0), and where its numbers begin.
struct NpyHeader {
  std::string type;                 ///< "<f4": byte order, kind, bytes
  std::vector<std::int64_t> shape;  ///< empty: a single number
  std::int64_t elements = 1;        ///< the product of the shape
  bool is_column_major = false;
  std::uint64_t offset = 0;  ///< of the first number, in bytes
};

/// Parses the header at the beginning of a file. `beginning` is 64 KiB, or the whole file if it is shorter.
/// None if it is not an .npy header, or its shape is too large.
std::optional<NpyHeader> parse_npy_header(std::string_view beginning);

/// The numbers of an .npy file: one array of row-major numbers in the byte order of this machine, of exactly
/// that many elements. `types` are the element types that will do; where NumPy has none for bf16 and fp8,
/// their bits as unsigned integers or as raw bytes do. `file` has no symbolic links in it. Throws UserError,
/// with `where` for the place.
ArrayFile open_npy(const std::filesystem::path& file, std::int64_t elements,
                   const std::vector<ElementType>& types, const Where& where);

/// NumPy's name of a type: "<f4". Of bf16 and fp8, which it lacks, of their bits.
std::string npy_type(ElementType type);

/// The header of an array of one dimension; numbers of the element type follow it. NumPy must have the type.
std::string npy_header(ElementType type, std::int64_t elements);

}  // namespace tiletune
