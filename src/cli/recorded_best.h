#pragma once

#include <optional>
#include <string>

#include "spec/tune_spec.h"
#include "store/database.h"

namespace tiletune {

/// The best row that a database holds for a template, in its variant, on a GPU: of this problem, else of the
/// problem recorded last. Measured rows come before predicted ones.
std::optional<Trial> recorded_best(const Database& database, const TemplateSpec& kernel,
                                   const std::string& gpu, const std::string& problem);

/// `tiletune bench` with all parameters of such a row. `kernel_template` is what is typed for the template.
std::string bench_command_line(const Trial& row, const TemplateSpec& kernel,
                               const std::string& kernel_template, const std::string& problem);

}  // namespace tiletune
