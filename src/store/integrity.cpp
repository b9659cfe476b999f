#include "store/integrity.h"

#include <sqlite3.h>

#include <string>

namespace tiletune {

namespace {

/// A check that finds nothing answers "ok", or nothing.
void expect_none(SQLite::Database& database, const std::string& check) {
  SQLite::Statement statement(database, check);
  if (!statement.executeStep()) return;
  const std::string found = statement.getColumn(0).getString();
  if (found != "ok") throw SQLite::Exception(found, SQLITE_CORRUPT);
}

/// Tables that somebody added, whose generated columns and indices the whole check would evaluate.
bool has_others_tables(SQLite::Database& database) {
  return database
             .execAndGet(
                 "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                 "'sqlite!_%' ESCAPE '!' AND name NOT IN ('sweep', 'trial', 'sweep_trial', 'calibration'))")
             .getInt() != 0;
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
  if (!has_others_tables(database)) return expect_none(database, "PRAGMA main.integrity_check(1)");
  check_pages(database);
  SQLite::Statement tables(database,
                           "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name IN ('sweep', "
                           "'trial', 'sweep_trial', 'calibration')");
  while (tables.executeStep())
    expect_none(database, "PRAGMA main.integrity_check(" + tables.getColumn(0).getString() + ")");
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
