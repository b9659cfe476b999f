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
  std::string bound_by;   ///< "fp32 issue", "shared memory", "L2 traffic", "DRAM traffic", "latency"
  double ffma_share = 0;  ///< of the hottest loop's issue slots
  double waves = 0;       ///< grid / (blocks per SM * SMs)
};

Prediction predict(const GpuModel& gpu, const Workload& workload, const Instance& instance,
                   const Binary& binary, const Resources& resources, const Occupancy& occupancy);

}  // namespace tiletune
