#include "inspect/scheduler.h"

#include <algorithm>
#include <map>

#include "inspect/gpu_model.h"
#include "inspect/kernel_code.h"
#include "inspect/lanes.h"

namespace tiletune {

namespace {

constexpr std::size_t kScoreboards = 6;

/// Outstanding results of one scoreboard, by the time at which they arrive.
class Scoreboard {
 public:
  void hold(double until) { until_.push_back(until); }

  /// When no more than `pending` are outstanding; they arrive in order.
  double free_at(std::size_t pending) const {
    double latest = 0;
    for (std::size_t i = 0; i + pending < until_.size(); ++i) latest = std::max(latest, until_[i]);
    return latest;
  }

  void forget_before(double time) {
    until_.erase(std::remove_if(until_.begin(), until_.end(), [&](double until) { return until <= time; }),
                 until_.end());
  }

 private:
  std::vector<double> until_;
};

struct Warp {
  std::size_t step = 0;
  double ready = 0;    ///< by stall counts, barriers and scoreboards
  double copied = 0;   ///< when its asynchronous copies so far have arrived
  bool waits = false;  ///< at a barrier
  std::array<Scoreboard, kScoreboards> scoreboards;

  Scoreboard* scoreboard(int number) {
    const auto index = static_cast<std::size_t>(number);
    return index < kScoreboards ? &scoreboards[index] : nullptr;
  }
};

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Scheduler {
  std::array<double, kPipes> pipes{};  ///< until when they are busy
  double slot = 0;                     ///< when it may issue again
  std::size_t last = 0;                ///< warp that issued
  std::size_t next = 0;                ///< warp that will issue next, and when at the earliest
  double next_at = 0;

  double& pipe(Pipe which) { return pipes[static_cast<std::size_t>(which)]; }
  double pipe_free(Pipe which) {
    return which == Pipe::fma ? std::min(pipe(Pipe::fma), pipe(Pipe::fma_heavy)) : pipe(which);
  }
  void occupy(const Step& step, double time) {
    const bool other_half = step.pipe == Pipe::fma && pipe(Pipe::fma) > time && pipe(Pipe::fma_heavy) <= time;
    pipe(other_half ? Pipe::fma_heavy : step.pipe) = time + step.pipe_clocks;
  }
};

class Multiprocessor {
 public:
  Multiprocessor(const std::vector<Step>& turn, int blocks, int warps, const PipelineRates& rates)
      : turn_(turn),
        group_(static_cast<std::size_t>(warps)),
        rates_(rates),
        warps_(static_cast<std::size_t>(blocks) * group_) {}

  /// Runs until all warps together have done as many turns as each would do `turns`.
  double clocks_per_turn(std::size_t turns) {
    const std::size_t filling = turns / 3 * warps_.size(), all = turns * warps_.size();
    double filled = 0;
    for (Scheduler& scheduler : schedulers_) plan(scheduler);
    while (turns_done_ < all) {
      Scheduler& scheduler = earliest();
      if (scheduler.next_at == kNever) break;  // all wait at barriers that nobody reaches
      const std::size_t before = turns_done_;
      issue(scheduler);
      if (before < filling && turns_done_ >= filling) filled = time_;
    }
    return (time_ - filled) * static_cast<double>(warps_.size()) / static_cast<double>(all - filling);
  }

 private:
  double can_issue_at(Scheduler& scheduler, const Warp& warp) const {
    const Step& step = turn_[warp.step];
    const double queue = step.memory_clocks > 0 ? memory_ - rates_.memory_queue : 0;
    return std::max({scheduler.slot, warp.ready, scheduler.pipe_free(step.pipe), queue});
  }

  /// Which warp issues next: the first to be able to; of several the one that issued last, else the oldest.
  void plan(Scheduler& scheduler) {
    const auto index = static_cast<std::size_t>(&scheduler - schedulers_.data());
    scheduler.next_at = kNever;
    for (std::size_t i = index; i < warps_.size(); i += kSchedulers) {
      if (warps_[i].waits) continue;
      const double at = can_issue_at(scheduler, warps_[i]);
      if (at < scheduler.next_at || (at == scheduler.next_at && i == scheduler.last)) {
        scheduler.next_at = at;
        scheduler.next = i;
      }
    }
  }

  /// The plans are made again when the memory's queue has grown since.
  Scheduler& earliest() {
    for (;;) {
      Scheduler& first =
          *std::min_element(schedulers_.begin(), schedulers_.end(),
                            [](const Scheduler& a, const Scheduler& b) { return a.next_at < b.next_at; });
      if (first.next_at == kNever) return first;
      const double planned = first.next_at;
      plan(first);
      if (first.next_at <= planned) return first;
    }
  }

