#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/identifier.h"
#include "base/text.h"
#include "space/program.h"

namespace tiletune::space {
namespace {

struct Explanation {
  const char* what;
  const char* remedy;
};

Explanation explain(FaultKind kind) {
  switch (kind) {
    case FaultKind::division_by_zero:
      return {"division by zero", "exclude these values by a constraint listed before this expression"};
    case FaultKind::integer_overflow:
      return {"integer overflow beyond 64 bits",
              "use smaller values, or a float such as 1.0 * x where precision may be lost"};
    case FaultKind::number_overflow:
      return {"floating-point overflow", "use smaller values"};
    case FaultKind::needs_number:
      return {"a string where a number is needed", "compare strings with ==, != or in"};
    case FaultKind::needs_integer:
      return {"a value that is not an integer where one is needed", "use // for integer division"};
    case FaultKind::not_comparable:
      return {"a string compared with a number", "compare values of one kind"};
    case FaultKind::negative_shift:
      return {"shift by a negative count",
              "exclude these values by a constraint listed before this expression"};
    case FaultKind::no_power_of_two:
      return {"log2 of a number that is not a power of two",
              "require is_pow2(...) by a constraint listed before"};
    case FaultKind::fractional_power:
      return {"negative number raised to a fractional power", "raise abs(...), or use an integer exponent"};
    case FaultKind::no_element_type:
      return {"size() of a value that is not an element type",
              "write a type variable of the operation, or a type such as 'f16'"};
    default:
      return {"a name without a value", "give every name a value before evaluating"};
  }
}

/// "write 64 without quotes" where a string holds a number, else what is given.
std::string unquoted_or(const Scalar& scalar, const std::string& remedy) {
  if (!scalar.is_string() || scalar.string->empty()) return remedy;
  double number = 0;
  const char* const end = scalar.string->data() + scalar.string->size();
  const auto [rest, error] = std::from_chars(scalar.string->data(), end, number);
  return error == std::errc() && rest == end ? fmt::format("write {} without quotes", *scalar.string)
                                             : remedy;
}

std::string shown(const Scalar& scalar) {
  return scalar.is_string() ? fmt::format("'{}'", *scalar.string) : to_text(to_value(scalar));
}

bool inside(const Span& part, const Span& whole) {
  return part.begin >= whole.begin && part.end <= whole.end;
}

/// " (BM = 64, BN = 32)", or nothing when no name is involved.
std::string in_brackets(const std::vector<std::string>& parts) {
  return parts.empty() ? "" : fmt::format(" ({})", join(parts, ", "));
}

}  // namespace

std::string Program::values_in(const Span& span, const Bindings& bindings) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    if (instructions_[i].op != Op::load || !inside(origins_[i].whole, span)) continue;
    const Scalar& value = bindings.slots[static_cast<std::size_t>(instructions_[i].argument)];
    if (value.kind == Scalar::Kind::unset) continue;
    std::string part = fmt::format("{} = {}", name_at(i), shown(value));
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
  }
  return in_brackets(parts);
}

std::string_view Program::name_at(std::size_t instruction) const {
  const auto rest = std::string_view(text_->text).substr(origins_[instruction].position);
  const auto* end = std::find_if_not(rest.begin(), rest.end(), is_identifier_part);
  return rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
}

void Program::raise(const Fault& fault, const Bindings& bindings) const {
  if (fault.program != this) fault.program->raise(fault, bindings);
  const Origin& origin = origins_[fault.instruction];
  const bool right = instructions_[fault.instruction].op != Op::power &&
                     (fault.kind == FaultKind::division_by_zero || fault.kind == FaultKind::negative_shift);
  const std::size_t position = right ? origin.right.begin : origin.position;
  const std::string values = values_in(right ? origin.right : origin.whole, bindings);
  const Explanation explanation = explain(fault.kind);
  std::string remedy = explanation.remedy;
  if (fault.kind == FaultKind::needs_number || fault.kind == FaultKind::needs_integer ||
      fault.kind == FaultKind::not_comparable)
    for (const int slot : slots_)
      remedy = unquoted_or(bindings.slots[static_cast<std::size_t>(slot)], remedy);
  throw UserError(fmt::format("{} in {}{}", explanation.what, quoted_at(text(), position), values),
                  text().where, remedy);
}

void Program::raise_result(const Scalar& result, const std::string& wanted, const std::string& remedy,
                           const Bindings& bindings) const {
  const std::string values = single_name() ? "" : values_in({0, text().text.size()}, bindings);
  throw UserError(fmt::format("'{}' is {}, not {}{}", text().text, shown(result), wanted, values),
                  text().where, unquoted_or(result, remedy));
}

Scalar evaluate(const Program& program, const Bindings& bindings) {
  Scalar result = unset_scalar();
  Fault fault;
  if (!program.run(bindings, result, fault)) program.raise(fault, bindings);
  return result;
}

std::int64_t evaluate_integer(const Program& program, const Bindings& bindings) {
  const Scalar result = evaluate(program, bindings);
  if (result.is_integral()) return result.integer;
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const bool fits = result.kind == Scalar::Kind::number && result.number == std::floor(result.number) &&
                    result.number >= -kLimit && result.number < kLimit;
  if (!fits)
    program.raise_result(result, "an integer", result.is_string() ? "" : kUseFloorDivision, bindings);
  return static_cast<std::int64_t>(result.number);
}

double evaluate_number(const Program& program, const Bindings& bindings) {
  const Scalar result = evaluate(program, bindings);
  if (!result.is_numeric()) program.raise_result(result, "a number", "", bindings);
  return result.as_number();
}

}  // namespace tiletune::space
