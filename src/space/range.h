#pragma once

#include "space/operators.h"

namespace tiletune::space {

/// What an expression can be while some of its names stand for several values: these values, and maybe more.
/// Trivial like Scalar.
struct Range {
  enum class Kind : std::uint8_t {
    unset,
    unknown,  ///< any value, or an error; or what `single` says
    numbers   ///< from low to high; none if low > high
  };

  Kind kind;
  bool integers;  ///< of numbers: there are no floats among them
  bool faults;    ///< it may be without a value, too
  Scalar single;  ///< the only value; unset where there may be several
  long double low;
  long double high;

  bool is_empty() const { return kind == Kind::numbers && low > high; }
  bool is_single() const { return single.kind != Scalar::Kind::unset; }
  bool can_be_true() const;
  bool can_be_false() const;
};

Range range_of(const Scalar& scalar);
/// What is in either of them.
Range joined(const Range& a, const Range& b);
/// What a conditional can give.
Range selected(const Range& condition, const Range& if_true, const Range& if_false);
/// What an operator of two operands, or of one, can give.
Range apply(Op op, const Range& left, const Range& right);
Range apply(Op op, const Range& operand);

}  // namespace tiletune::space
