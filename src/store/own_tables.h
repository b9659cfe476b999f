#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace tiletune {

/// A row of sqlite_schema. Names are in small letters: SQLite does not distinguish them from capitals.
struct SchemaObject {
  std::string type;
  std::string name;
  std::string table;  ///< that it belongs to; its own name, of a table or a view
  std::string sql;    ///< empty for an index that SQLite makes by itself

  bool operator==(const SchemaObject&) const = default;
};

/// Everything that a database defines, in an order that does not depend on when it was made.
std::vector<SchemaObject> objects_of(SQLite::Database& database);

/// objects_of() a new database of this build.
const std::vector<SchemaObject>& own_objects();

/// The names of the tables in it.
const std::set<std::string>& own_tables();

/// Throws UserError, naming `file`, unless every table that tiletune reads, and every index of one, is what
/// schema_sql() makes, or what an upgrade to it makes: nothing else may be evaluated while rows are read or
/// written (CHECKs, generated columns, indices of expressions, collations) or leave rows out (partial
/// indices, keys that are not unique). Of an earlier schema (`version`) tables, columns and indices may be
/// missing, and indices that the upgrade drops may be there. Other tables, views and triggers are not
/// checked: they are never read, and triggers never run.
void check_tables(SQLite::Database& database, const std::filesystem::path& file, std::int64_t version);

}  // namespace tiletune
