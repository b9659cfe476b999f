#include "rank/parameters.h"

#include <algorithm>
#include <utility>
#include <vector>

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

void append_member_names(std::string_view object, std::string& names) {
  for_each_member(
      object, [&](std::string_view name, std::string_view /*value*/) { names.append(name).append(1, '\n'); });
}

std::array<std::uint64_t, 2> identity_by(const std::string& template_name, std::string_view parameters,
                                         const std::set<std::string, std::less<>>& names) {
  std::vector<std::pair<std::string_view, std::string_view>> members;
  for_each_member(parameters, [&](std::string_view name, std::string_view value) {
    if (names.contains(name)) members.emplace_back(name, value);
  });
  std::sort(members.begin(), members.end());
  std::string text = template_name;
  for (const auto& [name, value] : members) text.append(1, '\0').append(name).append(1, '\0').append(value);
  return checksum128(text);
}

}  // namespace tiletune
