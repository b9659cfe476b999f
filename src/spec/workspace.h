#pragma once

#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// The arrays that a configuration has for itself. Throws UserError, also for names of the operation's
/// buffers.
std::vector<WorkspaceArray> read_workspace(const JsonNode& node, const Operation& operation);

}  // namespace tiletune
