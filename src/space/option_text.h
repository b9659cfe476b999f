#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Compiler options of a template as they are for one configuration: "{NAME}", of which an option has one, is
/// the parameter's value.
std::vector<std::string> options_with(const std::vector<std::string>& options, const NamedValues& parameters);

/// Every option that configurations of the template can have. Throws UserError for a name in braces that is
/// no parameter.
std::vector<std::string> possible_options(const TemplateSpec& spec);

/// The options that are the same for all configurations.
std::vector<std::string> fixed_options(const TemplateSpec& spec);

}  // namespace tiletune
