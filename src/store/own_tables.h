#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

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

}  // namespace tiletune
