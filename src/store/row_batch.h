#pragma once

#include <memory>
#include <span>

#include "store/database.h"

namespace tiletune {

/// Many rows that go into a database together or not at all: what is not committed goes with this object.
/// Nothing else may write through the database object meanwhile but begin_sweep(), which is part of it.
class RowBatch {
 public:
  /// The rows have values in these columns alone; the key must be one of them.
  RowBatch(Database& database, std::span<const char* const> columns);
  ~RowBatch();
  RowBatch(const RowBatch&) = delete;
  RowBatch& operator=(const RowBatch&) = delete;

  /// False when the database has a row of this key: it stays as it is.
  bool add(const Trial& trial);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tiletune
