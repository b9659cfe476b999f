#include "inspect/resources.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "inspect/elf.h"
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

/// The marked instructions; none when the marks do not tell all.
std::optional<std::vector<SassInstruction>> marked(std::string_view info,
                                                   const std::vector<SassInstruction>& code) {
  std::vector<SassInstruction> out;
  std::uint32_t cuda = 0;
  // With the pragma enable_smem_spilling ptxas marks accesses to shared memory too.
  const auto may_be_marked = [](const SassInstruction& instruction) {
    using enum SassKind;
    return instruction.is_one_of({local_load, local_store, shared_load, shared_store});
  };
  bool understood = std::ranges::count_if(code, may_be_marked) <= kMostAnnotations;
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

constexpr std::uint8_t kMaxThreads = 0x05;
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kMinStackSize = 0x12;  // with the functions that are called
constexpr std::uint8_t kParameter = 0x17;
constexpr std::uint8_t kRegisterCount = 0x2f;
constexpr std::uint8_t kBlocksPerCluster = 0x3d;
constexpr std::uint8_t kLargeParameter = 0x45;  // what all are when together they exceed 4 KiB
constexpr std::uint8_t kBarrierCount = 0x4c;

constexpr std::uint32_t kUnknownSize = 0xffffffff;

/// From this architecture on .nv.shared includes what the runtime reserves for itself.
constexpr int kFirstArchitectureWithReserve = 90;
constexpr std::int64_t kReservedSharedBytes = 1024;

/// More than any GPU has, and few enough that sums and products of them fit.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostRegisters = 255;

int to_int(std::uint64_t value, const char* what, std::uint64_t most = kMostBytes) {
  if (value > most) throw_bad_cubin(fmt::format("its {} is {}", what, value));
  return static_cast<int>(value);
}

/// Attributes of all kernels: pairs of symbol and value.
void read_common_attributes(const CubinElf& elf, std::uint32_t symbol, Resources& out) {
  const ElfSection* info = elf.section(".nv.info");
  if (info == nullptr) return;
  for_each_attribute(info->bytes, [&](const Attribute& attribute) {
    if (attribute.bytes.size() < 8 || read_scalar<std::uint32_t>(attribute.bytes, 0) != symbol) return;
    const auto value = read_scalar<std::uint32_t>(attribute.bytes, 4);
    if (attribute.id == kRegisterCount) out.registers = to_int(value, "register count", kMostRegisters);
    // The stack of a recursive function has no known size.
    const bool is_stack =
        attribute.id == kFrameSize || (attribute.id == kMinStackSize && value != kUnknownSize);
    if (is_stack) out.stack_bytes = std::max<std::int64_t>(out.stack_bytes, value);
  });
}

/// Bounded, so that the number of blocks fits.
Dim3 cluster_of(const Attribute& attribute) {
  constexpr std::uint64_t kMostBlocks = 65536;
  const auto extent = [&](std::uint64_t offset) {
    return to_int(read_scalar<std::uint32_t>(attribute.bytes, offset), "cluster size", kMostBlocks);
  };
  const Dim3 cluster{extent(0), extent(4), extent(8)};
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0) throw_bad_cubin("its cluster has no blocks");
  return cluster;
}

int thread_bound(const Attribute& attribute) {
  std::uint64_t threads = 1;
  for (const std::uint64_t offset : {0, 4, 8}) {
    const auto extent = read_scalar<std::uint32_t>(attribute.bytes, offset);
    threads = static_cast<std::uint64_t>(to_int(threads * extent, "launch bound"));
  }
  return static_cast<int>(threads);
}

/// Index, ordinal (16 bits) and offset (16 bits), then the size among other bits.
std::pair<std::uint16_t, int> parameter_of(const Attribute& attribute) {
  const auto ordinal = read_scalar<std::uint16_t>(attribute.bytes, 4);
  const auto word = read_scalar<std::uint32_t>(attribute.bytes, 8);
  constexpr std::uint32_t kSizeOfLarge = 0xffffff;
  return {ordinal, static_cast<int>(attribute.id == kParameter ? word >> 18 : word & kSizeOfLarge)};
}

/// A kernel without parameters has no attribute that says so: with other attributes, none means none.
void read_kernel_attributes(const CubinElf& elf, const std::string& kernel, Resources& out) {
  const ElfSection* info = elf.section(".nv.info." + kernel);
  if (info == nullptr) return;
  std::map<std::uint16_t, int> bytes;
  for_each_attribute(info->bytes, [&](const Attribute& attribute) {
    if (attribute.id == kBarrierCount) out.barriers = attribute.small & 0xff;
    if (attribute.id == kBlocksPerCluster) out.cluster = cluster_of(attribute);
    if (attribute.id == kMaxThreads && attribute.bytes.size() >= 12)
      out.max_threads = thread_bound(attribute);
    if (attribute.id == kParameter || attribute.id == kLargeParameter) bytes.insert(parameter_of(attribute));
  });
  // Ordinals with a gap are not understood.
  if (!bytes.empty() && bytes.rbegin()->first + 1U != bytes.size()) return;
  out.parameter_bytes.emplace();
  for (const auto& [ordinal, size] : bytes) out.parameter_bytes->push_back(size);
}

