#pragma once

#include <string>
#include <vector>

#include "base/stop.h"
#include "base/value.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// A compiler option of a template, or the path of compiled kernels, as it is for one configuration: every
/// "{NAME}" is the parameter's value. Throws UserError when that makes it longer than 8192 characters.
std::string filled(const std::string& option, const NamedValues& parameters, const Where& where);

/// Fills a list of options, with `where` for its place.
std::vector<std::string> options_with(const std::vector<std::string>& options, const NamedValues& parameters,
                                      const Where& where);

/// Throws UserError for a name in braces that is not a parameter of the template.
void check_names(const TemplateSpec& spec, const std::string& text, const Where& where);

/// What that option of the template can be, for all combinations of its parameters' values. Throws UserError
/// for a name in braces that is not a parameter, and when the texts are too many or too long; Stopped once
/// `stop` says so.
std::vector<std::string> possible_texts(const TemplateSpec& spec, std::size_t option,
                                        const Stop& stop = never_stop);

/// The options that are the same for all configurations.
std::vector<std::string> fixed_options(const TemplateSpec& spec);

}  // namespace tiletune
