#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>

#include "store/columns.h"

namespace tiletune {

/// PRAGMA application_id: "TLTN" in ASCII. It tells a tiletune database from any other SQLite file.
inline constexpr std::int64_t kApplicationId = 0x544C544E;

/// The schema of version 0.2, the earliest that is upgraded.
inline constexpr std::int64_t kOldestSchemaVersion = 13;

/// One text column of the sweep table; sweep.id is its integer key.
struct SweepColumn {
  const char* name;
  std::string SweepRecord::*member;
};
std::span<const SweepColumn> sweep_columns();

/// One column of the calibration table, whose key are gpu_uuid and driver_version.
struct CalibrationColumn {
  const char* name;
  std::variant<std::string CalibrationRecord::*, double CalibrationRecord::*> member;
  const char* meaning;
};
std::span<const CalibrationColumn> calibration_columns();

/// Tables, indices and views of an empty database, and its identity (application_id, user_version).
std::string schema_sql();
/// What stands in the table trial of a database to which an upgrade to schema 14 or earlier added the column;
/// text was empty in the rows that were there.
std::string added_column_sql(const Column& column);
/// Brings a database of an earlier schema, from kOldestSchemaVersion on, to this build's, inside the caller's
/// transaction: until that commits, the file is what it was. Foreign keys must be off, because the table
/// trial is made anew. Throws UserError, naming `file`, when it is damaged.
void upgrade(SQLite::Database& database, const std::filesystem::path& file);
/// INSERT INTO trial ... ON CONFLICT(key): parameters are stored_columns() in their order. A result that is
/// there is not given up for the mark that it is being measured again.
std::string upsert_sql();
/// INSERT INTO trial of rows whose keys are not there yet: parameters are these stored columns in their
/// order; the others are null, or empty text.
std::string insert_new_sql(std::span<const Column* const> columns);
/// "started_at, finished_at, ..." in the order of sweep_columns().
std::string sweep_column_list();
/// INSERT INTO sweep ...: parameters are the columns in their order. It inserts nothing when the sweep is a
/// shard and the table has another shard's.
std::string begin_sweep_sql();
/// INSERT OR REPLACE INTO calibration ...: parameters are the columns in their order.
std::string record_calibration_sql();
/// "SELECT ... FROM calibration" with all columns in their order.
std::string select_calibration_sql();
/// "key, kind, ..." in the order of stored_columns().
std::string column_list();

}  // namespace tiletune
