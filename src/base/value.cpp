#include "base/value.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tiletune {

namespace {

struct ToText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    // The shortest text that reads back the same, and still reads as a float.
    std::string text = fmt::format("{}", value);
    if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
  std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

std::string to_text(const Value& value) { return std::visit(ToText{}, value); }

const char* type_name(const Value& value) {
  static constexpr const char* kNames[] = {"a boolean", "an integer", "a number", "a string"};
  return kNames[value.index()];
}

nlohmann::ordered_json to_json(const Value& value) {
  return std::visit([](const auto& v) { return nlohmann::ordered_json(v); }, value);
}

bool from_json(const nlohmann::ordered_json& json, Value& out) {
  if (json.is_boolean()) {
    out = json.get<bool>();
  } else if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    return false;
  } else if (json.is_number_integer()) {
    out = json.get<std::int64_t>();
  } else if (json.is_number_float()) {
    out = json.get<double>();
  } else if (json.is_string()) {
    out = json.get<std::string>();
  } else {
    return false;
  }
  return true;
}

nlohmann::ordered_json to_json(const NamedValues& values) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : values) json[name] = to_json(value);
  return json;
}

std::string to_text(const NamedValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    if (!text.empty()) text += ' ';
    text += name + "=" + to_text(value);
  }
  return text;
}

}  // namespace tiletune
