#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/database.h"
#include "tune/task.h"

namespace tiletune {

/// Leaves in the tasks' spaces, of each problem, the `most` configurations that rank first in the database
/// among those measured on a GPU: what a sweep of these tasks tries is all known, and its finals are those of
/// what was recorded, by whatever sweeps. Rows of other types, options or operations do not count, nor do
/// those whose values are none of a template's. Throws NothingToDo where there are none at all.
void keep_recorded(std::vector<Task>& tasks, const Database& database, const std::string& gpu,
                   std::size_t most);

}  // namespace tiletune
