#include "space/instance.h"

#include <fmt/format.h>

#include "base/identifier.h"
#include "base/text.h"
#include "space/operators.h"
#include "space/option_text.h"
#include "space/scope.h"
#include "space/template_programs.h"

namespace tiletune {

using namespace space;

namespace {

/// True for what may stand in source text as it is: identifiers joined by `::` or single spaces, such as
/// `float`, `__half`, `unsigned int`, `cuda::std::byte`.
bool is_type_or_name(std::string_view text) {
  while (true) {
    const std::size_t end = text.find_first_of(": ");
    if (!is_identifier(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    const std::size_t separator = text[end] == ' ' ? 1 : 2;
    if (separator == 2 && text.substr(end, 2) != "::") return false;
    text.remove_prefix(end + separator);
  }
}

/// The value as it stands in source text; a string only where it cannot be anything but a name.
std::string source_text(const Program& program, const Bindings& bindings) {
  const Scalar value = evaluate(program, bindings);
  if (value.is_string() && !is_type_or_name(*value.string))
    program.raise_result(value, "a name or a type such as float", "use letters, digits, _ and ::", bindings);
  return cpp_text(value);
}

ComputeCapability compute_capability(const Program& program, const Bindings& bindings) {
  constexpr double kMost = 50;  // two digits without their dot: "80"
  const double version = evaluate_number(program, bindings);
  const double tenths = std::round(10 * version);
  if (version < 1 || version >= kMost || std::abs(10 * version - tenths) > 1e-6)
    program.raise_result(number_scalar(version), "a compute capability such as 8.0",
                         "give major and minor version with a dot between them", bindings);
  const int digits = static_cast<int>(tenths);
  return {digits / 10, digits % 10};
}

}  // namespace

struct Instantiator::Impl {
  /// What one launch evaluates.
  struct LaunchPrograms {
    std::string kernel;
    std::vector<Program> template_arguments;
    ShapePrograms grid;
    ShapePrograms block;
    Program dynamic_shared_bytes;
    ArgumentPrograms arguments;
    std::optional<Program> programmatic;
    std::optional<Program> when;

    LaunchPrograms(const Launch& launch, const Scope& scope)
        : kernel(launch.kernel),
          template_arguments(parse_all(launch.template_arguments, scope.symbols())),
          grid(launch.grid, scope.launch_symbols(), "thread blocks"),
          block(launch.block, scope.launch_symbols(), "threads"),
          dynamic_shared_bytes(or_default(launch.dynamic_shared_bytes, "0"), scope.launch_symbols()),
          arguments(launch.arguments, scope.launch_symbols()),
          programmatic(parse_optional(launch.programmatic, scope.launch_symbols())),
          when(parse_optional(launch.when, scope.launch_symbols())) {}
  };

  std::string compiled_file;  ///< with names of parameters in braces
  std::vector<std::string> compile_options;
  Where where;
  Scope scope;
  std::vector<const Program*> definitions;
  std::vector<LaunchPrograms> launches;
  StepPrograms steps;
  std::vector<ConstantCopy> constants;
  std::vector<std::pair<std::string, Program>> macros;
  std::vector<std::pair<SizedWorkspace, Program>> workspace;  ///< each with its number of elements
  std::optional<Program> min_compute_capability;
  std::optional<Program> max_compute_capability;
  SizeConditions size_conditions;
  Workload workload;
  std::vector<KernelLaunch> input_launches;
  std::optional<KernelLaunch> reference;

  Impl(const TemplateSpec& spec, const Problem& problem)
      : compiled_file(is_compiled(spec.source) ? spec.source.string() : ""),
        compile_options(spec.compile_options),
        where(spec.where),
        scope(spec, problem),
        definitions(scope.definitions()),
        steps(spec.steps, scope.launch_symbols()),
        min_compute_capability(parse_optional(spec.min_compute_capability, scope.symbols())),
        max_compute_capability(parse_optional(spec.max_compute_capability, scope.symbols())),
        size_conditions(spec, problem, scope),
        workload(make_workload(spec, problem, scope)),
        input_launches(make_input_launches(spec, scope)),
        reference(make_reference(spec, scope)) {
    check_names(spec, compiled_file, where.at("source"));
    for (const Launch& launch : spec.launches) launches.emplace_back(launch, scope);
    for (const WorkspaceArray& array : spec.workspace)
      workspace.emplace_back(SizedWorkspace{array.name, array.type, 0, array.zeroed},
                             Program(array.elements, scope.launch_symbols()));
    for (const ConstantMemory& constant : spec.constants)
      constants.push_back({constant.symbol, constant.buffer, workload.buffer(constant.buffer).bytes()});
    for (const auto& [name, text] : spec.macros) macros.emplace_back(name, Program(text, scope.symbols()));
  }

  std::vector<Scalar> bind(const Configuration& configuration, int multiprocessors) const {
    const std::size_t count = scope.parameters().size();
    if (configuration.values.size() != count)
      throw UserError(
          fmt::format("a configuration of {} values for {} parameters", configuration.values.size(), count),
          where, "give each parameter one value");
    std::vector<Scalar> slots = scope.initial_slots();
    for (std::size_t i = 0; i < count; ++i)
      slots[scope.first_parameter() + i] = to_scalar(configuration.values[i]);
    slots[scope.multiprocessors()] = integer_scalar(multiprocessors);
    return slots;
  }

  void add_values(const Configuration& configuration, const Bindings& bindings, Instance& instance) const {
    const auto& names = scope.symbols().names();
    const std::size_t first_derived = scope.first_derived();
    for (std::size_t i = 0; i < configuration.values.size(); ++i)
      instance.parameters.emplace_back(scope.parameters()[i].name, configuration.values[i]);
    for (std::size_t i = 0; i < scope.derived().size(); ++i) {
      bindings.slots[first_derived + i] = evaluate(scope.derived()[i], bindings);
      instance.derived.emplace_back(names[first_derived + i], to_value(bindings.slots[first_derived + i]));
    }
  }

  std::string kernel_expression(const LaunchPrograms& launch, const Bindings& bindings) const {
    if (launch.template_arguments.empty()) return launch.kernel;
    std::vector<std::string> parts;
    for (const Program& program : launch.template_arguments) {
      const Scalar value = evaluate(program, bindings);
      const std::optional<int> name = program.single_name();
      // A float that was computed is nearly always a `/` that should be `//`; one that a person wrote is
      // meant.
      const bool written = name && static_cast<std::size_t>(*name) < scope.first_derived();
      if (value.kind == Scalar::Kind::number && !written)
        program.raise_result(value, "an integer, a boolean or a name",
                             fmt::format("{}; floats reach a kernel as macros or scalars", kUseFloorDivision),
                             bindings);
      parts.push_back(source_text(program, bindings));
    }
    return fmt::format("{}<{}>", launch.kernel, join(parts, ", "));
  }

  KernelLaunch evaluate_launch(const LaunchPrograms& launch, const Bindings& bindings) const {
    std::string kernel = kernel_expression(launch, bindings);
    const Dim3 grid = launch.grid.evaluate(bindings);
    const Dim3 block = launch.block.evaluate(bindings);
    const std::int64_t shared =
        evaluate_within(launch.dynamic_shared_bytes, bindings, 0, kAnyInteger, "a number of bytes",
                        "exclude such configurations by a constraint");
    return {{grid, block, shared},
            std::move(kernel),
            launch.arguments.evaluate(bindings),
            launch.programmatic && is_true(evaluate(*launch.programmatic, bindings))};
  }

  void add_launches(const Bindings& bindings, Instance& instance) const {
    std::vector<std::size_t> listed;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (launches[i].when && !is_true(evaluate(*launches[i].when, bindings))) continue;
      listed.push_back(i);
      instance.launches.push_back(evaluate_launch(launches[i], bindings));
      instance.launches.back().listed = i;
    }
    if (listed.empty())
      launches.front().when->raise_result(boolean_scalar(false), "true for one launch at least",
                                          "exclude such configurations by a constraint", bindings);
    instance.steps = steps.evaluate(bindings, workload, instance.workspace, listed);
  }
};

Instantiator::Instantiator(const TemplateSpec& spec, const Problem& problem)
    : impl_(std::make_shared<const Impl>(spec, problem)) {}

Instance Instantiator::instantiate(const Configuration& configuration, int multiprocessors) const {
  std::vector<Scalar> slots = impl_->bind(configuration, multiprocessors);
  const Bindings bindings{slots, impl_->definitions};
  Instance instance;
  impl_->add_values(configuration, bindings, instance);
  for (const auto& [name, program] : impl_->macros)
    instance.defines.push_back(fmt::format("-D{}={}", name, source_text(program, bindings)));
  instance.compiled_file = filled(impl_->compiled_file, instance.parameters, impl_->where.at("source"));
  instance.compile_options =
      options_with(impl_->compile_options, instance.parameters, impl_->where.at("compile_options"));
  instance.constants = impl_->constants;
  for (const auto& [array, elements] : impl_->workspace) {
    instance.workspace.push_back(array);
    instance.workspace.back().elements = evaluate_elements(elements, bindings);
  }
  impl_->add_launches(bindings, instance);
  if (impl_->min_compute_capability)
    instance.min_compute_capability = compute_capability(*impl_->min_compute_capability, bindings);
  if (impl_->max_compute_capability)
    instance.max_compute_capability = compute_capability(*impl_->max_compute_capability, bindings);
  instance.size_conditions = impl_->size_conditions.of(bindings);
  const std::vector<TileCount> tiles = impl_->size_conditions.tiles(bindings);
  for (const KernelLaunch& launch : instance.launches) instance.tiles.push_back(tiles[launch.listed]);
  return instance;
}

const Workload& Instantiator::workload() const { return impl_->workload; }
const std::vector<KernelLaunch>& Instantiator::input_launches() const { return impl_->input_launches; }
const std::optional<KernelLaunch>& Instantiator::reference() const { return impl_->reference; }

}  // namespace tiletune
