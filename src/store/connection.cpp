#include "store/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cctype>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "store/schema.h"
#include "store/upgrade.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOtherFile = "Name another file with --db FILE, or move this one away.";
constexpr const char* kPermissions =
    "Check the permissions of the file and of its folder, or name another file with --db FILE.";

struct Identity {
  std::int64_t application_id = 0;
  std::int64_t schema_version = 0;
  std::int64_t objects = 0;  ///< tables, indices, views

  bool blank() const { return application_id == 0 && schema_version == 0 && objects == 0; }
  bool outdated() const {
    return application_id == kApplicationId && schema_version >= kOldestSchemaVersion &&
           schema_version < kSchemaVersion;
  }
};

Identity read_identity(SQLite::Database& database) {
  return {database.execAndGet("PRAGMA application_id").getInt64(),
          database.execAndGet("PRAGMA user_version").getInt64(),
          database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt64()};
}

void check_identity(const Identity& identity, const fs::path& file) {
  const Where where{file.string(), ""};
  if (identity.application_id != kApplicationId) {
    throw UserError("this SQLite database is not tiletune's", where, kOtherFile);
  }
  if (identity.schema_version > kSchemaVersion) {
    throw UserError(
        fmt::format("this database was written by a newer tiletune (schema {}; this one knows schema {})",
                    identity.schema_version, kSchemaVersion),
        where, "Update tiletune, or name another file with --db FILE.");
  }
  if (identity.schema_version < kSchemaVersion) {
    throw UserError(fmt::format("this database has schema {}; this tiletune reads schema {}",
                                identity.schema_version, kSchemaVersion),
                    where, "Read it with the tiletune that wrote it, or name another file with --db FILE.");
  }
}

void check_tables(const SQLite::Database& database, const fs::path& file) {
  for (const char* table : {"sweep", "trial", "sweep_trial", "calibration"}) {
    if (database.tableExists(table)) continue;
    throw UserError(fmt::format("this database is damaged: it has no table '{}'", table),
                    Where{file.string(), ""}, kRestore);
  }
}

/// Two builds of one schema number may differ during development; better to say so than "no such column"
/// later.
void check_columns(const SQLite::Database& database, const fs::path& file) {
  check_tables(database, file);
  std::set<std::string> present;
  SQLite::Statement statement(database, "SELECT name FROM pragma_table_info('trial')");
  while (statement.executeStep()) present.insert(statement.getColumn(0).getString());
  for (const Column& column : trial_columns()) {
    if (present.contains(column.name)) continue;
    throw UserError(fmt::format("the table trial has no column '{}'", column.name), Where{file.string(), ""},
                    "Another build of tiletune wrote this database. " + std::string(kOtherFile));
  }
}

void check_contents(SQLite::Database& database, const fs::path& file) {
  check_identity(read_identity(database), file);
  check_columns(database, file);
}

void apply_settings(SQLite::Database& database) {
  // Files come from other people: their views and triggers may call nothing with side effects.
  database.exec("PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON;");
  // The index over keys is hit at random: at 10^6 rows it needs about 50 MB to stay in memory (negative:
  // KiB).
  database.exec("PRAGMA cache_size = -65536;");
}

