#pragma once

#include "spec/arguments.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Whether an entry of "launches" is a copy, a barrier or a collective operation.
bool is_step(const JsonNode& node);

/// Such an entry. Throws UserError, also where the operation runs on one GPU.
StepSpec read_step(const JsonNode& node, const Memory& memory);

}  // namespace tiletune
