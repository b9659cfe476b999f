#include "space/template_programs.h"

#include <fmt/format.h>

namespace tiletune::space {
namespace {

/// More elements than any GPU holds; a multiple of it still fits 64 bits as bytes.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

Value argument_value(ElementType type, const Program& program, const Bindings& bindings) {
  const std::string wanted = fmt::format("a value of type {}", name(type));
  const auto fits = [range = range_of(type)](double number) {
    return number >= range.lowest && number <= range.highest;
  };
  if (is_floating(type)) {
    const double number = evaluate_number(program, bindings);
    if (!fits(number)) program.raise_result(number_scalar(number), wanted, "use a wider type", bindings);
    return number;
  }
  const std::int64_t integer = evaluate_integer(program, bindings);
  if (!fits(static_cast<double>(integer)))
    program.raise_result(integer_scalar(integer), wanted, "use a wider type", bindings);
  return integer;
}

std::vector<std::int64_t> sizes(const std::vector<Program>& programs, const Bindings& bindings) {
  std::vector<std::int64_t> values;
  for (const Program& program : programs)
    values.push_back(
        evaluate_within(program, bindings, 1, kAnyInteger, "a positive number of elements",
                        "exclude such configurations by a constraint, or the argument by its \"when\""));
  return values;
}

template <typename Choice>
Choice choice_of(const Program& program, const char* what, const char* remedy, const Bindings& bindings) {
  const Scalar value = evaluate(program, bindings);
  const auto choice = value.is_string() ? from_name<Choice>(*value.string) : std::nullopt;
  if (!choice) program.raise_result(value, what, remedy, bindings);
  return *choice;
}

}  // namespace

std::vector<Program> parse_all(const std::vector<ExprText>& texts, const SymbolTable& symbols) {
  std::vector<Program> programs;
  for (const ExprText& text : texts) programs.emplace_back(text, symbols);
  return programs;
}

ExprText or_default(const ExprText& text, const std::string& fallback) {
  return text.text.empty() ? ExprText{fallback, text.where} : text;
}

std::optional<Program> parse_optional(const ExprText& text, const SymbolTable& symbols) {
  return text.text.empty() ? std::nullopt : std::optional<Program>(std::in_place, text, symbols);
}

std::int64_t evaluate_elements(const Program& program, const Bindings& bindings) {
  return evaluate_within(program, bindings, 0, kMostElements, "a number of elements from 0 to 2^56",
                         "correct the expression or the problem's size");
}

ShapePrograms::ShapePrograms(const std::array<ExprText, 3>& texts, const SymbolTable& symbols,
                             std::string unit)
    : unit_(std::move(unit)) {
  for (const ExprText& text : texts) programs_.emplace_back(or_default(text, "1"), symbols);
}

Dim3 ShapePrograms::evaluate(const Bindings& bindings) const {
  const auto dimension = [&](const Program& program) {
    return evaluate_within(program, bindings, 1, kAnyInteger, "a positive number of " + unit_,
                           "exclude such configurations by a constraint");
  };
  const Dim3 shape{dimension(programs_[0]), dimension(programs_[1]), dimension(programs_[2])};
  std::int64_t count = 0;
  if (__builtin_mul_overflow(shape.x, shape.y, &count) || __builtin_mul_overflow(count, shape.z, &count))
    throw UserError(fmt::format("{} x {} x {} {} do not fit in 64 bits", shape.x, shape.y, shape.z, unit_),
                    programs_.front().text().where, "use smaller sizes");
  return shape;
}

ArgumentPrograms::ArgumentPrograms(const std::vector<Argument>& arguments, const SymbolTable& symbols) {
  for (const Argument& argument : arguments) {
    arguments_.push_back({argument.kind, argument.name, argument.type, {}, {}, argument.is_rank});
    if (argument.is_rank) {
      arguments_.back().value = std::int64_t{0};
      continue;
    }
    if (argument.tensor_map)
      maps_.emplace_back(arguments_.size() - 1, TensorMapPrograms(*argument.tensor_map, symbols));
    if (argument.kind == Argument::Kind::scalar)
      scalars_.emplace_back(arguments_.size() - 1,
                            Program(or_default(argument.value, argument.name), symbols));
  }
}

std::vector<ArgumentValue> ArgumentPrograms::evaluate(const Bindings& bindings) const {
  std::vector<ArgumentValue> values = arguments_;
  for (const auto& [argument, program] : scalars_)
    values[argument].value = argument_value(values[argument].type, program, bindings);
  for (const auto& [argument, programs] : maps_) values[argument].tensor_map = programs.evaluate(bindings);
  return values;
}

TensorMapPrograms::TensorMapPrograms(const TensorMap& map, const SymbolTable& symbols)
    : type_(map.type),
      extents_(parse_all(map.extents, symbols)),
      pitches_(parse_all(map.pitches, symbols)),
      box_(parse_all(map.box, symbols)),
      swizzle_(map.swizzle, symbols),
      promotion_(map.promotion, symbols),
      offset_(parse_optional(map.offset, symbols)),
      when_(parse_optional(map.when, symbols)) {}

std::optional<TensorMapShape> TensorMapPrograms::evaluate(const Bindings& bindings) const {
  if (when_ && !is_true(space::evaluate(*when_, bindings))) return std::nullopt;
  return TensorMapShape{
      type_,
      sizes(extents_, bindings),
      sizes(pitches_, bindings),
      sizes(box_, bindings),
      choice_of<Swizzle>(swizzle_, "a swizzle", "use one of none, 32B, 64B, 128B", bindings),
      choice_of<Promotion>(promotion_, "a promotion", "use one of none, 64B, 128B, 256B", bindings),
      offset_ ? evaluate_within(*offset_, bindings, 0, kAnyInteger, "0 or a positive number of elements",
                                "a tensor map cannot begin before its buffer")
              : 0};
}

namespace {

/// One step of a configuration has at most so many, by all GPUs.
constexpr std::int64_t kMostCopies = 4096;

std::int64_t elements_or_zero(const std::optional<Program>& program, const Bindings& bindings) {
  return program ? evaluate_elements(*program, bindings) : 0;
}

/// Throws UserError where a step, whose elements `where` states, reaches beyond an array of a GPU.
void check_reach(const GpuStep& step, const Workload& workload, const std::vector<SizedWorkspace>& workspace,
                 const Where& where) {
  const auto check = [&](const std::string& name, std::int64_t end) {
    const auto array = std::ranges::find(workspace, name, &SizedWorkspace::name);
    const std::int64_t there =
        array != workspace.end() ? array->elements : workload.elements_on_each(workload.buffer(name));
    if (end <= there) return;
    throw UserError(
        fmt::format("the step reaches to element {} of '{}', which has {} on each GPU", end, name, there),
        where, "Correct the step's expressions, or the size.");
  };
  for (const PeerCopy& copy : step.copies) {
    check(step.from, copy.from + copy.elements);
    check(step.to, copy.to + copy.elements);
    if (!step.signal.empty()) check(step.signal, copy.word + 1);
  }
  if (step.kind != StepKind::collective) return;
  const bool gathers = step.collective == Collective::all_gather;
  check(gathers ? step.to : step.from, workload.gpus * step.elements);
  check(gathers ? step.from : step.to, step.elements);
}

std::size_t declare(SymbolTable& symbols, const std::string& name, const Where& where) {
  return static_cast<std::size_t>(symbols.declare(name, where));
}

}  // namespace

StepPrograms::CopyPrograms::CopyPrograms(const StepSpec& step, SymbolTable symbols) {
  rank = declare(symbols, kRank, step.peer.where);
  for (const auto& [name, count] : step.repeat) {
    Program last(count, symbols);
    repeat.emplace_back(declare(symbols, name, count.where), std::move(last));
  }
  peer_number.emplace(step.peer, symbols);
  peer = declare(symbols, kPeer, step.peer.where);
  from = parse_optional(step.from_offset, symbols);
  to = parse_optional(step.to_offset, symbols);
  elements.emplace(step.elements, symbols);
  word = parse_optional(step.index, symbols);
}

StepPrograms::StepPrograms(const std::vector<StepSpec>& steps, const SymbolTable& symbols) {
  for (const StepSpec& step : steps) {
    Programs& programs = steps_.emplace_back(Programs{step, parse_optional(step.when, symbols), {}, {}});
    if (step.kind == StepKind::collective) programs.elements.emplace(step.elements, symbols);
    if (step.kind == StepKind::copy) programs.copy.emplace(step, symbols);
  }
}

std::vector<GpuStep> StepPrograms::evaluate(const Bindings& bindings, const Workload& workload,
                                            const std::vector<SizedWorkspace>& workspace,
                                            const std::vector<std::size_t>& listed) const {
  std::vector<GpuStep> steps;
  for (const Programs& programs : steps_) {
    const StepSpec& spec = programs.spec;
    if (programs.when && !is_true(tiletune::space::evaluate(*programs.when, bindings))) continue;
    GpuStep step{spec.kind, 0, spec.from, spec.to, {}, spec.beside, spec.signal, spec.collective};
    if (spec.kind == StepKind::kernel) {
      const auto place = std::find(listed.begin(), listed.end(), spec.launch);
      if (place == listed.end()) continue;
      step.launch = place - listed.begin();
    }
    step.elements = elements_or_zero(programs.elements, bindings);
    if (programs.copy) add_copies(*programs.copy, bindings, workload.gpus, step);
    if (step.kind != StepKind::kernel) check_reach(step, workload, workspace, spec.elements.where);
    steps.push_back(std::move(step));
  }
  return steps;
}

void StepPrograms::add_copies(const CopyPrograms& programs, const Bindings& outer, int gpus, GpuStep& step) {
  std::vector<Scalar> slots(outer.slots.begin(), outer.slots.end());
  slots.resize(programs.peer + 1, unset_scalar());
  const Bindings bindings{slots, outer.definitions};
  const auto add = [&](std::int64_t gpu) {
    const std::int64_t peer = evaluate_integer(*programs.peer_number, bindings);
    if (peer < 0 || peer >= gpus)
      programs.peer_number->raise_result(integer_scalar(peer), fmt::format("a GPU from 0 to {}", gpus - 1),
                                         "use % for numbers that begin again at 0", bindings);
    slots[programs.peer] = integer_scalar(peer);
    const std::int64_t elements = evaluate_elements(*programs.elements, bindings);
    step.copies.push_back({gpu, peer, elements_or_zero(programs.from, bindings),
                           elements_or_zero(programs.to, bindings), elements,
                           programs.word ? evaluate_elements(*programs.word, bindings) : peer});
    slots[programs.peer] = unset_scalar();
  };
  // Also of outer repetitions, which may hold no copy.
  std::int64_t repetitions = 0;
  const auto repeat = [&](const auto& self, std::size_t depth, std::int64_t gpu) -> void {
    if (depth == programs.repeat.size()) return add(gpu);
    const auto& [slot, last] = programs.repeat[depth];
    const std::int64_t count =
        evaluate_within(last, bindings, 0, kMostCopies, fmt::format("a number from 0 to {}", kMostCopies),
                        "repeat fewer, larger copies, or leave the step out with \"when\"");
    for (std::int64_t i = 1; i <= count; ++i) {
      if (++repetitions > kMostCopies)
        throw UserError(fmt::format("the step is repeated more than {} times by all GPUs", kMostCopies),
                        last.text().where, "Repeat fewer, larger copies.");
      slots[slot] = integer_scalar(i);
      self(self, depth + 1, gpu);
    }
    slots[slot] = unset_scalar();
  };
  for (std::int64_t gpu = 0; gpu < gpus; ++gpu) {
    slots[programs.rank] = integer_scalar(gpu);
    repeat(repeat, 0, gpu);
  }
}

}  // namespace tiletune::space
