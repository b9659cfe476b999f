#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "space/instance.h"
#include "space/template_programs.h"
#include "spec/npy.h"
#include "spec/paths.h"

namespace tiletune::space {
namespace {

std::optional<Workload::Rows> rows_of(const Buffer& buffer, std::int64_t elements, const Scope& scope,
                                      const Bindings& bindings) {
  if (buffer.columns.text.empty()) return std::nullopt;
  const Program columns(buffer.columns, scope.constants());
  const Workload::Rows rows{evaluate_integer(columns, bindings),
                            evaluate_integer(Program(buffer.pitch, scope.constants()), bindings)};
  if (rows.columns < 1)
    columns.raise_result(integer_scalar(rows.columns), "1 or more columns", "correct the expression",
                         bindings);
  if (elements < rows.columns)
    Program(buffer.elements, scope.constants())
        .raise_result(integer_scalar(elements), "a matrix of 1 or more rows", "correct the rows", bindings);
  return rows;
}

constexpr const char* kSizesOfBuffers =
    "Buffer sizes depend on dimensions only; for partial results use `workspace` and `launches` "
    "(docs/template.md)";

void check_values(const Workload::Values& values, std::int64_t elements, const Buffer& buffer,
                  const Where& where) {
  const auto fail = [&](const std::string& what, const std::string& remedy) {
    throw UserError(fmt::format("the values of '{}' {}", buffer.name, what), where, remedy);
  };
  const Distribution distribution = values.distribution;
  using enum Distribution;
  const bool ordered = distribution == uniform || distribution == randint || distribution == spread ||
                       distribution == alternating;
  if (ordered && !(values.a < values.b))
    fail(fmt::format("lie between {} and {}, where there are none", values.a, values.b),
         "Give a lower first number, or another problem.");
  if (distribution == Distribution::offsets && values.a < 0)
    fail(fmt::format("ascend from 0 to {}", values.a), "Give a total of 0 or more.");
  if (distribution == Distribution::normal && values.b < 0)
    fail(fmt::format("have the standard deviation {}", values.b), "Give one of 0 or more.");
  constexpr double kMostSpecial = 0x1p24;
  if (distribution == special && !(values.a >= 1 && values.a <= kMostSpecial))
    fail(fmt::format("are special in one of {}", values.a), "Give a number from 1 to 16777216.");
  const auto is_whole = [](double number) { return std::floor(number) == number; };
  const bool integers = distribution == Distribution::randint || !is_floating(buffer.type);
  if (integers && !(is_whole(values.a) && is_whole(values.b)))
    fail(fmt::format("are integers, and {} is not one", is_whole(values.a) ? values.b : values.a),
         "Use // for a division that rounds down.");
  const auto last = static_cast<double>(std::max<std::int64_t>(elements - 1, 0));
  const TypeRange ends = ends_of(distribution, values.a, values.b, last);
  const TypeRange range = range_of(buffer.type);
  constexpr double kMostExact = 0x1p53;
  const double highest = integers ? std::min(range.highest, kMostExact) : range.highest;
  const double lowest = integers ? std::max(range.lowest, -kMostExact) : range.lowest;
  if (ends.lowest < lowest || ends.highest > highest)
    fail(fmt::format("reach from {} to {}, those of type {} from {} to {}", ends.lowest, ends.highest,
                     name(buffer.type), lowest, highest),
         "Use a wider type, or values that fit.");
}

std::optional<Workload::Values> values_of(const Buffer& buffer, std::int64_t elements, const Scope& scope,
                                          const Bindings& bindings) {
  if (!buffer.values || buffer.values->npy) return std::nullopt;
  return space::values_of(buffer, *buffer.values, elements, scope, bindings);
}

std::filesystem::path file_of(const FileName& file, const Problem& problem) {
  NamedValues sizes;
  for (const auto& [name, size] : problem.dimensions) sizes.emplace_back(name, Value(size));
  return resolve_file(file, options_with({file.text}, sizes, file.where).front());
}

/// Floating-point references may be of more digits than the output.
std::vector<ElementType> reference_types(ElementType type) {
  using enum ElementType;
  if (!is_floating(type)) return {type};
  if (type == f64) return {f64};
  if (type == f32 || type == tf32) return {f32, f64};
  return {f32, f64, f16};
}

void add_files(const Operation& operation, const Problem& problem, Workload& workload) {
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    Workload::SizedBuffer& sized = workload.buffers[i];
    const auto& values = operation.buffers[i].values;
    if (values && values->npy)
      sized.file = open_npy(file_of(*values->npy, problem), sized.values(), {sized.type}, values->npy->where);
  }
  for (const auto& [name, npy] : operation.expected) {
    const auto sized = std::find_if(workload.buffers.begin(), workload.buffers.end(),
                                    [&](const Workload::SizedBuffer& one) { return one.name == name; });
    sized->is_compared = npy.has_value();
    if (npy)
      sized->expected =
          open_npy(file_of(*npy, problem), sized->values(), reference_types(sized->type), npy->where);
  }
}

/// Every GPU has as much as every other.
void check_division(const Workload::SizedBuffer& sized, const Buffer& buffer, int gpus) {
  if (sized.layout == BufferLayout::replicated) return;
  const bool by_columns = sized.layout == BufferLayout::columns;
  const std::int64_t count = by_columns   ? sized.rows->columns
                             : sized.rows ? sized.elements / sized.rows->columns
                                          : sized.elements;
  if (count % gpus == 0) return;
  throw UserError(fmt::format("the {} {} of '{}' cannot be divided evenly among {} GPUs", count,
                              by_columns   ? "columns"
                              : sized.rows ? "rows"
                                           : "elements",
                              sized.name, gpus),
                  buffer.elements.where, "Choose sizes that are multiples of the number of GPUs.");
}

double amount(const ExprText& text, const Scope& scope, const Bindings& bindings) {
  const Program program(text, scope.constants());
  const double value = evaluate_number(program, bindings);
  if (value < 0)
    program.raise_result(number_scalar(value), "an amount of 0 or more", "correct the expression", bindings);
  return value;
}

std::vector<Argument> reference_arguments(const TemplateSpec& spec) {
  if (!spec.operation.reference->launch.arguments.empty()) return spec.operation.reference->launch.arguments;
  std::vector<Argument> arguments = spec.launches.front().arguments;
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

/// Evaluates a launch of the operation's own, which depends on dimensions and scalars only.
KernelLaunch launch_of(const Launch& launch, const std::vector<Argument>& arguments, const Scope& scope) {
  std::vector<Scalar> slots = scope.initial_slots();
  const Bindings bindings{slots, {}};
  const SymbolTable& symbols = scope.constants();
  return {{ShapePrograms(launch.grid, symbols, "thread blocks").evaluate(bindings),
           ShapePrograms(launch.block, symbols, "threads").evaluate(bindings)},
          launch.kernel,
          ArgumentPrograms(arguments, symbols).evaluate(bindings)};
}

}  // namespace

Workload::Values values_of(const Buffer& buffer, const BufferValues& values, std::int64_t elements,
                           const Scope& scope, const Bindings& bindings) {
  std::vector<double> arguments;
  for (const ExprText& text : values.arguments)
    arguments.push_back(evaluate_number(Program(text, scope.constants()), bindings));
  arguments.resize(2);
  const Workload::Values evaluated{values.distribution, arguments[0], arguments[1]};
  check_values(evaluated, elements, buffer, values.where);
  return evaluated;
}

Workload make_workload(const TemplateSpec& spec, const Problem& problem, const Scope& scope) {
  std::vector<Scalar> slots = scope.initial_slots();
  const Bindings bindings{slots, {}};
  Workload workload;
  SymbolTable symbols = scope.constants();
  for (const Parameter& parameter : spec.parameters) symbols.withhold(parameter.name, kSizesOfBuffers);
  for (const Derived& derived : spec.derived) symbols.withhold(derived.name, kSizesOfBuffers);
  for (const Buffer& buffer : spec.operation.buffers) {
    const std::int64_t elements = evaluate_elements(Program(buffer.elements, symbols), bindings);
    // With a read_when that is false, an inout buffer is an output.
    const bool is_read = buffer.read_when.text.empty() ||
                         is_true(evaluate(Program(buffer.read_when, scope.constants()), bindings));
    workload.buffers.push_back({buffer.name, buffer.type, elements, is_read ? buffer.role : BufferRole::out,
                                rows_of(buffer, elements, scope, bindings),
                                values_of(buffer, elements, scope, bindings)});
    workload.buffers.back().layout = buffer.layout;
  }
  const Operation& operation = spec.operation;
  if (!operation.gpus.text.empty())
    workload.gpus = static_cast<int>(
        evaluate_within(Program(operation.gpus, scope.constants()), bindings, 2, Workload::kMostGpus,
                        fmt::format("from 2 to {} GPUs", Workload::kMostGpus), "choose another problem"));
  for (std::size_t i = 0; i < workload.buffers.size(); ++i)
    check_division(workload.buffers[i], operation.buffers[i], workload.gpus);
  workload.flops = amount(operation.flops, scope, bindings);
  workload.bytes = amount(operation.bytes, scope, bindings);
  workload.accumulation = amount(operation.accumulation, scope, bindings);
  workload.tolerance = operation.tolerance;
  add_files(operation, problem, workload);
  return workload;
}

std::vector<KernelLaunch> make_input_launches(const TemplateSpec& spec, const Scope& scope) {
  std::vector<KernelLaunch> launches;
  for (const OperationKernel& kernel : spec.operation.input_kernels)
    launches.push_back(launch_of(kernel.launch, kernel.launch.arguments, scope));
  return launches;
}

std::optional<KernelLaunch> make_reference(const TemplateSpec& spec, const Scope& scope) {
  const auto& reference = spec.operation.reference;
  if (!reference) return std::nullopt;
  return launch_of(reference->launch, reference_arguments(spec), scope);
}

}  // namespace tiletune::space
