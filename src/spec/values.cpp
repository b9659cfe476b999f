#include "spec/values.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "spec/operation.h"

namespace tiletune {

namespace {

ValueKey key_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<long double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return static_cast<long double>(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::get<bool>(value);
}

void check_type(const Value& value, const Value& first, const Where& where) {
  static constexpr const char* kPlurals[] = {"booleans", "numbers", "strings"};
  const std::size_t kind = key_of(first).index();
  if (key_of(value).index() == kind) return;
  throw UserError(fmt::format("found {} among {}", type_name(value), kPlurals[kind]), where,
                  "Make the values of a parameter all booleans, all numbers or all strings.");
}

std::string listed(const std::vector<Value>& values) {
  constexpr std::size_t kMostShown = 12;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(values.size(), kMostShown); ++i) texts.push_back(to_text(values[i]));
  if (values.size() > kMostShown) texts.emplace_back("...");
  return join(texts, ", ");
}

[[noreturn]] void refuse_ranges(const std::string& text, const Where& where, const std::string& why = "") {
  throw UserError(
      fmt::format("'{}' is not a list of values{}{}", text, why.empty() ? "" : ": ", why), where,
      R"--(Write a list such as [16, 32], or lists and ranges joined by +: "[1, 2] + range(4, 65, 4)".)--");
}

/// "16, 129, 16": start, end, step, as Python's range() takes them.
void append_range(const std::string& arguments, const std::string& text, const Where& where,
                  nlohmann::ordered_json& values) {
  const auto numbers = nlohmann::json::parse("[" + arguments + "]", nullptr, false);
  const auto is_integer = [](const nlohmann::json& number) { return number.is_number_integer(); };
  if (!numbers.is_array() || numbers.empty() || numbers.size() > 3 ||
      !std::ranges::all_of(numbers, is_integer))
    refuse_ranges(text, where);
  // Far beyond what a parameter needs, and far from what 64 bits hold.
  constexpr double kMost = 1e15;
  for (const auto& number : numbers)
    if (std::abs(number.get<double>()) > kMost) refuse_ranges(text, where);
  const std::int64_t start = numbers.size() == 1 ? 0 : numbers[0].get<std::int64_t>();
  const std::int64_t end = numbers[numbers.size() == 1 ? 0 : 1].get<std::int64_t>();
  const std::int64_t step = numbers.size() == 3 ? numbers[2].get<std::int64_t>() : 1;
  if (step == 0)
    throw UserError(fmt::format("the range in '{}' has the step 0", text), where,
                    "Give another step, or none.");
  for (std::int64_t value = start; step > 0 ? value < end : value > end; value += step) {
    values.push_back(value);
    if (values.size() > kMostValues)
      throw UserError(fmt::format("'{}' has more than {} values", text, kMostValues), where,
                      "Give a shorter range, or a larger step.");
  }
}

/// "[1, 2] + range(4, 65, 4)"
nlohmann::ordered_json joined_lists(const std::string& text, const Where& where) {
  auto values = nlohmann::ordered_json::array();
  std::size_t at = 0;
  for (;;) {
    at = text.find_first_not_of(' ', at);
    if (at == std::string::npos) refuse_ranges(text, where);
    const bool is_range = text.compare(at, 6, "range(") == 0;
    const std::size_t end = text.find(is_range ? ')' : ']', at);
    if (end == std::string::npos) refuse_ranges(text, where);
    if (is_range) {
      append_range(text.substr(at + 6, end - at - 6), text, where, values);
    } else {
      try {
        const auto list = parse_json(text.substr(at, end - at + 1), where.file);
        if (!list.is_array()) refuse_ranges(text, where);
        values.insert(values.end(), list.begin(), list.end());
      } catch (const UserError& error) {
        refuse_ranges(text, where, error.message());
      }
    }
    at = text.find_first_not_of(' ', end + 1);
    if (at == std::string::npos) return values;
    if (text[at++] != '+') refuse_ranges(text, where);
  }
}

std::vector<Value> read_listed_values(const JsonNode& node) {
  const auto nodes = read_list(node, "values", Empty::refused, kMostValues);
  std::vector<Value> values;
  std::map<ValueKey, std::size_t> places;
  for (const JsonNode& element : nodes) {
    const Value value = read_value(element, "a value");
    // A configuration's options, macros and template arguments repeat its values.
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && text->size() > kLongestName)
      throw UserError(
          fmt::format("a string of {} characters, expected at most {}", text->size(), kLongestName),
          element.where, "Shorten it.");
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

/// "a, f(b, c)" at its commas outside of brackets.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// The text as a value of the same type.
std::optional<Value> value_like(const std::string& text, const Value& model) {
  if (std::holds_alternative<std::string>(model)) return text;
  if (std::holds_alternative<bool>(model)) {
    if (text == "true" || text == "True") return true;
    return text == "false" || text == "False" ? std::optional<Value>(false) : std::nullopt;
  }
  if (const auto integer = parsed_number<std::int64_t>(text)) return *integer;
  const auto number = parsed_number<double>(text);
  const bool is_integer = text.find_first_of(".eE") == std::string::npos;  // beyond 64 bits
  return number && std::isfinite(*number) && !is_integer ? std::optional<Value>(*number) : std::nullopt;
}

/// "true or false", "a number", "an integer", "a string": what the parameter's values are.
std::string kind_of(const Parameter& parameter) {
  const bool numbers = std::ranges::any_of(
      parameter.values, [](const Value& value) { return std::holds_alternative<double>(value); });
  const Value& model = parameter.values.front();
  return std::holds_alternative<bool>(model) ? "true or false" : numbers ? "a number" : type_name(model);
}

}  // namespace

std::vector<Value> read_values(const JsonNode& node) {
  if (!node.json.get().is_string()) return read_listed_values(node);
  const auto values = joined_lists(node.json.get().get<std::string>(), node.where);
  return read_listed_values({values, node.where});
}

std::vector<Value> read_narrowed_values(const JsonNode& node, const Parameter& parameter, bool extend) {
  auto values = read_values(node);
  std::map<ValueKey, Value> known;
  for (const Value& value : parameter.values) known.emplace(key_of(value), value);
  for (std::size_t i = 0; i < values.size(); ++i) {
    check_type(values[i], parameter.values.front(), node.where.at(i));
    if (const auto found = known.find(key_of(values[i])); found != known.end()) values[i] = found->second;
    if (extend || known.contains(key_of(values[i]))) continue;
    throw UserError(fmt::format("{} = {} is not among the template's values: {}", parameter.name,
                                to_text(values[i]), listed(parameter.values)),
                    node.where.at(i), R"(Use those, or set "extend": true beside "parameters".)");
  }
  return values;
}

Value parse_value(const std::string& text, const Parameter& parameter, const Where& where) {
  if (const auto value = value_like(text, parameter.values.front())) return *value;
  throw UserError(fmt::format("{} = '{}' is not {}", parameter.name, text, kind_of(parameter)), where,
                  fmt::format("Write one of its values: {}.", listed(parameter.values)));
}

ValuePositions::ValuePositions(const Parameter& parameter) : parameter_(parameter) {
  for (const Value& value : parameter.values)
    positions_.emplace(key_of(value), static_cast<std::uint32_t>(positions_.size()));
}

std::uint32_t ValuePositions::find(const std::string& text, const Where& where) const {
  const auto found = positions_.find(key_of(parse_value(text, parameter_, where)));
  if (found != positions_.end()) return found->second;
  throw UserError(fmt::format("{} = {} is not among its values", parameter_.name, text), where,
                  fmt::format("Write one of them: {}.", listed(parameter_.values)));
}

BufferValues read_buffer_values(const JsonNode& node, ElementType type, const std::filesystem::path& folder,
                                bool allow_outside) {
  if (node.json.get().is_object()) {
    ObjectReader reader(node, key_names(keys::kValues));
    const JsonNode npy = reader.need("npy", R"(the name of an .npy file; a kernel has a "source")");
    BufferValues values;
    values.npy = FileName{read_string(npy), folder, allow_outside, npy.where};
    values.where = node.where;
    reader.finish();
    return values;
  }
  if (node.json.get().is_number())
    refuse_kind(node, "the values of an input, such as \"uniform(-1, 1)\"",
                fmt::format("Write \"constant({})\".", node.json.get().dump()));
  const std::string text = read_string(node, "the values of an input, such as \"uniform(-1, 1)\"");
  const std::size_t open = text.find('(');
  const std::string written(trim(std::string_view(text).substr(0, open)));
  const auto distribution = from_name<Distribution>(written);
  if (!distribution) {
    throw UserError(
        fmt::format("there are no values '{}'", written), node.where,
        fmt::format("Write one of {}.{}", join(names_of(kDistributions, &DistributionFacts::written), ", "),
                    suggestion(written, spellings<Distribution>())));
  }
  const DistributionFacts& facts = facts_of(*distribution);
  if (is_floating(type) && !facts.floats)
    throw UserError(fmt::format("{} gives indices, and the buffer is of type {}", facts.written, name(type)),
                    node.where, "Use it for buffers of integers.");
  if (!is_floating(type) && !facts.integers)
    throw UserError(
        fmt::format("{} gives no integers, and the buffer is of type {}", facts.written, name(type)),
        node.where, "Write randint(a, b): integers from a to below b.");
  BufferValues values{*distribution, {}, {}, node.where};
  std::vector<std::string> arguments;
  if (open != std::string::npos) {
    const std::string_view rest = trim(std::string_view(text).substr(open));
    if (rest.back() != ')')
      throw UserError(fmt::format("'{}' does not end with ')'", text), node.where,
                      fmt::format("Write {}.", facts.written));
    const std::string_view inside = trim(rest.substr(1, rest.size() - 2));
    if (!inside.empty()) arguments = split_arguments(inside);
  }
  if (arguments.empty() && !facts.defaults[0].empty())
    arguments.assign(facts.defaults.begin(), facts.defaults.end());
  if (arguments.size() != facts.arguments) {
    throw UserError(
        fmt::format("'{}' has {} arguments, expected {}", text, arguments.size(), facts.arguments),
        node.where, fmt::format("Write {}.", facts.written));
  }
  for (const std::string& argument : arguments)
    values.arguments.push_back({std::string(trim(argument)), node.where});
  return values;
}

}  // namespace tiletune
