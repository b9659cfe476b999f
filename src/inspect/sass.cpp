#include "inspect/sass.h"

#include <algorithm>
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

double matrix_flops(const SassInstruction& instruction) {
  constexpr double kFragment = 2 * 16 * 8;  // m16n8, per unit of k
  const std::uint64_t high = instruction.high;
  switch (instruction.operation()) {
    case 0x036:
      return kFragment * 4;  // half of four m8n8k4
    case 0x037:
    case 0x07a:
      return kFragment * 32;  // 8 bits
    case 0x03d:
      return kFragment * 256;  // 1 bit
    case 0x03f:
      return 2 * 8 * 8 * 4;  // m8n8k4
    case 0x07f:
      return kFragment * 64;  // 4 bits
    default:
      break;
  }
  const bool k16 = (high >> 11 & 1) != 0, k4 = (high >> 14 & 1) != 0;
  return kFragment * (k16 ? 16 : (k4 ? 4 : 8));
}

/// Whether the elements of an HGMMA have 32 bits, that is TF32.
bool has_wide_elements(const SassInstruction& instruction) { return (instruction.low >> 58 & 1) != 0; }

/// m64nNk16, or k8 of 32-bit, k32 of 8-bit and k256 of 1-bit elements, of which a warp does a quarter. The
/// code does not tell the shapes of UTC*MMA: 0.
double group_matrix_flops(const SassInstruction& instruction) {
  if (instruction.operation() == 0x1ea) return 0;
  const auto columns = static_cast<double>(8 * ((instruction.low >> 53 & 0x1f) + 1));
  const double halves = has_wide_elements(instruction) ? 8 : 16;
  const bool bits = instruction.operation() == 0x1f2;
  const double depth = instruction.operation() == 0x1f0 ? halves : (bits ? 256 : 32);
  return 2 * 64 * columns * depth / 4;
}

int element_bits_of(const SassInstruction& instruction) {
  if (instruction.kind != SassKind::tensor && instruction.kind != SassKind::tensor_async) return 0;
  switch (instruction.operation()) {
    case 0x037:
    case 0x07a:
    case 0x1f1:
    case 0x1f3:
      return 8;
    case 0x07f:
      return 4;
    case 0x03d:
    case 0x1f2:
      return 1;
    case 0x03f:
      return 64;
    case 0x03c:
      return (instruction.high >> 19 & 1) != 0 ? 32 : 16;
    case 0x1f0:
      return has_wide_elements(instruction) ? 32 : 16;
    default:
      return 16;
  }
}

double flops_of(const SassInstruction& instruction) {
  switch (instruction.kind) {
    case SassKind::fma:
      return 2 * kLanes;
    case SassKind::fma_pair:
      return 4 * kLanes;
    case SassKind::add_or_multiply:
      return kLanes;
    case SassKind::half_math:
      return (instruction.operation() == 0x031 || instruction.operation() == 0x035 ? 4 : 2) * kLanes;
    case SassKind::double_math:
      return (instruction.operation() == 0x02b ? 2 : 1) * kLanes;
    case SassKind::tensor:
      return matrix_flops(instruction);
    case SassKind::tensor_async:
      return group_matrix_flops(instruction);
    default:
      return 0;
  }
}

/// Bytes per lane by the size field of loads and stores: 8 and 16 bits signed and unsigned, then 32, 64, 128
/// bits.
int access_bytes(std::uint64_t high) {
  constexpr int kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
  return kBytes[high >> 9 & 7];
}

/// Each lane gets one, two or four words of fragments of as many 8x8 matrices.
int fragment_bytes(std::uint64_t high) { return 4 << (high >> 8 & 3); }

int bytes_of(const SassInstruction& instruction) {
  const bool fragments = instruction.operation() == 0x03b || instruction.operation() == 0x044;
  return fragments ? fragment_bytes(instruction.high) : access_bytes(instruction.high);
}

/// 4, 8 or 16 bytes per lane.
int copy_bytes(std::uint64_t high) { return 4 << (high >> 10 & 3); }

std::int64_t sign_extended(std::uint64_t value, int bits) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return static_cast<std::int64_t>((value ^ sign) - sign);
}

/// Bytes from the end of a branch to its target: bits 34 to 81 in words of four bytes.
std::int64_t branch_distance(std::uint64_t low, std::uint64_t high, int architecture) {
  std::uint64_t words = low >> 34 | (high & 0x3ffff) << 30;
  int bits = 48;
  if (architecture >= kFirstArchitectureWithSplitTarget) {
    words = words << 8 | (low >> 16 & 0xff);
    bits += 8;
  }
  return sign_extended(words, bits) * 4;
}

SassInstruction decode_one(std::string_view code, std::uint64_t offset, int architecture) {
  SassInstruction out;
  out.low = read_scalar<std::uint64_t>(code, offset);
  out.high = read_scalar<std::uint64_t>(code, offset + 8);
  const auto guard = static_cast<std::uint32_t>(out.low >> 12 & 0xf);
  out.kind = guard == kGuardNever ? SassKind::nothing : true_kind(out, architecture);
  out.conditional = guard != kGuardAlways;
  out.flops = flops_of(out);
  out.element_bits = element_bits_of(out);
  out.bytes = bytes_of(out);
  if (out.kind == SassKind::async_copy && architecture >= kFirstArchitectureWithCopySize) {
    out.bytes = copy_bytes(out.high);
  }
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
  for (std::uint64_t offset = 0; offset + kInstructionBytes <= code.size(); offset += kInstructionBytes) {
    out.push_back(decode_one(code, offset, architecture));
  }
  return out;
}

}  // namespace tiletune
