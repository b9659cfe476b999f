#include "space/tensor_map.h"

namespace tiletune::space {
namespace {

std::vector<Program> programs_of(const std::vector<ExprText>& texts, const SymbolTable& symbols) {
  std::vector<Program> programs;
  programs.reserve(texts.size());
  for (const ExprText& text : texts) programs.emplace_back(text, symbols);
  return programs;
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

TensorMapPrograms::TensorMapPrograms(const TensorMap& map, const SymbolTable& symbols)
    : type_(map.type),
      extents_(programs_of(map.extents, symbols)),
      pitches_(programs_of(map.pitches, symbols)),
      box_(programs_of(map.box, symbols)),
      swizzle_(map.swizzle, symbols),
      promotion_(map.promotion, symbols) {
  if (!map.offset.text.empty()) offset_.emplace(map.offset, symbols);
  if (!map.when.text.empty()) when_.emplace(map.when, symbols);
}

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

}  // namespace tiletune::space
