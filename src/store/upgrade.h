#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>

namespace tiletune {

/// The earliest schema that can be upgraded.
inline constexpr std::int64_t kOldestSchemaVersion = 1;

/// Brings a database of an earlier schema to this build's, inside the caller's transaction: until that
/// commits, the file is what it was. Throws UserError, naming `file`, when it is damaged.
void upgrade(SQLite::Database& database, const std::filesystem::path& file);

}  // namespace tiletune
