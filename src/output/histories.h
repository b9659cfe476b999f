#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "output/export.h"
#include "output/report/importance.h"
#include "rank/history.h"

namespace tiletune {

/// Writes how the best time of each problem fell: a table each, JSON {"tiletune", "histories": [...]}, or
/// CSV. percent_of_best is 100 * the best time of all / the best time so far.
void write_histories(std::ostream& out, const std::vector<History>& histories, const Database& database,
                     Format format, const TextStyle& style);

/// By problem and template; "" stands for all templates.
using ImportanceOfProblems = std::map<Comparable, std::map<std::string, Importance>>;

/// Writes which parameters mattered (output/report/importance.h): a table for each problem, JSON {"tiletune",
/// "importance": [...]}, or CSV. Throws NothingToDo where nothing can be said of any parameter.
void write_importance(std::ostream& out, const ImportanceOfProblems& importance, Format format,
                      const TextStyle& style);

}  // namespace tiletune
