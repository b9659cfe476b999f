#pragma once

#include <vector>

#include "spec/declared_names.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What a kernel may be passed the address of.
struct Memory {
  const std::vector<Buffer>& buffers;
  const std::vector<WorkspaceArray>& workspace;
};

/// A kernel's arguments. Throws UserError for a name that is in neither list of `memory`, for a scalar
/// without "value" whose name is not in `scope`, and when something of `memory` is passed nowhere.
std::vector<Argument> read_arguments(const JsonNode& node, const Memory& memory, const DeclaredNames& scope);

}  // namespace tiletune
