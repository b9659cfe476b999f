#include "inspect/sass.h"

#include "inspect/elf.h"

namespace tiletune {
namespace {

constexpr std::uint64_t kInstructionBytes = 16;
constexpr std::uint32_t kGuardAlways = 7, kGuardNever = 15;

/// From this architecture on eight more bits of a branch's distance stand beside the opcode.
constexpr int kFirstArchitectureWithSplitTarget = 90;
/// From this one on asynchronous copies have a size field of their own.
constexpr int kFirstArchitectureWithCopySize = 100;

/// By the low nine bits of the opcode; the three above them say where the operands come from.
SassKind kind_of(std::uint32_t opcode) {
  switch (opcode & 0x1ff) {
    case 0x023:
      return SassKind::fma;
    case 0x049:
      return SassKind::fma_pair;
    case 0x020:
    case 0x021:
      return SassKind::add_or_multiply;
    case 0x184:
      return SassKind::shared_load;
    case 0x188:
      return SassKind::shared_store;
    case 0x181:
      return SassKind::global_load;
    case 0x186:
      return SassKind::global_store;
    case 0x1ae:
      return SassKind::async_copy;
    case 0x11a:
      return SassKind::async_wait;
    case 0x183:
    case 0x187:
      return SassKind::local_access;
    case 0x11d:
      return SassKind::barrier;
    case 0x147:
      return SassKind::branch;
    case 0x14d:
      return SassKind::exit;
    case 0x118:
      return SassKind::nothing;
    default:
      return SassKind::other;
  }
}

/// Bytes per lane by the size field of loads and stores: 8 and 16 bits signed and unsigned, then 32, 64, 128
/// bits.
int access_bytes(std::uint64_t high) {
  constexpr int kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
  return kBytes[high >> 9 & 7];
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
  out.kind = guard == kGuardNever ? SassKind::nothing : kind_of(out.opcode());
  out.conditional = guard != kGuardAlways;
  out.stall = static_cast<int>(out.high >> 41 & 0xf);
  out.bytes = access_bytes(out.high);
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
