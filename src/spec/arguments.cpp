#include "spec/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/keys.h"

namespace tiletune {

namespace {

Argument read_buffer_argument(const Node& node, const std::vector<Buffer>& buffers) {
  Argument argument;
  argument.kind = Argument::Kind::buffer;
  argument.name = read_identifier(node);
  std::vector<std::string> known;
  known.reserve(buffers.size());
  for (const Buffer& buffer : buffers) known.push_back(buffer.name);
  if (std::find(known.begin(), known.end(), argument.name) != known.end()) return argument;
  throw UserError(fmt::format("there is no buffer '{}'", argument.name), node.where,
                  fmt::format("Pass a buffer of the operation.{}", suggestion(argument.name, known)));
}

Argument read_scalar_argument(const Node& node, ObjectReader& reader, const Scope& scope) {
  Argument argument;
  argument.kind = Argument::Kind::scalar;
  argument.name = read_identifier(node);
  argument.type = read_enum(reader.need("type", R"(the argument's type, such as "i32")"), kScalarTypes);
  if (const auto value = reader.find("value")) {
    argument.value = read_expression(*value);
    return argument;
  }
  argument.value = {argument.name, node.where};
  if (scope.contains(argument.name)) return argument;
  throw UserError(
      fmt::format("'{}' is no dimension, scalar, parameter or derived value, and has no \"value\"",
                  argument.name),
      node.where, fmt::format("Add \"value\": an expression.{}", suggestion(argument.name, scope.names())));
}

Argument read_argument(const Node& node, const std::vector<Buffer>& buffers, const Scope& scope) {
  ObjectReader reader(node, keys::kArgument);
  const auto buffer = reader.find("buffer");
  const auto scalar = reader.find("scalar");
  if (buffer.has_value() == scalar.has_value()) {
    throw UserError(buffer ? "found both 'buffer' and 'scalar'" : "found neither 'buffer' nor 'scalar'",
                    node.where, R"(Write {"buffer": name} or {"scalar": name, "type": type}.)");
  }
  auto argument =
      buffer ? read_buffer_argument(*buffer, buffers) : read_scalar_argument(*scalar, reader, scope);
  reader.finish("A buffer has the type that the operation gives it.");
  return argument;
}

}  // namespace

std::vector<Argument> read_arguments(const Node& node, const std::vector<Buffer>& buffers,
                                     const Scope& scope) {
  std::vector<Argument> arguments;
  for (const Node& element : read_list(node, "arguments")) {
    arguments.push_back(read_argument(element, buffers, scope));
  }
  for (const Buffer& buffer : buffers) {
    const auto passes = [&](const Argument& argument) {
      return argument.kind == Argument::Kind::buffer && argument.name == buffer.name;
    };
    if (std::any_of(arguments.begin(), arguments.end(), passes)) continue;
    throw UserError(fmt::format("the buffer '{}' is not passed to the kernel", buffer.name), node.where,
                    fmt::format(R"(Add {{"buffer": "{}"}} where the kernel expects it.)", buffer.name));
  }
  return arguments;
}

}  // namespace tiletune
