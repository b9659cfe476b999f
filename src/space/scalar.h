#pragma once

#include <cstdint>
#include <string>

#include "base/value.h"

namespace tiletune::space {

/// A Value without ownership: what the evaluator works on. A string belongs to whoever made the scalar.
/// Trivial on purpose, so that an array of them costs nothing to create.
struct Scalar {
  enum class Kind : std::uint8_t { unset, boolean, integer, number, string };

  Kind kind;
  union {
    std::int64_t integer;  ///< also of a boolean, as 0 or 1
    double number;
    const std::string* string;
  };

  bool is_string() const { return kind == Kind::string; }
  /// A boolean counts as the integer 0 or 1.
  bool is_integral() const { return kind == Kind::integer || kind == Kind::boolean; }
  bool is_numeric() const { return is_integral() || kind == Kind::number; }
  double as_number() const { return kind == Kind::number ? number : static_cast<double>(integer); }
};

Scalar unset_scalar();
Scalar boolean_scalar(bool value);
Scalar integer_scalar(std::int64_t value);
Scalar number_scalar(double value);

/// Borrows a string's text from `value`.
Scalar to_scalar(const Value& value);
Value to_value(const Scalar& scalar);

/// False for false, 0, 0.0 and "".
bool is_true(const Scalar& scalar);

}  // namespace tiletune::space
