#include "inspect/spills.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "inspect/attributes.h"
#include "inspect/sass.h"

namespace tiletune {
namespace {

constexpr std::uint8_t kCudaVersion = 0x37;
constexpr std::uint8_t kAnnotations = 0x55;  // pairs of a kind and the offset of an instruction
constexpr std::uint64_t kAnnotationBytes = 8;
constexpr std::uint32_t kSpill = 1;
constexpr std::uint32_t kFirstCudaWithAnnotations = 126;  // 12.6

/// The attribute's size has 16 bits. ptxas writes longer ones with their size modulo 65536 and only that much
/// of them.
constexpr std::ptrdiff_t kMostAnnotations = 0xffff / kAnnotationBytes;

/// With the pragma enable_smem_spilling ptxas marks accesses to shared memory too.
bool may_be_marked(const SassInstruction& instruction) {
  switch (instruction.kind) {
    case SassKind::local_load:
    case SassKind::local_store:
    case SassKind::shared_load:
    case SassKind::shared_store:
      return true;
    default:
      return false;
  }
}

void add(Spills& spills, const SassInstruction& instruction) {
  if (instruction.kind == SassKind::local_store) spills.store_bytes += instruction.bytes;
  if (instruction.kind == SassKind::local_load) spills.load_bytes += instruction.bytes;
}

/// The marked instructions; none when the marks do not tell all.
std::optional<std::vector<SassInstruction>> marked(std::string_view info,
                                                   const std::vector<SassInstruction>& code) {
  std::vector<SassInstruction> out;
  std::uint32_t cuda = 0;
  bool understood = std::count_if(code.begin(), code.end(), may_be_marked) <= kMostAnnotations;
  for_each_attribute(info, [&](const Attribute& attribute) {
    if (attribute.id == kCudaVersion) cuda = read_scalar<std::uint32_t>(attribute.bytes, 0);
    if (attribute.id != kAnnotations) return;
    for (std::uint64_t at = 0; at < attribute.bytes.size(); at += kAnnotationBytes) {
      understood = understood && read_scalar<std::uint32_t>(attribute.bytes, at) == kSpill;
      const std::uint64_t index = read_scalar<std::uint32_t>(attribute.bytes, at + 4) / kInstructionBytes;
      if (index >= code.size()) throw_bad_cubin("a spill lies outside its code");
      out.push_back(code[index]);
    }
  });
  if (!understood || cuda < kFirstCudaWithAnnotations) return std::nullopt;
  return out;
}

void add(Spills& spills, const CubinElf& elf, const ElfSection& text) {
  const std::string_view function = text.name.substr(kTextPrefix.size());
  const std::vector<SassInstruction> code = decode_sass(text.bytes, elf.architecture());
  const ElfSection* info = elf.section(".nv.info." + std::string(function));
  const auto spilling = marked(info == nullptr ? std::string_view() : info->bytes, code);
  for (const SassInstruction& instruction : spilling.value_or(code)) add(spills, instruction);
}

}  // namespace

Spills read_spills(const CubinElf& elf, const std::string& kernel) {
  Spills spills;
  for (const ElfSection* code : elf.code_of(kernel)) add(spills, elf, *code);
  return spills;
}

}  // namespace tiletune
