#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rank/parameter_table.h"

namespace tiletune {

/// The values that parameters had which the list of `few` lacks and that of `many`, which has all of its
/// others, has: those with which every configuration of `few` is among `many`. None where no values are so,
/// or several, of which nobody knows the right ones. In the order of the lacking parameters.
std::optional<std::vector<std::uint64_t>> fixed_values(const ParameterTable& table,
                                                       const std::vector<const ParameterTable::Row*>& few,
                                                       const std::vector<const ParameterTable::Row*>& many);

/// Places of the parameters that the longer of two ascending lists alone has.
std::vector<std::uint32_t> lacking(const std::vector<std::uint32_t>& fewer,
                                   const std::vector<std::uint32_t>& more);

/// How many different configurations rows of one list are.
std::size_t configurations_of(const ParameterTable& table,
                              const std::vector<const ParameterTable::Row*>& rows);

}  // namespace tiletune
