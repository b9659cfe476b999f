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
  std::string
      bound_by;  ///< "fp32 issue", "shared memory", "L1 traffic", "L2 traffic", "DRAM traffic", "latency"
  double ffma_share = 0;  ///< of the hottest loop's issue slots
  double waves = 0;       ///< grid / (blocks per SM * SMs)
};

/// The model, for one turn of the hottest loop (see hot_loop.h), in clocks of one multiprocessor (SM) and for
/// one block:
///
///   issue    warps x instructions / 4                      four schedulers issue one instruction per clock
///   each fp32     warps x multiply-adds x 32 / lanes            lanes of the GPU model shared   warps x
///   wavefronts of LDS and STS             32 banks of 4 B per clock (CUDA C++ Programming Guide); a
///                                                          wavefront is 128 B, more when banks conflict
///   L1       warps x wavefronts of loads from global memory x 2   64 B per clock; one per 128-byte line
///   touched L2       32 x warps x bytes loaded / 32                one 32-byte sector per clock and SM; a
///   kernel that does not
///                                                          stage in shared memory reuses lines in L1: /
///                                                          sqrt(threads)
///   t      = the largest of these
///   alone  = max(t, stalls) + latency                      of a block whose loop has barriers; without:
///   stalls + latency.
///            stalls: the sum of the instructions' stall counts. latency: 600 for a load from global memory
///            less what the block issues between the load and its use, 30 for shared memory, 30 per barrier
///   turn(b) = max(b t, alone)                              b blocks on one SM hide each other's latency
///
/// Turns per block = flops of the launch / blocks / flops of one turn. The busiest SM runs ceil(grid / SMs)
/// blocks, b of them (the occupancy) at a time, the rest in a last round: this is the quantisation into
/// waves. The time is the largest of that, compulsory bytes / DRAM bandwidth, and 2.5 us for an empty launch.
///
/// The clock is the boost clock. The latencies and the L1 and L2 rates are round figures near what
/// microbenchmarks of Volta to Hopper publish: good for ranking, not for the third digit.
Prediction predict(const GpuModel& gpu, const Workload& workload, const Instance& instance,
                   const Binary& binary, const Resources& resources, const Occupancy& occupancy);

}  // namespace tiletune
