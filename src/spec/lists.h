#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

/// Files that list configurations or problems for a config.
namespace tiletune {

/// Reads the list of configurations that a config names, and gives each template its own rows, the same in
/// all its variants. The file is CSV: the header names parameters, and `template` where there are several
/// templates; every row gives a value of each parameter of its template, and nothing for those of others.
/// Throws UserError with the line of a value that its parameter does not have, of a row that is listed twice,
/// and of a header that does not name each parameter once; and for a template without rows.
void read_configurations(const JsonNode& node, const std::filesystem::path& folder, bool allow_outside,
                         std::vector<TemplateSpec>& specs);

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
