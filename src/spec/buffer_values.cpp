#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "spec/keys.h"
#include "spec/operation.h"

namespace tiletune {

namespace {

struct Shape {
  Distribution distribution;
  std::size_t arguments;
  std::string_view written;
  /// The arguments when none are given; empty: they must be.
  std::array<std::string_view, 2> defaults;
  bool integers;  ///< gives integers for every type
  bool floats;    ///< may fill buffers of floating-point types
};

constexpr std::array kShapes{
    Shape{Distribution::uniform, 2, "uniform(a, b)", {"-1", "1"}, false, true},
    Shape{Distribution::normal, 2, "normal(mean, deviation)", {"0", "1"}, false, true},
    Shape{Distribution::constant, 1, "constant(value)", {}, true, true},
    Shape{Distribution::iota, 2, "iota(first, step)", {"0", "1"}, true, true},
    Shape{Distribution::randint, 2, "randint(a, b)", {}, true, true},
    Shape{Distribution::permutation, 0, "permutation", {}, true, false},
    Shape{Distribution::offsets, 1, "offsets(total)", {}, true, false}};

const Shape& shape_of(Distribution distribution) {
  return *std::ranges::find(kShapes, distribution, &Shape::distribution);
}

std::string known() {
  std::vector<std::string> written;
  for (const Shape& shape : kShapes) written.emplace_back(shape.written);
  return join(written, ", ");
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

void check_type(const Shape& shape, ElementType type, const Where& where) {
  if (is_floating(type) && !shape.floats) {
    throw UserError(fmt::format("{} gives indices, and the buffer is of type {}", shape.written, name(type)),
                    where, "Use it for buffers of integers.");
  }
  if (is_floating(type) || shape.integers) return;
  throw UserError(
      fmt::format("{} gives no integers, and the buffer is of type {}", shape.written, name(type)), where,
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
    throw UserError(fmt::format("there are no values '{}'", name), node.where,
                    fmt::format("Write one of {}.{}", known(), suggestion(name, spellings<Distribution>())));
  }
  const Shape& shape = shape_of(*distribution);
  check_type(shape, type, node.where);
  BufferValues values{*distribution, {}, {}, node.where};
  std::vector<std::string> arguments;
  if (open != std::string::npos) {
    const std::string_view rest = trim(std::string_view(text).substr(open));
    if (rest.back() != ')')
      throw UserError(fmt::format("'{}' does not end with ')'", text), node.where,
                      fmt::format("Write {}.", shape.written));
    const std::string_view inside = trim(rest.substr(1, rest.size() - 2));
    if (!inside.empty()) arguments = split_arguments(inside);
  }
  if (arguments.empty() && !shape.defaults[0].empty())
    arguments.assign(shape.defaults.begin(), shape.defaults.end());
  if (arguments.size() != shape.arguments) {
    throw UserError(
        fmt::format("'{}' has {} arguments, expected {}", text, arguments.size(), shape.arguments),
        node.where, fmt::format("Write {}.", shape.written));
  }
  for (const std::string& argument : arguments)
    values.arguments.push_back({std::string(trim(argument)), node.where});
  return values;
}

}  // namespace tiletune
