#include "inspect/elf.h"

#include <algorithm>

#include "base/error.h"

namespace tiletune {
namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint8_t kAbiWithWideArchitecture = 8;
constexpr std::uint32_t kTypeNoBits = 8;
constexpr std::uint64_t kSectionHeaderBytes = 64;
constexpr std::uint64_t kSymbolBytes = 24;
/// Masks the symbol in the info field of a code section, which holds the register count above it.
constexpr std::uint32_t kSymbolMask = 0xffffff;
/// A flag of a symbol's st_other.
constexpr std::uint8_t kEntryFlag = 0x10;

std::string_view slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) throw_bad_cubin("it is cut off");
  return bytes.substr(offset, size);
}

std::string_view c_string(std::string_view table, std::uint32_t offset) {
  if (offset >= table.size()) throw_bad_cubin("a name lies outside its table");
  const std::string_view rest = table.substr(offset);
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) throw_bad_cubin("a name has no end");
  return rest.substr(0, end);
}

}  // namespace

void throw_bad_cubin(const std::string& what) {
  throw UserError("the compiled kernel is not a usable cubin: " + what,
                  "Compile it again; one of the cubin cache has to be removed there first.");
}

CubinElf::CubinElf(std::string_view image) {
  if (image.substr(0, 4) != "\177ELF") throw_bad_cubin("it is not an ELF file");
  if (read_scalar<std::uint8_t>(image, 4) != 2 || read_scalar<std::uint8_t>(image, 5) != 1)
    throw_bad_cubin("it is not a 64-bit little-endian ELF file");
  if (read_scalar<std::uint16_t>(image, 0x12) != kMachineCuda)
    throw_bad_cubin("it is for another machine than a GPU");
  // e_flags holds the architecture in its lowest byte, since ABI version 8 in the byte above it.
  const auto flags = read_scalar<std::uint32_t>(image, 0x30);
  const bool is_wide = read_scalar<std::uint8_t>(image, 8) >= kAbiWithWideArchitecture;
  architecture_ = static_cast<int>((is_wide ? flags >> 8 : flags) & 0xff);
  read_sections(image);
}

void CubinElf::read_sections(std::string_view image) {
  const auto table = read_scalar<std::uint64_t>(image, 0x28);
  const auto entry_bytes = read_scalar<std::uint16_t>(image, 0x3a);
  const auto count = read_scalar<std::uint16_t>(image, 0x3c);
  const auto names_index = read_scalar<std::uint16_t>(image, 0x3e);
  if (entry_bytes != kSectionHeaderBytes) throw_bad_cubin("its section headers have an unknown size");
  const std::string_view headers = slice(image, table, count * kSectionHeaderBytes);
  if (names_index >= count) throw_bad_cubin("it has no section names");

  const auto bytes_of = [&](std::uint64_t header) {
    return slice(image, read_scalar<std::uint64_t>(headers, header + 0x18),
                 read_scalar<std::uint64_t>(headers, header + 0x20));
  };
  const std::string_view names = bytes_of(names_index * kSectionHeaderBytes);
  for (std::uint64_t header = 0; header < headers.size(); header += kSectionHeaderBytes) {
    ElfSection section;
    section.name = c_string(names, read_scalar<std::uint32_t>(headers, header));
    section.flags = read_scalar<std::uint64_t>(headers, header + 0x08);
    section.size = read_scalar<std::uint64_t>(headers, header + 0x20);
    section.info = read_scalar<std::uint32_t>(headers, header + 0x2c);
    if (read_scalar<std::uint32_t>(headers, header + 4) != kTypeNoBits) section.bytes = bytes_of(header);
    sections_.push_back(section);
  }
}

const ElfSection* CubinElf::section(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const ElfSection& section) { return section.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<ElfSymbol> CubinElf::symbols() const {
  const ElfSection* table = section(".symtab");
  const ElfSection* names = section(".strtab");
  std::vector<ElfSymbol> symbols;
  if (table == nullptr || names == nullptr) return symbols;
  for (std::uint64_t at = 0; at + kSymbolBytes <= table->bytes.size(); at += kSymbolBytes) {
    constexpr std::uint64_t kNameBytes = 4;
    symbols.push_back({c_string(names->bytes, read_scalar<std::uint32_t>(table->bytes, at)),
                       table->bytes.substr(at + kNameBytes, kSymbolBytes - kNameBytes)});
  }
  return symbols;
}

std::vector<ElfVariable> CubinElf::variables(std::span<const std::string_view> sections) const {
  constexpr std::uint8_t kKind = 0xf;
  constexpr std::uint8_t kObject = 1;
  std::vector<ElfVariable> variables;
  for (const ElfSymbol& symbol : symbols()) {
    const auto kind = read_scalar<std::uint8_t>(symbol.attributes, 0) & kKind;
    const auto home = read_scalar<std::uint16_t>(symbol.attributes, 2);
    if (kind == kObject && home < sections_.size() &&
        std::find(sections.begin(), sections.end(), sections_[home].name) != sections.end())
      variables.push_back({symbol.name, read_scalar<std::uint64_t>(symbol.attributes, 12)});
  }
  return variables;
}

std::vector<const ElfSection*> CubinElf::code_of(std::string_view kernel) const {
  std::vector<const ElfSection*> code;
  const ElfSection* const own = section(std::string(kTextPrefix).append(kernel));
  if (own == nullptr) return code;
  code.push_back(own);
  for (const ElfSection& other : sections_) {
    // Other kernels of the source run on their own.
    if (other.name.starts_with(kTextPrefix) && &other != own && !is_kernel(other)) code.push_back(&other);
  }
  return code;
}

bool CubinElf::is_kernel(const ElfSection& code) const {
  const ElfSection* symbols = section(".symtab");
  if (symbols == nullptr) return false;
  const std::uint64_t symbol = (code.info & kSymbolMask) * kSymbolBytes;
  return (read_scalar<std::uint8_t>(symbols->bytes, symbol + 5) & kEntryFlag) != 0;
}

}  // namespace tiletune
