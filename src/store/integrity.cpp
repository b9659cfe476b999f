#include "store/integrity.h"

#include <sys/stat.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/scratch_folder.h"
#include "store/connection.h"
#include "store/own_files.h"
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
    // As SQLite understands the schema, whatever its rows call them.
    std::vector<std::string> others;
    {
      SQLite::Statement tables(database_, "PRAGMA main.table_list");
      while (tables.executeStep()) others.push_back(tables.getColumn(1).getString());
    }
    for (const std::string& table : others)
      if (!own_tables().contains(table) && table != "sqlite_schema") drop(table);
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

namespace {

enum class State { sound, unsound, unknown };

/// Looks at a copy of what is in the file, because this process holds the pages in memory.
State state_of(const std::filesystem::path& file) {
  constexpr std::chrono::seconds kPatience{1};
  try {
    const ScratchFolder folder(std::filesystem::absolute(file).parent_path());
    const std::filesystem::path copy = folder.path() / "copy.db";
    SQLite::Database present = open_to_look(file, kPatience);
    copy_pages(present, copy, never_stop);
    SQLite::Database database = open_copy(copy);
    check_integrity(database);
    return State::sound;
  } catch (const SQLite::Exception& error) {
    // What else fails is not the file: it is locked, or the disk is full, or memory is short.
    const int code = error.getErrorCode();
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? State::unsound : State::unknown;
  } catch (const UserError&) {
    return State::unknown;  // no folder for the copy
  }
}

}  // namespace

FileWatch::FileWatch(std::filesystem::path file) : file_(std::move(file)) {
  struct stat now {};
  if (::stat(file_.c_str(), &now) != 0) return;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  bytes_ = now.st_size;
}

void FileWatch::check() {
  struct stat now {};
  const bool there = ::stat(file_.c_str(), &now) == 0;
  if (!there || now.st_dev != device_ || now.st_ino != inode_) {
    throw UserError(
        there ? "another file has taken this database's place" : "this database was removed while in use",
        Where{file_.string(), ""},
        "Rows that are not in the file of this name are lost; run the same command again to write them "
        "again.");
  }
  // VACUUM makes files shorter, too.
  const State state = now.st_size < bytes_ ? state_of(file_) : State::sound;
  if (state == State::unsound) {
    throw UserError("this database was cut off or overwritten while in use", Where{file_.string(), ""},
                    kRestore);
  }
  // What could not be looked at is looked at again next time.
  if (state != State::unknown) bytes_ = now.st_size;
}

namespace {

constexpr int kStepsPerQuestion = 1000000;

std::uint64_t bytes_of(const std::filesystem::path& file) {
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(file, absent);
  return absent ? 0 : bytes;
}

}  // namespace

void StepLimit::watch(sqlite3* connection) {
  connection_ = connection;
  file_ = ::sqlite3_db_filename(connection, "main");
  resume();
}

void StepLimit::resume() {
  if (connection_ == nullptr) return;
  const auto ask = [](void* data) { return static_cast<StepLimit*>(data)->is_exceeded() ? 1 : 0; };
  ::sqlite3_progress_handler(connection_, kStepsPerQuestion, ask, this);
}

bool StepLimit::is_exceeded() {
  // A row takes at least a byte for each column, and a statement about three steps.
  constexpr std::uint64_t kStepsPerByte = 16;
  constexpr std::uint64_t kLeast = std::uint64_t{10} * kStepsPerQuestion;
  steps_ += kStepsPerQuestion;
  // Others may write to it meanwhile.
  return steps_ > kLeast + kStepsPerByte * (bytes_of(file_) + bytes_of(file_.string() + "-wal"));
}

}  // namespace tiletune
