#include "store/integrity.h"

#include <sqlite3.h>

#include <string>
#include <vector>

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

/// As SQLite understands the schema, whatever its rows call them.
std::vector<std::string> foreign_tables_of(SQLite::Database& database) {
  std::vector<std::string> tables;
  SQLite::Statement statement(database, "PRAGMA main.table_list");
  while (statement.executeStep()) {
    std::string name = statement.getColumn(1).getString();
    if (!own_tables().contains(name) && name != "sqlite_schema") tables.push_back(std::move(name));
  }
  return tables;
}

/// A database without what is not tiletune's, as long as this lives: of a database with views or virtual
/// tables, which have no page, SQLite checks only part of the pages; and of tables that somebody added it
/// would evaluate generated columns and indices.
class OwnTablesAlone {
 public:
  explicit OwnTablesAlone(SQLite::Database& database) : database_(database) {
    database.exec("SAVEPOINT own_tables_alone");
  }
  /// After an error, which leaves the caller no transaction to commit.
  ~OwnTablesAlone() {
    if (!is_over_) database_.tryExec(kBringBack);
    database_.tryExec("PRAGMA writable_schema = RESET");
    set_defensive(true);
  }
  OwnTablesAlone(const OwnTablesAlone&) = delete;
  OwnTablesAlone& operator=(const OwnTablesAlone&) = delete;

  /// Brings back what was dropped. Throws SQLite::Exception where that fails: it would be dropped for good.
  void end() {
    database_.exec(kBringBack);
    is_over_ = true;
  }

  void drop_others() {
    set_defensive(false);
    database_.exec(
        "PRAGMA writable_schema = ON; DELETE FROM main.sqlite_schema WHERE rootpage = 0; "
        "PRAGMA writable_schema = RESET");
    set_defensive(true);
    for (const std::string& table : foreign_tables_of(database_)) drop(table);
  }

 private:
  void set_defensive(bool on) {
    ::sqlite3_db_config(database_.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, on ? 1 : 0, nullptr);
  }

  void drop(const std::string& table) {
    std::string quoted;
    for (const char c : table) quoted.append(c == '"' ? 2 : 1, c);
    try {
      database_.exec("DROP TABLE main.\"" + quoted + "\"");
    } catch (const SQLite::Exception& error) {
      // SQLite keeps some names for itself, and has given them to no such table.
      if (error.getErrorCode() != SQLITE_ERROR) throw;
      throw SQLite::Exception(error.what(), SQLITE_CORRUPT);
    }
  }

  static constexpr const char* kBringBack = "ROLLBACK TO own_tables_alone; RELEASE own_tables_alone";

  SQLite::Database& database_;
  bool is_over_ = false;
};

}  // namespace

void check_integrity(SQLite::Database& database) {
  {
    OwnTablesAlone alone(database);
    alone.drop_others();
    expect_none(database, "PRAGMA main.integrity_check(1)");
    alone.end();
  }
  // Rows of the table trial can be read as sweeps; their numbers are others.
  if (!database.tableExists("sweep_trial")) return;  // a damaged database of an earlier schema
  expect_none(
      database,
      "SELECT 'rows belong to the sweep ' || sweep_id || ', which is missing' FROM main.sweep_trial WHERE "
      "sweep_id NOT IN (SELECT id FROM main.sweep) LIMIT 1");
  // Every version has recorded that, of the latest sweep.
  expect_none(database,
              "SELECT 'row ' || id || ' does not belong to its sweep ' || seen_in_sweep FROM main.trial NOT "
              "INDEXED WHERE seen_in_sweep IS NOT NULL AND NOT EXISTS (SELECT 1 FROM main.sweep_trial WHERE "
              "sweep_id = seen_in_sweep AND trial_id = trial.id) LIMIT 1");
}

}  // namespace tiletune
