#include "inspect/predict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "inspect/attributes.h"
#include "inspect/hot_loop.h"
#include "inspect/lanes.h"

namespace tiletune {
namespace {

constexpr double kSchedulers = 4;
constexpr double kWavefrontBytes = 128;
constexpr double kL1BytesPerClock = 64;
constexpr double kL2BytesPerClock = 32;
constexpr int kLineBytes = 128, kSectorBytes = 32;
constexpr double kGlobalLatency = 600;
constexpr double kSharedLatency = 30;
constexpr double kBarrierLatency = 30;
constexpr double kLaunchSeconds = 2.5e-6;

/// What one warp does in one turn of the hot loop.
struct Turn {
  double slots = 0, fma_slots = 0, fp32_lanes = 0, flops = 0, stalls = 0;
  double shared_wavefronts = 0, l1_clocks = 0, global_bytes = 0;
  double barriers = 0, shared_loads = 0;
  bool stages = false;         ///< loads from global memory go to shared memory
  double slots_until_use = 0;  ///< that the warp issues between a load from global memory and its use
};

void add_global(Turn& turn, const SassInstruction& instruction, const LaneValues& addresses, double weight) {
  double bytes = 32.0 * instruction.bytes;
  double lines = 1;
  if (addresses.known()) {
    bytes = kSectorBytes * pieces_touched(addresses, instruction.bytes, kSectorBytes);
    lines = pieces_touched(addresses, instruction.bytes, kLineBytes);
  }
  turn.l1_clocks += weight * std::max(lines, bytes / kL1BytesPerClock);
  turn.global_bytes += weight * bytes;
}

void add_shared(Turn& turn, const SassInstruction& instruction, const LaneValues& addresses, double weight) {
  const double least = std::max(1.0, 32 * instruction.bytes / kWavefrontBytes);
  turn.shared_wavefronts +=
      weight * (addresses.known() ? std::max(least, bank_wavefronts(addresses, instruction.bytes)) : least);
}

void add_math(Turn& turn, double fp32_per_lane, double flops_per_lane, double weight) {
  turn.fp32_lanes += 32 * fp32_per_lane * weight;
  turn.flops += 32 * flops_per_lane * weight;
}

/// `address` is of the register that bits 24 to 31 name, `target` of the one that bits 16 to 23 name.
void add(Turn& turn, const SassInstruction& instruction, const LaneValues& address, const LaneValues& target,
         double weight) {
  turn.slots += weight;
  turn.stalls += weight * instruction.stall;
  switch (instruction.kind) {
    case SassKind::fma:
      turn.fma_slots += weight;
      add_math(turn, 1, 2, weight);
      break;
    case SassKind::fma_pair:
      turn.fma_slots += weight;
      add_math(turn, 2, 4, weight);
      break;
    case SassKind::add_or_multiply:
      add_math(turn, 1, 1, weight);
      break;
    case SassKind::shared_load:
      turn.shared_loads += weight;
      add_shared(turn, instruction, address, weight);
      break;
    case SassKind::shared_store:
      turn.stages = true;
      add_shared(turn, instruction, address, weight);
      break;
    case SassKind::async_copy:
      turn.stages = true;
      add_shared(turn, instruction, target, weight);
      add_global(turn, instruction, address, weight);
      break;
    case SassKind::global_load:
      add_global(turn, instruction, address, weight);
      break;
    case SassKind::local_access:
      turn.l1_clocks += weight * 32 * instruction.bytes / kL1BytesPerClock;
      break;
    case SassKind::barrier:
      turn.barriers += weight;
      break;
    default:
      break;
  }
}

struct ArgumentLayout {
  std::uint32_t bytes;
  std::uint32_t alignment;
};

ArgumentLayout layout_of(const ArgumentValue& argument) {
  if (argument.kind == Argument::Kind::tensor_map) return {128, 64};
  const bool scalar = argument.kind == Argument::Kind::scalar;
  const bool wide = !scalar || argument.type == ScalarType::i64 || argument.type == ScalarType::f64;
  return wide ? ArgumentLayout{8, 8} : ArgumentLayout{4, 4};
}

/// The words of constant bank 0 that hold the kernel's scalar arguments, each at its natural alignment. The
/// attribute with the size and place of the arguments says where they begin.
std::map<std::uint32_t, std::int64_t> argument_words(const CubinElf& elf, const std::string& kernel,
                                                     const Instance& instance) {
  constexpr std::uint8_t kArgumentBank = 0x0a;
  std::optional<std::uint32_t> begin;
  if (const ElfSection* info = elf.section(".nv.info." + kernel)) {
    for_each_attribute(info->bytes, [&](const Attribute& attribute) {
      if (attribute.id == kArgumentBank) begin = read_scalar<std::uint32_t>(attribute.bytes, 4) & 0xffff;
    });
  }
  std::map<std::uint32_t, std::int64_t> words;
  std::uint32_t offset = 0;
  for (const ArgumentValue& argument : instance.arguments) {
    const bool scalar = argument.kind == Argument::Kind::scalar;
    const auto [bytes, alignment] = layout_of(argument);
    offset = (offset + alignment - 1) / alignment * alignment;
    const auto* integer = std::get_if<std::int64_t>(&argument.value);
    if (begin && scalar && integer != nullptr) words[*begin + offset] = static_cast<std::int32_t>(*integer);
    offset += bytes;
  }
  return words;
}

/// Where a load from global memory is waited for: its copy to shared memory, the wait for asynchronous
/// copies, or the arithmetic itself.
bool uses_load(const SassInstruction& instruction, const Turn& turn, bool async) {
  if (async) return instruction.kind == SassKind::async_wait;
  if (turn.stages) return instruction.kind == SassKind::shared_store;
  return instruction.kind == SassKind::fma || instruction.kind == SassKind::fma_pair ||
         instruction.kind == SassKind::add_or_multiply;
}

/// Slots that the warp issues between its last load of a turn and the use of it, which may lie in the next
/// turn. Pipelines that keep groups of copies pending hide the latency altogether.
double slots_until_use(const std::vector<SassInstruction>& code, const HotLoop& loop, const Turn& turn) {
  const auto& list = loop.instructions;
  const auto is_load = [&](const WeightedInstruction& item) {
    return code[item.index].kind == SassKind::global_load || code[item.index].kind == SassKind::async_copy;
  };
  const auto last = std::find_if(list.rbegin(), list.rend(), is_load);
  if (last == list.rend()) return 0;
  const bool async = code[last->index].kind == SassKind::async_copy;
  double slots = 0;
  const auto position = static_cast<std::size_t>(list.rend() - last);
  for (std::size_t step = 0; step < list.size(); ++step) {
    const WeightedInstruction& item = list[(position + step) % list.size()];
    if (uses_load(code[item.index], turn, async)) {
      return async && code[item.index].pending > 0 ? kGlobalLatency : slots;
    }
    slots += item.weight;
  }
  return slots;
}

Turn turn_of(const Binary& binary, const Instance& instance) {
  const CubinElf elf(binary.cubin);
  const ElfSection* section = elf.section(".text." + binary.kernel_symbol);
  if (section == nullptr) throw_bad_cubin("it has no kernel " + binary.kernel_symbol);
  const std::vector<SassInstruction> code = decode_sass(section->bytes, elf.architecture());
  const HotLoop loop = find_hot_loop(code);
  LaneTracker lanes(instance.block, argument_words(elf, binary.kernel_symbol, instance));
  Turn turn;
  std::size_t next = 0;
  for (const WeightedInstruction& item : loop.instructions) {
    for (; next < item.index; ++next) lanes.step(code[next]);
    const std::uint64_t bits = code[item.index].low;
    add(turn, code[item.index], lanes.vector_register(bits >> 24 & 0xff),
        lanes.vector_register(bits >> 16 & 0xff), item.weight);
  }
  turn.slots_until_use = slots_until_use(code, loop, turn);
  return turn;
}

struct Term {
  double clocks = 0;
  const char* name = "";
};

/// The busiest part of a multiprocessor, for one block and turn.
Term throughput(const GpuModel& gpu, const Turn& turn, double warps, double threads) {
  const double l1_reuse = turn.stages ? 1 : std::sqrt(threads);
  const Term terms[] = {
      {warps * turn.slots / kSchedulers, "fp32 issue"},
      {warps * turn.fp32_lanes / gpu.fp32_lanes_per_multiprocessor, "fp32 issue"},
      {warps * turn.shared_wavefronts, "shared memory"},
      {warps * turn.l1_clocks, "L1 traffic"},
      {warps * turn.global_bytes / l1_reuse / kL2BytesPerClock, "L2 traffic"},
  };
  return *std::max_element(std::begin(terms), std::end(terms),
                           [](const Term& left, const Term& right) { return left.clocks < right.clocks; });
}

double latency_of(const Turn& turn, double warps) {
  double latency = kBarrierLatency * turn.barriers;
  if (turn.shared_loads > 0) latency += kSharedLatency;
  if (turn.global_bytes > 0) {
    const double others = turn.barriers > 0 ? std::ceil(warps / kSchedulers) : 1;
    latency += std::max(0.0, kGlobalLatency - turn.slots_until_use * others);
  }
  return latency;
}

/// Clocks of one turn of `blocks` blocks that run on one multiprocessor together.
Term turn_clocks(const Term& busiest, const Turn& turn, double warps, double blocks) {
  const double own = turn.barriers > 0 ? std::max(busiest.clocks, turn.stalls) : turn.stalls;
  const double alone = own + latency_of(turn, warps);
  if (alone > blocks * busiest.clocks) return {alone, "latency"};
  return {blocks * busiest.clocks, busiest.name};
}

}  // namespace

Prediction predict(const GpuModel& gpu, const Workload& workload, const Instance& instance,
                   const Binary& binary, const Resources& /*resources*/, const Occupancy& occupancy) {
  const Turn turn = turn_of(binary, instance);
  const auto grid = static_cast<double>(instance.grid.count());
  const double warps = occupancy.warps_per_block;
  const double resident = std::max(1, occupancy.blocks_per_multiprocessor);
  const double on_busiest = std::ceil(grid / gpu.multiprocessors);

  const double flops_per_turn = turn.flops * warps;
  const double turns = flops_per_turn > 0 ? std::max(1.0, workload.flops / grid / flops_per_turn) : 1;
  const Term busiest = throughput(gpu, turn, warps, static_cast<double>(instance.block.count()));
  const double full_rounds = std::floor(on_busiest / resident);
  const double left_over = on_busiest - full_rounds * resident;
  const Term full = turn_clocks(busiest, turn, warps, resident);
  const Term last = turn_clocks(busiest, turn, warps, left_over);
  const double clocks = turns * (full_rounds * full.clocks + (left_over > 0 ? last.clocks : 0));

  const std::array<std::pair<double, const char*>, 3> times = {{
      {clocks / (gpu.boost_clock_mhz * 1e6), full_rounds > 0 ? full.name : last.name},
      {workload.bytes / (gpu.memory_bandwidth_gbs * 1e9), "DRAM traffic"},
      {kLaunchSeconds, "latency"},
  }};
  const auto longest = std::max_element(times.begin(), times.end());
  Prediction out;
  out.time_us = longest->first * 1e6;
  out.bound_by = longest->second;
  out.ffma_share = turn.slots > 0 ? turn.fma_slots / turn.slots : 0;
  out.waves = grid / (resident * gpu.multiprocessors);
  return out;
}

}  // namespace tiletune
