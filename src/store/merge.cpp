#include "store/merge.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "store/connection.h"
#include "store/database_impl.h"
#include "store/joining.h"
#include "store/schema.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// "a, b, c" of a table's columns, each led by `prefix`, sweep numbers translated.
std::string trial_columns_sql(const std::string& prefix) {
  std::vector<std::string> columns;
  for (const Column& column : trial_columns()) {
    const bool sweep = column.name == "sweep_id" || column.name == "seen_in_sweep";
    columns.push_back(
        sweep ? fmt::format("(SELECT number FROM temp.sweep_number WHERE id = {}\"{}\")", prefix, column.name)
              : fmt::format("{}\"{}\"", prefix, column.name));
  }
  return join(columns, ", ");
}

std::string sweep_names_sql() {
  std::vector<std::string> names;
  for (const SweepColumn& column : sweep_columns()) names.emplace_back(column.name);
  return join(names, ", ");
}

std::string calibration_names_sql() {
  std::vector<std::string> names;
  for (const CalibrationColumn& column : calibration_columns()) names.emplace_back(column.name);
  return join(names, ", ");
}

/// The sweeps that are not there yet, in their order, and the number that each has here.
std::int64_t merge_sweeps(SQLite::Database& database) {
  const std::string same = same_sweep_sql("mine", "other");
  database.exec("CREATE TEMP TABLE sweep_number (id INTEGER PRIMARY KEY, number INTEGER)");
  const int added = database.exec(fmt::format(
      "INSERT INTO main.sweep ({0}) SELECT {0} FROM source.sweep AS other WHERE NOT EXISTS (SELECT 1 "
      "FROM main.sweep AS mine WHERE {1}) ORDER BY id",
      sweep_names_sql(), same));
  database.exec(fmt::format(
      "INSERT INTO temp.sweep_number SELECT other.id, max(mine.id) FROM source.sweep AS other JOIN "
      "main.sweep AS mine ON {} GROUP BY other.id",
      same));
  return added;
}

/// OR ROLLBACK, because a statement that might only have to be undone itself keeps a copy of every page it
/// changes.
std::int64_t add_new_trials(SQLite::Database& database) {
  // "WHERE true" keeps SQLite from taking ON CONFLICT for a join's condition.
  return database.exec(fmt::format(
      "INSERT OR ROLLBACK INTO main.trial ({}) SELECT {} FROM source.trial AS other WHERE true ORDER BY "
      "other.id ON CONFLICT(\"key\") DO NOTHING",
      column_list(), trial_columns_sql("other.")));
}

std::int64_t replace_lesser_trials(SQLite::Database& database) {
  return database.exec(fmt::format(
      "UPDATE main.trial SET ({}) = ({}) FROM source.trial AS other WHERE trial.\"key\" = other.\"key\" AND "
      "{}",
      column_list(), trial_columns_sql("other."),
      counts_more_sql("other.outcome", "other.recorded_at", "other.samples_us")));
}

void merge_trials(SQLite::Database& database, MergeSummary& summary) {
  const std::int64_t last = database.execAndGet("SELECT coalesce(max(id), 0) FROM main.trial").getInt64();
  summary.rows = database.execAndGet("SELECT count(*) FROM source.trial").getInt64();
  summary.new_rows = add_new_trials(database);
  if (summary.new_rows < summary.rows) summary.replaced = replace_lesser_trials(database);
  SQLite::Statement members(database, new_members_sql());
  members.bind(1, last);
  members.exec();
}

void merge_memberships(SQLite::Database& database) {
  database.exec(
      "INSERT OR IGNORE INTO main.sweep_trial SELECT numbers.number, mine.id FROM source.sweep_trial AS "
      "member "
      "JOIN temp.sweep_number AS numbers ON numbers.id = member.sweep_id "
      "JOIN source.trial AS other ON other.id = member.trial_id "
      "JOIN main.trial AS mine ON mine.\"key\" = other.\"key\"");
  database.exec(see_in_latest_sql());
}

std::int64_t merge_calibrations(SQLite::Database& database) {
  return database.exec(fmt::format(
      "INSERT OR REPLACE INTO main.calibration ({0}) SELECT {0} FROM source.calibration AS other "
      "WHERE NOT EXISTS (SELECT 1 FROM main.calibration AS mine WHERE mine.gpu_uuid = other.gpu_uuid "
      "AND mine.driver_version = other.driver_version AND mine.recorded_at >= other.recorded_at)",
      calibration_names_sql()));
}

