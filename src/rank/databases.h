#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "rank/rows.h"
#include "store/database.h"

namespace tiletune {

/// Rows of several databases read as if they were in one: ids and numbers of sweeps are unique over all of
/// them, and seen_in_sweep grows in the order in which the sweeps began. The databases must outlive this.
class Databases {
 public:
  explicit Databases(std::vector<const Database*> databases)
      : databases_(std::move(databases)), order_(databases_) {}

  /// Row by row with some columns read, database after database, with growing ids. `visit` may change the
  /// row.
  void for_each(const TrialFilter& filter, std::span<const char* const> columns,
                const std::function<void(std::int64_t id, Trial& trial)>& visit) const;
  Trial row(std::int64_t id) const;

  std::size_t size() const { return databases_.size(); }
  const Database& operator[](std::size_t index) const { return *databases_.at(index); }
  /// The place of the database that a row is of.
  static std::size_t index_of(std::int64_t id);

 private:
  std::vector<const Database*> databases_;
  SweepOrder order_;
};

}  // namespace tiletune
