#include "output/varying_parameters.h"

#include <fmt/format.h>

#include "output/cell_text.h"
#include "output/display.h"
#include "output/fields.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Empty for text that is not an object.
Json parsed(const Trial& trial) {
  Json values = parsed_cell(trial.parameters);
  return values.is_object() ? values : Json::object();
}

/// Whether there is another.
bool keep_equal(Json& kept, const Json& other) {
  std::vector<std::string> different;
  for (const auto& [name, value] : kept.items()) {
    if (!other.contains(name) || other.at(name) != value) different.push_back(name);
  }
  for (const std::string& name : different) kept.erase(name);
  return !different.empty() || other.size() != kept.size();
}

std::string assignment(const std::string& name, const Json& value) {
  return printable(name + "=" + value_text(value));
}

}  // namespace

void VaryingParameters::add(const Trial& trial) {
  if (trial.kind == "baseline") return;
  const Json values = parsed(trial);
  const auto [place, is_first] = alike_.try_emplace(trial.template_name, Alike{values});
  ++place->second.rows;
  if (!is_first && keep_equal(place->second.values, values)) place->second.all = false;
}

bool VaryingParameters::is_left_out(const Alike& alike) const {
  return alike.rows > 1 && !(alike.all && all_alike_ == AllAlike::in_rows);
}

std::string VaryingParameters::of(const Trial& trial) const {
  if (trial.kind == "baseline") return parameters_text(trial);
  const Json values = parsed(trial);
  const Alike& alike = alike_.at(trial.template_name);
  if (!is_left_out(alike) || values.empty()) return parameters_text(trial);
  std::string text;
  for (const auto& [name, value] : values.items()) {
    if (!alike.values.contains(name))
      text += fmt::format("{}{}", text.empty() ? "" : " ", assignment(name, value));
  }
  return text.empty() ? "-" : text;
}

std::vector<std::string> VaryingParameters::legend() const {
  std::vector<std::string> lines;
  for (const auto& [name, alike] : alike_) {
    if (!is_left_out(alike) || alike.values.empty()) continue;
    std::string line = "in every " + printable(name) + " row shown:";
    for (const auto& [parameter, value] : alike.values.items())
      line += fmt::format(" {}", assignment(parameter, value));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tiletune
