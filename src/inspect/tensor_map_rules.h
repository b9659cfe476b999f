#pragma once

#include <string>

#include "inspect/gpu_model.h"
#include "space/instance.h"

namespace tiletune {

/// Why a GPU cannot take a tensor map, with the arithmetic; empty when it can. The rules are those that the
/// CUDA driver API gives for cuTensorMapEncodeTiled without interleaving.
std::string tensor_map_fault(const GpuModel& gpu, const TensorMapShape& map);

}  // namespace tiletune
