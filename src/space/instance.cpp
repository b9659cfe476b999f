#include "space/instance.h"

#include <fmt/format.h>

#include <ranges>

#include "base/text.h"
#include "space/operators.h"
#include "space/scope.h"
#include "space/template_programs.h"

namespace tiletune {

namespace {

constexpr std::uint64_t kMostTexts = 100000;  ///< that one option can become
constexpr std::size_t kLongestOption = 8192;
constexpr std::size_t kMostCharacters = std::size_t{16} << 20;  ///< of all texts of one option

/// A stretch of an option: text as it is, or the name between braces.
struct Piece {
  std::string text;
  bool is_name = false;
};

std::vector<Piece> pieces_of(const std::string& option) {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  while (begin < option.size()) {
    const std::size_t open = option.find('{', begin);
    const std::size_t close = option.find('}', open);
    if (open == std::string::npos || close == std::string::npos) break;
    if (open > begin) pieces.push_back({option.substr(begin, open - begin)});
    pieces.push_back({option.substr(open + 1, close - open - 1), true});
    begin = close + 1;
  }
  if (begin < option.size()) pieces.push_back({option.substr(begin)});
  return pieces;
}

const Parameter& parameter_of(const TemplateSpec& spec, const std::string& name, const std::string& text,
                              const Where& where) {
  for (const Parameter& each : spec.parameters)
    if (each.name == name) return each;
  std::vector<std::string> names;
  for (const Parameter& each : spec.parameters) names.push_back(each.name);
  throw UserError(fmt::format("'{}' in {} is not a parameter", name, text), where,
                  names.empty() ? "write the value itself" : "name one of " + join(names, ", "));
}

/// The parameters that a text names, each once.
std::vector<const Parameter*> parameters_in(const TemplateSpec& spec, const std::string& text,
                                            const Where& where) {
  std::vector<const Parameter*> named;
  for (const Piece& piece : pieces_of(text)) {
    if (!piece.is_name) continue;
    const Parameter* const parameter = &parameter_of(spec, piece.text, text, where);
    if (std::find(named.begin(), named.end(), parameter) == named.end()) named.push_back(parameter);
  }
  return named;
}

/// One of all combinations of the parameters' values; those of the last one vary fastest.
NamedValues values_of(const std::vector<const Parameter*>& parameters, std::uint64_t combination) {
  NamedValues values;
  for (const Parameter* parameter : std::views::reverse(parameters)) {
    const auto& known = parameter->values;
    values.emplace_back(parameter->name, known[combination % known.size()]);
    combination /= known.size();
  }
  return values;
}

std::string beginning_of(const std::string& option) {
  constexpr std::size_t kMostShown = 60;
  return fmt::format("'{}'", option.size() <= kMostShown ? option : option.substr(0, kMostShown) + "...");
}

[[noreturn]] void refuse_length(const std::string& option, const std::string& part, std::size_t most,
                                const Where& where) {
  throw UserError(fmt::format("the option {} is longer than {} characters from {} on", beginning_of(option),
                              most, beginning_of(part)),
                  where, "Shorten the option or the values.");
}

}  // namespace

/// Names that are not parameters stay as they are.
std::string filled(const std::string& option, const NamedValues& parameters, const Where& where) {
  std::string text;
  for (const Piece& piece : pieces_of(option)) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) {
      return piece.is_name && each.first == piece.text;
    });
    if (parameter != parameters.end()) {
      text += to_text(parameter->second);
    } else {
      text += piece.is_name ? "{" + piece.text + "}" : piece.text;
    }
    if (text.size() > kLongestOption) refuse_length(option, piece.text, kLongestOption, where);
  }
  return text;
}

std::vector<std::string> options_with(const std::vector<std::string>& options, const NamedValues& parameters,
                                      const Where& where) {
  std::vector<std::string> texts;
  for (const std::string& option : options)
    texts.push_back(filled(option, parameters, where.at(texts.size())));
  return texts;
}

void check_names(const TemplateSpec& spec, const std::string& text, const Where& where) {
  parameters_in(spec, text, where);
}

