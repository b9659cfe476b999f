#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/resources.h"
#include "space/instance.h"

namespace tiletune {

/// What is wrong with passing these arguments to a kernel, by its own table of parameters; none: nothing, or
/// the table is not known. A launch with other arguments than the kernel takes reads whatever lies beside
/// them.
std::optional<std::string> argument_fault(const std::vector<ArgumentValue>& arguments,
                                          const Resources& resources);

}  // namespace tiletune
