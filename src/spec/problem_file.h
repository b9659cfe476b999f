#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace tiletune {

/// A problem as a config would list it, and where it stands.
struct ListedProblem {
  nlohmann::ordered_json json;
  Where where;
};

/// Reads a list of problems: JSON, which is a list as in a config, or CSV, whose header names dimensions,
/// leading dimensions, types and options, and whose rows are problems. Cells under `settings`, the names of
/// types and options, are text, others are numbers; an empty cell says nothing. Throws UserError with the
/// line or the JSON pointer of what cannot be read; what a problem says is not checked.
std::vector<ListedProblem> read_problem_file(const std::filesystem::path& file,
                                             const std::vector<std::string>& settings);

}  // namespace tiletune
