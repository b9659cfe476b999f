#include "spec/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "spec/keys.h"

namespace tiletune {

namespace {

constexpr std::array kKinds{"copy", "barrier", "collective"};

ExprText read_optional(ObjectReader& reader, const char* key) {
  const auto node = reader.find(key);
  return node ? read_expression(*node) : ExprText{};
}

/// Of an array that is not an input.
std::string read_written(const JsonNode& node, const Memory& memory) {
  std::string name = read_memory_name(node, memory);
  for (const Buffer& buffer : memory.operation.buffers)
    if (buffer.name == name && buffer.role == BufferRole::in)
      throw UserError(fmt::format("'{}' is an input, and the step writes to it", name), node.where,
                      "Name an output or a workspace.");
  return name;
}

/// The words are zero before the first launch, as the kernel leaves them.
std::string read_signal(const JsonNode& node, const Memory& memory) {
  std::string name = read_memory_name(node, memory);
  const auto array = std::find_if(memory.workspace.begin(), memory.workspace.end(),
                                  [&](const WorkspaceArray& one) { return one.name == name; });
  const bool holds_words = array != memory.workspace.end() && array->zeroed &&
                           (array->type == ElementType::u32 || array->type == ElementType::i32);
  if (holds_words) return name;
  throw UserError(fmt::format("'{}' cannot hold signals", name), node.where,
                  R"(Name a workspace with "type": "u32" and "zeroed": true.)");
}

/// Elements are copied as they are.
void check_types(const StepSpec& step, const Memory& memory, const Where& where) {
  const ElementType from = type_of(step.from, memory);
  const ElementType to = type_of(step.to, memory);
  const bool fits = step.kind == StepKind::collective ? from == to : size_bytes(from) == size_bytes(to);
  if (fits) return;
  throw UserError(fmt::format("'{}' holds {}, and '{}' holds {}", step.from, name(from), step.to, name(to)),
                  where, "Give both the same type.");
}

StepSpec read_copy(const JsonNode& node, const Memory& memory) {
  ObjectReader reader(node, keys::kCopy);
  StepSpec step;
  step.kind = StepKind::copy;
  step.from = read_memory_name(reader.need("copy", "the buffer or workspace that is read"), memory);
  step.to = read_written(reader.need("to", "the buffer or workspace that is written"), memory);
  step.peer =
      read_expression(reader.need("peer", "an expression for the number of the GPU that is read from"));
  step.elements = read_expression(reader.need("elements", "an expression for the number of elements"));
  step.from_offset = read_optional(reader, "from");
  step.to_offset = read_optional(reader, "to_offset");
  step.index = read_optional(reader, "index");
  step.when = read_optional(reader, "when");
  if (const auto repeat = reader.find("repeat")) {
    for (const auto& [name, count] : read_members(*repeat, "an object of expressions by variable")) {
      check_identifier(name, count.where);
      step.repeat.emplace_back(name, read_expression(count));
    }
  }
  if (const auto beside = reader.find("beside")) step.beside = read_boolean(*beside);
  if (const auto signal = reader.find("signal")) step.signal = read_signal(*signal, memory);
  reader.finish();
  check_types(step, memory, node.where);
  return step;
}

StepSpec read_barrier(const JsonNode& node) {
  ObjectReader reader(node, keys::kBarrier);
  StepSpec step;
  step.kind = StepKind::barrier;
  const JsonNode barrier = reader.need("barrier", "true");
  if (!read_boolean(barrier))
    throw UserError("found false, expected true", barrier.where, R"(Use "when" to switch a barrier off.)");
  step.when = read_optional(reader, "when");
  reader.finish();
  return step;
}

StepSpec read_collective(const JsonNode& node, const Memory& memory) {
  ObjectReader reader(node, keys::kCollective);
  StepSpec step;
  step.kind = StepKind::collective;
  step.collective = read_enum<Collective>(reader.need("collective", R"("all_gather" or "reduce_scatter")"));
  step.from = read_memory_name(reader.need("from", "the buffer or workspace that is read"), memory);
  step.to = read_written(reader.need("to", "the buffer or workspace that is written"), memory);
  step.elements = read_expression(reader.need("elements", "an expression for the elements of one GPU"));
  step.when = read_optional(reader, "when");
  reader.finish();
  check_types(step, memory, node.where);
  return step;
}

}  // namespace

bool is_step(const JsonNode& node) {
  const auto& json = node.json.get();
  return json.is_object() &&
         std::any_of(kKinds.begin(), kKinds.end(), [&](const char* kind) { return json.contains(kind); });
}

StepSpec read_step(const JsonNode& node, const Memory& memory) {
  if (memory.operation.gpus.text.empty())
    throw UserError(
        fmt::format("the operation {} runs on one GPU, and this step needs several", memory.operation.name),
        node.where, R"(Remove it, or give the operation "gpus".)");
  const auto& json = node.json.get();
  if (json.contains("copy")) return read_copy(node, memory);
  return json.contains("barrier") ? read_barrier(node) : read_collective(node, memory);
}

}  // namespace tiletune
