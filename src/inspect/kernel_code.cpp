#include "inspect/kernel_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "inspect/elf.h"

namespace tiletune {
namespace {

void add(InstructionMix& mix, const SassInstruction& instruction) {
  using enum SassKind;
  using Mix = InstructionMix;
  static constexpr std::pair<SassKind, Mix::Accesses Mix::*> kAccesses[] = {
      {shared_load, &Mix::shared_loads},
      {shared_store, &Mix::shared_stores},
      {global_load, &Mix::global_loads},
      {global_store, &Mix::global_stores},
      {async_copy, &Mix::async_copies}};
  static constexpr std::pair<SassKind, double Mix::*> kCounters[] = {
      {add_or_multiply, &Mix::other_math}, {half_math, &Mix::other_math},
      {double_math, &Mix::other_math},     {tensor, &Mix::tensor},
      {tensor_async, &Mix::tensor},        {conversion, &Mix::conversions},
      {shared_atomic, &Mix::reductions},   {global_reduction, &Mix::reductions},
      {bulk_load, &Mix::bulk_copies},      {bulk_store, &Mix::bulk_copies},
      {mbarrier, &Mix::mbarriers},         {local_load, &Mix::spill_loads},
      {local_store, &Mix::spill_stores},   {barrier, &Mix::barriers},
      {cluster_barrier, &Mix::barriers},   {branch, &Mix::branches},
      {SassKind::exit, &Mix::branches}};
  if (instruction.kind == nothing) return;
  ++mix.instructions;
  mix.stall_clocks += std::max(1, instruction.stall());
  if (instruction.kind == SassKind::fma || instruction.kind == fma_pair) {
    ++mix.fma_slots;
    mix.fma += instruction.kind == fma_pair ? 2 : 1;
    return;
  }
  for (const auto& [kind, member] : kAccesses) {
    if (kind != instruction.kind) continue;
    Mix::Accesses& accesses = mix.*member;
    const int bytes = instruction.bytes;
    ++(bytes == 4    ? accesses.by_4
       : bytes == 8  ? accesses.by_8
       : bytes == 16 ? accesses.by_16
                     : accesses.narrower);
    return;
  }
  const auto* const counted =
      std::ranges::find(kCounters, instruction.kind, [](const auto& counter) { return counter.first; });
  ++(counted == std::end(kCounters) ? mix.other : mix.*counted->second);
}

/// Sections of names, whose order and offsets change with a name's length, and those that no GPU reads.
bool is_run(std::string_view section) {
  constexpr std::array kNotRun{".shstrtab", ".strtab",     ".symtab",    ".note",          ".debug",
                               ".nv_debug", ".rela.debug", ".rel.debug", ".rela.nv_debug", ".rel.nv_debug"};
  return std::none_of(kNotRun.begin(), kNotRun.end(),
                      [&](const char* prefix) { return section.starts_with(prefix); });
}

/// What each of the kernels' names stands for: the first for nothing, the others for their number.
using Numbers = std::vector<std::pair<std::string_view, std::string>>;

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

KernelCode read_kernel_code(const Binary& binary, std::size_t kernel) {
  const CubinElf elf(binary.cubin);
  const std::string& symbol = binary.kernel_symbols.at(kernel);
  const ElfSection* section = elf.section(".text." + symbol);
  if (section == nullptr) throw_bad_cubin("it has no kernel " + symbol);
  KernelCode code;
  code.instructions = decode_sass(section->bytes, elf.architecture());
  code.loop = find_hot_loop(code.instructions);
  return code;
}

Arithmetic arithmetic_of(const Binary& binary) {
  using enum SassKind;
  constexpr int kLastKnownArchitecture = 121;
  try {
    const CubinElf elf(binary.cubin);
    if (elf.architecture() > kLastKnownArchitecture) return Arithmetic::unknown;
    bool has_fp32 = false;
    bool has_half = false;
    for (const std::string& symbol : binary.kernel_symbols) {
      for (const ElfSection* section : elf.code_of(symbol)) {
        for (const SassInstruction& instruction : decode_sass(section->bytes, elf.architecture())) {
          if (instruction.is_one_of({tensor, tensor_async})) return Arithmetic::tensor;
          has_fp32 = has_fp32 || instruction.is_one_of({SassKind::fma, fma_pair, add_or_multiply});
          has_half = has_half || instruction.kind == half_math;
        }
      }
    }
    return has_fp32 && !has_half ? Arithmetic::fp32 : Arithmetic::unknown;
  } catch (const UserError&) {
    return Arithmetic::unknown;
  }
}

InstructionMix mix_of_loop(const KernelCode& code) {
  InstructionMix mix;
  for (const std::size_t index : code.loop.trace) add(mix, code.instructions[index]);
  mix.code_bytes =
      static_cast<double>(kInstructionBytes) * static_cast<double>(code.loop.end - code.loop.begin);
  return mix;
}

InstructionMix mix_of_kernel(const KernelCode& code) {
  InstructionMix mix;
  for (const SassInstruction& instruction : code.instructions) add(mix, instruction);
  mix.code_bytes = static_cast<double>(kInstructionBytes) * static_cast<double>(code.instructions.size());
  return mix;
}

std::string kernel_hash(const Binary& binary) {
  const CubinElf elf(binary.cubin);
  Numbers numbers;
  for (const std::string& symbol : binary.kernel_symbols)
    numbers.emplace_back(symbol, numbers.empty() ? "" : fmt::format("#{}", numbers.size()));
  // Longer names come first: one may begin like another.
  std::stable_sort(numbers.begin(), numbers.end(),
                   [](const auto& one, const auto& other) { return one.first.size() > other.first.size(); });
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
