#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/folder.h"
#include "store/database.h"

namespace tiletune {

/// What to do about a damaged database.
inline constexpr const char* kRestore =
    "Restore it from a copy, or name another file with --db FILE: compiled kernels stay cached, so that only "
    "measuring is repeated.";

/// An open database.
struct Connection {
  /// Holds the file that is open, where that is not the database itself but a copy; goes after it.
  std::unique_ptr<ScratchFolder> folder;
  SQLite::Database database;
};

/// Opens the file and makes sure that it is a tiletune database of this schema; in read_write mode creates or
/// upgrades it. Reading changes neither the file nor its log: where a transaction must be rolled back first,
/// or the schema upgraded, a copy is read. Throws UserError.
Connection open_connection(const std::filesystem::path& file, Database::Mode mode,
                           std::chrono::milliseconds busy_timeout);

/// A tiletune database of any schema, opened for reading, to be copied.
Connection open_for_copying(const std::filesystem::path& file, std::chrono::milliseconds busy_timeout);

/// A further connection to a database that this process has open, for looking at what is in the file now;
/// whose tables they are is not checked. Throws SQLite::Exception.
SQLite::Database open_to_look(const std::filesystem::path& file, std::chrono::milliseconds busy_timeout);

/// A file that this process has made, of what a database holds; for changing it.
SQLite::Database open_copy(const std::filesystem::path& copy);

/// Upgrades a copy of `original` if it is of an earlier schema; messages are about that file.
void upgrade_copy(SQLite::Database& copy, const std::filesystem::path& original);

/// Throws the UserError (place and remedy) that an error of SQLite means to the person who named the file.
[[noreturn]] void throw_user_error(const SQLite::Exception& error, const std::filesystem::path& file);

/// Runs `action` with SQLite's errors translated.
template <typename Action>
decltype(auto) translating_errors(const std::filesystem::path& file, Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (const SQLite::Exception& error) {
    throw_user_error(error, file);
  }
}

}  // namespace tiletune