  double result_of(const Step& step) {
    double done = time_;
    if (step.memory_clocks > 0) {
      memory_ = std::max(memory_, time_) + step.memory_clocks;
      done = memory_;
    }
    if (step.l2_bytes > 0) {
      l2_ = std::max(l2_, done) + step.l2_bytes / rates_.l2_bytes_per_clock;
      done = l2_;
    }
    return done + step.latency;
  }

  void issue(Scheduler& scheduler) {
    Warp& warp = warps_[scheduler.next];
    const Step& step = turn_[warp.step];
    time_ = scheduler.next_at;
    scheduler.occupy(step, time_);
    const int conflicts = scheduler.last == scheduler.next ? step.conflicts : step.conflicts_alone;
    scheduler.slot = time_ + 1 + rates_.bank_conflict_clocks * conflicts + rates_.burst_clocks * step.bursts;
    scheduler.last = scheduler.next;
    warp.ready = time_ + std::max(1, step.stall);
    const double result = result_of(step);
    if (step.copy) warp.copied = std::max(warp.copied, result);
    if (Scoreboard* written = warp.scoreboard(step.write_scoreboard))
      written->hold(step.commit ? std::max(warp.copied, result) : result);
    if (Scoreboard* read = warp.scoreboard(step.read_scoreboard))
      read->hold((step.memory_clocks > 0 ? memory_ : time_) + rates_.operand_latency);
    advance(warp);
    if (step.barrier) arrive(warp);
    plan(scheduler);
  }

  void advance(Warp& warp) {
    if (++warp.step == turn_.size()) {
      warp.step = 0;
      ++turns_done_;
    }
    const Step& next = turn_[warp.step];
    for (std::size_t i = 0; i < kScoreboards; ++i) {
      if ((next.wait_mask >> i & 1) == 0) continue;
      warp.scoreboards[i].forget_before(time_);
      warp.ready = std::max(warp.ready, warp.scoreboards[i].free_at(0));
    }
    if (Scoreboard* waited = warp.scoreboard(next.waited_scoreboard)) {
      waited->forget_before(time_);
      warp.ready = std::max(warp.ready, waited->free_at(static_cast<std::size_t>(next.pending)));
    }
  }

  /// The last of a block to arrive lets all of them go on.
  void arrive(Warp& warp) {
    warp.waits = true;
    const std::size_t begin = static_cast<std::size_t>(&warp - warps_.data()) / group_ * group_;
    for (std::size_t i = begin; i < begin + group_; ++i)
      if (!warps_[i].waits) return;
    for (std::size_t i = begin; i < begin + group_; ++i) {
      warps_[i].waits = false;
      warps_[i].ready = std::max(warps_[i].ready, time_ + rates_.barrier_latency);
    }
    for (Scheduler& scheduler : schedulers_) plan(scheduler);
  }

  const std::vector<Step>& turn_;
  std::size_t group_;
  const PipelineRates& rates_;
  std::vector<Warp> warps_;
  std::array<Scheduler, kSchedulers> schedulers_;
  std::size_t turns_done_ = 0;
  double time_ = 0, memory_ = 0, l2_ = 0;
};

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
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i] != kNoRegister && operands[i] != kept[i]) ++fetched[operands[i] & 1];
  return std::max({1, fetched[0], fetched[1]}) - 1;
}

constexpr Operands kNothingKept = {kNoRegister, kNoRegister, kNoRegister};

Operands kept_by(const SassInstruction& instruction) {
  Operands kept = kNothingKept;
  if (instruction.kind != SassKind::fma) return kept;
  const Operands operands = operands_of(instruction);
  for (std::size_t i = 0; i < kept.size(); ++i)
    if ((instruction.reuse_mask() >> i & 1) != 0) kept[i] = operands[i];
  return kept;
}

}  // namespace

double clocks_per_turn(const std::vector<Step>& turn, int blocks, int warps, const PipelineRates& rates) {
  if (turn.empty() || blocks < 1 || warps < 1) return 0;
  constexpr std::size_t kSteps = 4000, kFewest = 6, kMost = 48;
  const std::size_t turns = std::clamp(kSteps / turn.size(), kFewest, kMost);
  return Multiprocessor(turn, blocks, warps, rates).clocks_per_turn(turns);
}

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
