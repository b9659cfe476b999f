#include "spec/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "spec/keys.h"
#include "spec/paths.h"

namespace tiletune {

namespace {

ElementType read_type(ObjectReader& types, std::string_view key) {
  const auto node = types.find(key);
  return node ? read_enum(*node, kElementTypes) : ElementType::f32;
}

/// beta != 0 makes C an input as well and adds one more pass over it to the compulsory traffic.
void follow_beta(TemplateSpec& spec) {
  const bool reads_c = spec.scalars.at(1).second != 0;
  Buffer& c = spec.buffers.at(2);
  c.role = reads_c ? BufferRole::inout : BufferRole::out;
  spec.bytes.text =
      fmt::format("{}.0 * M * K + {}.0 * K * N + {}.0 * M * N", size_bytes(spec.buffers[0].type),
                  size_bytes(spec.buffers[1].type), size_bytes(c.type) * (reads_c ? 2 : 1));
}

void define_gemm(ObjectReader& reader, TemplateSpec& spec, const Where& where) {
  const nlohmann::ordered_json none = nlohmann::ordered_json::object();
  ObjectReader types(reader.find("types").value_or(Node{none, where}), keys::kTypes);
  spec.dimensions = {"M", "N", "K"};
  spec.scalars = {{"alpha", 1.0}, {"beta", 0.0}};
  spec.leading_dimensions = leading_dimensions(Operation::gemm);
  // They end with the last row's last element: what lies behind it is out of bounds.
  const auto matrix = [&](const char* rows, std::size_t i) {
    const auto& [pitch, name, columns] = spec.leading_dimensions[i];
    Buffer buffer{name, read_type(types, name), {}, BufferRole::in, {columns, where}, {pitch, where}};
    buffer.elements = {fmt::format("({} - 1) * {} + {}", rows, pitch, columns), where};
    return buffer;
  };
  spec.buffers = {matrix("M", 0), matrix("K", 1), matrix("M", 2)};
  spec.accumulator = read_type(types, "accumulator");
  types.finish();
  // Floating point: the product of three large sizes exceeds 64-bit integers.
  spec.flops = {"2.0 * M * N * K", where};
  spec.bytes.where = where;
  follow_beta(spec);
}

Buffer read_buffer(const Node& node) {
  ObjectReader reader(node, keys::kBuffer);
  Buffer buffer;
  buffer.name = read_identifier(reader.need("name", "the buffer's name"));
  buffer.type = read_enum(reader.need("type", R"(an element type such as "f32")"), kElementTypes);
  buffer.elements = read_expression(reader.need("elements", "an expression for the number of elements"));
  buffer.role = read_enum(reader.need("role", R"("in", "out" or "inout")"), kBufferRoles);
  reader.finish();
  return buffer;
}

std::vector<Buffer> read_buffers(const Node& node) {
  std::vector<Buffer> buffers;
  Scope names;
  for (const Node& element : read_list(node, "buffers")) {
    buffers.push_back(read_buffer(element));
    names.declare(buffers.back().name, "a buffer", element.where.at("name"));
  }
  const auto is_output = [](const Buffer& buffer) { return buffer.role != BufferRole::in; };
  if (std::any_of(buffers.begin(), buffers.end(), is_output)) return buffers;
  throw UserError("no buffer is an output", node.where, R"(Give one the role "out" or "inout".)");
}

Reference read_reference(const Node& node, const TemplateSpec& spec, bool allow_outside_paths) {
  ObjectReader reader(node, keys::kReference);
  Reference reference;
  reference.source =
      resolve_file(reader.need("source", "the reference kernel's file"), spec.folder, allow_outside_paths);
  reference.kernel = read_identifier(reader.need("kernel", "the reference kernel's name"));
  reference.grid = read_extent(reader.need("grid", "a list of one to three expressions, in thread blocks"));
  reference.block = read_extent(reader.need("block", "a list of one to three expressions, in threads"));
  reader.finish();
  return reference;
}

void read_custom_sizes(ObjectReader& reader, TemplateSpec& spec) {
  const Node dimensions = reader.need("dimensions", "a list of names of the problem's dimensions");
  for (const Node& node : read_list(dimensions, "names")) spec.dimensions.push_back(read_identifier(node));
  if (const auto scalars = reader.find("scalars")) {
    for (const auto& [name, node] : read_members(*scalars, "an object of numbers")) {
      check_identifier(name, node.where);
      spec.scalars.emplace_back(name, read_number(node));
    }
  }
}

void read_custom(ObjectReader& reader, TemplateSpec& spec, bool allow_outside_paths) {
  if (const auto node = reader.find("types")) {
    ObjectReader types(*node, keys::kTypes);
    spec.accumulator = read_type(types, "accumulator");
    types.finish("A custom operation gives each buffer's type under \"buffers\".");
  }
  read_custom_sizes(reader, spec);
  spec.buffers = read_buffers(reader.need("buffers", "a list of buffers"));
  spec.flops = read_expression(reader.need("flops", "an expression for the operations of one launch"));
  spec.bytes = read_expression(reader.need("bytes", "an expression for the bytes one launch must move"));
  spec.reference = read_reference(reader.need("reference", "an object that names the reference kernel"), spec,
                                  allow_outside_paths);
}

void declare_names(const TemplateSpec& spec, const Where& root, Scope& scope) {
  const bool is_gemm = spec.operation == Operation::gemm;
  for (std::size_t i = 0; i < spec.dimensions.size(); ++i) {
    scope.declare(spec.dimensions[i], "a dimension",
                  is_gemm ? root.at("operation") : root.at("dimensions").at(i));
  }
  for (const auto& leading : spec.leading_dimensions) {
    scope.declare(leading.name, "a leading dimension", root.at("operation"));
  }
  for (const auto& [name, value] : spec.scalars) {
    scope.declare(name, "a scalar", is_gemm ? root.at("operation") : root.at("scalars").at(name));
  }
}

bool is_word_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool mentions(const ExprText& expression, const std::string& name) {
  const std::string& text = expression.text;
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts_word = at == 0 || !is_word_character(text[at - 1]);
    if (starts_word && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

/// Whether the kernel learns the value of a name, at run time or when it is compiled.
bool passes(const Argument& argument, const std::string& name) {
  const auto mentioned = [&](const ExprText& text) { return mentions(text, name); };
  return mentions(argument.value, name) ||
         (argument.tensor_map &&
          std::any_of(argument.tensor_map->pitches.begin(), argument.tensor_map->pitches.end(), mentioned));
}

bool passes(const TemplateSpec& spec, const std::string& name) {
  return std::any_of(spec.arguments.begin(), spec.arguments.end(),
                     [&](const Argument& argument) { return passes(argument, name); }) ||
         std::any_of(spec.template_arguments.begin(), spec.template_arguments.end(),
                     [&](const ExprText& argument) { return mentions(argument, name); }) ||
         std::any_of(spec.macros.begin(), spec.macros.end(),
                     [&](const auto& macro) { return mentions(macro.second, name); });
}

}  // namespace

void read_operation(ObjectReader& reader, TemplateSpec& spec, Scope& scope, bool allow_outside_paths) {
  const Node operation = reader.need("operation", R"("gemm" or "custom")");
  spec.operation = read_enum(operation, kOperations);
  if (spec.operation == Operation::gemm) {
    define_gemm(reader, spec, operation.where);
  } else {
    read_custom(reader, spec, allow_outside_paths);
  }
  declare_names(spec, reader.where(), scope);
}

void add_implied_constraints(TemplateSpec& spec) {
  const auto& leading = spec.leading_dimensions;
  const auto is_passed = [&](const LeadingDimension& each) { return passes(spec, each.name); };
  if (std::all_of(leading.begin(), leading.end(), is_passed)) return;
  std::vector<std::string> dense;
  dense.reserve(leading.size());
  for (const auto& [name, matrix, columns] : leading) dense.push_back(fmt::format("{} == {}", name, columns));
  spec.constraints.push_back(
      {{join(dense, " and "), spec.where.at("arguments")}, "the kernel takes dense matrices only"});
}

std::string operation_remedy(Operation operation) {
  if (operation == Operation::custom) return "Remove it.";
  return R"(Remove it, or set "operation": "custom": gemm has its own dimensions, buffers, scalars, flops, bytes.)";
}

bool set_scalar(TemplateSpec& spec, const std::string& name, double value) {
  const auto found = std::find_if(spec.scalars.begin(), spec.scalars.end(),
                                  [&](const auto& scalar) { return scalar.first == name; });
  if (found == spec.scalars.end()) return false;
  found->second = value;
  if (spec.operation == Operation::gemm) follow_beta(spec);
  return true;
}

}  // namespace tiletune