std::vector<std::string> possible_texts(const TemplateSpec& spec, std::size_t option, const Stop& stop) {
  const std::string& text = spec.compile_options[option];
  const Where where = spec.where.at("compile_options").at(option);
  const std::vector<const Parameter*> named = parameters_in(spec, text, where);
  std::uint64_t count = 1;
  for (const Parameter* parameter : named) {
    count *= parameter->values.size();
    if (count <= kMostTexts) continue;
    throw UserError(fmt::format("{} can become more than {} texts by the values of '{}'", beginning_of(text),
                                kMostTexts, parameter->name),
                    where, "Name fewer parameters in one option: give each an option or a macro.");
  }
  std::vector<std::string> texts;
  std::size_t total = 0;
  for (std::uint64_t combination = 0; combination < count; ++combination) {
    if (stop()) throw Stopped();
    texts.push_back(filled(text, values_of(named, combination), where));
    total += texts.back().size();
    if (total > kMostCharacters) refuse_length(text, named.back()->name, kMostCharacters, where);
  }
  return texts;
}

std::vector<std::string> fixed_options(const TemplateSpec& spec) {
  std::vector<std::string> fixed = spec.compile_options;
  std::erase_if(fixed, [](const std::string& option) {
    return std::ranges::any_of(pieces_of(option), &Piece::is_name);
  });
  return fixed;
}

using namespace space;

namespace {

/// True for what may stand in source text as it is: names and C++ types, such as `unsigned int`, `float*`,
/// `cuda::std::byte` and `Shape<1, 2>`. Commas are within template arguments, and these end within the text.
bool is_type_or_name(std::string_view text) {
  if (text.empty() || !is_identifier_start(text.front()) || text.back() == ' ') return false;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char before = i > 0 ? text[i - 1] : ' ';
    bool fits = is_identifier_part(c) || c == '*' || c == '&' || (c == ' ' && before != ' ');
    if (c == ',' || c == '-') fits = open > 0;
    if (c == '<') fits = is_identifier_part(before) && ++open > 0;
    if (c == '>') fits = --open >= 0;
    if (c == ':') {
      fits = text.substr(i++, 2) == "::" && (is_identifier_part(before) || before == '>') &&
             is_identifier_start(i + 1 < text.size() ? text[i + 1] : ' ');
    }
    if (!fits) return false;
  }
  return open == 0;
}

/// The value as it stands in source text; a string only where it cannot be anything but a name or type, or
/// nothing.
std::string source_text(const Program& program, const Bindings& bindings, bool may_be_empty) {
  const Scalar value = evaluate(program, bindings);
  if (value.is_string() && !is_type_or_name(*value.string) && !(may_be_empty && value.string->empty()))
    program.raise_result(value, "a name or a type such as float or Shape<1, 2>",
                         "use letters, digits, _, ::, *, & and template arguments in <>", bindings);
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
  std::vector<Program> constraints;
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
        workload(make_workload(spec, problem, scope)),
        input_launches(make_input_launches(spec, scope)),
        reference(make_reference(spec, scope)) {
    check_names(spec, compiled_file, where.at("source"));
    for (const Launch& launch : spec.launches) launches.emplace_back(launch, scope);
    for (const Constraint& constraint : spec.constraints)
      if (!constraint.narrows) constraints.emplace_back(constraint.require, scope.symbols());
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
      parts.push_back(source_text(program, bindings, false));
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
    instance.defines.push_back(fmt::format("-D{}={}", name, source_text(program, bindings, true)));
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
  return instance;
}

bool Instantiator::allows(const Configuration& configuration, int multiprocessors) const {
  std::vector<Scalar> slots = impl_->bind(configuration, multiprocessors);
  const Bindings bindings{slots, impl_->definitions};
  return std::ranges::all_of(impl_->constraints, [&](const Program& constraint) {
    Scalar value;
    Fault fault;
    return constraint.run(bindings, value, fault) && is_true(value);
  });
}

double constant_value(const TemplateSpec& spec, const Problem& problem, const ExprText& text) {
  const Scope scope(spec, problem);
  std::vector<Scalar> slots = scope.initial_slots();
  return evaluate_number(Program(text, scope.constants()), {slots, {}});
}

Workload::Values constant_values(const TemplateSpec& spec, const Problem& problem, const Buffer& buffer,
                                 const BufferValues& values, std::int64_t elements) {
  const Scope scope(spec, problem);
  std::vector<Scalar> slots = scope.initial_slots();
  return space::values_of(buffer, values, elements, scope, {slots, {}});
}

const Workload& Instantiator::workload() const { return impl_->workload; }
const std::vector<KernelLaunch>& Instantiator::input_launches() const { return impl_->input_launches; }
const std::optional<KernelLaunch>& Instantiator::reference() const { return impl_->reference; }

}  // namespace tiletune
