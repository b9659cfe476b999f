#include "rank/joined_rows.h"

#include <algorithm>
#include <tuple>

namespace tiletune {

namespace {

struct Entry {
  Identity identity;
  std::size_t side;
  const RankingRow* row;
};

/// Rows of a side lie in one array, fastest first and failures last.
bool in_order(const Entry& a, const Entry& b) {
  return std::tie(a.identity, a.side, a.row) < std::tie(b.identity, b.side, b.row);
}

}  // namespace

JoinedRows::JoinedRows(std::span<const ComparableRows* const> sides,
                       const std::function<Identity(const RankingRow&)>& identity)
    : sides_(sides.size()) {
  std::vector<Entry> entries;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    if (sides[side] == nullptr) continue;
    for (const auto& rows : {sides[side]->kernels, sides[side]->failed}) {
      for (const RankingRow& row : rows) entries.push_back({identity(row), side, &row});
    }
  }
  std::sort(entries.begin(), entries.end(), in_order);
  for (const Entry& entry : entries) {
    if (identities_.empty() || identities_.back() != entry.identity) {
      identities_.push_back(entry.identity);
      rows_.resize(rows_.size() + sides_, nullptr);
    }
    const RankingRow*& row = rows_[rows_.size() - sides_ + entry.side];
    if (row == nullptr) row = entry.row;
  }
}

std::size_t JoinedRows::place_of(const Identity& identity) const {
  return static_cast<std::size_t>(std::lower_bound(identities_.begin(), identities_.end(), identity) -
                                  identities_.begin());
}

}  // namespace tiletune
