#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "spec/load.h"

namespace tiletune {

/// A T1 tuning problem, the format in which autotuners exchange search spaces, as a spec of one template: a
/// kernel that takes its parameters as macros, with the conditions as constraints. Nothing for a document
/// that is no T1 tuning problem. What T1 does not say (a reference, operations and bytes) stays empty, so
/// that nothing can be measured; a kernel file that is missing matters only to whoever compiles. Keys that
/// mean nothing here are passed over, as T1 is extended by each of its users. Throws UserError.
std::optional<TuneSpec> read_t1(const nlohmann::ordered_json& document, const std::filesystem::path& file,
                                const std::filesystem::path& folder, const LoadOptions& options);

}  // namespace tiletune
