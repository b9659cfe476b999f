#pragma once

#include <vector>

#include "inspect/gpu_model.h"
#include "inspect/hot_loop.h"
#include "inspect/lanes.h"
#include "inspect/scheduler.h"

namespace tiletune {

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

}  // namespace tiletune
