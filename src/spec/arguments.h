#pragma once

#include <vector>

#include "spec/reader.h"
#include "spec/scope.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// The kernel's arguments. Throws UserError for a buffer that is not among `buffers`, for a scalar without
/// "value" whose name is not in `scope`, and when a buffer is passed nowhere.
std::vector<Argument> read_arguments(const Node& node, const std::vector<Buffer>& buffers,
                                     const Scope& scope);

}  // namespace tiletune
