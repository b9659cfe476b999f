#include "rank/parameters.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace tiletune {

namespace {

/// Where a JSON string that begins at `from` ends: behind its closing quote.
std::size_t end_of_string(std::string_view text, std::size_t from) {
  std::size_t at = from + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

}  // namespace

void append_member_names(std::string_view object, std::string& names) {
  int depth = 0;
  bool is_name = false;
  for (std::size_t at = 0; at < object.size();) {
    const char c = object[at];
    if (c == '"') {
      const std::size_t end = end_of_string(object, at);
      if (depth == 1 && is_name) names.append(object.substr(at + 1, end - at - 2)).append(1, '\n');
      at = end;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == '{' || c == ',') is_name = true;
    if (c == ':') is_name = false;
    ++at;
  }
}

std::array<std::uint64_t, 2> identity_by(const std::string& template_name, const std::string& parameters,
                                         const std::set<std::string>& names) {
  std::string text = template_name;
  try {
    const auto values = parse_json(parameters, "");
    for (const std::string& name : names) {
      const bool has = values.is_object() && values.contains(name);
      text.append(1, '\0').append(
          has ? values[name].dump(-1, ' ', true, decltype(values)::error_handler_t::replace) : std::string());
    }
  } catch (const UserError&) {
    text.append(1, '\0').append(parameters);
  }
  return checksum128(text);
}

}  // namespace tiletune
