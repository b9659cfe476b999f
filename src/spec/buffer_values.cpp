#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "spec/operation.h"

namespace tiletune {

namespace {

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

void check_type(const DistributionFacts& facts, ElementType type, const Where& where) {
  if (is_floating(type) && !facts.floats) {
    throw UserError(fmt::format("{} gives indices, and the buffer is of type {}", facts.written, name(type)),
                    where, "Use it for buffers of integers.");
  }
  if (is_floating(type) || facts.integers) return;
  throw UserError(
      fmt::format("{} gives no integers, and the buffer is of type {}", facts.written, name(type)), where,
      "Write randint(a, b): integers from a to below b.");
}

}  // namespace

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
  const std::string name(trim(std::string_view(text).substr(0, open)));
  const auto distribution = from_name<Distribution>(name);
  if (!distribution) {
    throw UserError(
        fmt::format("there are no values '{}'", name), node.where,
        fmt::format("Write one of {}.{}", join(names_of(kDistributions, &DistributionFacts::written), ", "),
                    suggestion(name, spellings<Distribution>())));
  }
  const DistributionFacts& facts = facts_of(*distribution);
  check_type(facts, type, node.where);
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
