#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Compiler options of a template as they are for one configuration: every "{NAME}" is the parameter's value.
/// Throws UserError, with `where` for the place of the list, when that makes one longer than 8192 characters.
std::vector<std::string> options_with(const std::vector<std::string>& options, const NamedValues& parameters,
                                      const Where& where);

/// What that option of the template can be, for all combinations of its parameters' values. Throws UserError
/// for a name in braces that is no parameter, and when the texts are too many or too long.
std::vector<std::string> possible_texts(const TemplateSpec& spec, std::size_t option);

/// The options that are the same for all configurations.
std::vector<std::string> fixed_options(const TemplateSpec& spec);

}  // namespace tiletune
