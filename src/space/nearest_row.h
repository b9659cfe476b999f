#pragma once

#include <cstddef>
#include <span>

#include "space/packed_rows.h"

namespace tiletune::space {

/// What a column should hold, if that were valid.
struct WantedPosition {
  double position = 0;    ///< between 0 and count - 1, and brought there if it is not
  std::size_t count = 1;  ///< of the column's parameter's values
};

/// A row near a point, of at least one that there are, which must be sorted. The distance is the sum over the
/// columns of |value - position| / (count - 1).
///
/// Best-first search in the tree of the rows' prefixes, as far as a fixed number of prefixes: the nearest row
/// where that is enough, else the nearest that was come across.
std::size_t nearest_row(const PackedRows& rows, std::span<const WantedPosition> wanted);

}  // namespace tiletune::space
