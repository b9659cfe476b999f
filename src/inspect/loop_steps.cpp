#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "inspect/gpu_model.h"
#include "inspect/kernel_code.h"
#include "inspect/lanes.h"
#include "inspect/scheduler.h"

namespace tiletune {
namespace {

constexpr double kWavefrontBytes = 128;
constexpr double kL1BytesPerClock = 64;
constexpr int kLineBytes = 128, kSectorBytes = 32;

Pipe pipe_of(const GpuModel& gpu, const SassInstruction& instruction) {
  constexpr std::uint32_t kFirstUniform = 0x080, kFirstLong = 0x0c0;
  constexpr std::uint32_t kFirstImad = 0x024, kLastImad = 0x027;
  constexpr std::uint32_t kFirstSpecial = 0x104, kLastSpecial = 0x108;
  const std::uint32_t operation = instruction.operation();
  switch (instruction.kind) {
    case SassKind::fma:
    case SassKind::fma_pair:
    case SassKind::add_or_multiply:
      return gpu.fp32_lanes_per_multiprocessor > 64 ? Pipe::fma : Pipe::fma_heavy;
    case SassKind::half_math:
      return Pipe::fma;
    case SassKind::double_math:
      return Pipe::double_precision;
    case SassKind::tensor:
    case SassKind::tensor_async:
      return Pipe::tensor;
    default:
      break;
  }
  if (operation >= kFirstUniform && operation < kFirstLong) return Pipe::uniform;
  if (operation >= kFirstImad && operation <= kLastImad) return Pipe::fma_heavy;
  if (operation >= kFirstSpecial && operation <= kLastSpecial) return Pipe::special;
  if (operation < kFirstUniform) return Pipe::alu;
  using enum SassKind;
  const bool is_access = instruction.is_one_of({shared_load, shared_store, shared_atomic, global_load,
                                                global_store, global_reduction, async_copy, bulk_load,
                                                bulk_store, mbarrier, local_load, local_store});
  return is_access ? Pipe::memory : Pipe::control;
}

/// The clocks of a whole warp's work on a quarter of the multiprocessor. Twice as many elements of half as
/// many bits are multiplied per clock; double precision has a sixteenth of the 16-bit rate (A100 and H100
/// whitepapers). What mma.sync reaches beside the instructions of whole warpgroups: Luo et al., "Benchmarking
/// and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking and Multiple Level Analysis",
/// 2024.
double tensor_clocks(const GpuModel& gpu, const SassInstruction& instruction) {
  constexpr double kHalfBits = 16, kDoubleShare = 1.0 / 16, kSharePerWarp = 0.63;
  const double bits = instruction.element_bits;
  const double per_half = bits == 64 ? kDoubleShare : kHalfBits / bits;
  const bool has_warpgroups = gpu.compute_major == 9 || gpu.compute_major == 10;
  const double share = instruction.kind == SassKind::tensor && has_warpgroups ? kSharePerWarp : 1;
  return instruction.flops * kSchedulers / (gpu.tensor_flops_per_clock * per_half * share);
}

double shared_wavefronts(const LaneValues& addresses, int bytes) {
  if (!addresses.known()) return std::max(1.0, kLanes * bytes / kWavefrontBytes);
  return bank_wavefronts(addresses, bytes);
}

/// Step::bursts. On an H200 a load of 16 bytes in two wavefronts costs multiply-adds three clocks beside its
/// own issue, one in four wavefronts next to none; of 8 bytes in one, half a clock (tests/gpu/shared_loads).
double bursts(double wavefronts, int bytes) {
  const double registers = bytes / 4.0;
  return std::max(0.0, registers - wavefronts) * registers / 4;
}

void set_global(Step& step, const SassInstruction& instruction, const LaneValues& addresses,
                const PipelineRates& rates) {
  step.l2_bytes = kLanes * instruction.bytes;
  double lines = 1;
  if (addresses.known()) {
    step.l2_bytes = kSectorBytes * pieces_touched(addresses, instruction.bytes, kSectorBytes);
    lines = pieces_touched(addresses, instruction.bytes, kLineBytes);
  }
  step.memory_clocks += std::max(lines, step.l2_bytes / kL1BytesPerClock);
  step.latency = rates.l2_latency;
}

void set_memory(Step& step, const SassInstruction& instruction, const LaneTracker& lanes,
                const PipelineRates& rates) {
  const LaneValues& source = lanes.vector_register(instruction.low >> 24 & 0xff);
  switch (instruction.kind) {
    case SassKind::shared_load:
      step.bursts = bursts(shared_wavefronts(source, instruction.bytes), instruction.bytes);
      [[fallthrough]];
    case SassKind::shared_store:
    case SassKind::shared_atomic:
      step.memory_clocks = shared_wavefronts(source, instruction.bytes);
      step.latency = rates.shared_latency;
      break;
    case SassKind::async_copy:
      step.memory_clocks =
          shared_wavefronts(lanes.vector_register(instruction.low >> 16 & 0xff), instruction.bytes);
      [[fallthrough]];
    case SassKind::global_load:
      set_global(step, instruction, source, rates);
      break;
    case SassKind::local_load:
    case SassKind::local_store:
      step.memory_clocks = kLanes * instruction.bytes / kL1BytesPerClock;
      step.latency = rates.l1_latency;
      break;
    default:
      break;
  }
}

Step step_of(const GpuModel& gpu, const SassInstruction& instruction, const LaneTracker& lanes,
             const PipelineRates& rates) {
  Step step;
  step.pipe = pipe_of(gpu, instruction);
  step.pipe_clocks = step.pipe == Pipe::tensor    ? tensor_clocks(gpu, instruction)
                     : step.pipe == Pipe::special ? 8
                     : step.pipe == Pipe::control ? 1
                                                  : 2;  // 16 lanes
  step.stall = instruction.stall();
  step.write_scoreboard = instruction.write_scoreboard();
  step.read_scoreboard = instruction.read_scoreboard();
  step.wait_mask = instruction.wait_mask();
  step.latency = rates.other_latency;
  step.barrier = instruction.kind == SassKind::barrier;
  step.copy = instruction.kind == SassKind::async_copy;
  step.commit = instruction.kind == SassKind::async_commit;
  if (instruction.kind == SassKind::async_wait) {
    step.waited_scoreboard = instruction.waited_scoreboard();
    step.pending = instruction.pending;
  }
  set_memory(step, instruction, lanes, rates);
  return step;
}

using Operands = std::array<std::uint64_t, 3>;
constexpr std::uint64_t kNoRegister = 0xff;

Operands operands_of(const SassInstruction& instruction) {
  return {instruction.low >> 24 & 0xff, instruction.low >> 32 & 0xff, instruction.high & 0xff};
}

/// Each of the two banks of the register file delivers one operand per clock; even registers lie in one, odd
/// ones in the other. `kept` are in the reuse cache.
int bank_conflicts(const SassInstruction& instruction, const Operands& kept) {
  constexpr std::uint64_t kThreeRegisters = 1;
  if (instruction.kind != SassKind::fma || (instruction.low >> 9 & 7) != kThreeRegisters) return 0;
  const Operands operands = operands_of(instruction);
  std::array<int, 2> fetched{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != kNoRegister && operands[i] != kept[i]) ++fetched[operands[i] & 1];
  }
  return std::max({1, fetched[0], fetched[1]}) - 1;
}

constexpr Operands kNothingKept = {kNoRegister, kNoRegister, kNoRegister};

Operands kept_by(const SassInstruction& instruction) {
  Operands kept = kNothingKept;
  if (instruction.kind != SassKind::fma) return kept;
  const Operands operands = operands_of(instruction);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if ((instruction.reuse_mask() >> i & 1) != 0) kept[i] = operands[i];
  }
  return kept;
}

}  // namespace

