#pragma once

#include <vector>

#include "spec/reader.h"
#include "spec/scope.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// The kernel's arguments. Throws UserError for a buffer that is neither a buffer nor a workspace of `spec`,
/// for a scalar without "value" whose name is not in `scope`, and when one of the former is passed nowhere.
std::vector<Argument> read_arguments(const Node& node, const TemplateSpec& spec, const Scope& scope);

}  // namespace tiletune