/// Reads the __constant__ variables.
std::vector<std::pair<std::string, std::int64_t>> constant_variables(const CubinElf& elf) {
  std::vector<std::pair<std::string, std::int64_t>> variables;
  for (const ElfVariable& variable : elf.variables(kConstantMemory))
    variables.emplace_back(variable.name, to_int(variable.bytes, "constant variable"));
  return variables;
}

void read_memory(const CubinElf& elf, const std::string& kernel, Resources& out) {
  if (const ElfSection* shared = elf.section(".nv.shared." + kernel)) {
    out.static_shared_bytes = to_int(shared->size, "static shared memory");
    if (elf.architecture() >= kFirstArchitectureWithReserve &&
        out.static_shared_bytes >= kReservedSharedBytes) {
      out.static_shared_bytes -= kReservedSharedBytes;
    }
  }
  out.constants = constant_variables(elf);
  // Bank 0 holds the launch geometry and the arguments.
  for (int bank = 1; bank < 6; ++bank) {
    const std::string of_module = fmt::format(".nv.constant{}", bank);
    for (const std::string& name : {of_module, fmt::format("{}.{}", of_module, kernel)})
      if (const ElfSection* constant = elf.section(name))
        out.constant_bytes += to_int(constant->size, "constant bank");
  }
}

/// What is wrong where a cubin lacks a kernel: a person may have built it, and misspelt the name.
std::string missing_kernel(const CubinElf& elf, const std::string& name) {
  constexpr std::size_t kMostKnown = 100;
  constexpr std::size_t kLongestName = 200;
  std::vector<std::string> known;
  for (const ElfSection& section : elf.sections()) {
    const bool is_named = section.name.starts_with(kTextPrefix) && section.name.size() <= kLongestName;
    if (is_named && known.size() < kMostKnown && elf.is_kernel(section))
      known.push_back(printable(section.name.substr(kTextPrefix.size())));
  }
  return fmt::format("it has no kernel {}.{}", name, suggestion(name, known));
}

}  // namespace

Spills read_spills(const CubinElf& elf, const std::string& kernel) {
  Spills spills;
  for (const ElfSection* text : elf.code_of(kernel)) {
    const std::string_view function = text->name.substr(kTextPrefix.size());
    const std::vector<SassInstruction> code = decode_sass(text->bytes, elf.architecture());
    const ElfSection* info = elf.section(".nv.info." + std::string(function));
    const auto spilling = marked(info == nullptr ? std::string_view() : info->bytes, code);
    for (const SassInstruction& instruction : spilling.value_or(code)) {
      if (instruction.kind == SassKind::local_store) spills.store_bytes += instruction.bytes;
      if (instruction.kind == SassKind::local_load) spills.load_bytes += instruction.bytes;
    }
  }
  return spills;
}

Resources read_resources(const Binary& binary, std::size_t kernel) {
  const std::string& name = binary.kernel_symbols.at(kernel);
  const CubinElf elf(binary.cubin);
  const ElfSection* code = elf.section(".text." + name);
  const std::vector<ElfSymbol> symbols = elf.symbols();
  const auto symbol = std::ranges::find(symbols, name, &ElfSymbol::name);
  if (code == nullptr || symbol == symbols.end()) throw_bad_cubin(missing_kernel(elf, name));
  Resources out;
  out.code_bytes = to_int(code->size, "code size");
  out.architecture = elf.architecture();
  read_common_attributes(elf, static_cast<std::uint32_t>(symbol - symbols.begin()), out);
  read_kernel_attributes(elf, name, out);
  // Before sm_90 the header of the code section repeats the register count in its top byte; before CUDA 13
  // its flags are the only place for the number of barriers.
  const int in_header = static_cast<int>(code->info >> 24);
  if (out.registers == 0) out.registers = in_header;
  if (in_header != 0 && in_header != out.registers)
    throw_bad_cubin(fmt::format("it says both {} and {} registers", out.registers, in_header));
  if (out.registers == 0) throw_bad_cubin("it has no register count");
  if (out.barriers == 0) out.barriers = static_cast<int>(code->flags >> 20 & 0x7f);
  read_memory(elf, name, out);
  const Spills spills = read_spills(elf, name);
  out.spill_store_bytes = spills.store_bytes;
  out.spill_load_bytes = spills.load_bytes;
  return out;
}

std::vector<Resources> read_all_resources(const Binary& binary) {
  std::vector<Resources> all;
  for (std::size_t kernel = 0; kernel < binary.kernel_symbols.size(); ++kernel)
    all.push_back(read_resources(binary, kernel));
  return all;
}

}  // namespace tiletune
