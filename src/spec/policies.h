#pragma once

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// How a config wants its sweep done. What it leaves out keeps its default. All throw UserError.
StrategySpec read_strategy(const JsonNode& node);
Budget read_budget(const JsonNode& node);
MeasurePolicy read_measure(const JsonNode& node);
CompilePolicy read_compile(const JsonNode& node);
AdmissionLimits read_limits(const JsonNode& node);
Tolerance read_tolerance(const JsonNode& node);

}  // namespace tiletune