/// The other database for as long as this lives, and the connection as it suits many rows: what triggers and
/// foreign keys see to is done for all rows at once, and the index over keys is hit at random.
class Attached {
 public:
  Attached(SQLite::Database& database, const fs::path& file) : database_(database) {
    SQLite::Statement attach(database, "ATTACH ? AS source");
    attach.bind(1, file.string());
    attach.exec();
    database.exec("PRAGMA foreign_keys = OFF; PRAGMA main.cache_size = -131072");
    ::sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  }
  ~Attached() {
    ::sqlite3_progress_handler(database_.getHandle(), 0, nullptr, nullptr);
    ::sqlite3_db_config(database_.getHandle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
    database_.tryExec("PRAGMA main.cache_size = -65536; PRAGMA foreign_keys = ON");
    database_.tryExec("DROP TABLE IF EXISTS temp.sweep_number");
    database_.tryExec("DETACH source");
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  /// Has statements end with SQLITE_INTERRUPT as `stop` has it.
  void watch(const Stop& stop) {
    constexpr int kInstructions = 100000;
    const auto ask = [](void* data) { return (*static_cast<const Stop*>(data))() ? 1 : 0; };
    ::sqlite3_progress_handler(database_.getHandle(), kInstructions, ask, const_cast<Stop*>(&stop));
  }

 private:
  SQLite::Database& database_;
};

MergeSummary merge_attached(SQLite::Database& database, const fs::path& copy, const Stop& stop) {
  Attached attached(database, copy);
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (stop()) throw MergeStopped();
  attached.watch(stop);
  MergeSummary summary;
  summary.sweeps = merge_sweeps(database);
  merge_trials(database, summary);
  merge_memberships(database);
  summary.calibrations = merge_calibrations(database);
  transaction.commit();
  return summary;
}

/// All that is defined, as text.
std::string objects_of(SQLite::Database& database) {
  SQLite::Statement statement(database,
                              "SELECT type || name || ifnull(sql, '') FROM sqlite_schema ORDER BY 1");
  std::string objects;
  while (statement.executeStep()) objects += statement.getColumn(0).getString() + "\n";
  return objects;
}

/// Nothing but what a new database of this build has: an upgraded one, or a stranger's, may have more.
bool is_as_new(const fs::path& file) {
  SQLite::Database database(file, SQLite::OPEN_READONLY);
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  fresh.exec(schema_sql());
  return objects_of(database) == objects_of(fresh);
}

/// False when `stop` came before the end.
bool copy_pages(SQLite::Database& from, SQLite::Database& to, const Stop& stop) {
  constexpr int kPages = 4096;
  // One state of it: what others write meanwhile would have the copy begin anew.
  const SQLite::Transaction snapshot(from, SQLite::TransactionBehavior::DEFERRED);
  from.execAndGet("SELECT count(*) FROM sqlite_schema");
  SQLite::Backup backup(to, from);
  while (!stop()) {
    const int result = backup.executeStep(kPages);
    if (result == SQLITE_DONE) return true;
    if (result != SQLITE_OK) throw SQLite::Exception(sqlite3_errstr(result), result);
  }
  return false;
}

/// A database, with what its log holds. Where there is no room that is said of `folder`, in which `to` lies.
void copy_database(const fs::path& from, const fs::path& to, const fs::path& folder, const Stop& stop) {
  constexpr std::chrono::seconds kPatience{10};
  SQLite::Database source = open_whatever_it_is(from, kPatience);
  translating_errors(from, [&] {
    SQLite::Database copy(to, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    try {
      if (!copy_pages(source, copy, stop)) throw MergeStopped();
    } catch (const SQLite::Exception& error) {
      const int code = error.getErrorCode();
      if (code != SQLITE_FULL && code != SQLITE_IOERR_WRITE) throw;
      throw UserError(fmt::format("{} cannot be copied to here: {}", from.string(), error.what()),
                      Where{folder.string(), ""},
                      "Make room on the disk, or merge into a file on another one.");
    }
  });
}

/// A copy has the damage of its original.
void check_pages(const DatabaseCopy& copy) {
  translating_errors(copy.original(), [&] {
    SQLite::Database database(copy.copy(), SQLite::OPEN_READONLY);
    if (database.execAndGet("PRAGMA quick_check(1)").getString() != "ok")
      throw SQLite::Exception(sqlite3_errstr(SQLITE_CORRUPT), SQLITE_CORRUPT);
  });
}

}  // namespace

DatabaseCopy::DatabaseCopy(const fs::path& file, const fs::path& folder, const Stop& stop)
    : original_(file), folder_(folder), copy_(folder_.path() / "copy.db") {
  copy_database(file, copy_, folder, stop);
  try {
    // Upgrades the copy, and refuses what is no database of tiletune's.
    const Database upgraded(copy_, Database::Mode::read_only);
    // Words that nobody knows would keep all rows of the output from being read.
    static constexpr std::array kWords{"outcome", "source"};
    upgraded.for_each({}, kWords, [](std::int64_t, const Trial&) {});
  } catch (const UserError& error) {
    throw UserError(error.message(), Where{file.string(), ""}, error.remedy());
  }
}

std::int64_t row_count(const Database& database) {
  std::int64_t rows = 0;
  for (const auto& [outcome, count] : database.outcome_counts({})) rows += count;
  return rows;
}

MergeSummary merge(const DatabaseCopy& from, Database& into, const Stop& stop) {
  into.impl_->watch.check();
  return translating_errors(into.file(), [&] {
    try {
      return merge_attached(into.impl_->connection, from.copy(), stop);
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() == SQLITE_INTERRUPT) throw MergeStopped();
      if (error.getErrorCode() == SQLITE_CORRUPT) check_pages(from);
      // Values that no column of ours may hold.
      if (error.getErrorCode() != SQLITE_CONSTRAINT) throw;
      throw UserError(fmt::format("this database is damaged: {}", error.what()),
                      Where{from.original().string(), ""}, kRestore);
    }
  });
}

bool MergedDatabase::is_free(const fs::path& place) {
  constexpr std::array kEndings{"", "-wal", "-journal"};
  return std::none_of(kEndings.begin(), kEndings.end(), [&](const char* ending) {
    std::error_code ignored;
    return fs::symlink_status(place.string() + ending, ignored).type() != fs::file_type::not_found;
  });
}

MergedDatabase::MergedDatabase(const fs::path& file)
    : place_(file), folder_(fs::absolute(file).parent_path()), file_(folder_.path() / "merged.db") {}

std::optional<MergeSummary> MergedDatabase::begin_with(const DatabaseCopy& from) {
  const bool as_it_is = is_as_new(from.copy());
  if (as_it_is) {
    // Nothing else would read all of it.
    check_pages(from);
    fs::rename(from.copy(), file_);
  }
  database_.emplace(file_, Database::Mode::read_write);
  SQLite::Database& connection = database_->impl_->connection;
  // What is not finished is thrown away.
  connection.execAndGet("PRAGMA journal_mode = MEMORY");
  if (!as_it_is) return std::nullopt;
  const auto count = [&](const char* table) {
    return connection.execAndGet(fmt::format("SELECT count(*) FROM {}", table)).getInt64();
  };
  const std::int64_t rows = count("trial");
  return MergeSummary{rows, rows, 0, count("sweep"), count("calibration")};
}

template <typename Action>
auto MergedDatabase::about_place(Action&& action) {
  try {
    return action();
  } catch (const UserError& error) {
    if (error.where().file != file_.string()) throw;
    throw UserError(error.message(), Where{place_.string(), ""}, error.remedy());
  }
}

MergeSummary MergedDatabase::add(const DatabaseCopy& from, const Stop& stop) {
  return about_place([&] {
    if (!database_) {
      if (const auto begun = begin_with(from)) return *begun;
    }
    return merge(from, *database_, stop);
  });
}

std::int64_t MergedDatabase::rows() {
  return about_place([&] { return row_count(*database_); });
}

void MergedDatabase::put_in_place() {
  translating_errors(place_, [&] { database_->impl_->connection.execAndGet("PRAGMA journal_mode = WAL"); });
  database_.reset();
  std::error_code error = std::make_error_code(std::errc::file_exists);
  if (is_free(place_)) fs::create_hard_link(file_, place_, error);
  if (error && is_free(place_)) fs::rename(file_, place_, error);  // Not every file system has links.
  if (!error) return;
  throw UserError(fmt::format("the merged database cannot be put here: {}", error.message()),
                  Where{place_.string(), ""}, "Merge again; what was put here meanwhile stays.");
}

}  // namespace tiletune
