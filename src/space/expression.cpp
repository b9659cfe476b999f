#include "space/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/identifier.h"
#include "space/parser.h"
#include "space/program.h"

namespace tiletune {

int SymbolTable::declare(const std::string& name, const Where& where) {
  if (!is_identifier(name))
    throw UserError(fmt::format("'{}' is not a name", name), where,
                    "use letters, digits and underscores, and no digit first");
  if (space::is_reserved(name))
    throw UserError(fmt::format("'{}' is a reserved word of expressions", name), where,
                    "choose another name");
  if (find(name))
    throw UserError(
        fmt::format("'{}' is declared twice", name), where,
        "parameters, derived values, dimensions and scalars share one scope: rename one of the two");
  names_.push_back(name);
  return size() - 1;
}

std::optional<int> SymbolTable::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<int>(found - names_.begin());
}

void SymbolTable::withhold(const std::string& name, const std::string& remedy) {
  withheld_.emplace_back(name, remedy);
}

std::optional<std::string> SymbolTable::withheld(std::string_view name) const {
  const auto found = std::find_if(withheld_.begin(), withheld_.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == withheld_.end()) return std::nullopt;
  return found->second;
}

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
