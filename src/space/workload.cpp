#include "space/workload.h"

#include <algorithm>

#include "space/launch_shape.h"

namespace tiletune::space {
namespace {

/// More elements than any GPU holds; a multiple of it still fits 64 bits as bytes.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

std::optional<Workload::Rows> rows_of(const Buffer& buffer, const Scope& scope, const Bindings& bindings) {
  if (buffer.columns.text.empty()) return std::nullopt;
  return Workload::Rows{evaluate_integer(Program(buffer.columns, scope.constants()), bindings),
                        evaluate_integer(Program(buffer.pitch, scope.constants()), bindings)};
}

/// Of a manifest of version 0.1, which does not state how many terms an output adds up.
double flops_per_output(const Workload& workload) {
  double outputs = 0;
  for (const auto& buffer : workload.buffers) {
    if (buffer.role != BufferRole::in) outputs += static_cast<double>(buffer.values());
  }
  return workload.flops / std::max(outputs, 1.0);
}

/// With a read_when that is false, an inout buffer is an output.
BufferRole role_of(const Buffer& buffer, const Scope& scope, const Bindings& bindings) {
  if (buffer.read_when.text.empty()) return buffer.role;
  return is_true(evaluate(Program(buffer.read_when, scope.constants()), bindings)) ? buffer.role
                                                                                   : BufferRole::out;
}

double amount(const ExprText& text, const Scope& scope, const Bindings& bindings) {
  const Program program(text, scope.constants());
  const double value = evaluate_number(program, bindings);
  if (value < 0)
    program.raise_result(number_scalar(value), "an amount of 0 or more", "correct the expression", bindings);
  return value;
}

std::vector<Argument> reference_arguments(const TemplateSpec& spec) {
  if (!spec.operation.reference->arguments.empty()) return spec.operation.reference->arguments;
  std::vector<Argument> arguments = spec.arguments;
  for (Argument& argument : arguments) {
    if (argument.kind == Argument::Kind::tensor_map)
      argument = {Argument::Kind::buffer, argument.name, {}, {}};
  }
  std::erase_if(arguments, [&](const Argument& argument) {
    return std::any_of(spec.workspace.begin(), spec.workspace.end(), [&](const WorkspaceArray& array) {
      return argument.kind == Argument::Kind::buffer && array.name == argument.name;
    });
  });
  return arguments;
}

}  // namespace

std::int64_t evaluate_elements(const Program& program, const Bindings& bindings) {
  const std::int64_t elements = evaluate_integer(program, bindings);
  if (elements < 0 || elements > kMostElements)
    program.raise_result(integer_scalar(elements), "a number of elements from 0 to 2^56",
                         "correct the expression or the problem's size", bindings);
  return elements;
}

Workload make_workload(const TemplateSpec& spec, const Scope& scope) {
  std::vector<Scalar> slots = scope.initial_slots();
  const Bindings bindings{slots, {}};
  Workload workload;
  for (const Buffer& buffer : spec.operation.buffers) {
    const std::int64_t elements = evaluate_elements(Program(buffer.elements, scope.constants()), bindings);
    workload.buffers.push_back({buffer.name, buffer.type, elements, role_of(buffer, scope, bindings),
                                rows_of(buffer, scope, bindings)});
  }
  const Operation& operation = spec.operation;
  workload.flops = amount(operation.flops, scope, bindings);
  workload.bytes = amount(operation.bytes, scope, bindings);
  workload.accumulation = operation.accumulation.text.empty()
                              ? flops_per_output(workload) / 2
                              : amount(operation.accumulation, scope, bindings);
  return workload;
}

std::optional<ReferenceInstance> make_reference(const TemplateSpec& spec, const Scope& scope) {
  const auto& reference = spec.operation.reference;
  if (!reference) return std::nullopt;
  std::vector<Scalar> slots = scope.initial_slots();
  const Bindings bindings{slots, {}};
  const SymbolTable& symbols = scope.constants();
  return ReferenceInstance{ShapePrograms(reference->grid, symbols, "thread blocks").evaluate(bindings),
                           ShapePrograms(reference->block, symbols, "threads").evaluate(bindings),
                           ArgumentPrograms(reference_arguments(spec), symbols).evaluate(bindings)};
}

}  // namespace tiletune::space
