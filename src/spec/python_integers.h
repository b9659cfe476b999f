#pragma once

#include <cstdint>
#include <optional>

namespace tiletune {

/// What Python calculates: + - * %, 'd' for // and '^' for **. Nothing where that is not an integer of 64
/// bits.
std::optional<std::int64_t> calculate_integers(char op, std::int64_t left, std::int64_t right);

}  // namespace tiletune
