#include "inspect/kernel_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

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

/// What each of the kernels' names stands for: the first for nothing, the others for their number.
using Numbers = std::vector<std::pair<std::string_view, std::string>>;

/// Longer names first: one may begin like another.
Numbers numbers_of(const std::vector<std::string>& symbols) {
  Numbers numbers;
  for (std::size_t i = 0; i < symbols.size(); ++i)
    numbers.emplace_back(symbols[i], i == 0 ? "" : fmt::format("#{}", i));
  std::stable_sort(numbers.begin(), numbers.end(),
                   [](const auto& one, const auto& other) { return one.first.size() > other.first.size(); });
  return numbers;
}

/// What is called after a kernel, called after its number.
std::string numbered(const Numbers& numbers, std::string_view name) {
  std::string text(name);
  for (const auto& [symbol, number] : numbers) {
    if (symbol.empty()) continue;
    for (std::size_t at = text.find(symbol); at != std::string::npos;
         at = text.find(symbol, at + number.size()))
      text.replace(at, symbol.size(), number);
  }
  return text;
}

}  // namespace

std::string kernel_hash(const Binary& binary) {
  const CubinElf elf(binary.cubin);
  const Numbers numbers = numbers_of(binary.kernel_symbols);
  Hasher hasher;
  hasher.add("kernel 1").add(elf.architecture());
  for (const ElfSection& section : elf.sections()) {
    if (!is_run(section.name)) continue;
    hasher.add(numbered(numbers, section.name)).add(section.bytes);
    for (const std::uint64_t figure : {section.size, section.flags, std::uint64_t{section.info}})
      hasher.add(static_cast<std::int64_t>(figure));
  }
  for (const ElfSymbol& one : elf.symbols()) {
    if (!is_run(one.name)) continue;
    hasher.add(numbered(numbers, one.name)).add(one.attributes);
  }
  return hasher.hex();
}

}  // namespace tiletune
