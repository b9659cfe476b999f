#include "space/option_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

namespace {

/// The name in the first braces; empty when there are none.
std::string name_in(const std::string& option) {
  const std::size_t open = option.find('{');
  const std::size_t close = option.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return "";
  return option.substr(open + 1, close - open - 1);
}

std::string with_value(const std::string& option, const std::string& name, const Value& value) {
  const std::string braced = "{" + name + "}";
  std::string filled = option;
  return filled.replace(filled.find(braced), braced.size(), to_text(value));
}

const Parameter& parameter_of(const TemplateSpec& spec, const std::string& name, const std::string& option) {
  for (const Parameter& each : spec.parameters) {
    if (each.name == name) return each;
  }
  std::vector<std::string> names;
  names.reserve(spec.parameters.size());
  for (const Parameter& each : spec.parameters) names.push_back(each.name);
  throw UserError(fmt::format("'{}' in the option {} is no parameter", name, option),
                  spec.where.at("compile_options"),
                  names.empty() ? "write the value itself" : "name one of " + join(names, ", "));
}

}  // namespace

std::vector<std::string> options_with(const std::vector<std::string>& options,
                                      const NamedValues& parameters) {
  std::vector<std::string> filled = options;
  for (std::string& option : filled) {
    const std::string name = name_in(option);
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const auto& each) { return each.first == name; });
    if (parameter != parameters.end()) option = with_value(option, name, parameter->second);
  }
  return filled;
}

std::vector<std::string> possible_options(const TemplateSpec& spec) {
  std::vector<std::string> possible;
  for (const std::string& option : spec.compile_options) {
    const std::string name = name_in(option);
    if (name.empty()) {
      possible.push_back(option);
      continue;
    }
    for (const Value& value : parameter_of(spec, name, option).values)
      possible.push_back(with_value(option, name, value));
  }
  return possible;
}

std::vector<std::string> fixed_options(const TemplateSpec& spec) {
  std::vector<std::string> fixed = spec.compile_options;
  std::erase_if(fixed, [](const std::string& option) { return !name_in(option).empty(); });
  return fixed;
}

}  // namespace tiletune
