#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text.h"
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
/// The definition of a column in a table trial to which an upgrade to schema 14 or earlier added it. Text
/// columns were empty in existing rows.
std::string added_column_sql(const Column& column);
/// Brings a database of an earlier schema, from kOldestSchemaVersion on, to this build's, inside the caller's
/// transaction: until that commits, the file is unchanged. Foreign keys must be off, because the table trial
/// is created again. Throws UserError, naming `file`, if the database is damaged.
void upgrade(SQLite::Database& database, const std::filesystem::path& file);
/// INSERT INTO trial ... ON CONFLICT(key). The parameters are stored_columns(), in order. A mark that a
/// configuration is being measured does not replace an existing result.
std::string upsert_sql();

/// "?, ?, ?"
std::string marks(std::size_t count);
/// The quoted names of columns in order, each after `prefix`: "key", "kind".
std::string names_of(const auto& columns, std::string_view prefix = "") {
  std::vector<std::string> names;
  for (const auto& column : columns) names.push_back(fmt::format("{}\"{}\"", prefix, column.name));
  return join(names, ", ");
}
/// names_of(stored_columns())
const std::string& column_list();

}  // namespace tiletune
