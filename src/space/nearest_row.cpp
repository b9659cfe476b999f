#include "space/nearest_row.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <vector>

namespace tiletune::space {
namespace {

/// Prefixes that are continued, and by how many values each: a search takes less than 1 ms.
constexpr int kMostContinued = 100;
constexpr int kMostValues = 16;

/// Rows that are equal in their first `depth` columns.
struct RowPrefix {
  double distance = 0;  ///< of those columns
  double estimate = 0;  ///< of a whole row
  std::size_t depth = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct PrefixIsFarther {
  bool operator()(const RowPrefix& a, const RowPrefix& b) const { return a.estimate > b.estimate; }
};

class NearestRow {
 public:
  NearestRow(const PackedRows& rows, std::span<const WantedPosition> wanted) : rows_(rows), wanted_(wanted) {}

  std::size_t run() {
    RowPrefix best = greedy();
    // Not a bound, but a typical distance: with 0 the search would stay among short prefixes.
    const double column_estimate = best.distance / 2 / static_cast<double>(wanted_.size());
    std::priority_queue<RowPrefix, std::vector<RowPrefix>, PrefixIsFarther> open;
    open.push({.end = rows_.size()});
    for (int continued = 0; continued < kMostContinued && !open.empty(); ++continued) {
      const RowPrefix prefix = open.top();
      open.pop();
      if (prefix.distance >= best.distance) continue;
      continue_with(prefix, kMostValues, [&](RowPrefix longer) {
        if (longer.distance >= best.distance) return;
        if (longer.depth == wanted_.size()) {
          best = longer;
          return;
        }
        longer.estimate =
            longer.distance + column_estimate * static_cast<double>(wanted_.size() - longer.depth);
        open.push(longer);
      });
    }
    return best.begin;
  }

 private:
  /// The row that is found by taking the nearest value column by column.
  RowPrefix greedy() const {
    RowPrefix prefix{.end = rows_.size()};
    while (prefix.depth < wanted_.size())
      continue_with(prefix, 1, [&](RowPrefix longer) { prefix = longer; });
    return prefix;
  }

  /// Calls `take` for the prefixes that are one column longer, the nearest values first.
  template <typename Take>
  void continue_with(const RowPrefix prefix, int most, const Take& take) const {
    const std::size_t column = prefix.depth;
    const auto last = static_cast<double>(wanted_[column].count - 1);
    const double position = std::clamp(wanted_[column].position, 0.0, last);
    // Values from `above` on are above the position, those before it are not.
    std::size_t above = rows_.first_at_least(prefix.begin, prefix.end, column,
                                             static_cast<std::uint32_t>(std::ceil(position)));
    std::size_t below = above;
    for (int taken = 0; taken < most && (below > prefix.begin || above < prefix.end); ++taken) {
      const double down = below > prefix.begin ? position - rows_.value(below - 1, column) : INFINITY;
      const double up = above < prefix.end ? rows_.value(above, column) - position : INFINITY;
      RowPrefix longer{.distance = prefix.distance + std::min(down, up) / std::max(1.0, last),
                       .depth = prefix.depth + 1};
      if (up <= down) {
        longer.begin = above;
        above = longer.end = rows_.first_at_least(above, prefix.end, column, rows_.value(above, column) + 1);
      } else {
        longer.end = below;
        below = longer.begin =
            rows_.first_at_least(prefix.begin, below, column, rows_.value(below - 1, column));
      }
      take(longer);
    }
  }

  const PackedRows& rows_;
  std::span<const WantedPosition> wanted_;
};

}  // namespace

std::size_t nearest_row(const PackedRows& rows, std::span<const WantedPosition> wanted) {
  return NearestRow(rows, wanted).run();
}

}  // namespace tiletune::space
