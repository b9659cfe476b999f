#pragma once

#include <filesystem>
#include <vector>

#include "base/folder.h"
#include "spec/load.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Reads and validates the manifest of that name in a template's folder, as the other load_template().
TemplateSpec load_template(const Folder& folder, const std::filesystem::path& manifest_name,
                           const LoadOptions& options, const Variant* variant = nullptr);

/// A list of constraints, of a manifest or a config.
std::vector<Constraint> read_constraints(const JsonNode& node);

}  // namespace tiletune
