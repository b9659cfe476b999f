#include "rank/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"

namespace tiletune {

namespace {

/// Where a JSON string that begins at `from` ends: behind its closing quote.
std::size_t end_of_string(std::string_view text, std::size_t from) {
  std::size_t at = from + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

/// Where a value that begins at `from` ends: before a comma or the bracket that closes what it is in.
std::size_t end_of_value(std::string_view text, std::size_t from) {
  int depth = 0;
  std::size_t at = from;
  while (at < text.size()) {
    const char c = text[at];
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    at = c == '"' ? end_of_string(text, at) : at + 1;
  }
  return at;
}

/// Returns a value, as it is written in JSON, in the one way that identities know: "1" for "1.0" and "true".
/// It is the value itself or in `scratch`.
std::string_view canonical_value(std::string_view value, std::string& scratch) {
  if (value == "true") return "1";
  if (value == "false" || value == "-0") return "0";
  const bool has_point = value.find_first_of(".eE") != value.npos;
  if (!has_point || (value.front() != '-' && (value.front() < '0' || value.front() > '9'))) return value;
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || rest != end) return value;
  // What is larger is left as it is, because not every integer there is a double.
  constexpr double kExact = 9007199254740992;  // 2^53
  const bool is_whole = std::trunc(number) == number && std::abs(number) <= kExact;
  return scratch = is_whole ? std::to_string(static_cast<std::int64_t>(number)) : fmt::format("{}", number);
}

using Members = std::vector<std::pair<std::string_view, std::string_view>>;

/// `length`: about that of all names and values.
Identity identity_of(std::string_view template_name, Members& members, std::size_t length) {
  std::sort(members.begin(), members.end());
  std::string text;
  text.reserve(template_name.size() + length);
  text.append(template_name);
  std::string scratch;
  for (const auto& [name, value] : members)
    text.append(1, '\0').append(name).append(1, '\0').append(canonical_value(value, scratch));
  return checksum128(text);
}

}  // namespace

void for_each_member(std::string_view object,
                     const std::function<void(std::string_view name, std::string_view value)>& visit) {
  std::size_t at = object.find('"');
  while (at < object.size()) {
    const std::size_t end_of_name = end_of_string(object, at);
    const std::string_view name = object.substr(at + 1, std::max(end_of_name, at + 2) - at - 2);
    const std::size_t value = std::min(object.find(':', end_of_name), object.size() - 1) + 1;
    const std::size_t end = end_of_value(object, value);
    visit(name, trim(object.substr(value, end - value)));
    at = object.find('"', end);
  }
}

Identity identity_of(std::string_view template_name, std::string_view parameters) {
  constexpr std::size_t kMembers = 16;  // few templates have more
  Members members;
  members.reserve(kMembers);
  for_each_member(parameters,
                  [&](std::string_view name, std::string_view value) { members.emplace_back(name, value); });
  if (members.empty()) return checksum128(std::string(template_name).append(1, '\0').append(parameters));
  return identity_of(template_name, members, parameters.size());
}

WrittenAs::WrittenAs(const std::vector<Value>& values) {
  std::string scratch;
  for (const Value& value : values) {
    const std::string text = to_json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    values_.emplace(canonical_value(text, scratch), &value);
  }
}

const Value* WrittenAs::find(std::string_view written) const {
  std::string scratch;
  const auto found = values_.find(std::string(canonical_value(written, scratch)));
  return found == values_.end() ? nullptr : found->second;
}

}  // namespace tiletune
