#pragma once

#include <filesystem>
#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Reads the list of configurations that a config names, and gives each template its own rows, the same in
/// all its variants. The file is CSV: the header names parameters, and `template` where there are several
/// templates; every row gives a value of each parameter of its template, and nothing for those of others.
/// Throws UserError with the line of a value that its parameter does not have, of a row that is listed twice,
/// and of a header that does not name each parameter once; and for a template without rows.
void read_configurations(const JsonNode& node, const std::filesystem::path& folder, bool allow_outside,
                         std::vector<TemplateSpec>& specs);

}  // namespace tiletune
