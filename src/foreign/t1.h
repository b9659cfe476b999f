#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/value.h"
#include "spec/load.h"

namespace tiletune {

/// A T1 tuning problem, the format in which autotuners exchange search spaces, as a spec of one template: a
/// kernel that takes its parameters as macros, with the conditions as constraints. Nothing for a document
/// that is no T1 tuning problem. What T1 does not say (a reference, operations and bytes) stays empty, so
/// that nothing can be measured; a kernel file that is missing matters only to whoever compiles. Keys that
/// mean nothing here are passed over, as T1 is extended by each of its users. Throws UserError.
std::optional<TuneSpec> read_t1(const nlohmann::ordered_json& document, const std::filesystem::path& file,
                                const std::filesystem::path& folder, const LoadOptions& options);

/// A list as Python writes it: "[16, 32]", "(0.5, -1)", "['a', \"b\"]", "[True, False]", "range(1, 9)",
/// "[1, 2] + list(range(32, 1024 + 1, 32))", "[2**i for i in range(6)]". Elements are expressions as in
/// constraints, without names. Throws UserError, with the column or the element, for anything else: nothing
/// of Python is run.
std::vector<Value> parse_python_list(const std::string& text, const Where& where);

}  // namespace tiletune
