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

}  // namespace

std::vector<std::string> options_with(const std::vector<std::string>& options,
                                      const NamedValues& parameters) {
  std::vector<std::string> filled = options;
  for (std::string& option : filled) {
    for (const auto& [name, value] : parameters) {
      while (option.find("{" + name + "}") != std::string::npos) option = with_value(option, name, value);
    }
  }
  return filled;
}

std::vector<std::string> possible_options(const TemplateSpec& spec) {
  std::vector<std::string> open = spec.compile_options;
  std::vector<std::string> possible;
  while (!open.empty()) {
    const std::string option = std::move(open.back());
    open.pop_back();
    const std::string name = name_in(option);
    if (name.empty()) {
      possible.push_back(option);
      continue;
    }
    const auto parameter = std::find_if(spec.parameters.begin(), spec.parameters.end(),
                                        [&](const Parameter& each) { return each.name == name; });
    if (parameter == spec.parameters.end()) {
      std::vector<std::string> names;
      for (const Parameter& each : spec.parameters) names.push_back(each.name);
      throw UserError(fmt::format("'{}' in the option {} is no parameter", name, option),
                      spec.where.at("compile_options"),
                      names.empty() ? "write the value itself" : "name one of " + join(names, ", "));
    }
    for (const Value& value : parameter->values) open.push_back(with_value(option, name, value));
  }
  return possible;
}

std::vector<std::string> fixed_options(const TemplateSpec& spec) {
  std::vector<std::string> fixed = spec.compile_options;
  std::erase_if(fixed, [](const std::string& option) { return !name_in(option).empty(); });
  return fixed;
}

}  // namespace tiletune
