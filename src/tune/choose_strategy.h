#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tune/task.h"

namespace tiletune {

/// How long trying all configurations would take, in seconds, with so many compile workers and GPUs (0: times
/// are predicted).
double exhaustive_seconds(const std::vector<Task>& tasks, std::size_t workers, std::size_t gpus);

/// Chooses the strategy of a spec that names none: all configurations where that keeps within the budget, or
/// without one within a minute; else the best strategy, without a budget until it expects no gain of 1%.
/// Returns a line about it for the person watching; empty where the spec named a strategy, or all are tried.
std::string choose_strategy(TuneSpec& spec, const std::vector<Task>& tasks, std::size_t workers,
                            std::size_t gpus);

}  // namespace tiletune
