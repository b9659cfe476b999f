#include "spec/values.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/text.h"

namespace tiletune {

namespace {

/// Equal keys are equal values; long double holds every int64 and every double.
using ValueKey = std::variant<bool, long double, std::string>;

ValueKey key_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<long double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return static_cast<long double>(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::get<bool>(value);
}

const char* plural(const ValueKey& key) {
  static constexpr const char* kPlurals[] = {"booleans", "numbers", "strings"};
  return kPlurals[key.index()];
}

void check_type(const Value& value, const Value& first, const Where& where) {
  if (key_of(value).index() == key_of(first).index()) return;
  throw UserError(fmt::format("found {} among {}", type_name(value), plural(key_of(first))), where,
                  "Make the values of a parameter all booleans, all numbers or all strings.");
}

/// A configuration's options, macros and template arguments repeat its values.
void check_length(const Value& value, const Where& where) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->size() <= kLongestName) return;
  throw UserError(fmt::format("a string of {} characters, expected at most {}", text->size(), kLongestName),
                  where, "Shorten it.");
}

std::string listed(const std::vector<Value>& values) {
  constexpr std::size_t kMostShown = 12;
  std::vector<std::string> texts;
  for (const Value& value : values) {
    if (texts.size() == kMostShown) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(to_text(value));
  }
  return join(texts, ", ");
}

}  // namespace

std::vector<Value> read_values(const JsonNode& node) {
  const auto nodes = read_list(node, "values", Empty::refused, kMostValues);
  std::vector<Value> values;
  std::map<ValueKey, std::size_t> places;
  for (const JsonNode& element : nodes) {
    const Value value = read_value(element, "a value");
    check_length(value, element.where);
    if (!values.empty()) check_type(value, values.front(), element.where);
    const auto [first, is_new] = places.try_emplace(key_of(value), values.size());
    if (!is_new) {
      throw UserError(fmt::format("the value {} is listed twice", to_text(value)), element.where,
                      fmt::format("Remove one; the first is at {}.", node.where.at(first->second).pointer));
    }
    values.push_back(value);
  }
  return values;
}

std::vector<Value> read_narrowed_values(const JsonNode& node, const Parameter& parameter, bool extend) {
  auto values = read_values(node);
  std::set<ValueKey> known;
  for (const Value& value : parameter.values) known.insert(key_of(value));
  for (std::size_t i = 0; i < values.size(); ++i) {
    check_type(values[i], parameter.values.front(), node.where.at(i));
    if (extend || known.contains(key_of(values[i]))) continue;
    throw UserError(fmt::format("{} = {} is not among the template's values: {}", parameter.name,
                                to_text(values[i]), listed(parameter.values)),
                    node.where.at(i), R"(Use those, or set "extend": true beside "parameters".)");
  }
  return values;
}

}  // namespace tiletune
