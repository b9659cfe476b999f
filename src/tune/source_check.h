#pragma once

#include <vector>

#include "tune/check.h"

namespace tiletune {

/// What a kernel's source shows to be missing in its manifest, or not to be used of it: macros, dynamic
/// shared memory, the order of arguments. `dependencies` are those of one of its configurations.
std::vector<CheckFinding> source_notes(const Task& task, const Dependencies& dependencies);

/// A kernel's name that neither the source nor the files that it includes have. None: they have all.
std::optional<UserError> kernel_name_fault(const Task& task, const Dependencies& dependencies);

/// Arguments of other types than the parameters of the kernels have. `symbols` are those of a binary that
/// signature_request() has made of the configuration's.
std::vector<CheckFinding> type_faults(const Task& task, const Instance& instance,
                                      const std::vector<std::string>& symbols);

}  // namespace tiletune
