#include "space/scope.h"

#include <fmt/format.h>

namespace tiletune::space {
namespace {

constexpr const char* kMultiprocessors = "multiprocessors";

void check_parameter(const Parameter& parameter) {
  if (parameter.values.empty())
    throw UserError(fmt::format("parameter '{}' has no values", parameter.name), parameter.where,
                    "give it at least one value");
  std::vector<Scalar> sorted;
  sorted.reserve(parameter.values.size());
  for (const Value& value : parameter.values) sorted.push_back(to_scalar(value));
  // Numbers by size, then strings: equal values become neighbours.
  std::stable_sort(sorted.begin(), sorted.end(), [](const Scalar& left, const Scalar& right) {
    if (left.is_string() != right.is_string()) return right.is_string();
    Scalar less = unset_scalar();
    return apply(Op::less, left, right, less) == FaultKind::none && is_true(less);
  });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), equals);
  if (twice == sorted.end()) return;
  throw UserError(
      fmt::format("parameter '{}' has the value {} twice", parameter.name, to_text(to_value(twice[1]))),
      parameter.where, "list each value once");
}

}  // namespace

Scope::Scope(const TemplateSpec& spec, const Problem& problem) : parameters_(spec.parameters) {
  declare_constants(spec, problem);
  constants_.withhold(kMultiprocessors,
                      "use it in the launch, the workspace and the kernel's arguments only: a space, its "
                      "buffers and its reference are the same for every GPU");
  if (!spec.operation.gpus.text.empty()) {
    for (const char* name : {kRank, kPeer})
      constants_.withhold(name, "use it in copies; a kernel is passed its rank as a scalar");
  }
  symbols_ = constants_;
  for (const Parameter& parameter : parameters_) {
    check_parameter(parameter);
    symbols_.declare(parameter.name, parameter.where);
  }
  for (const Derived& derived : spec.derived) {
    derived_.emplace_back(derived.value, symbols_);
    symbols_.declare(derived.name, derived.value.where);
  }
  launch_symbols_ = symbols_;
  launch_symbols_.declare(kMultiprocessors, spec.where);
}

void Scope::declare_constants(const TemplateSpec& spec, const Problem& problem) {
  const auto declare = [&](const std::string& name, const Scalar& value) {
    constants_.declare(name, spec.where);
    constant_values_.push_back(value);
  };
  for (const auto& [name, size] : problem.dimensions) declare(name, integer_scalar(size));
  for (const LeadingDimension& leading : spec.operation.leading_dimensions)
    declare(leading.name, integer_scalar(problem.at(leading)));
  for (const auto& [name, value] : spec.operation.scalars) declare(name, number_scalar(value));
  std::vector<Value> texts;
  for (const auto& [name, type] : spec.operation.types) texts.emplace_back(std::string(tiletune::name(type)));
  for (const auto& [name, option] : spec.operation.options) texts.emplace_back(option);
  texts_ = std::make_shared<const std::vector<Value>>(std::move(texts));
  auto text = texts_->begin();
  for (const auto& [name, type] : spec.operation.types) declare(name, to_scalar(*text++));
  for (const auto& [name, option] : spec.operation.options) declare(name, to_scalar(*text++));
}

std::vector<Scalar> Scope::initial_slots() const {
  std::vector<Scalar> slots = constant_values_;
  slots.resize(static_cast<std::size_t>(launch_symbols_.size()), unset_scalar());
  return slots;
}

std::vector<const Program*> Scope::definitions() const {
  std::vector<const Program*> definitions(first_derived(), nullptr);
  for (const Program& program : derived_) definitions.push_back(&program);
  return definitions;
}

void Scope::mark(const Program& program, std::vector<bool>& slots) const {
  for (const int read : program.slots()) {
    const auto slot = static_cast<std::size_t>(read);
    if (slots[slot]) continue;
    slots[slot] = true;
    if (slot >= first_derived()) mark(derived_[slot - first_derived()], slots);
  }
}

std::vector<std::size_t> Scope::marked(const Program& program, std::size_t first, std::size_t last) const {
  std::vector<bool> slots(first_derived() + derived_.size(), false);
  mark(program, slots);
  std::vector<std::size_t> positions;
  for (std::size_t slot = first; slot < last; ++slot)
    if (slots[slot]) positions.push_back(slot - first);
  return positions;
}

std::vector<std::size_t> Scope::parameters_of(const Program& program) const {
  return marked(program, first_parameter(), first_derived());
}

std::vector<std::size_t> Scope::derived_of(const Program& program) const {
  return marked(program, first_derived(), first_derived() + derived_.size());
}

}  // namespace tiletune::space
