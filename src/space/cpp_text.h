#pragma once

#include <string>
#include <string_view>

#include "space/scalar.h"

namespace tiletune::space {

/// True for what may stand in source text as it is: identifiers joined by `::` or single spaces, such as
/// `float`,
/// `__half`, `unsigned int`, `cuda::std::byte`.
bool is_type_or_name(std::string_view text);

/// A C++ literal: `true`, `128`, `0.5`, `2.0` (a floating-point value always looks like one and keeps all its
/// digits). Strings are returned as they are.
std::string cpp_text(const Scalar& scalar);

}  // namespace tiletune::space
