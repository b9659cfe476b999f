#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/database.h"
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

/// Leaves in the tasks' spaces, of each problem, the `most` configurations that rank first in the database
/// among those measured on a GPU: what a sweep of these tasks tries is all known, and its finals are those of
/// what was recorded, by whatever sweeps. Rows of other types, options or operations do not count, nor do
/// those whose values are none of a template's. Throws NothingToDo where there are none at all.
void keep_recorded(std::vector<Task>& tasks, const Database& database, const std::string& gpu,
                   std::size_t most);

}  // namespace tiletune
