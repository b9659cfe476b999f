#include "space/instance.h"

#include <fmt/format.h>

#include "base/text.h"
#include "space/cpp_text.h"
#include "space/launch_shape.h"
#include "space/scope.h"
#include "space/workload.h"

namespace tiletune {

using namespace space;

namespace {

/// The value as it stands in source text; a string only where it cannot be anything but a name.
std::string source_text(const Program& program, const Frame& frame) {
  const Scalar value = evaluate(program, frame);
  if (value.is_string() && !is_type_or_name(*value.string))
    program.raise_result(value, "a name or a type such as float", "use letters, digits, _ and ::", frame);
  return cpp_text(value);
}

std::vector<Program> parse_all(const std::vector<ExprText>& texts, const SymbolTable& symbols) {
  std::vector<Program> programs;
  programs.reserve(texts.size());
  for (const ExprText& text : texts) programs.emplace_back(text, symbols);
  return programs;
}

std::string or_zero(const std::string& text) { return text.empty() ? "0" : text; }

}  // namespace

struct Instantiator::Impl {
  struct Macro {
    std::string name;
    Program program;
  };

  std::string kernel;
  Where where;
  Scope scope;
  std::vector<const Program*> definitions;
  std::vector<Program> template_arguments;
  std::vector<Macro> macros;
  ShapePrograms grid;
  ShapePrograms block;
  Program dynamic_shared_bytes;
  ArgumentPrograms arguments;
  Workload workload;
  std::optional<ReferenceInstance> reference;

  Impl(const TemplateSpec& spec, const Problem& problem)
      : kernel(spec.kernel),
        where(spec.where),
        scope(spec, problem),
        definitions(scope.definitions()),
        template_arguments(parse_all(spec.template_arguments, scope.symbols())),
        grid(spec.launch.grid, scope.symbols(), "thread blocks"),
        block(spec.launch.block, scope.symbols(), "threads"),
        dynamic_shared_bytes(
            {or_zero(spec.launch.dynamic_shared_bytes.text), spec.launch.dynamic_shared_bytes.where},
            scope.symbols()),
        arguments(spec.arguments, scope.symbols()),
        workload(make_workload(spec, scope)),
        reference(make_reference(spec, scope)) {
    for (const auto& [name, text] : spec.macros) macros.push_back({name, Program(text, scope.symbols())});
  }

  std::vector<Scalar> bind(const Configuration& configuration) const {
    const std::size_t count = scope.parameters().size();
    if (configuration.values.size() != count)
      throw UserError(
          fmt::format("a configuration of {} values for {} parameters", configuration.values.size(), count),
          where, "give each parameter one value");
    std::vector<Scalar> slots = scope.initial_slots();
    for (std::size_t i = 0; i < count; ++i)
      slots[scope.first_parameter() + i] = to_scalar(configuration.values[i]);
    return slots;
  }

  void add_values(const Configuration& configuration, const Frame& frame, Instance& instance) const {
    const auto& names = scope.symbols().names();
    const std::size_t first_derived = scope.first_derived();
    for (std::size_t i = 0; i < configuration.values.size(); ++i)
      instance.parameters.emplace_back(scope.parameters()[i].name, configuration.values[i]);
    for (std::size_t i = 0; i < scope.derived().size(); ++i) {
      frame.slots[first_derived + i] = evaluate(scope.derived()[i], frame);
      instance.derived.emplace_back(names[first_derived + i], to_value(frame.slots[first_derived + i]));
    }
  }

  /// A float that was computed is nearly always a `/` that should be `//`; one that a person wrote is meant.
  std::string template_argument(const Program& program, const Frame& frame) const {
    const Scalar value = evaluate(program, frame);
    const std::optional<int> name = program.single_name();
    const bool written = name && static_cast<std::size_t>(*name) < scope.first_derived();
    if (value.kind == Scalar::Kind::number && !written)
      program.raise_result(value, "an integer, a boolean or a name",
                           fmt::format("{}; floats reach a kernel as macros or scalars", kUseFloorDivision),
                           frame);
    return source_text(program, frame);
  }

  std::string kernel_expression(const Frame& frame) const {
    if (template_arguments.empty()) return kernel;
    std::vector<std::string> parts;
    parts.reserve(template_arguments.size());
    for (const Program& program : template_arguments) parts.push_back(template_argument(program, frame));
    return fmt::format("{}<{}>", kernel, join(parts, ", "));
  }

  std::int64_t shared_bytes(const Frame& frame) const {
    const std::int64_t bytes = evaluate_integer(dynamic_shared_bytes, frame);
    if (bytes < 0)
      dynamic_shared_bytes.raise_result(integer_scalar(bytes), "a number of bytes",
                                        "exclude such configurations by a constraint", frame);
    return bytes;
  }
};

Instantiator::Instantiator(const TemplateSpec& spec, const Problem& problem)
    : impl_(std::make_unique<Impl>(spec, problem)) {}
Instantiator::~Instantiator() = default;
Instantiator::Instantiator(Instantiator&&) noexcept = default;
Instantiator& Instantiator::operator=(Instantiator&&) noexcept = default;

Instance Instantiator::instantiate(const Configuration& configuration) const {
  std::vector<Scalar> slots = impl_->bind(configuration);
  const Frame frame{slots, impl_->definitions};
  Instance instance;
  impl_->add_values(configuration, frame, instance);
  instance.kernel_expression = impl_->kernel_expression(frame);
  for (const auto& [name, program] : impl_->macros)
    instance.defines.push_back(fmt::format("-D{}={}", name, source_text(program, frame)));
  instance.grid = impl_->grid.evaluate(frame);
  instance.block = impl_->block.evaluate(frame);
  instance.dynamic_shared_bytes = impl_->shared_bytes(frame);
  instance.arguments = impl_->arguments.evaluate(frame);
  return instance;
}

const Workload& Instantiator::workload() const { return impl_->workload; }
const std::optional<ReferenceInstance>& Instantiator::reference() const { return impl_->reference; }

}  // namespace tiletune
