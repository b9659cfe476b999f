#include "inspect/kernel_hash.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "inspect/elf.h"

namespace tiletune {

namespace {

/// Sections of names, whose order and offsets change with a name's length, and those that no GPU reads.
bool is_run(std::string_view section) {
  constexpr std::array kNotRun{".shstrtab", ".strtab",     ".symtab",    ".note",          ".debug",
                               ".nv_debug", ".rela.debug", ".rel.debug", ".rela.nv_debug", ".rel.nv_debug"};
  return std::none_of(kNotRun.begin(), kNotRun.end(),
                      [&](const char* prefix) { return section.starts_with(prefix); });
}

/// What is called after the kernel, called after nothing.
std::string without(std::string_view symbol, std::string_view name) {
  std::string text(name);
  if (symbol.empty()) return text;
  for (std::size_t at = text.find(symbol); at != std::string::npos; at = text.find(symbol, at))
    text.erase(at, symbol.size());
  return text;
}

}  // namespace

std::string kernel_hash(std::string_view cubin, std::string_view symbol) {
  const CubinElf elf(cubin);
  Hasher hasher;
  hasher.add("kernel 1").add(elf.architecture());
  for (const ElfSection& section : elf.sections()) {
    if (!is_run(section.name)) continue;
    hasher.add(without(symbol, section.name)).add(section.bytes);
    for (const std::uint64_t figure : {section.size, section.flags, std::uint64_t{section.info}})
      hasher.add(static_cast<std::int64_t>(figure));
  }
  for (const ElfSymbol& one : elf.symbols()) {
    if (!is_run(one.name)) continue;
    hasher.add(without(symbol, one.name)).add(one.attributes);
  }
  return hasher.hex();
}

}  // namespace tiletune
