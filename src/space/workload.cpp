#include "space/workload.h"

#include <algorithm>

#include "space/launch_shape.h"

namespace tiletune::space {
namespace {

/// More elements than any GPU holds; a multiple of it still fits 64 bits as bytes.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

std::optional<Workload::PaddedRows> padded_rows(const Buffer& buffer, std::int64_t elements,
                                                const Scope& scope, const Frame& frame) {
  if (buffer.columns.text.empty()) return std::nullopt;
  const std::int64_t columns = evaluate_integer(Program(buffer.columns, scope.constants()), frame);
  const std::int64_t pitch = evaluate_integer(Program(buffer.pitch, scope.constants()), frame);
  // A single row has no neighbour.
  if (pitch == columns || elements == columns) return std::nullopt;
  return Workload::PaddedRows{columns, pitch};
}

double amount(const ExprText& text, const Scope& scope, const Frame& frame) {
  const Program program(text, scope.constants());
  const double value = evaluate_number(program, frame);
  if (value < 0)
    program.raise_result(number_scalar(value), "an amount of 0 or more", "correct the expression", frame);
  return value;
}

std::vector<Argument> reference_arguments(const TemplateSpec& spec) {
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

std::int64_t evaluate_elements(const Program& program, const Frame& frame) {
  const std::int64_t elements = evaluate_integer(program, frame);
  if (elements < 0 || elements > kMostElements)
    program.raise_result(integer_scalar(elements), "a number of elements from 0 to 2^56",
                         "correct the expression or the problem's size", frame);
  return elements;
}

Workload make_workload(const TemplateSpec& spec, const Scope& scope) {
  std::vector<Scalar> slots = scope.initial_slots();
  const Frame frame{slots, {}};
  Workload workload;
  for (const Buffer& buffer : spec.buffers) {
    const std::int64_t elements = evaluate_elements(Program(buffer.elements, scope.constants()), frame);
    workload.buffers.push_back(
        {buffer.name, buffer.type, elements, buffer.role, padded_rows(buffer, elements, scope, frame)});
  }
  workload.flops = amount(spec.flops, scope, frame);
  workload.bytes = amount(spec.bytes, scope, frame);
  return workload;
}

std::optional<ReferenceInstance> make_reference(const TemplateSpec& spec, const Scope& scope) {
  if (!spec.reference) return std::nullopt;
  std::vector<Scalar> slots = scope.initial_slots();
  const Frame frame{slots, {}};
  const SymbolTable& symbols = scope.constants();
  return ReferenceInstance{ShapePrograms(spec.reference->grid, symbols, "thread blocks").evaluate(frame),
                           ShapePrograms(spec.reference->block, symbols, "threads").evaluate(frame),
                           ArgumentPrograms(reference_arguments(spec), symbols).evaluate(frame)};
}

}  // namespace tiletune::space
