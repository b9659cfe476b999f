#include "store/integrity.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "store/connection.h"
#include "store/own_files.h"
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
    for (const char* dropped : {"size_conditions", "waves"})  // since schema 17
      add("trial", fmt::format("\"{}\" TEXT", dropped));
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
    for (const std::string& definition : known.definitions)
      if (!present.contains(name(definition))) return fmt::format("no column '{}'", name(definition));
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
    for (const SchemaObject& object : own_objects())
      if (object.type == "table") tables.insert(object.name);
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

namespace {

/// A check that finds nothing answers "ok", or nothing.
void expect_none(SQLite::Database& database, const std::string& check) {
  SQLite::Statement statement(database, check);
  if (!statement.executeStep()) return;
  const std::string found = statement.getColumn(0).getString();
  if (found != "ok") throw SQLite::Exception(found, SQLITE_CORRUPT);
}

/// A database without what is not tiletune's, as long as this lives: of a database with views or virtual
/// tables, which have no page, SQLite checks only part of the pages; and of tables that somebody added it
/// would evaluate generated columns and indices.
class OwnTablesAlone {
 public:
  explicit OwnTablesAlone(SQLite::Database& database) : database_(database) {
    database.exec("SAVEPOINT own_tables_alone");
  }
  /// After an error, which leaves the caller no transaction to commit.
  ~OwnTablesAlone() {
    if (!is_over_) database_.tryExec(kBringBack);
    database_.tryExec("PRAGMA writable_schema = RESET");
    set_defensive(true);
  }
  OwnTablesAlone(const OwnTablesAlone&) = delete;
  OwnTablesAlone& operator=(const OwnTablesAlone&) = delete;

  /// Brings back what was dropped. Throws SQLite::Exception where that fails: it would be dropped for good.
  void end() {
    database_.exec(kBringBack);
    is_over_ = true;
  }

  void drop_others() {
    set_defensive(false);
    database_.exec(
        "PRAGMA writable_schema = ON; DELETE FROM main.sqlite_schema WHERE rootpage = 0; "
        "PRAGMA writable_schema = RESET");
    set_defensive(true);
    // As SQLite understands the schema, whatever its rows call them.
    std::vector<std::string> others;
    {
      SQLite::Statement tables(database_, "PRAGMA main.table_list");
      while (tables.executeStep()) others.push_back(tables.getColumn(1).getString());
    }
    for (const std::string& table : others)
      if (!own_tables().contains(table) && table != "sqlite_schema") drop(table);
  }

 private:
  void set_defensive(bool on) {
    ::sqlite3_db_config(database_.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, on ? 1 : 0, nullptr);
  }

  void drop(const std::string& table) {
    std::string quoted;
    for (const char c : table) quoted.append(c == '"' ? 2 : 1, c);
    try {
      database_.exec("DROP TABLE main.\"" + quoted + "\"");
    } catch (const SQLite::Exception& error) {
      // SQLite keeps some names for itself, and has given them to no such table.
      if (error.getErrorCode() != SQLITE_ERROR) throw;
      throw SQLite::Exception(error.what(), SQLITE_CORRUPT);
    }
  }

  static constexpr const char* kBringBack = "ROLLBACK TO own_tables_alone; RELEASE own_tables_alone";

  SQLite::Database& database_;
  bool is_over_ = false;
};

}  // namespace

void check_integrity(SQLite::Database& database) {
  {
    OwnTablesAlone alone(database);
    alone.drop_others();
    expect_none(database, "PRAGMA main.integrity_check(1)");
    alone.end();
  }
  // Rows of the table trial can be read as sweeps; their numbers are others.
  if (!database.tableExists("sweep_trial")) return;  // a damaged database of an earlier schema
  expect_none(
      database,
      "SELECT 'rows belong to the sweep ' || sweep_id || ', which is missing' FROM main.sweep_trial WHERE "
      "sweep_id NOT IN (SELECT id FROM main.sweep) LIMIT 1");
  // Every version has recorded that, of the latest sweep.
  expect_none(database,
              "SELECT 'row ' || id || ' does not belong to its sweep ' || seen_in_sweep FROM main.trial NOT "
              "INDEXED WHERE seen_in_sweep IS NOT NULL AND NOT EXISTS (SELECT 1 FROM main.sweep_trial WHERE "
              "sweep_id = seen_in_sweep AND trial_id = trial.id) LIMIT 1");
}

namespace {

enum class State { sound, unsound, unknown };

/// Looks at a copy of what is in the file, because this process holds the pages in memory.
State state_of(const std::filesystem::path& file) {
  constexpr std::chrono::seconds kPatience{1};
  try {
    const ScratchFolder folder(std::filesystem::absolute(file).parent_path());
    const std::filesystem::path copy = folder.path() / "copy.db";
    SQLite::Database present = open_to_look(file, kPatience);
    copy_pages(present, copy, never_stop);
    SQLite::Database database = open_copy(copy);
    check_integrity(database);
    return State::sound;
  } catch (const SQLite::Exception& error) {
    // What else fails is not the file: it is locked, or the disk is full, or memory is short.
    const int code = error.getErrorCode();
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? State::unsound : State::unknown;
  } catch (const UserError&) {
    return State::unknown;  // no folder for the copy
  }
}

}  // namespace

FileWatch::FileWatch(std::filesystem::path file) : file_(std::move(file)) {
  struct stat now {};
  if (::stat(file_.c_str(), &now) != 0) return;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  bytes_ = now.st_size;
}

void FileWatch::check() {
  struct stat now {};
  const bool there = ::stat(file_.c_str(), &now) == 0;
  if (!there || now.st_dev != device_ || now.st_ino != inode_) {
    throw UserError(
        there ? "another file has taken this database's place" : "this database was removed while in use",
        Where{file_.string(), ""},
        "Rows that are not in the file of this name are lost; run the same command again to write them "
        "again.");
  }
  // VACUUM makes files shorter, too.
  const State state = now.st_size < bytes_ ? state_of(file_) : State::sound;
  if (state == State::unsound) {
    throw UserError("this database was cut off or overwritten while in use", Where{file_.string(), ""},
                    kRestore);
  }
  // What could not be looked at is looked at again next time.
  if (state != State::unknown) bytes_ = now.st_size;
}

namespace {

constexpr int kStepsPerQuestion = 1000000;

std::uint64_t bytes_of(const std::filesystem::path& file) {
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(file, absent);
  return absent ? 0 : bytes;
}

}  // namespace

void StepLimit::watch(sqlite3* connection) {
  connection_ = connection;
  file_ = ::sqlite3_db_filename(connection, "main");
  resume();
}

void StepLimit::resume() {
  if (connection_ == nullptr) return;
  const auto ask = [](void* data) { return static_cast<StepLimit*>(data)->is_exceeded() ? 1 : 0; };
  ::sqlite3_progress_handler(connection_, kStepsPerQuestion, ask, this);
}

bool StepLimit::is_exceeded() {
  // A row takes at least a byte for each column, and a statement about three steps.
  constexpr std::uint64_t kStepsPerByte = 16;
  constexpr std::uint64_t kLeast = std::uint64_t{10} * kStepsPerQuestion;
  steps_ += kStepsPerQuestion;
  // Others may write to it meanwhile.
  return steps_ > kLeast + kStepsPerByte * (bytes_of(file_) + bytes_of(file_.string() + "-wal"));
}

}  // namespace tiletune
