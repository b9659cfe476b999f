#include "space/scalar.h"

namespace tiletune::space {

Scalar unset_scalar() { return {Scalar::Kind::unset, {0}}; }

Scalar boolean_scalar(bool value) { return {Scalar::Kind::boolean, {value ? 1 : 0}}; }

Scalar integer_scalar(std::int64_t value) { return {Scalar::Kind::integer, {value}}; }

Scalar number_scalar(double value) {
  Scalar scalar{Scalar::Kind::number, {0}};
  scalar.number = value;
  return scalar;
}

Scalar to_scalar(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return boolean_scalar(*boolean);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return integer_scalar(*integer);
  if (const auto* number = std::get_if<double>(&value)) return number_scalar(*number);
  Scalar scalar{Scalar::Kind::string, {0}};
  scalar.string = &std::get<std::string>(value);
  return scalar;
}

Value to_value(const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::boolean:
      return scalar.integer != 0;
    case Scalar::Kind::number:
      return scalar.number;
    case Scalar::Kind::string:
      return *scalar.string;
    default:
      return scalar.integer;
  }
}

bool is_true(const Scalar& scalar) {
  if (scalar.is_string()) return !scalar.string->empty();
  return scalar.kind == Scalar::Kind::number ? scalar.number != 0 : scalar.integer != 0;
}

}  // namespace tiletune::space
