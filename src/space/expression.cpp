#include "space/expression.h"

#include "space/program.h"

namespace tiletune {

struct Expression::Impl {
  Program program;

  /// The frame's slots are `scalars`, filled from the caller's values.
  Frame bind(std::span<const Value> values, std::vector<Scalar>& scalars) const {
    scalars.assign(std::max(values.size(), slots_needed()), unset_scalar());
    for (const int slot : program.slots())
      if (static_cast<std::size_t>(slot) < values.size())
        scalars[static_cast<std::size_t>(slot)] = to_scalar(values[static_cast<std::size_t>(slot)]);
    return {scalars, {}};
  }

  std::size_t slots_needed() const {
    return program.slots().empty() ? 0 : static_cast<std::size_t>(program.slots().back()) + 1;
  }
};

Expression::Expression(const ExprText& text, const SymbolTable& symbols)
    : impl_(std::make_unique<Impl>(Impl{Program(text, symbols)})) {}
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

Value Expression::evaluate(std::span<const Value> slots) const {
  std::vector<Scalar> scalars;
  return to_value(tiletune::evaluate(impl_->program, impl_->bind(slots, scalars)));
}

std::int64_t Expression::evaluate_integer(std::span<const Value> slots) const {
  std::vector<Scalar> scalars;
  return tiletune::evaluate_integer(impl_->program, impl_->bind(slots, scalars));
}

bool Expression::evaluate_condition(std::span<const Value> slots) const {
  std::vector<Scalar> scalars;
  return is_true(tiletune::evaluate(impl_->program, impl_->bind(slots, scalars)));
}

double Expression::evaluate_number(std::span<const Value> slots) const {
  std::vector<Scalar> scalars;
  return tiletune::evaluate_number(impl_->program, impl_->bind(slots, scalars));
}

const std::vector<int>& Expression::slots() const { return impl_->program.slots(); }
const ExprText& Expression::text() const { return impl_->program.text(); }

}  // namespace tiletune
