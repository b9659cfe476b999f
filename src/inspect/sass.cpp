#include "inspect/sass.h"

#include <iterator>
#include <utility>

#include "inspect/elf.h"

namespace tiletune {
namespace {

constexpr std::uint32_t kGuardAlways = 7, kGuardNever = 15;
/// The mode of a UBLKCP from shared to global memory.
constexpr std::uint64_t kBulkToGlobal = 2;

/// From this architecture on eight more bits of a branch's distance stand beside the opcode.
constexpr int kFirstArchitectureWithSplitTarget = 90;
/// From this one on what was HFMA2 on the matrix unit is an addition of 64-bit integers.
constexpr int kFirstArchitectureWithWideIadd = 100;
/// Older ones have another HMMA, of m8n8k4, beside the one of later architectures.
constexpr int kFirstArchitectureWithoutQuadMatrices = 80;
/// From this one on asynchronous copies have a size field of their own.
constexpr int kFirstArchitectureWithCopySize = 100;

/// By the low nine bits of the opcode; the three above them say where the operands come from. sm_90's, which
/// older and newer architectures share as far as they have the instruction.
constexpr std::pair<std::uint32_t, SassKind> kKinds[] = {
    {0x020, SassKind::add_or_multiply},   // FMUL
    {0x021, SassKind::add_or_multiply},   // FADD
    {0x023, SassKind::fma},               // FFMA
    {0x028, SassKind::double_math},       // DMUL
    {0x029, SassKind::double_math},       // DADD
    {0x02b, SassKind::double_math},       // DFMA
    {0x030, SassKind::half_math},         // HADD2
    {0x031, SassKind::half_math},         // HFMA2
    {0x032, SassKind::half_math},         // HMUL2
    {0x035, SassKind::half_math},         // HFMA2 on the matrix unit
    {0x037, SassKind::tensor},            // IMMA
    {0x03b, SassKind::shared_load},       // LDSM
    {0x03c, SassKind::tensor},            // HMMA
    {0x03d, SassKind::tensor},            // BMMA
    {0x03e, SassKind::conversion},        // F2FP
    {0x03f, SassKind::tensor},            // DMMA
    {0x044, SassKind::shared_store},      // STSM
    {0x049, SassKind::fma_pair},          // FFMA2
    {0x07a, SassKind::tensor},            // QMMA: 8 bits and fewer
    {0x07f, SassKind::tensor},            // OMMA: 4 bits
    {0x104, SassKind::conversion},        // F2F
    {0x105, SassKind::conversion},        // F2I
    {0x106, SassKind::conversion},        // I2F
    {0x118, SassKind::nothing},           // NOP
    {0x11a, SassKind::async_wait},        // DEPBAR
    {0x11d, SassKind::barrier},           // BAR
    {0x147, SassKind::branch},            // BRA
    {0x14d, SassKind::exit},              // EXIT
    {0x180, SassKind::global_load},       // LD
    {0x181, SassKind::global_load},       // LDG
    {0x183, SassKind::local_load},        // LDL
    {0x184, SassKind::shared_load},       // LDS
    {0x185, SassKind::global_store},      // ST
    {0x186, SassKind::global_store},      // STG
    {0x187, SassKind::local_store},       // STL
    {0x188, SassKind::shared_store},      // STS
    {0x18a, SassKind::global_reduction},  // ATOM
    {0x18c, SassKind::shared_atomic},     // ATOMS
    {0x18d, SassKind::shared_atomic},     // ATOMS.CAS
    {0x18e, SassKind::global_reduction},  // RED
    {0x1a6, SassKind::global_reduction},  // REDG
    {0x1a7, SassKind::mbarrier},          // SYNCS, arriving and waiting
    {0x1a8, SassKind::global_reduction},  // ATOMG
    {0x1a9, SassKind::global_reduction},  // ATOMG.CAS
    {0x1ae, SassKind::async_copy},        // LDGSTS
    {0x1af, SassKind::async_commit},      // LDGDEPBAR
    {0x1b0, SassKind::mbarrier},          // ARRIVES
    {0x1b2, SassKind::mbarrier},          // SYNCS, setting up
    {0x1b4, SassKind::bulk_load},         // UTMALDG
    {0x1b5, SassKind::bulk_store},        // UTMASTG
    {0x1b6, SassKind::bulk_store},        // UTMAREDG
    {0x1ba, SassKind::bulk_load},         // UBLKCP
    {0x1bb, SassKind::bulk_store},        // UBLKRED
    {0x1bd, SassKind::global_store},      // STAS
    {0x1c7, SassKind::cluster_barrier},   // UCGABAR
    {0x1ea, SassKind::tensor_async},      // UTCHMMA, UTCQMMA, UTCIMMA, UTCOMMA
    {0x1f0, SassKind::tensor_async},      // HGMMA
    {0x1f1, SassKind::tensor_async},      // IGMMA
    {0x1f2, SassKind::tensor_async},      // BGMMA
    {0x1f3, SassKind::tensor_async},      // QGMMA
};

SassKind kind_of(std::uint32_t operation) {
  const auto found = std::lower_bound(std::begin(kKinds), std::end(kKinds), operation,
                                      [](const auto& entry, std::uint32_t key) { return entry.first < key; });
  return found != std::end(kKinds) && found->first == operation ? found->second : SassKind::other;
}

/// Constants are moved by multiply-adds of nothing, and halves widened by additions.
SassKind true_kind(const SassInstruction& instruction, int architecture) {
  const std::uint32_t operation = instruction.operation();
  if (operation == 0x035 && architecture >= kFirstArchitectureWithWideIadd) return SassKind::other;
  if (operation == 0x036 && architecture < kFirstArchitectureWithoutQuadMatrices) return SassKind::tensor;
  const bool half_fma = operation == 0x031 || operation == 0x035;
  if (half_fma && (instruction.low >> 24 & 0xff) == kZeroRegister) return SassKind::other;
  if (operation == 0x030 && (instruction.high >> 14 & 1) != 0) return SassKind::conversion;
  if (operation == 0x1ba && (instruction.high >> 9 & 3) == kBulkToGlobal) return SassKind::bulk_store;
  return kind_of(operation);
}

/// Bits of the factors' elements, and how many products each element of an m16n8 result adds up. The first is
/// half of four m8n8k4; DMMA (0x03f) is one m8n8k4.
struct Matrix {
  std::uint32_t operation;
  int element_bits;
  double depth;
};
constexpr Matrix kMatrices[] = {{0x036, 16, 4}, {0x037, 8, 32},  {0x03d, 1, 256},
                                {0x03f, 64, 2}, {0x07a, 8, 32},  {0x07f, 4, 64},
                                {0x1f1, 8, 32}, {0x1f2, 1, 256}, {0x1f3, 8, 32}};

/// What HMMA and HGMMA multiply, bits of the instruction say.
void set_matrix(SassInstruction& out) {
  const auto* const known = std::ranges::find(kMatrices, out.operation(), &Matrix::operation);
  const bool is_known = known != std::end(kMatrices);
  if (out.kind == SassKind::tensor) {
    constexpr double kFragment = 2 * 16 * 8;  // m16n8, per unit of k
    const bool wide = (out.high >> 19 & 1) != 0;
    const bool k16 = (out.high >> 11 & 1) != 0, k4 = (out.high >> 14 & 1) != 0;
    out.element_bits = is_known ? known->element_bits : (wide ? 32 : 16);
    out.flops = kFragment * (is_known ? known->depth : (k16 ? 16 : (k4 ? 4 : 8)));
    return;
  }
  // m64nNk16, or k8 of 32-bit, k32 of 8-bit and k256 of 1-bit elements, of which a warp does a quarter. The
  // code does not tell the shapes of UTC*MMA: 0.
  const bool is_blackwell = out.operation() == 0x1ea;
  const bool wide = !is_blackwell && (out.low >> 58 & 1) != 0;  // TF32
  const auto columns = static_cast<double>(8 * ((out.low >> 53 & 0x1f) + 1));
  out.element_bits = is_known ? known->element_bits : (wide ? 32 : 16);
  out.flops = is_blackwell ? 0 : 2 * 64 * columns * (is_known ? known->depth : (wide ? 8 : 16)) / 4;
}

double flops_of(const SassInstruction& instruction) {
  const std::uint32_t operation = instruction.operation();
  switch (instruction.kind) {
    case SassKind::fma:
      return 2 * kLanes;
    case SassKind::fma_pair:
      return 4 * kLanes;
    case SassKind::add_or_multiply:
      return kLanes;
    case SassKind::half_math:
      return (operation == 0x031 || operation == 0x035 ? 4 : 2) * kLanes;
    case SassKind::double_math:
      return (operation == 0x02b ? 2 : 1) * kLanes;
    default:
      return 0;
  }
}

/// Bytes per lane by the size field of loads and stores: 8 and 16 bits signed and unsigned, then 32, 64, 128
/// bits. Each lane gets one, two or four words of fragments of as many 8x8 matrices.
int bytes_of(const SassInstruction& instruction, int architecture) {
  const bool fragments = instruction.operation() == 0x03b || instruction.operation() == 0x044;
  if (fragments) return 4 << (instruction.high >> 8 & 3);
  if (instruction.kind == SassKind::async_copy && architecture >= kFirstArchitectureWithCopySize)
    return 4 << (instruction.high >> 10 & 3);
  constexpr int kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
  return kBytes[instruction.high >> 9 & 7];
}

/// Bytes from the end of a branch to its target: bits 34 to 81 in words of four bytes.
std::int64_t branch_distance(std::uint64_t low, std::uint64_t high, int architecture) {
  std::uint64_t words = low >> 34 | (high & 0x3ffff) << 30;
  int bits = 48;
  if (architecture >= kFirstArchitectureWithSplitTarget) {
    words = words << 8 | (low >> 16 & 0xff);
    bits += 8;
  }
  return (static_cast<std::int64_t>(words << (64 - bits)) >> (64 - bits)) * 4;  // with its sign
}

SassInstruction decode_one(std::string_view code, std::uint64_t offset, int architecture) {
  SassInstruction out;
  out.low = read_scalar<std::uint64_t>(code, offset);
  out.high = read_scalar<std::uint64_t>(code, offset + 8);
  const auto guard = static_cast<std::uint32_t>(out.low >> 12 & 0xf);
  out.kind = guard == kGuardNever ? SassKind::nothing : true_kind(out, architecture);
  out.conditional = guard != kGuardAlways;
  out.flops = flops_of(out);
  if (out.is_one_of({SassKind::tensor, SassKind::tensor_async})) set_matrix(out);
  out.bytes = bytes_of(out, architecture);
  out.pending = static_cast<int>(out.low >> 38 & 0x3f);
  if (out.kind == SassKind::branch) {
    const auto size = static_cast<std::int64_t>(code.size());
    const auto end = static_cast<std::int64_t>(offset + kInstructionBytes);
    const std::int64_t distance = branch_distance(out.low, out.high, architecture);
    if (distance % 16 == 0 && distance >= -end && distance < size - end) out.target = (end + distance) / 16;
  }
  return out;
}

}  // namespace

std::vector<SassInstruction> decode_sass(std::string_view code, int architecture) {
  std::vector<SassInstruction> out;
  out.reserve(code.size() / kInstructionBytes);
  for (std::uint64_t offset = 0; offset + kInstructionBytes <= code.size(); offset += kInstructionBytes)
    out.push_back(decode_one(code, offset, architecture));
  return out;
}

}  // namespace tiletune
