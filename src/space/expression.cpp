#include "space/expression.h"

#include "space/program.h"

namespace tiletune {

struct Expression::Impl {
  space::Program program;

  template <class Result>
  Result run(std::span<const Value> values,
             Result (*evaluate)(const space::Program&, const space::Frame&)) const {
    const auto& read = program.slots();
    std::vector<space::Scalar> scalars(read.empty() ? 0 : index(read.back()) + 1, space::unset_scalar());
    for (const int slot : read)
      if (index(slot) < values.size()) scalars[index(slot)] = space::to_scalar(values[index(slot)]);
    return evaluate(program, {scalars, {}});
  }

  static std::size_t index(int slot) { return static_cast<std::size_t>(slot); }
};

Expression::Expression(const ExprText& text, const SymbolTable& symbols)
    : impl_(std::make_unique<Impl>(Impl{space::Program(text, symbols)})) {}
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

Value Expression::evaluate(std::span<const Value> slots) const {
  return space::to_value(impl_->run(slots, &space::evaluate));
}

std::int64_t Expression::evaluate_integer(std::span<const Value> slots) const {
  return impl_->run(slots, &space::evaluate_integer);
}

double Expression::evaluate_number(std::span<const Value> slots) const {
  return impl_->run(slots, &space::evaluate_number);
}

const std::vector<int>& Expression::slots() const { return impl_->program.slots(); }
const ExprText& Expression::text() const { return impl_->program.text(); }

}  // namespace tiletune
