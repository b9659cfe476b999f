#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

namespace tiletune {

/// Throws SQLite::Exception (SQLITE_CORRUPT) unless every page of the database has its place and every table
/// that tiletune reads agrees with its indices: a page that was overwritten with another one mostly leaves a
/// tree that can be read, with rows missing. The tables must be tiletune's (check_tables); of others no CHECK
/// is evaluated.
void check_integrity(SQLite::Database& database);

}  // namespace tiletune
