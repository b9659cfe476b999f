#pragma once

#include <string>

#include "space/instance.h"

namespace tiletune {

/// How a configuration is launched, as JSON: grid, block and shared memory of one launch, or "launches", a
/// list of them; of several GPUs also "steps". Whoever launches a kernel with memory of its own, constant
/// memory or tensor maps has to know the arguments too. They are part of the row's key: of other kernels it
/// is as it ever was. An instance that could not be evaluated has none: empty.
std::string launch_text(const Instance& instance);

/// "partial_sums<256> + reduce": the kernel expressions of its launches, in their order.
std::string kernels_text(const Instance& instance);

}  // namespace tiletune
