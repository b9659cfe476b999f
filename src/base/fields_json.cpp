#include "base/fields_json.h"

namespace tiletune::fields {

bool read_bool(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  throw ProtocolError("it is not true or false");
}

std::int64_t read_integer(const Json& json, std::int64_t min, std::int64_t max) {
  const bool fits = json.is_number_unsigned() ? std::in_range<std::int64_t>(json.get<std::uint64_t>())
                                              : json.is_number_integer();
  const std::int64_t value = fits ? json.get<std::int64_t>() : 0;
  if (fits && value >= min && value <= max) return value;
  throw ProtocolError(fmt::format("it is not an integer from {} to {}", min, max));
}

std::uint64_t read_unsigned(const Json& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  return static_cast<std::uint64_t>(read_integer(json, 0, std::numeric_limits<std::int64_t>::max()));
}

double read_number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  throw ProtocolError("it is not a number");
}

std::string read_text(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  throw ProtocolError("it is not a text");
}

std::string read_binary(const Json& json) {
  if (!json.is_binary()) throw ProtocolError("it is not binary");
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

const Json& read_member(const Json& json, std::string_view name) {
  if (!json.is_object()) throw ProtocolError("it is not an object");
  const auto found = json.find(std::string(name));
  if (found == json.end()) throw ProtocolError(fmt::format("'{}' is missing", name));
  return *found;
}

const Json& read_list(const Json& json) {
  if (json.is_array()) return json;
  throw ProtocolError("it is not a list");
}

}  // namespace tiletune::fields
