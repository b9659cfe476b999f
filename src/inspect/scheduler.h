#pragma once

#include <vector>

#include "base/fields.h"

namespace tiletune {

class LaneTracker;
struct GpuModel;
struct HotLoop;
struct SassInstruction;

/// Execution units of each of the four schedulers of a multiprocessor; memory is one for all. Multiply-adds
/// of 32 bits go to either half of their unit, integer ones to `fma_heavy` alone.
enum class Pipe { fma, fma_heavy, alu, uniform, special, double_precision, tensor, memory, control };
inline constexpr int kPipes = 9;
inline constexpr int kSchedulers = 4;  ///< of a multiprocessor
inline constexpr int kNoScoreboard = 7;

/// What the scheduler has to know of one instruction.
struct Step {
  Pipe pipe = Pipe::control;
  double pipe_clocks = 1;  ///< that the instruction occupies its pipe for
  int stall = 0;           ///< see SassInstruction
  int write_scoreboard = kNoScoreboard, read_scoreboard = kNoScoreboard, wait_mask = 0;
  int waited_scoreboard = kNoScoreboard;  ///< of a wait until no more than `pending` results are outstanding
  int pending = 0;
  double memory_clocks = 0;  ///< of the multiprocessor's shared memory and L1, which are one unit
  double l2_bytes = 0;
  double latency = 0;  ///< of the result, from the end of the unit's work on
  /// Clocks in which the register file's two banks deliver its operands, less one: with those that the
  /// warp's instruction before left in the reuse cache, and without, after another warp's instruction.
  int conflicts = 0, conflicts_alone = 0;
  /// What a load of shared memory brings in fewer wavefronts than it has registers: those that are written at
  /// once, times the quarters of 16 bytes that a lane reads.
  double bursts = 0;
  bool barrier = false;  ///< waits for the block's other warps
  bool copy = false;     ///< asynchronous, into shared memory
  bool commit = false;   ///< its result is that all copies so far have arrived
};

/// Rates and latencies of a multiprocessor, in its clocks.
struct PipelineRates {
  double shared_latency = 30;
  double l1_latency = 35;
  double l2_latency = 600;  ///< of data that lies partly in DRAM
  double other_latency = 20;
  double barrier_latency = 20;
  double operand_latency = 11;      ///< until the memory unit has read its operands
  double memory_queue = 19;         ///< clocks of work that may wait for shared memory and L1
  double l2_bytes_per_clock = 28;   ///< of one multiprocessor
  double bank_conflict_clocks = 1;  ///< lost at issue
  double burst_clocks = 0;          ///< lost at issue while a burst is written to the register file

  static constexpr auto fields() {
    using R = PipelineRates;
    constexpr Bounds<double> kPositive{.min = 0, .max = 1e6, .above = true};
    constexpr Bounds<double> kNotNegative{.min = 0, .max = 1e6};
    return list_of(field("shared_latency", &R::shared_latency, kPositive),
                   field("l1_latency", &R::l1_latency, kPositive),
                   field("l2_latency", &R::l2_latency, kPositive),
                   field("other_latency", &R::other_latency, kPositive),
                   field("barrier_latency", &R::barrier_latency, kNotNegative),
                   field("operand_latency", &R::operand_latency, kNotNegative),
                   field("memory_queue", &R::memory_queue, kNotNegative),
                   field("l2_bytes_per_clock", &R::l2_bytes_per_clock, kPositive),
                   field("bank_conflict_clocks", &R::bank_conflict_clocks, kNotNegative),
                   field("burst_clocks", &R::burst_clocks, kNotNegative));
  }
};

/// What one warp does in one turn of the hot loop.
struct LoopSteps {
  std::vector<Step> steps;  ///< as issued, inner loops written out
  double flops = 0;
  double fp32_lanes = 0;     ///< 32 per multiply-add of single precision
  double memory_clocks = 0;  ///< of the multiprocessor's shared memory and L1
  double l1_clocks = 0;      ///< the part of loads from global memory
  double l2_bytes = 0;
  double tensor_clocks = 0;  ///< of the tensor cores of a quarter of the multiprocessor
};

/// Which lines, sectors and banks a warp touches is computed from its code, which `lanes` must not have
/// stepped through yet; where that fails, accesses count as coalesced and free of conflicts. Loads that are
/// not staged in shared memory find what the block's `threads` loaded in L1: 1 / sqrt(threads) goes to L2.
LoopSteps loop_steps(const GpuModel& gpu, const std::vector<SassInstruction>& code, const HotLoop& loop,
                     LaneTracker lanes, double threads, const PipelineRates& rates);

/// The clocks that one turn of a loop takes a multiprocessor on which `blocks` blocks of `warps` warps run
/// it. Warps are dealt out to four schedulers. Each clock each scheduler issues one instruction: of the warp
/// that issued last if it can, else of the oldest that can. Stall counts, scoreboards, barriers and units
/// that are busy hold a warp back.
double clocks_per_turn(const std::vector<Step>& turn, int blocks, int warps, const PipelineRates& rates);

}  // namespace tiletune
