#pragma once

#include <memory>

#include "store/database.h"

namespace tiletune {

/// As long as this lives, what is written through the database object is committed by commit() alone, and
/// lost otherwise: for rows that can be had again and are too many to commit each. Other processes cannot
/// write meanwhile. Nothing that is a transaction of its own may be called: record_all(), at_one_state().
class GroupedWrites {
 public:
  explicit GroupedWrites(Database& database);
  ~GroupedWrites();
  GroupedWrites(const GroupedWrites&) = delete;
  GroupedWrites& operator=(const GroupedWrites&) = delete;

  /// Of what was written since the last one.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tiletune
