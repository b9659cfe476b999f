#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/fields.h"
#include "compile/binary.h"
#include "inspect/gpu_model.h"
#include "inspect/occupancy.h"
#include "inspect/scheduler.h"
#include "space/instance.h"

namespace tiletune {

/// The numbers of the static model that no datasheet has: fitted to recorded times, then used for every GPU.
/// As constructed it is physics alone.
struct StaticModel {
  PipelineRates pipeline;
  double launch_us = 2;       ///< of a kernel that does nothing
  double loop_scale = 1;      ///< clocks that the hot loop takes, per clock of the simulated one
  double outside_scale = 1;   ///< clocks of the code outside the loop, per instruction issued
  double byte_clocks = 0;     ///< clocks outside the loop, per byte of global memory moved there
  double meeting_us = 0;      ///< of blocks that meet in device memory
  double cluster_us = 0;      ///< of blocks that meet in a cluster
  double unhidden_share = 0;  ///< of the shorter of computing and device memory's time

  std::string calibrated_on;    ///< "NVIDIA H200"; empty: not calibrated
  std::string calibrated_date;  ///< "2026-11-21"

  /// The numbers of a launch.
  static constexpr auto fields() {
    using M = StaticModel;
    constexpr Bounds<double> kNotNegative{.min = 0, .max = 1e6};
    return list_of(field("launch_us", &M::launch_us, kNotNegative),
                   field("loop_scale", &M::loop_scale, {.min = 0, .max = 1e6, .above = true}),
                   field("outside_scale", &M::outside_scale, kNotNegative),
                   field("byte_clocks", &M::byte_clocks, kNotNegative),
                   field("meeting_us", &M::meeting_us, kNotNegative),
                   field("cluster_us", &M::cluster_us, kNotNegative),
                   field("unhidden_share", &M::unhidden_share, kNotNegative));
  }

  /// "calibrated on NVIDIA H200, 2026-11-21", or "not calibrated".
  std::string provenance() const;
  /// All numbers, for the keys of rows.
  std::string identity() const;
};

/// configs/model/static_model.json. Throws UserError with file and pointer for a bad one.
StaticModel load_static_model(const std::filesystem::path& file);

/// What a launch consists of, as far as the machine code tells. Clocks are of the busiest multiprocessor.
struct LaunchTerms {
  double turns = 1;           ///< of the hot loop, in a block
  double loop_clocks = 0;     ///< all turns of the hot loop, by the simulated scheduler
  double tensor_clocks = 0;   ///< that the tensor cores need for them at least
  double outside_clocks = 0;  ///< to issue the instructions outside the hot loop once per block
  double outside_bytes = 0;   ///< of global memory that these move
  double dram_us = 0;         ///< compulsory traffic at the peak bandwidth
  double meetings = 0;        ///< 1: blocks meet in a workspace
  double clusters = 0;        ///< 1: blocks meet in a cluster

  static constexpr auto fields() {
    using T = LaunchTerms;
    return fields_of<&T::turns, &T::loop_clocks, &T::tensor_clocks, &T::outside_clocks, &T::outside_bytes,
                     &T::dram_us, &T::meetings, &T::clusters>();
  }
};

/// What a configuration would take by a static model, and which term bounds it. Nothing is timed. Of several
/// launches, all but the time is of the longest.
struct Prediction {
  double time_us = 0;
  /// "fp32 issue", "tensor cores", "shared memory", "L1 traffic", "L2 traffic", "DRAM traffic", "latency"
  std::string bound_by;
  double waves = 0;  ///< grid / (blocks per SM * SMs)
  LaunchTerms terms;
};

/// launch_us + the longer of computing and dram_us + unhidden_share x the shorter, where computing is
///
///   loop_scale x loop_clocks + outside_scale x outside_clocks + byte_clocks x outside_bytes
///
/// but at least tensor_clocks, and meeting_us x meetings + cluster_us x clusters on top.
double launch_us(const LaunchTerms& terms, const StaticModel& model, double clock_mhz);

/// The model, of all launches in turn; an equal part of the workload is each one's. The hottest loop
/// (kernel_code.h) is read from the machine code and run through a simulated scheduler (scheduler.h): stall
/// counts, scoreboards and barriers as the compiler set them, against the rates of the GPU model's units.
/// Wavefronts of shared memory and sectors of global memory are those that the addresses of a warp's lanes
/// make (lanes.h). That gives the clocks of a turn for as many blocks as the occupancy allows, and for those
/// of a last round that is not full.
///
/// Turns of a block = flops of the launch, tiles that stick out counted in full, / blocks / flops of one
/// turn; this holds for loops over tiles and for blocks that share a sum as well. The busiest multiprocessor
/// runs ceil(grid / multiprocessors) blocks: the quantisation into waves. The clock is the boost clock.
Prediction predict(const GpuModel& gpu, const StaticModel& model, const Workload& workload,
                   const Instance& instance, const Binary& binary, const std::vector<Occupancy>& occupancies);

}  // namespace tiletune
