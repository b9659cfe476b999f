#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

namespace tiletune {

/// The earliest schema that can be upgraded.
inline constexpr std::int64_t kOldestSchemaVersion = 1;

/// How schema 5 adds the rate of reads to the table calibration.
inline constexpr const char* kAddReadRate =
    "ALTER TABLE calibration ADD COLUMN read_gbs REAL NOT NULL DEFAULT 0";

/// Indices of earlier schemas, by their names; upgrading drops them first of all.
const std::set<std::string>& dropped_indices();

/// Brings a database of an earlier schema to this build's, inside the caller's transaction: until that
/// commits, the file is what it was. Throws UserError, naming `file`, when it is damaged.
void upgrade(SQLite::Database& database, const std::filesystem::path& file);

}  // namespace tiletune
