#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "store/database.h"

namespace tiletune {

/// Many rows that go into a database together or not at all: what is not committed goes with this object.
/// Meanwhile, only what records sweeps and calibrations may write through the database object besides, and is
/// part of it.
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
  class WithoutLog;

  const Database& database_;
  std::vector<const Column*> columns_;
  std::vector<Cell> bound_;
  std::unique_ptr<WithoutLog> log_;
  std::optional<SQLite::Transaction> transaction_;
  std::optional<SQLite::Statement> insert_;
};

/// As long as this lives, what is written through the database object is committed by commit() alone, and
/// lost otherwise: for rows that can be had again and are too many to commit each. Other processes cannot
/// write meanwhile. Nothing that is a transaction of its own may be called: record_all(), at_one_state().
class GroupedWrites {
 public:
  explicit GroupedWrites(Database& database);

  /// Commits what was written since the last commit().
  void commit();

 private:
  void begin();

  Database& database_;
  std::optional<SQLite::Transaction> transaction_;
};

}  // namespace tiletune
