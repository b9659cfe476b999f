#pragma once

#include <string>

#include "space/instance.h"

namespace tiletune {

/// How a configuration is launched, as JSON. Whoever launches a kernel with memory of its own or tensor maps
/// has to know the arguments too. They are part of the row's key: of other kernels it is as it ever was.
std::string launch_text(const Instance& instance);

}  // namespace tiletune
