#pragma once

#include <string>

#include "compile/binary.h"
#include "inspect/gpu_model.h"
#include "inspect/occupancy.h"
#include "inspect/resources.h"
#include "space/instance.h"

namespace tiletune {

/// What a launch would take by a static model, and which term bounds it. Nothing is timed.
struct Prediction {
  double time_us = 0;
  /// "fp32 issue", "shared memory", "L1 traffic", "L2 traffic", "DRAM traffic", "latency"
  std::string bound_by;
  double ffma_share = 0;  ///< of the hottest loop's issue slots
  double waves = 0;       ///< grid / (blocks per SM * SMs)
};

/// The model, for one turn of the hottest loop (see hot_loop.h), in clocks of one multiprocessor (SM), for
/// one thread block:
///
///   issue   = warps x instructions / 4; each of the four schedulers issues one per clock
///   fp32    = warps x multiply-adds x 32 / FP32 lanes of the GPU model
///   shared  = warps x wavefronts of LDS and STS; 32 banks of 4 B per clock (CUDA C++ Programming Guide)
///   L1      = warps x the larger of 128-byte lines and 32-byte sectors / 2 touched, of each global load
///   L2      = warps x sectors loaded; one of 32 B per clock. A kernel that does not stage in shared memory
///             finds what its block loaded in L1: / sqrt(threads)
///   t       = the largest of these
///   latency = 600 for a load from global memory, less what the block issues until its use, + 30 for shared
///             memory + 30 per barrier
///   alone   = latency + the sum of the instructions' stall counts; with barriers in the loop at least t
///   turn(b) = max(b x t, alone): b blocks on one SM hide each other's latency
///
/// Turns per block = flops of the launch / blocks / flops of one turn. The busiest SM runs ceil(grid / SMs)
/// blocks, as many at a time as the occupancy allows, the rest in a last round: the quantisation into waves.
/// The time is the largest of that, compulsory bytes / DRAM bandwidth, and 2.5 us for an empty launch.
///
/// Which lines, sectors and banks a warp touches is computed from its code (see lanes.h); where that fails,
/// accesses count as coalesced and free of conflicts. The clock is the boost clock. The latencies and the L1
/// and L2 rates are round figures near those that microbenchmarks of Volta to Hopper find: good for ranking,
/// not for the third digit.
Prediction predict(const GpuModel& gpu, const Workload& workload, const Instance& instance,
                   const Binary& binary, const Resources& resources, const Occupancy& occupancy);

}  // namespace tiletune
