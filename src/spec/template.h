#pragma once

#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// A list of constraints, of a manifest or a config.
std::vector<Constraint> read_constraints(const Node& node);

}  // namespace tiletune
