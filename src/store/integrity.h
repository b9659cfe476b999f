#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

namespace tiletune {

/// Throws SQLite::Exception (SQLITE_CORRUPT) unless every page of the database has its place, every table
/// that tiletune reads agrees with its indices, and every row belongs to its latest sweep: a page that was
/// overwritten with another one mostly leaves a tree that can be read, with rows missing. The tables must be
/// tiletune's (check_tables); of others only the pages are looked at. Needs a connection that can write, with
/// foreign keys off; changes nothing.
void check_integrity(SQLite::Database& database);

}  // namespace tiletune
