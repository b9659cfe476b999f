#include "spec/reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

const char* kind_of(const Json& json) {
  // In the order of the enumeration, which has two kinds of integers.
  static constexpr const char* kKinds[] = {"null",      "an object",  "a list",     "a string",
                                           "a boolean", "an integer", "an integer", "a number"};
  return kKinds[static_cast<std::size_t>(json.type())];
}

/// Booleans, numbers and strings: what can be repeated whole in a message.
bool is_scalar(const Json& json) { return json.is_primitive() && !json.is_null(); }

std::string as_written(const Json& json) {
  constexpr std::size_t kLongest = 60;
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

/// Says so where text would be a value of the kind wanted, had it no quotes; else it is empty.
std::string unquote_remedy(const Json& json, bool (Json::*wanted)() const) {
  if (!json.is_string()) return {};
  const auto& text = json.get_ref<const std::string&>();
  const Json inner = Json::parse(text, nullptr, false);
  return (inner.*wanted)() ? fmt::format("Write it without quotes: {}.", text) : "";
}

/// Doubles beyond this have no int64 of the same value.
constexpr double kInt64Limit = 9223372036854775808.0;

std::optional<std::int64_t> exact_integer(const Json& json) {
  if (json.is_number_float()) {
    const double number = json.get<double>();
    if (std::trunc(number) != number || number < -kInt64Limit || number >= kInt64Limit) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (!json.is_number_unsigned()) return json.get<std::int64_t>();
  const auto number = json.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

void refuse_kind(const JsonNode& node, const std::string& expected, const std::string& remedy) {
  throw UserError(fmt::format("found {}, expected {}", kind_of(node.json), expected), node.where,
                  remedy.empty() ? fmt::format("Replace it with {}.", expected) : remedy);
}

ObjectReader::ObjectReader(const JsonNode& node, std::span<const std::string_view> known)
    : node_(node), known_(known.begin(), known.end()) {
  if (!node.json.get().is_object()) {
    constexpr std::size_t kMostNamed = 6;
    std::vector<std::string> keys;
    for (const std::string_view key : known.first(std::min(known.size(), kMostNamed)))
      keys.push_back(fmt::format("\"{}\"", key));
    refuse_kind(node, "an object", fmt::format("Write an object with keys of {}.", join(keys, ", ")));
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, value] : node.json.get().items())
    find_known(key, names, node.where.at(key), fmt::format("unknown key '{}'", key));
}

std::optional<JsonNode> ObjectReader::find(std::string_view key) {
  if (!is_among(key, known_))
    throw std::logic_error(fmt::format("'{}' is not in the list of keys of its object", key));
  const std::string name(key);
  asked_.insert(name);
  const auto& json = node_.json.get();
  const auto found = json.find(name);
  if (found == json.end()) return std::nullopt;
  return JsonNode{*found, node_.where.at(name)};
}

JsonNode ObjectReader::need(std::string_view key, const std::string& expected) {
  if (auto node = find(key)) return *node;
  throw UserError(fmt::format("the key '{}' is missing", key), node_.where,
                  fmt::format("Add \"{}\": {}.", key, expected));
}

void ObjectReader::finish(const std::string& remedy) const {
  for (const auto& [key, value] : node_.json.get().items()) {
    if (asked_.count(key) == 0)
      throw UserError(fmt::format("'{}' has no effect here", key), node_.where.at(key), remedy);
  }
}

void DeclaredNames::declare(const std::string& name, const std::string& what, const Where& where) {
  const auto [entry, is_new] = declared_.try_emplace(name, Declaration{what, where});
  if (is_new) {
    names_.push_back(name);
    return;
  }
  const Declaration& first = entry->second;
  const std::string& pointer = first.where.pointer;
  throw UserError(fmt::format("the name '{}' is taken by {}{}", name, first.what,
                              pointer.empty() ? "" : fmt::format(" ({})", pointer)),
                  where, pointer.empty() ? "Rename it." : "Rename one of the two.");
}

std::string read_string(const JsonNode& node, const std::string& expected) {
  const Json& json = node.json;
  if (!json.is_string()) {
    refuse_kind(node, expected,
                is_scalar(json) ? fmt::format("Write it in quotes: \"{}\".", as_written(json)) : "");
  }
  const auto& text = json.get_ref<const std::string&>();
  if (trim(text).empty()) {
    throw UserError(fmt::format("found an empty string, expected {}", expected), node.where,
                    "Fill it in or remove it.");
  }
  if (text.find('\0') != std::string::npos)
    throw UserError("found a string with a null character in it", node.where, "Remove \\u0000.");
  return text;
}

std::string read_identifier(const JsonNode& node) {
  std::string text = read_string(node, "a name");
  check_identifier(text, node.where);
  return text;
}

std::string read_qualified_name(const JsonNode& node) {
  std::string text = read_string(node, "a name");
  check_qualified_name(text, node.where);
  return text;
}

void check_qualified_name(const std::string& text, const Where& where) {
  if (text.size() > kLongestName || !is_qualified_name(text)) check_identifier(text, where);
}

void check_identifier(const std::string& text, const Where& where) {
  if (text.size() > kLongestName) {
    throw UserError(fmt::format("a name of {} characters, expected at most {}", text.size(), kLongestName),
                    where, "Shorten it.");
  }
  if (is_identifier(text)) return;
  throw UserError(fmt::format("'{}' is not a name", text), where,
                  "Use letters, digits and underscores, and no digit first.");
}

bool read_boolean(const JsonNode& node) {
  const Json& json = node.json;
  if (json.is_boolean()) return json.get<bool>();
  refuse_kind(node, "true or false", unquote_remedy(json, &Json::is_boolean));
}

std::int64_t read_integer(const JsonNode& node, std::int64_t min, std::int64_t max) {
  const Json& json = node.json;
  const std::string expected = max == std::numeric_limits<std::int64_t>::max()
                                   ? fmt::format("an integer of at least {}", min)
                                   : fmt::format("an integer from {} to {}", min, max);
  if (!json.is_number()) refuse_kind(node, expected, unquote_remedy(json, &Json::is_number));
  const auto number = exact_integer(json);
  if (number && *number >= min && *number <= max) return *number;
  throw UserError(fmt::format("found {}, expected {}", as_written(json), expected), node.where,
                  fmt::format("Replace it with {}.", expected));
}

double read_number(const JsonNode& node, const Bounds<double>& bounds) {
  const Json& json = node.json;
  std::string expected = fmt::format("{}a number {} {}", bounds.or_zero ? "0 or " : "",
                                     bounds.above ? "above" : "of at least", bounds.min);
  if (std::isfinite(bounds.max))
    expected += fmt::format("{} at most {}", bounds.above ? " and of" : " and", bounds.max);
  if (!std::isfinite(bounds.min)) expected = "a finite number";
  if (!json.is_number()) refuse_kind(node, expected, unquote_remedy(json, &Json::is_number));
  const double number = json.get<double>();
  if (std::isfinite(number) && bounds.contain(number)) return number;
  throw UserError(fmt::format("found {}, expected {}", fmt::to_string(number), expected), node.where,
                  fmt::format("Replace it with {}.", expected));
}

Value read_value(const JsonNode& node, const std::string& element) {
  const std::string expected = element + " (a boolean, a number or a string)";
  if (!is_scalar(node.json)) refuse_kind(node, expected);
  Value value;
  const bool fits = from_json(node.json, value);
  const auto* number = std::get_if<double>(&value);
  if (fits && (number == nullptr || std::isfinite(*number))) return value;
  throw UserError(fmt::format("found the number {}, which is out of range", as_written(node.json)),
                  node.where, "Use integers of 64 bits and finite numbers.");
}

ExprText read_expression(const JsonNode& node) {
  const Json& json = node.json;
  if (json.is_string()) return {read_string(node, "an expression"), node.where};
  if (!is_scalar(json)) refuse_kind(node, "an expression (a string or a number)");
  read_value(node, "an expression");
  return {json.dump(), node.where};
}

std::vector<JsonNode> read_list(const JsonNode& node, const std::string& elements, Empty empty,
                                std::size_t most) {
  const Json& json = node.json;
  if (!json.is_array()) {
    const auto remedy = is_scalar(json) ? fmt::format("Write it in brackets: [{}].", as_written(json)) : "";
    refuse_kind(node, "a list of " + elements, remedy);
  }
  if (json.empty() && empty == Empty::refused) {
    throw UserError(fmt::format("found an empty list, expected a list of {}", elements), node.where,
                    "Put at least one in, or remove the key if it may be left out.");
  }
  if (json.size() > most) {
    throw UserError(fmt::format("found {} {}, expected at most {}", json.size(), elements, most), node.where,
                    "Remove some of them.");
  }
  std::vector<JsonNode> nodes;
  nodes.reserve(json.size());
  for (const Json& element : json) nodes.push_back({element, node.where.at(nodes.size())});
  return nodes;
}

std::vector<std::pair<std::string, JsonNode>> read_members(const JsonNode& node,
                                                           const std::string& expected) {
  if (!node.json.get().is_object()) refuse_kind(node, expected);
  if (node.json.get().size() > kMostParts) {
    throw UserError(fmt::format("found {} members, expected at most {}", node.json.get().size(), kMostParts),
                    node.where, "Remove some of them.");
  }
  std::vector<std::pair<std::string, JsonNode>> members;
  for (const auto& [key, value] : node.json.get().items())
    members.push_back({key, {value, node.where.at(key)}});
  return members;
}

std::vector<std::string> read_strings(const JsonNode& node, const std::string& elements) {
  std::vector<std::string> texts;
  for (const JsonNode& element : read_list(node, elements, Empty::allowed))
    texts.push_back(read_string(element));
  return texts;
}

std::vector<ExprText> read_expressions(const JsonNode& node) {
  std::vector<ExprText> expressions;
  for (const JsonNode& element : read_list(node, "expressions"))
    expressions.push_back(read_expression(element));
  return expressions;
}

std::array<ExprText, 3> read_extent(const JsonNode& node) {
  const auto nodes = read_list(node, "one to three expressions");
  std::array<ExprText, 3> extent;
  if (nodes.size() > extent.size()) {
    throw UserError(
        fmt::format("found a list of {}, expected a list of one to three expressions", nodes.size()),
        node.where, "Write x, y and z; those left out are 1.");
  }
  for (std::size_t i = 0; i < extent.size(); ++i)
    extent[i] = i < nodes.size() ? read_expression(nodes[i]) : ExprText{"1", node.where};
  return extent;
}

std::size_t find_known(const std::string& name, std::span<const std::string> known, const Where& where,
                       const std::string& message, const std::string& remedy) {
  const auto found = std::ranges::find(known, name);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  throw UserError(message, where, remedy + suggestion(name, known));
}

std::size_t read_choice(const JsonNode& node, std::span<const std::string> choices) {
  const std::string expected = "one of " + join(choices, ", ");
  if (!node.json.get().is_string()) refuse_kind(node, expected);
  const auto& text = node.json.get().get_ref<const std::string&>();
  return find_known(text, choices, node.where,
                    fmt::format("found {}, expected {}", as_written(node.json), expected), "Replace it.");
}

}  // namespace tiletune
