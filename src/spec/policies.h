#pragma once

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// How a config wants its sweep done. What it leaves out keeps its default. All throw UserError.
StrategySpec read_strategy(const Node& node);
Budget read_budget(const Node& node);
MeasurePolicy read_measure(const Node& node);
CompilePolicy read_compile(const Node& node);
AdmissionLimits read_limits(const Node& node);

}  // namespace tiletune
