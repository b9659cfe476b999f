#pragma once

#include <cstdint>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

// What policies may say, in a config as on the command line.

inline constexpr NumberRange kPercentage{.min = 0, .max = 100};
/// Zero, or a factor of at least one: a smaller one would give up the leader itself.
inline constexpr NumberRange kScreening{.min = 0, .max = 1000};
inline constexpr NumberRange kSustained{.min = 0, .max = 3600};
inline constexpr std::int64_t kMostFinalists = 100;
inline constexpr std::int64_t kMostLaunches = 10000;
/// With fewer samples nothing can be said of a median with 95% certainty.
inline constexpr std::int64_t kFewestRounds = 6;

/// How a config wants its sweep done. What it leaves out keeps its default. All throw UserError.
StrategySpec read_strategy(const JsonNode& node);
Budget read_budget(const JsonNode& node);
MeasurePolicy read_measure(const JsonNode& node);
CompilePolicy read_compile(const JsonNode& node);
AdmissionLimits read_limits(const JsonNode& node);

}  // namespace tiletune
