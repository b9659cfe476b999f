#include "store/own_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/connection.h"
#include "store/schema.h"

namespace tiletune {

namespace {

/// A row of sqlite_schema. Names are in small letters: SQLite does not distinguish them from capitals.
struct SchemaObject {
  std::string type;
  std::string name;
  std::string table;  ///< that it belongs to; its own name, of a table or a view
  std::string sql;    ///< empty for an index that SQLite makes by itself
};

/// Everything that a database defines.
std::vector<SchemaObject> objects_of(SQLite::Database& database) {
  SQLite::Statement statement(database,
                              "SELECT type, lower(name), lower(tbl_name), ifnull(sql, '') FROM "
                              "main.sqlite_schema");
  std::vector<SchemaObject> objects;
  while (statement.executeStep()) {
    SchemaObject& object = objects.emplace_back();
    int index = 0;
    for (std::string* member : {&object.type, &object.name, &object.table, &object.sql})
      *member = statement.getColumn(index++).getString();
  }
  return objects;
}

/// objects_of() a new database of this build.
const std::vector<SchemaObject>& own_objects() {
  static const std::vector<SchemaObject> objects = [] {
    SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    fresh.exec(schema_sql());
    return objects_of(fresh);
  }();
  return objects;
}

/// The words of a statement, one space apart and without comments, as SQLite's tokenizer separates them.
class Words {
 public:
  explicit Words(std::string_view sql) : rest_(sql) {}

  /// Empty at the end.
  std::string_view next() {
    skip_space();
    if (rest_.empty()) return {};
    if (const std::string_view quotes = "'\"`"; quotes.find(rest_.front()) != quotes.npos)
      return take(rest_.find(rest_.front(), 1), 1);
    if (rest_.front() == '[') return take(rest_.find(']'), 1);
    return take(std::max<std::size_t>(1, std::min(rest_.find_first_not_of(kOfWords), rest_.size())), 0);
  }

 private:
  static constexpr std::string_view kOfWords =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

  void skip_space() {
    while (true) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r\f"), rest_.size()));
      if (rest_.starts_with("--")) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.starts_with("/*")) {
        const std::size_t end = rest_.find("*/", 2);
        rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 2);
      } else {
        return;
      }
    }
  }

  std::string_view take(std::size_t end, std::size_t more) {
    const std::string_view word = rest_.substr(0, end == rest_.npos ? end : end + more);
    rest_.remove_prefix(word.size());
    return word;
  }

  std::string_view rest_;
};

std::string normalised(std::string_view sql) {
  std::string text;
  Words words(sql);
  for (std::string_view word = words.next(); !word.empty(); word = words.next())
    text.append(text.empty() ? "" : " ").append(word);
  return text;
}

/// CREATE TABLE as its parts: what upgrades add stands behind what was there, so that the order differs.
struct TableText {
  std::string outline;  ///< "CREATE TABLE name ( ) STRICT"
  std::set<std::string> definitions;

  explicit TableText(std::string_view sql) {
    Words words(sql);
    std::string definition;
    int depth = 0;
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      depth -= word == ")" ? 1 : 0;
      const bool outside = depth <= 0;
      if (!definition.empty() && (outside || (depth == 1 && word == ","))) {
        definitions.insert(std::exchange(definition, ""));
      } else if (!outside) {
        definition.append(definition.empty() ? "" : " ").append(word);
      }
      if (outside) outline.append(outline.empty() ? "" : " ").append(word);
      depth += word == "(" ? 1 : 0;
    }
  }
};

/// What tiletune's own objects look like.
class Known {
 public:
  Known() {
    for (const SchemaObject& object : own_objects()) {
      if (object.type == "table") tables_.emplace(object.name, TableText(object.sql));
      if (object.type == "index") indices_.emplace(object.name, normalised(object.sql));
    }
    for (const Column& column : trial_columns()) add("trial", normalised(added_column_sql(column)));
    // Version 0.2 added columns to these tables of earlier ones.
    add("sweep", "shard TEXT NOT NULL DEFAULT ''");
    for (const CalibrationColumn& column : calibration_columns())
      if (column.member.index() == 1)
        add("calibration", fmt::format("{} REAL NOT NULL DEFAULT 0", column.name));
  }

  bool is_index(const SchemaObject& index) const {
    const auto known = indices_.find(index.name);
    return known != indices_.end() && known->second == normalised(index.sql);
  }

  /// What the table has or lacks, "no column 'x'"; empty where all is as it should be.
  std::string oddity_of(const SchemaObject& table, bool current) const {
    const TableText& known = tables_.at(table.table);
    const TableText text(table.sql);
    if (text.outline != known.outline) return fmt::format("the form '{}'", text.outline);
    for (const std::string& definition : text.definitions) {
      if (!added_.contains({table.table, definition}) && !known.definitions.contains(definition))
        return fmt::format("'{}', which is not tiletune's", definition);
    }
    return current ? missing_in(text, known) : "";
  }

 private:
  void add(const char* table, std::string definition) { added_.emplace(table, std::move(definition)); }

  static std::string missing_in(const TableText& text, const TableText& known) {
    const auto name = [](const std::string& definition) {
      const std::string_view word = Words(definition).next();
      return std::string(word.starts_with('"') ? word.substr(1, word.size() - 2) : word);
    };
    std::set<std::string> present;
    for (const std::string& definition : text.definitions) present.insert(name(definition));
    for (const std::string& definition : known.definitions) {
      if (!present.contains(name(definition))) return fmt::format("no column '{}'", name(definition));
    }
    return "";
  }

  std::map<std::string, TableText> tables_;
  std::map<std::string, std::string> indices_;
  std::set<std::pair<std::string, std::string>> added_;  ///< table and column, as upgrades add it
};

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw UserError(
      what, Where{file.string(), ""},
      "Another build of tiletune, or another program, made it so. Name another file with --db FILE.");
}

}  // namespace

const std::set<std::string>& own_tables() {
  static const std::set<std::string> names = [] {
    std::set<std::string> tables;
    for (const SchemaObject& object : own_objects()) {
      if (object.type == "table") tables.insert(object.name);
    }
    return tables;
  }();
  return names;
}

void check_tables(SQLite::Database& database, const std::filesystem::path& file, std::int64_t version) {
  static const Known known;
  const bool current = version == kSchemaVersion;
  std::set<std::string> missing = own_tables();
  for (const SchemaObject& object : objects_of(database)) {
    if (object.type == "trigger" || !own_tables().contains(object.table)) continue;
    if (object.type == "index") {
      if (known.is_index(object)) continue;
      refuse(file,
             fmt::format("the table {} has an index '{}' that is not tiletune's", object.table, object.name));
    }
    if (object.type != "table")
      refuse(file, fmt::format("'{}' is a {}, not a table", object.name, object.type));
    const std::string oddity = known.oddity_of(object, current);
    if (!oddity.empty()) refuse(file, fmt::format("the table {} has {}", object.table, oddity));
    missing.erase(object.name);
  }
  if (missing.empty() || !current) return;
  throw UserError(fmt::format("this database is damaged: it has no table '{}'", *missing.rbegin()),
                  Where{file.string(), ""}, kRestore);
}

}  // namespace tiletune
