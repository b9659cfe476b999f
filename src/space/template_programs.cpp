#include "space/template_programs.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tiletune::space {
namespace {

/// More elements than any GPU holds; a multiple of it still fits 64 bits as bytes.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

std::int64_t dimension(const Program& program, const std::string& unit, const Bindings& bindings) {
  const std::int64_t size = evaluate_integer(program, bindings);
  if (size <= 0)
    program.raise_result(integer_scalar(size), "a positive number of " + unit,
                         "exclude such configurations by a constraint", bindings);
  return size;
}

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
  for (const Program& program : programs) {
    values.push_back(evaluate_integer(program, bindings));
    if (values.back() <= 0)
      program.raise_result(integer_scalar(values.back()), "a positive number of elements",
                           "exclude such configurations by a constraint, or the argument by its \"when\"",
                           bindings);
  }
  return values;
}

std::int64_t offset_of(const Program& program, const Bindings& bindings) {
  const std::int64_t value = evaluate_integer(program, bindings);
  if (value < 0)
    program.raise_result(integer_scalar(value), "0 or a positive number of elements",
                         "a tensor map cannot begin before its buffer", bindings);
  return value;
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
  programs.reserve(texts.size());
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
  const std::int64_t elements = evaluate_integer(program, bindings);
  if (elements < 0 || elements > kMostElements)
    program.raise_result(integer_scalar(elements), "a number of elements from 0 to 2^56",
                         "correct the expression or the problem's size", bindings);
  return elements;
}

ShapePrograms::ShapePrograms(const std::array<ExprText, 3>& texts, const SymbolTable& symbols,
                             std::string unit)
    : unit_(std::move(unit)) {
  for (const ExprText& text : texts) programs_.emplace_back(or_default(text, "1"), symbols);
}

Dim3 ShapePrograms::evaluate(const Bindings& bindings) const {
  const Dim3 shape{dimension(programs_[0], unit_, bindings), dimension(programs_[1], unit_, bindings),
                   dimension(programs_[2], unit_, bindings)};
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
      maps_.push_back({arguments_.size() - 1, TensorMapPrograms(*argument.tensor_map, symbols)});
    if (argument.kind == Argument::Kind::scalar)
      scalars_.push_back(
          {arguments_.size() - 1, Program(or_default(argument.value, argument.name), symbols)});
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
      offset_ ? offset_of(*offset_, bindings) : 0};
}

WorkspacePrograms::WorkspacePrograms(const std::vector<WorkspaceArray>& arrays, const SymbolTable& symbols) {
  for (const WorkspaceArray& array : arrays) {
    arrays_.push_back({array.name, array.type, 0, array.zeroed});
    elements_.emplace_back(array.elements, symbols);
  }
}

std::vector<SizedWorkspace> WorkspacePrograms::evaluate(const Bindings& bindings) const {
  std::vector<SizedWorkspace> sized = arrays_;
  for (std::size_t i = 0; i < sized.size(); ++i)
    sized[i].elements = evaluate_elements(elements_[i], bindings);
  return sized;
}

}  // namespace tiletune::space