/// SQLite does not call the busy handler while it changes the journal mode, so two first users of a new file
/// would collide here.
std::string switch_to_wal(SQLite::Database& database, std::chrono::milliseconds busy_timeout) {
  const auto deadline = std::chrono::steady_clock::now() + busy_timeout;
  while (true) {
    try {
      return database.execAndGet("PRAGMA journal_mode = WAL").getString();
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_BUSY || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// What a commit survives: the end of the process at any moment, kill -9 included, because a commit has
/// written its pages to the WAL file and the kernel keeps what was written. synchronous = NORMAL leaves out
/// only the fsync per commit, so a power cut or a kernel crash may lose the last commits; in WAL mode it
/// never damages the file. Where a file system has no WAL (no shared memory: some network mounts), the
/// rollback journal needs FULL for that.
void prepare_for_writing(SQLite::Database& database, const fs::path& file,
                         std::chrono::milliseconds busy_timeout) {
  const bool wal = switch_to_wal(database, busy_timeout) == "wal";
  database.exec(wal ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Again, because another process may have made or upgraded it meanwhile.
  const Identity identity = read_identity(database);
  if (identity.blank()) database.exec(schema_sql());
  if (identity.outdated()) upgrade(database, file);
  check_contents(database, file);
  transaction.commit();
}

/// Readers understand one schema alone, and whoever may read a database can mostly write it.
void prepare_for_reading(SQLite::Database& database, const fs::path& file) {
  apply_settings(database);
  const Identity identity = read_identity(database);
  if (!identity.outdated()) return;
  if (sqlite3_db_readonly(database.getHandle(), "main") == 1) {
    throw UserError(fmt::format("this database has schema {} and is write-protected, so that it cannot be "
                                "upgraded to schema {}",
                                identity.schema_version, kSchemaVersion),
                    Where{file.string(), ""},
                    "Make the file and its folder writable, or name a copy of it with --db FILE: opening it "
                    "upgrades it.");
  }
  database.exec("PRAGMA query_only = OFF");
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (read_identity(database).outdated()) upgrade(database, file);
  transaction.commit();
  database.exec("PRAGMA query_only = ON");
}

/// A database that nobody has open is complete without a log, or the journal of an import that was killed,
/// and can be read as it lies.
bool is_complete(const fs::path& file) {
  const auto is_empty = [&](const char* suffix) {
    std::error_code ignored;
    const fs::path beside = file.string() + suffix;
    return !fs::exists(beside, ignored) || fs::file_size(beside, ignored) == 0;
  };
  return is_empty("-wal") && is_empty("-journal");
}

/// A folder that cannot be written has no room for the files of WAL mode.
bool readable_as_it_lies(const SQLite::Exception& error, const fs::path& file) {
  const int code = error.getErrorCode();
  return (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && is_complete(file);
}

/// SQLite gives the files of WAL mode the permissions of the database: beside a write-protected one in a
/// folder that can be written they would be left behind and stop every later writer.
bool would_leave_files_behind(const fs::path& file) {
  std::error_code ignored;
  const bool in_use = fs::exists(file.string() + "-shm", ignored);
  return ::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0 && is_complete(file) && !in_use;
}

std::string immutable_uri(const fs::path& file) {
  std::string uri = "file:";
  for (const unsigned char c : file.string()) {
    const bool plain = std::isalnum(c) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri + "?immutable=1";
}

SQLite::Database open_as_it_lies(const fs::path& absolute, int timeout_ms) {
  return {immutable_uri(absolute), SQLite::OPEN_READONLY | SQLite::OPEN_URI, timeout_ms};
}

SQLite::Database open_for_reading(const fs::path& absolute, int timeout_ms) {
  if (would_leave_files_behind(absolute)) return open_as_it_lies(absolute, timeout_ms);
  try {
    // Not OPEN_READONLY: the last reader of that kind leaves -wal and -shm files behind.
    SQLite::Database database(absolute, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, timeout_ms);
    database.exec("PRAGMA query_only = ON");
    read_identity(database);
    return database;
  } catch (const SQLite::Exception& error) {
    if (!readable_as_it_lies(error, absolute)) throw;
  }
  return open_as_it_lies(absolute, timeout_ms);
}

SQLite::Database open_for_writing(const fs::path& file, const fs::path& absolute,
                                  std::chrono::milliseconds busy_timeout) {
  SQLite::Database database(absolute, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX,
                            static_cast<int>(busy_timeout.count()));
  if (sqlite3_db_readonly(database.getHandle(), "main") == 1) {
    throw UserError("this database is write-protected", Where{file.string(), ""}, kPermissions);
  }
  // Before anything is written: a file that is refused stays as it was.
  const Identity identity = read_identity(database);
  if (!identity.blank() && !identity.outdated()) check_contents(database, file);
  apply_settings(database);
  prepare_for_writing(database, file, busy_timeout);
  return database;
}

void check_path(const fs::path& file, Database::Mode mode) {
  const Where where{file.string(), ""};
  if (file.empty()) throw UserError("the database's file name is empty", "Name a file with --db FILE.");
  std::error_code error;
  if (fs::is_directory(file, error)) {
    throw UserError("this is a folder; a database is a file", where, "Name a file in it with --db FILE.");
  }
  if (mode == Database::Mode::read_only) {
    const bool exists = fs::exists(file, error);
    if (error) throw UserError("this database cannot be opened: " + error.message(), where, kPermissions);
    if (exists) return;
    throw UserError("there is no such database", where,
                    "Make one with `tiletune sweep CONFIG` or `tiletune import FILE`, or name an existing "
                    "one with --db FILE.");
  }
  fs::create_directories(fs::absolute(file).parent_path(), error);
  if (error) {
    throw UserError(fmt::format("the folder of this database cannot be created: {}", error.message()), where,
                    kPermissions);
  }
}

}  // namespace

namespace {

/// No log that every row would be written to first.
void prepare_scratch(SQLite::Database& database) {
  database.execAndGet("PRAGMA journal_mode = MEMORY");
  database.exec("PRAGMA synchronous = OFF");
}

}  // namespace

SQLite::Database open_connection(const fs::path& file, Database::Mode mode,
                                 std::chrono::milliseconds busy_timeout) {
  check_path(file, mode);
  // An absolute path, because SQLite takes ":memory:" for no file at all.
  const fs::path absolute = fs::absolute(file);
  return translating_errors(file, [&] {
    SQLite::Database database = mode == Database::Mode::read_only
                                    ? open_for_reading(absolute, static_cast<int>(busy_timeout.count()))
                                    : open_for_writing(file, absolute, busy_timeout);
    if (mode == Database::Mode::read_only) prepare_for_reading(database, file);
    check_contents(database, file);
    if (mode == Database::Mode::scratch) prepare_scratch(database);
    return database;
  });
}

SQLite::Database open_whatever_it_is(const fs::path& file, std::chrono::milliseconds busy_timeout) {
  check_path(file, Database::Mode::read_only);
  return translating_errors(
      file, [&] { return open_for_reading(fs::absolute(file), static_cast<int>(busy_timeout.count())); });
}

void throw_user_error(const SQLite::Exception& error, const fs::path& file) {
  const Where where{file.string(), ""};
  switch (error.getErrorCode()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw DatabaseLocked("this database is locked by another program", where,
                           "Wait until it ends, stop it, or name another file with --db FILE.");
    case SQLITE_NOTADB:
      throw UserError("this is no SQLite database", where, kOtherFile);
    case SQLITE_CORRUPT:
      throw UserError(fmt::format("this database is damaged: {}", error.what()), where, kRestore);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      throw UserError(fmt::format("this database cannot be opened: {}", error.what()), where, kPermissions);
    case SQLITE_FULL:
    case SQLITE_IOERR:
      throw UserError(fmt::format("this database cannot be read or written: {}", error.what()), where,
                      "Make room on the disk and check it, or name another file with --db FILE.");
    default:
      throw std::runtime_error(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace tiletune
