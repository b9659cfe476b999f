#include "store/integrity.h"

#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <string>

#include "store/own_tables.h"

namespace tiletune {

namespace {

/// A check that finds nothing answers "ok", or nothing.
void expect_none(SQLite::Database& database, const std::string& check) {
  SQLite::Statement statement(database, check);
  if (!statement.executeStep()) return;
  const std::string found = statement.getColumn(0).getString();
  if (found != "ok") throw SQLite::Exception(found, SQLITE_CORRUPT);
}

/// Without those that SQLite keeps for itself.
std::set<std::string> tables_of(SQLite::Database& database) {
  std::set<std::string> tables;
  for (const SchemaObject& object : objects_of(database)) {
    if (object.type == "table" && !object.name.starts_with("sqlite_")) tables.insert(object.name);
  }
  return tables;
}

/// Whether every page has its place. Of tables with functions or collations that are not known here nothing
/// is said.
void check_pages(SQLite::Database& database) {
  database.exec("PRAGMA ignore_check_constraints = ON");
  try {
    expect_none(database, "PRAGMA main.quick_check(1)");
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_ERROR) throw;
  }
  database.exec("PRAGMA ignore_check_constraints = OFF");
}

void check_structure(SQLite::Database& database) {
  const std::set<std::string> tables = tables_of(database);
  // Of tables that somebody added, the whole check would evaluate generated columns and indices.
  if (std::includes(own_tables().begin(), own_tables().end(), tables.begin(), tables.end()))
    return expect_none(database, "PRAGMA main.integrity_check(1)");
  check_pages(database);
  for (const std::string& table : own_tables()) {
    if (tables.contains(table)) expect_none(database, "PRAGMA main.integrity_check(" + table + ")");
  }
}

}  // namespace

void check_integrity(SQLite::Database& database) {
  check_structure(database);
  // Rows of the table trial can be read as sweeps; their numbers are others. Schema 1 has no such table.
  if (!database.tableExists("sweep_trial")) return;
  expect_none(
      database,
      "SELECT 'rows belong to the sweep ' || sweep_id || ', which is missing' FROM main.sweep_trial WHERE "
      "sweep_id NOT IN (SELECT id FROM main.sweep) LIMIT 1");
}

}  // namespace tiletune
