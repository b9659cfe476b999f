#include "space/expression.h"

#include <algorithm>

#include "space/program.h"

namespace tiletune {

struct Expression::Impl {
  space::Program program;
};

Expression::Expression(const ExprText& text, const SymbolTable& symbols)
    : impl_(std::make_unique<Impl>(Impl{space::Program(text, symbols)})) {}
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

Value Expression::evaluate(std::span<const Value> slots) const {
  const auto& read = impl_->program.slots();
  std::vector<space::Scalar> scalars(read.empty() ? 0 : static_cast<std::size_t>(read.back()) + 1,
                                     space::unset_scalar());
  for (std::size_t slot = 0; slot < std::min(scalars.size(), slots.size()); ++slot)
    scalars[slot] = space::to_scalar(slots[slot]);
  return space::to_value(space::evaluate(impl_->program, {scalars, {}}));
}

}  // namespace tiletune