LoopSteps loop_steps(const GpuModel& gpu, const std::vector<SassInstruction>& code, const HotLoop& loop,
                     LaneTracker lanes, double threads, const PipelineRates& rates) {
  using enum SassKind;
  std::map<std::size_t, Step> steps;
  std::size_t next = 0;
  bool staged = false;
  for (const WeightedInstruction& item : loop.instructions) {
    for (; next < item.index; ++next) lanes.step(code[next]);
    steps[item.index] = step_of(gpu, code[item.index], lanes, rates);
    staged = staged || code[item.index].is_one_of({shared_store, async_copy, bulk_load, mbarrier});
  }
  const double misses = staged ? 1 : 1 / std::sqrt(threads);
  LoopSteps out;
  Operands kept = kNothingKept;
  for (const std::size_t index : loop.trace) {
    const SassInstruction& instruction = code[index];
    Step step = steps[index];
    step.conflicts = bank_conflicts(instruction, kept);
    step.conflicts_alone = bank_conflicts(instruction, kNothingKept);
    kept = kept_by(instruction);
    if (step.l2_bytes > 0 && !staged) {
      step.l2_bytes *= misses;
      step.latency = rates.l1_latency + (rates.l2_latency - rates.l1_latency) * misses;
    }
    out.flops += instruction.flops;
    if (instruction.is_one_of({SassKind::fma, fma_pair, add_or_multiply}))
      out.fp32_lanes += instruction.kind == fma_pair ? 2 * kLanes : kLanes;
    if (step.pipe == Pipe::tensor) out.tensor_clocks += step.pipe_clocks;
    out.memory_clocks += step.memory_clocks;
    if (step.l2_bytes > 0) out.l1_clocks += step.memory_clocks;
    out.l2_bytes += step.l2_bytes;
    out.steps.push_back(step);
  }
  return out;
}

}  // namespace tiletune
