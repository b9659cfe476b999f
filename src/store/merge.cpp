#include "store/merge.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <sqlite3.h>

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

void merge_trials(SQLite::Database& database, MergeSummary& summary) {
  const auto count = [&](const char* sql) { return database.execAndGet(sql).getInt64(); };
  const std::int64_t before = count("SELECT count(*) FROM main.trial");
  summary.rows = count("SELECT count(*) FROM source.trial");
  std::vector<std::string> updates;
  for (const Column& column : trial_columns())
    updates.push_back(fmt::format(R"("{0}" = excluded."{0}")", column.name));
  // "WHERE true" keeps SQLite from taking ON CONFLICT for a join's condition.
  const int changed = database.exec(fmt::format(
      "INSERT INTO main.trial ({}) SELECT {} FROM source.trial AS other WHERE true ORDER BY other.id "
      "ON CONFLICT(\"key\") DO UPDATE SET {} WHERE {}",
      column_list(), trial_columns_sql("other."), join(updates, ", "),
      counts_more_sql("excluded.outcome", "excluded.recorded_at")));
  summary.new_rows = count("SELECT count(*) FROM main.trial") - before;
  summary.replaced = changed - summary.new_rows;
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

/// The other database for as long as this lives.
class Attached {
 public:
  Attached(SQLite::Database& database, const fs::path& file) : database_(database) {
    SQLite::Statement attach(database, "ATTACH ? AS source");
    attach.bind(1, file.string());
    attach.exec();
  }
  ~Attached() {
    database_.tryExec("DROP TABLE IF EXISTS temp.sweep_number");
    database_.tryExec("DETACH source");
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  SQLite::Database& database_;
};

MergeSummary merge_attached(SQLite::Database& database, const fs::path& copy) {
  const Attached attached(database, copy);
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  MergeSummary summary;
  summary.sweeps = merge_sweeps(database);
  merge_trials(database, summary);
  merge_memberships(database);
  summary.calibrations = merge_calibrations(database);
  transaction.commit();
  return summary;
}

}  // namespace

DatabaseCopy::DatabaseCopy(const fs::path& file, const fs::path& folder)
    : original_(file), folder_(folder), copy_(folder_.path() / "copy.db") {
  try {
    copy_database(file, copy_);
    // Upgrades the copy, and refuses what is no database of tiletune's.
    const Database upgraded(copy_, Database::Mode::read_only);
  } catch (const UserError& error) {
    throw UserError(error.message(), Where{file.string(), ""}, error.remedy());
  }
}

MergeSummary merge(const DatabaseCopy& from, Database& into) {
  into.impl_->watch.check();
  return translating_errors(into.file(), [&] {
    try {
      return merge_attached(into.impl_->connection, from.copy());
    } catch (const SQLite::Exception& error) {
      // Values that no column of ours may hold.
      if (error.getErrorCode() != SQLITE_CONSTRAINT) throw;
      throw UserError(fmt::format("this database is damaged: {}", error.what()),
                      Where{from.original().string(), ""}, kRestore);
    }
  });
}

}  // namespace tiletune
