#pragma once

#include <cstdint>

#include "space/operators.h"

namespace tiletune::space {

/// Operators on checked 64-bit integers; a fault leaves `result` alone.
FaultKind apply_integers(Op op, std::int64_t left, std::int64_t right, Scalar& result);

}  // namespace tiletune::space
