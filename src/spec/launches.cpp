#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/text.h"
#include "spec/operation.h"

namespace tiletune {

namespace {

constexpr std::array kStepKinds{"copy", "barrier", "collective"};

/// The type of an element of a buffer or workspace that is there.
ElementType type_of(const std::string& name, const Memory& memory) {
  for (const Buffer& buffer : memory.operation.buffers)
    if (buffer.name == name) return buffer.type;
  return std::ranges::find(memory.workspace, name, &WorkspaceArray::name)->type;
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

TensorMap read_tensor_map(ObjectReader& reader, ElementType type, const Where& where) {
  TensorMap map;
  map.type = type;
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
  map.swizzle = {"'none'", where};
  map.promotion = {"'128B'", where};
  reader.read(keys::kTensorMap, map);
  return map;
}

void read_scalar(const JsonNode& node, ObjectReader& reader, const Operation& operation,
                 const DeclaredNames& scope, Argument& argument) {
  argument.name = read_identifier(node);
  reader.read(keys::kScalarArgument, argument, operation);
  const auto value = reader.find("value");
  argument.value = value ? read_expression(*value) : ExprText{argument.name, node.where};
  argument.is_rank = !operation.gpus.text.empty() && argument.value.text == kRank;
  if (value || argument.is_rank || scope.contains(argument.name)) return;
  throw UserError(
      fmt::format("'{}' is not a dimension, scalar, parameter or derived value, and has no \"value\"",
                  argument.name),
      node.where, fmt::format("Add \"value\": an expression.{}", suggestion(argument.name, scope.names())));
}

Argument read_argument(const JsonNode& node, const Memory& memory, const DeclaredNames& scope) {
  ObjectReader reader(node, key_names(keys::kArgument));
  Argument argument;
  std::vector<JsonNode> found;
  for (const auto& [kind, key] : kSpellings<Argument::Kind>) {
    const auto name = reader.find(key);
    if (!name) continue;
    found.push_back(*name);
    argument.kind = kind;
  }
  if (found.size() != 1) {
    throw UserError(
        fmt::format("found {} of 'buffer', 'scalar', 'tensor_map' and 'peers'",
                    found.empty() ? "none" : "more than one"),
        node.where,
        R"(Write {"buffer": name}, {"scalar": name, "type": type}, {"tensor_map": name, ...} or {"peers": name}.)");
  }
  const JsonNode& name = found.front();
  const bool is_map = argument.kind == Argument::Kind::tensor_map;
  if (argument.kind == Argument::Kind::scalar)
    read_scalar(name, reader, memory.operation, scope, argument);
  else
    argument.name = read_memory_name(name, memory);
  if (argument.kind == Argument::Kind::peers && memory.operation.gpus.text.empty())
    throw UserError(
        fmt::format("the operation {} runs on one GPU, which has no peers", memory.operation.name),
        name.where, R"(Pass {"buffer": name}, or give the operation "gpus".)");
  if (is_map) argument.tensor_map = read_tensor_map(reader, type_of(argument.name, memory), name.where);
  reader.finish(is_map ? "A tensor map has the type of its buffer."
                       : "A buffer has the type that the operation gives it.");
  return argument;
}

StepSpec read_step(const JsonNode& node, const Memory& memory) {
  if (memory.operation.gpus.text.empty())
    throw UserError(
        fmt::format("the operation {} runs on one GPU, and this step needs several", memory.operation.name),
        node.where, R"(Remove it, or give the operation "gpus".)");
  const bool is_copy = node.json.get().contains("copy");
  if (!is_copy && node.json.get().contains("barrier")) {
    ObjectReader reader(node, key_names(keys::kBarrier));
    StepSpec step{.kind = StepKind::barrier};
    const JsonNode barrier = reader.need("barrier", "true");
    if (!read_boolean(barrier))
      throw UserError("found false, expected true", barrier.where, R"(Use "when" to switch a barrier off.)");
    reader.read(keys::kBarrier, step);
    reader.finish();
    return step;
  }
  StepSpec step = is_copy ? read_object<StepSpec>(node, keys::kCopy, memory)
                          : read_object<StepSpec>(node, keys::kCollective, memory);
  step.kind = is_copy ? StepKind::copy : StepKind::collective;
  // Elements are copied as they are.
  const ElementType from = type_of(step.from, memory);
  const ElementType to = type_of(step.to, memory);
  if (is_copy ? size_bytes(from) == size_bytes(to) : from == to) return step;
  throw UserError(fmt::format("'{}' holds {}, and '{}' holds {}", step.from, name(from), step.to, name(to)),
                  node.where, "Give both the same type.");
}

template <typename Keys>
Launch read_launch(ObjectReader& reader, const Keys& keys, const TemplateSpec& spec,
                   const DeclaredNames& scope) {
  Launch launch;
  launch.dynamic_shared_bytes = {"0", reader.where()};
  reader.read(keys, launch, Memory{spec.operation, spec.workspace}, scope);
  return launch;
}

void add_launch(Launch launch, const Where& where, TemplateSpec& spec) {
  launch.where = where;
  if (!spec.operation.gpus.text.empty())
    spec.steps.push_back({.kind = StepKind::kernel, .launch = spec.launches.size()});
  spec.launches.push_back(std::move(launch));
}

}  // namespace

void read_launches(ObjectReader& object, bool is_baseline, TemplateSpec& spec, const DeclaredNames& scope) {
  const auto list = object.find("launches");
  if (!list && is_baseline)
    return add_launch(read_launch(object, keys::kBaselineLaunch, spec, scope), object.where(), spec);
  if (!list) {
    ObjectReader shape(object.need("launch", R"(an object with "grid" and "block")"),
                       key_names(keys::kLaunch));
    Launch launch = read_launch(shape, keys::kLaunch, spec, scope);
    shape.finish();
    object.read(keys::kOnlyLaunch, launch, Memory{spec.operation, spec.workspace}, scope);
    return add_launch(std::move(launch), object.where(), spec);
  }
  static constexpr auto kOfBaseline = key_names(keys::kBaselineLaunch);
  static constexpr auto kOfManifest = key_names(keys::kOnlyLaunch);
  const std::span<const std::string_view> keys_of_one =
      is_baseline ? std::span<const std::string_view>(kOfBaseline) : kOfManifest;
  for (const std::string_view key : keys_of_one) {
    if (const auto other = object.find(key))
      throw UserError(fmt::format("found both 'launches' and '{}'", key), other->where,
                      fmt::format("Move '{}' into each of the launches.", key));
  }
  for (const JsonNode& node : read_list(*list, "launches", Empty::refused, kMostKernels)) {
    const auto is_stated = [&](const char* kind) { return node.json.get().contains(kind); };
    if (std::ranges::any_of(kStepKinds, is_stated)) {
      spec.steps.push_back(read_step(node, {spec.operation, spec.workspace}));
      continue;
    }
    ObjectReader reader(node, key_names(keys::kLaunches));
    Launch launch = read_launch(reader, keys::kLaunches, spec, scope);
    if (const auto programmatic = reader.find("programmatic")) {
      if (spec.launches.empty())
        throw UserError("there is no launch before the first one", programmatic->where,
                        "Move it to the launch that may begin before the one before it ends.");
      launch.programmatic = read_expression(*programmatic);
    }
    reader.finish();
    add_launch(std::move(launch), node.where, spec);
  }
  if (spec.launches.empty())
    throw UserError("there is no kernel among the launches", list->where, "Add the launch of one.");
}

std::string read_memory_name(const JsonNode& node, const Memory& memory) {
  std::string name = read_identifier(node);
  std::vector<std::string> known = names_of(memory.operation.buffers, &Buffer::name);
  for (const WorkspaceArray& array : memory.workspace) known.push_back(array.name);
  find_known(name, known, node.where, fmt::format("there is no buffer '{}'", name),
             "Pass a buffer of the operation or a workspace.");
  return name;
}

std::string read_written_name(const JsonNode& node, const Memory& memory) {
  std::string name = read_memory_name(node, memory);
  for (const Buffer& buffer : memory.operation.buffers)
    if (buffer.name == name && buffer.role == BufferRole::in)
      throw UserError(fmt::format("'{}' is an input, and the step writes to it", name), node.where,
                      "Name an output or a workspace.");
  return name;
}

std::string read_signal(const JsonNode& node, const Memory& memory) {
  std::string name = read_memory_name(node, memory);
  const auto array = std::ranges::find(memory.workspace, name, &WorkspaceArray::name);
  const bool holds_words = array != memory.workspace.end() && array->zeroed &&
                           (array->type == ElementType::u32 || array->type == ElementType::i32);
  if (holds_words) return name;
  throw UserError(fmt::format("'{}' cannot hold signals", name), node.where,
                  R"(Name a workspace with "type": "u32" and "zeroed": true.)");
}

std::vector<std::pair<std::string, ExprText>> read_repeat(const JsonNode& node) {
  std::vector<std::pair<std::string, ExprText>> counts;
  for (const auto& [name, count] : read_members(node, "an object of expressions by variable")) {
    check_identifier(name, count.where);
    counts.emplace_back(name, read_expression(count));
  }
  return counts;
}

template <typename Choice>
ExprText read_name_of(const JsonNode& node) {
  ExprText text = read_expression(node);
  if (from_name<Choice>(text.text)) text.text = "'" + text.text + "'";
  return text;
}
template ExprText read_name_of<Swizzle>(const JsonNode& node);
template ExprText read_name_of<Promotion>(const JsonNode& node);

ExprText read_compute_capability(const JsonNode& node, const DeclaredNames& scope) {
  const std::string expected = "a compute capability such as \"7.0\"";
  std::string text = read_string(node, expected);
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  const bool is_expression = !std::ranges::all_of(text, is_plain) || scope.contains(text);
  const std::size_t dot = text.find('.');
  const bool has_form = (dot == 1 || dot == 2) && text.size() == dot + 2;
  const bool is_version =
      has_form && std::ranges::all_of(text.substr(0, dot), is_digit) && is_digit(text.back());
  if (is_expression || is_version) return {std::move(text), node.where};
  throw UserError(fmt::format("found \"{}\", expected {}", text, expected), node.where,
                  "Write major and minor version with a dot between them.");
}

ElementType read_element_type(const JsonNode& node, const Operation& operation) {
  auto names = names_of(operation.types, &std::pair<std::string, ElementType>::first);
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

std::vector<WorkspaceArray> read_workspace(const JsonNode& node, const Operation& operation) {
  std::vector<WorkspaceArray> arrays;
  DeclaredNames names;
  for (const Buffer& buffer : operation.buffers)
    names.declare(buffer.name, "a buffer", buffer.elements.where);
  for (const JsonNode& element : read_list(node, "arrays", Empty::allowed)) {
    arrays.push_back(read_object<WorkspaceArray>(element, keys::kWorkspace, operation));
    names.declare(arrays.back().name, "a workspace", element.where.at("name"));
  }
  return arrays;
}

void read_constants(ObjectReader& reader, TemplateSpec& spec) {
  const auto node = reader.find("constants");
  if (!node) return;
  for (const auto& [symbol, buffer] : read_members(*node, "an object of buffers by symbol")) {
    check_qualified_name(symbol, buffer.where);
    const std::string name = read_memory_name(buffer, {spec.operation, {}});
    if (std::ranges::find(spec.operation.buffers, name, &Buffer::name)->role != BufferRole::in)
      throw UserError(fmt::format("the buffer '{}' is not an input alone", name), buffer.where,
                      "Constant memory holds inputs: name a buffer with the role \"in\".");
    spec.constants.push_back({symbol, name, buffer.where});
  }
}

bool is_passed(const TemplateSpec& spec, const std::string& name) {
  const auto passes = [&](const Argument& argument) {
    return argument.kind != Argument::Kind::scalar && argument.name == name;
  };
  const auto uses = [&](const StepSpec& step) {
    return step.from == name || step.to == name || step.signal == name;
  };
  return std::ranges::any_of(spec.steps, uses) ||
         std::ranges::any_of(spec.launches, [&](const Launch& launch) {
           return std::ranges::any_of(launch.arguments, passes);
         });
}

void check_all_passed(const TemplateSpec& spec, const Where& where) {
  const auto check = [&](const std::string& name, const char* what) {
    if (is_among(name, names_of(spec.constants, &ConstantMemory::buffer)) || is_passed(spec, name)) return;
    throw UserError(
        fmt::format("the {} '{}' is not passed to the kernel", what, name), where,
        fmt::format(R"(Add {{"buffer": "{}"}} to "arguments" where the kernel expects it.)", name));
  };
  for (const Buffer& buffer : spec.operation.buffers) check(buffer.name, "buffer");
  for (const WorkspaceArray& array : spec.workspace) check(array.name, "workspace");
}

}  // namespace tiletune
