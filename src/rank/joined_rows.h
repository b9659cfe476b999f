#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "rank/parameters.h"
#include "rank/rows.h"

namespace tiletune {

/// The configurations of a problem, each with its row on every side.
class JoinedRows {
 public:
  /// A side without the problem has a null. Of a side's rows with one identity the fastest counts.
  JoinedRows(std::span<const ComparableRows* const> sides,
             const std::function<Identity(const RankingRow&)>& identity);

  std::size_t size() const { return identities_.size(); }
  /// The row of a configuration on a side, which may have failed; null where it has none.
  const RankingRow* row(std::size_t configuration, std::size_t side) const {
    return rows_[configuration * sides_ + side];
  }
  /// The place of a configuration that is there.
  std::size_t place_of(const Identity& identity) const;

 private:
  std::size_t sides_;
  std::vector<Identity> identities_;  ///< ascending
  std::vector<const RankingRow*> rows_;
};

}  // namespace tiletune
