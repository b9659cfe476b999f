#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

namespace tiletune {

/// The names of the tables in a new database of this build, in small letters.
const std::set<std::string>& own_tables();

/// Throws UserError, naming `file`, unless every table that tiletune reads, and every index of one, is what
/// schema_sql() makes, or what an upgrade to it makes: nothing else may be evaluated while rows are read or
/// written (CHECKs, generated columns, indices of expressions, collations) or leave rows out (partial
/// indices, keys that are not unique). Of an earlier schema (`version`) tables, columns and indices may be
/// missing. Other tables, views and triggers are not checked: they are never read, and triggers never run.
void check_tables(SQLite::Database& database, const std::filesystem::path& file, std::int64_t version);

/// Throws SQLite::Exception (SQLITE_CORRUPT) unless every page of the database has its place, every table
/// that tiletune reads agrees with its indices, and every row belongs to its latest sweep: a page that was
/// overwritten with another one mostly leaves a tree that can be read, with rows missing. The tables must be
/// tiletune's (check_tables); of others only the pages are looked at. Needs a connection that can write, with
/// foreign keys off; changes nothing.
void check_integrity(SQLite::Database& database);

/// Notices what SQLite does not: that another program has removed, replaced or cut off the file of an open
/// database, so that further rows would be written to a file that has no name, or into a damaged one.
class FileWatch {
 public:
  /// The file must be there.
  explicit FileWatch(std::filesystem::path file);
  /// Throws UserError when the file is no longer the same, or has become shorter and does not hold a sound
  /// database any more. Costs one stat().
  void check();

 private:
  std::filesystem::path file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t bytes_ = 0;
};

/// Ends statements (SQLITE_INTERRUPT) that take more steps than reading the whole file could: pages that
/// refer to each other give a small file rows without end, which only checking all of it would find.
class StepLimit {
 public:
  /// Watches the statements of a connection, as its progress handler. This object must outlive it.
  void watch(sqlite3* connection);
  /// After another progress handler has taken its place: watches again what it watched, if anything.
  void resume();
  /// A statement begins.
  void begin() { steps_ = 0; }

 private:
  bool is_exceeded();

  sqlite3* connection_ = nullptr;
  std::filesystem::path file_;
  std::uint64_t steps_ = 0;
};

}  // namespace tiletune
