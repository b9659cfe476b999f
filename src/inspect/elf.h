#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tiletune {

/// Sections with a function's code are named so, and then by the function.
inline constexpr std::string_view kTextPrefix = ".text.";

/// Throws UserError: the image is damaged, in this way.
[[noreturn]] void throw_bad_cubin(const std::string& what);

/// A little-endian scalar at an offset that is checked first.
template <typename T>
T read_scalar(std::string_view bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) throw_bad_cubin("it is cut off");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct ElfSection {
  std::string_view name;
  std::string_view bytes;  ///< empty for a section that occupies no space in the file
  std::uint64_t size = 0;
  std::uint64_t flags = 0;
  std::uint32_t info = 0;
};

struct ElfSymbol {
  std::string_view name;
  std::string_view attributes;  ///< all of its entry but where the name stands: kind, section, address, size
};

struct ElfVariable {
  std::string_view name;
  std::uint64_t bytes = 0;
};
/// Sections of __device__ and static variables.
inline constexpr std::array<std::string_view, 2> kDeviceMemory{".nv.global", ".nv.global.init"};
/// The section of __constant__ variables.
inline constexpr std::array<std::string_view, 1> kConstantMemory{".nv.constant3"};

/// A cubin as an ELF64 image. Every offset in it is checked against its length; nothing in it is trusted.
class CubinElf {
 public:
  /// Keeps a view of the image. Throws UserError when it is not an ELF64 file of a GPU or is cut off.
  explicit CubinElf(std::string_view image);

  const std::vector<ElfSection>& sections() const { return sections_; }
  /// None when there is no section of that name.
  const ElfSection* section(std::string_view name) const;
  /// All symbols, in the order of the symbol table, to which .nv.info refers; empty if there is no table.
  std::vector<ElfSymbol> symbols() const;
  /// The variables in these sections; what the compiler has put there itself has no name that is an object's.
  std::vector<ElfVariable> variables(std::span<const std::string_view> sections) const;
  /// Whether the code of this section can be launched; a function that is only called cannot.
  bool is_kernel(const ElfSection& code) const;
  /// The code of a kernel and of the functions that it may call. Empty when there is no such kernel.
  std::vector<const ElfSection*> code_of(std::string_view kernel) const;
  /// 90 for sm_90 and sm_90a.
  int architecture() const { return architecture_; }

 private:
  void read_sections(std::string_view image);

  std::vector<ElfSection> sections_;
  int architecture_ = 0;
};

/// One entry of a .nv.info section.
struct Attribute {
  std::uint8_t id = 0;
  std::uint16_t small = 0;  ///< the value of an attribute without a size
  std::string_view bytes;   ///< the value of an attribute with a size
};

/// Calls `visit` with each attribute of a .nv.info section. Throws UserError when the section is damaged.
template <typename Visit>
void for_each_attribute(std::string_view info, const Visit& visit) {
  constexpr std::uint8_t kFormatSized =
      4;  // a 16-bit size, then the value; other formats hold 16 bits in place
  for (std::uint64_t offset = 0; offset < info.size();) {
    Attribute attribute;
    const auto format = read_scalar<std::uint8_t>(info, offset);
    attribute.id = read_scalar<std::uint8_t>(info, offset + 1);
    attribute.small = read_scalar<std::uint16_t>(info, offset + 2);
    offset += 4;
    if (format == kFormatSized) {
      if (info.size() - offset < attribute.small) throw_bad_cubin("an attribute is cut off");
      attribute.bytes = info.substr(offset, attribute.small);
      offset += attribute.small;
    }
    visit(attribute);
  }
}

}  // namespace tiletune
