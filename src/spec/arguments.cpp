#include "spec/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/keys.h"

namespace tiletune {

namespace {

/// Of the operation's buffers and the workspace.
std::vector<std::string> memory_names(const TemplateSpec& spec) {
  std::vector<std::string> names;
  for (const Buffer& buffer : spec.buffers) names.push_back(buffer.name);
  for (const WorkspaceArray& array : spec.workspace) names.push_back(array.name);
  return names;
}

Argument read_buffer_argument(const Node& node, const TemplateSpec& spec) {
  Argument argument;
  argument.kind = Argument::Kind::buffer;
  argument.name = read_identifier(node);
  const std::vector<std::string> known = memory_names(spec);
  if (std::find(known.begin(), known.end(), argument.name) != known.end()) return argument;
  throw UserError(
      fmt::format("there is no buffer '{}'", argument.name), node.where,
      fmt::format("Pass a buffer of the operation or a workspace.{}", suggestion(argument.name, known)));
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

Argument read_argument(const Node& node, const TemplateSpec& spec, const Scope& scope) {
  ObjectReader reader(node, keys::kArgument);
  const auto buffer = reader.find("buffer");
  const auto scalar = reader.find("scalar");
  if (buffer.has_value() == scalar.has_value()) {
    throw UserError(buffer ? "found both 'buffer' and 'scalar'" : "found neither 'buffer' nor 'scalar'",
                    node.where, R"(Write {"buffer": name} or {"scalar": name, "type": type}.)");
  }
  auto argument = buffer ? read_buffer_argument(*buffer, spec) : read_scalar_argument(*scalar, reader, scope);
  reader.finish("A buffer has the type that the operation gives it.");
  return argument;
}

void check_passed(const std::vector<Argument>& arguments, const std::string& name, const char* what,
                  const Where& where) {
  const auto passes = [&](const Argument& argument) {
    return argument.kind == Argument::Kind::buffer && argument.name == name;
  };
  if (std::any_of(arguments.begin(), arguments.end(), passes)) return;
  throw UserError(fmt::format("the {} '{}' is not passed to the kernel", what, name), where,
                  fmt::format(R"(Add {{"buffer": "{}"}} where the kernel expects it.)", name));
}

}  // namespace

std::vector<Argument> read_arguments(const Node& node, const TemplateSpec& spec, const Scope& scope) {
  std::vector<Argument> arguments;
  for (const Node& element : read_list(node, "arguments")) {
    arguments.push_back(read_argument(element, spec, scope));
  }
  for (const Buffer& buffer : spec.buffers) check_passed(arguments, buffer.name, "buffer", node.where);
  for (const WorkspaceArray& array : spec.workspace)
    check_passed(arguments, array.name, "workspace", node.where);
  return arguments;
}

}  // namespace tiletune
