#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>

#include "base/stop.h"

namespace tiletune {

/// Copies one state of an open database, whatever others write to it meanwhile, to a new file. False when
/// `stop` came before the end. Throws SQLite::Exception.
bool copy_pages(SQLite::Database& from, const std::filesystem::path& to, const Stop& stop);

/// Copies the file of a database, its log, and the journal of a transaction that was killed, for this user to
/// read and write. False when somebody wrote to them meanwhile. Throws std::filesystem::filesystem_error.
bool copy_files(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tiletune
