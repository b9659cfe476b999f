#include "space/launch_shape.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tiletune::space {
namespace {

ExprText or_default(const ExprText& text, const std::string& fallback) {
  return text.text.empty() ? ExprText{fallback, text.where} : text;
}

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

}  // namespace

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

}  // namespace tiletune::space
