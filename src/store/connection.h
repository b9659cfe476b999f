#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "store/database.h"

namespace tiletune {

/// What to do about a damaged database.
inline constexpr const char* kRestore =
    "Restore it from a copy, or name another file with --db FILE: compiled kernels stay cached, so that only "
    "measuring is repeated.";

/// Opens the file, makes sure that it is a tiletune database of this schema and, in read_write mode, creates
/// it. Throws UserError.
SQLite::Database open_connection(const std::filesystem::path& file, Database::Mode mode,
                                 std::chrono::milliseconds busy_timeout);

/// Opens any file of SQLite for reading, and changes nothing. Throws UserError.
SQLite::Database open_whatever_it_is(const std::filesystem::path& file,
                                     std::chrono::milliseconds busy_timeout);

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
