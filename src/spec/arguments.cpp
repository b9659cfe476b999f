#include "spec/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/keys.h"

namespace tiletune {

namespace {

std::string read_name_of(const JsonNode& node, const std::vector<Buffer>& buffers,
                         const std::vector<WorkspaceArray>& workspace) {
  std::string name = read_identifier(node);
  std::vector<std::string> known;
  for (const Buffer& buffer : buffers) known.push_back(buffer.name);
  for (const WorkspaceArray& array : workspace) known.push_back(array.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  throw UserError(fmt::format("there is no buffer '{}'", name), node.where,
                  fmt::format("Pass a buffer of the operation or a workspace.{}", suggestion(name, known)));
}

Argument read_buffer_argument(const JsonNode& node, const Memory& memory) {
  Argument argument;
  argument.kind = Argument::Kind::buffer;
  argument.name = read_memory_name(node, memory);
  return argument;
}

Argument read_peers_argument(const JsonNode& node, const Memory& memory) {
  Argument argument;
  argument.kind = Argument::Kind::peers;
  argument.name = read_memory_name(node, memory);
  if (!memory.operation.gpus.text.empty()) return argument;
  throw UserError(fmt::format("the operation {} runs on one GPU, which has no peers", memory.operation.name),
                  node.where, R"(Pass {"buffer": name}, or give the operation "gpus".)");
}

/// `count` expressions.
std::vector<ExprText> read_sizes(const JsonNode& node, std::size_t count, const char* each) {
  std::vector<ExprText> sizes;
  for (const JsonNode& element : read_list(node, "expressions", count == 0 ? Empty::allowed : Empty::refused))
    sizes.push_back(read_expression(element));
  if (sizes.size() == count) return sizes;
  throw UserError(fmt::format("found {} expressions, expected {}", sizes.size(), count), node.where,
                  fmt::format("Give one for each dimension of \"extents\"{}.", each));
}

/// One of the names, or an expression for one.
template <typename Choice>
ExprText read_choice(const JsonNode& node) {
  ExprText text = read_expression(node);
  if (from_name<Choice>(text.text)) text.text = "'" + text.text + "'";
  return text;
}

Argument read_tensor_map(const JsonNode& node, ObjectReader& reader, const Memory& memory) {
  Argument argument;
  argument.kind = Argument::Kind::tensor_map;
  argument.name = read_memory_name(node, memory);
  TensorMap& map = argument.tensor_map.emplace();
  map.type = type_of(argument.name, memory);
  const JsonNode extents = reader.need("extents", "a list of expressions, innermost dimension first");
  const std::size_t rank = read_list(extents, "expressions").size();
  if (rank > TensorMap::kMostDimensions) {
    throw UserError(
        fmt::format("found {} dimensions, a tensor map has at most {}", rank, TensorMap::kMostDimensions),
        extents.where, "Join some of them.");
  }
  map.extents = read_sizes(extents, rank, "");
  map.pitches = read_sizes(reader.need("pitches", "a list of expressions, in elements"), rank - 1,
                           " but the innermost");
  map.box = read_sizes(reader.need("box", "a list of expressions, innermost dimension first"), rank, "");
  const auto swizzle = reader.find("swizzle");
  map.swizzle = swizzle ? read_choice<Swizzle>(*swizzle) : ExprText{"'none'", node.where};
  const auto promotion = reader.find("promotion");
  map.promotion = promotion ? read_choice<Promotion>(*promotion) : ExprText{"'128B'", node.where};
  if (const auto offset = reader.find("offset")) map.offset = read_expression(*offset);
  if (const auto when = reader.find("when")) map.when = read_expression(*when);
  return argument;
}

Argument read_scalar_argument(const JsonNode& node, ObjectReader& reader, const Operation& operation,
                              const DeclaredNames& scope) {
  Argument argument;
  argument.kind = Argument::Kind::scalar;
  argument.name = read_identifier(node);
  argument.type = read_element_type(reader.need("type", R"(the argument's type, such as "i32")"), operation);
  const auto value = reader.find("value");
  argument.value = value ? read_expression(*value) : ExprText{argument.name, node.where};
  argument.is_rank = !operation.gpus.text.empty() && argument.value.text == kRank;
  if (value || argument.is_rank) return argument;
  if (scope.contains(argument.name)) return argument;
  throw UserError(
      fmt::format("'{}' is not a dimension, scalar, parameter or derived value, and has no \"value\"",
                  argument.name),
      node.where, fmt::format("Add \"value\": an expression.{}", suggestion(argument.name, scope.names())));
}

Argument read_argument(const JsonNode& node, const Memory& memory, const DeclaredNames& scope) {
  ObjectReader reader(node, keys::kArgument);
  const auto buffer = reader.find("buffer");
  const auto scalar = reader.find("scalar");
  const auto map = reader.find("tensor_map");
  const auto peers = reader.find("peers");
  const int kinds =
      int{buffer.has_value()} + int{scalar.has_value()} + int{map.has_value()} + int{peers.has_value()};
  if (kinds != 1) {
    throw UserError(
        kinds > 1 ? "found more than one of 'buffer', 'scalar', 'tensor_map' and 'peers'"
                  : "found none of 'buffer', 'scalar', 'tensor_map' and 'peers'",
        node.where,
        R"(Write {"buffer": name}, {"scalar": name, "type": type}, {"tensor_map": name, ...} or {"peers": name}.)");
  }
  if (map) {
    Argument argument = read_tensor_map(*map, reader, memory);
    reader.finish("A tensor map has the type of its buffer.");
    return argument;
  }
  auto argument = buffer  ? read_buffer_argument(*buffer, memory)
                  : peers ? read_peers_argument(*peers, memory)
                          : read_scalar_argument(*scalar, reader, memory.operation, scope);
  reader.finish("A buffer has the type that the operation gives it.");
  return argument;
}

void check_passed(const TemplateSpec& spec, const std::string& name, const char* what, const Where& where) {
  const bool is_constant =
      std::any_of(spec.constants.begin(), spec.constants.end(),
                  [&](const ConstantMemory& constant) { return constant.buffer == name; });
  if (is_constant || is_passed(spec, name)) return;
  throw UserError(fmt::format("the {} '{}' is not passed to the kernel", what, name), where,
                  fmt::format(R"(Add {{"buffer": "{}"}} to "arguments" where the kernel expects it.)", name));
}

}  // namespace

std::string read_memory_name(const JsonNode& node, const Memory& memory) {
  return read_name_of(node, memory.operation.buffers, memory.workspace);
}

ElementType type_of(const std::string& name, const Memory& memory) {
  for (const Buffer& buffer : memory.operation.buffers) {
    if (buffer.name == name) return buffer.type;
  }
  return std::find_if(memory.workspace.begin(), memory.workspace.end(),
                      [&](const WorkspaceArray& array) { return array.name == name; })
      ->type;
}

ElementType read_element_type(const JsonNode& node, const Operation& operation) {
  std::vector<std::string> names;
  for (const auto& variable : operation.types) names.push_back(variable.first);
  const std::size_t variables = names.size();
  for (std::string& name : spellings<ElementType>()) names.push_back(std::move(name));
  const std::size_t choice = read_choice(node, names);
  return choice < variables ? operation.types[choice].second : *from_name<ElementType>(names[choice]);
}

std::vector<Argument> read_arguments(const JsonNode& node, const Memory& memory, const DeclaredNames& scope) {
  std::vector<Argument> arguments;
  for (const JsonNode& element : read_list(node, "arguments", Empty::allowed))
    arguments.push_back(read_argument(element, memory, scope));
  return arguments;
}

std::string read_input_name(const JsonNode& node, const std::vector<Buffer>& buffers) {
  std::string name = read_name_of(node, buffers, {});
  const auto buffer =
      std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& one) { return one.name == name; });
  if (buffer->role == BufferRole::in) return name;
  throw UserError(fmt::format("the buffer '{}' is not an input alone", name), node.where,
                  "Constant memory holds inputs: name a buffer with the role \"in\".");
}

bool is_passed(const TemplateSpec& spec, const std::string& name) {
  const auto passes = [&](const Argument& argument) {
    return argument.kind != Argument::Kind::scalar && argument.name == name;
  };
  const auto uses = [&](const StepSpec& step) {
    return step.from == name || step.to == name || step.signal == name;
  };
  return std::any_of(spec.steps.begin(), spec.steps.end(), uses) ||
         std::any_of(spec.launches.begin(), spec.launches.end(), [&](const Launch& launch) {
           return std::any_of(launch.arguments.begin(), launch.arguments.end(), passes);
         });
}

void check_all_passed(const TemplateSpec& spec, const Where& where) {
  for (const Buffer& buffer : spec.operation.buffers) check_passed(spec, buffer.name, "buffer", where);
  for (const WorkspaceArray& array : spec.workspace) check_passed(spec, array.name, "workspace", where);
}

}  // namespace tiletune
