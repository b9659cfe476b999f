#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/resources.h"
#include "tune/check.h"

namespace tiletune {

/// What a kernel's source shows to be missing in its manifest, or not to be used of it: macros, dynamic
/// shared memory, the order of arguments. `dependencies` are those of one of its configurations.
std::vector<CheckFinding> source_notes(const Task& task, const Dependencies& dependencies);

/// A kernel's name that neither the source nor the files that it includes have. None: they have all.
std::optional<UserError> kernel_name_fault(const Task& task, const Dependencies& dependencies);

/// A symbol of the manifest's "constants" that the compiled kernels do not have. None: they have all.
std::optional<UserError> constant_fault(const Task& task, const std::vector<Resources>& resources);

/// Outputs without elements on the task's problem, and buffers that a kernel writes and that it is passed
/// twice, as an address or a tensor map: what it reads through one may change through the other. A tensor map
/// with a "when" is passed in the place of something else, so that it counts only beside one with the same.
std::vector<CheckFinding> buffer_faults(const Task& task);

/// Inputs that the source shows to be indices of another buffer, and that hold numbers which that does not
/// have on the task's problem. Where an index is computed from several numbers, nothing is said of it.
std::vector<CheckFinding> index_notes(const Task& task);

/// Arguments of other types than the parameters of the kernels have. `symbols` are those of a binary that
/// types_request() has made of the configuration's.
std::vector<CheckFinding> type_faults(const Task& task, const Instance& instance,
                                      const std::vector<std::string>& symbols);

/// The same of a kernel of the operation: a reference gets FP64 copies of floating-point buffers.
std::vector<CheckFinding> type_faults(const Task& task, const TaskKernel& kernel, const std::string& symbol);

}  // namespace tiletune
