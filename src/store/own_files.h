#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string_view>

#include "base/stop.h"

namespace tiletune {

/// How every file of SQLite begins.
inline constexpr std::string_view kSqliteMagic = "SQLite format 3";

// SQLite's access to files, cut down to those that are a database's own: <file>, <file>-journal, <file>-wal
// and <file>-shm. A rollback journal may name a "super-journal" of a transaction over several databases,
// which SQLite would open, follow to other files and delete, whatever it names. Tiletune never makes one, so
// that every name that is not of a database opened here is refused (SQLITE_AUTH), and so is what lies beside
// a database and is not a regular file or has a second name: SQLite would write to an untrusted hard link.

/// For SQLite::Database: a database's own journal is rolled back.
const char* files_for_writing();
/// Nothing is rolled back: a database with an unfinished journal is refused (SQLITE_READONLY_ROLLBACK).
const char* files_for_reading();

/// Copies one state of an open database, whatever others write to it meanwhile, to a new file. False when
/// `stop` came before the end. Throws SQLite::Exception.
bool copy_pages(SQLite::Database& from, const std::filesystem::path& to, const Stop& stop);

/// Copies the file of a database, its log, and the journal of a transaction that was killed, for this user to
/// read and write. False when somebody wrote to them meanwhile. Throws std::filesystem::filesystem_error.
bool copy_files(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tiletune
