#include "store/merge.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/text.h"
#include "store/connection.h"
#include "store/database_impl.h"
#include "store/integrity.h"
#include "store/own_files.h"
#include "store/schema.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// What a row says of the source that it was compiled from; reusing a row of an equal kernel changes it.
constexpr std::array<std::string_view, 3> kSourceColumns{"source_key", "source_hash", "included_files"};

/// "a, b, c" of a table's columns, each led by `prefix`, sweep numbers translated; `source` leads those of
/// the source.
std::string trial_columns_sql(const std::string& prefix, const std::string& source) {
  std::vector<std::string> columns;
  for (const Column& column : stored_columns()) {
    const bool sweep = column.name == "sweep_id" || column.name == "seen_in_sweep";
    const bool of_source = std::ranges::find(kSourceColumns, column.name) != kSourceColumns.end();
    const std::string cell = fmt::format("{}\"{}\"", of_source ? source : prefix, column.name);
    columns.push_back(sweep ? fmt::format("(SELECT number FROM temp.sweep_number WHERE id = {})", cell)
                            : cell);
  }
  return join(columns, ", ");
}

/// How much a row counts by its table's name in the statement: of two rows of one key a measured time counts
/// more than one that a sweep gave up on, that more than a failure, that more than none yet; then the one
/// that was recorded later, then one with its samples.
std::string weight_sql(const std::string& row) {
  return fmt::format(
      "(CASE {0}.outcome WHEN 'ok' THEN 3 WHEN 'screened_out' THEN 2 WHEN 'dispatched' THEN 0 ELSE 1 END, "
      "{0}.recorded_at, {0}.samples_us IS NOT NULL)",
      row);
}

std::int64_t count_of(SQLite::Database& database, const char* rows) {
  return database.execAndGet(fmt::format("SELECT count(*) FROM {}", rows)).getInt64();
}

/// The sweeps that are not there yet, in their order, and the number that each has here.
std::int64_t merge_sweeps(SQLite::Database& database) {
  // They are of one run of the sweep command.
  constexpr const char* kSame =
      "mine.started_at = other.started_at AND mine.command = other.command AND mine.host = other.host AND "
      "mine.config = other.config AND mine.shard = other.shard";
  database.exec("CREATE TEMP TABLE sweep_number (id INTEGER PRIMARY KEY, number INTEGER)");
  const int added = database.exec(fmt::format(
      "INSERT INTO main.sweep ({0}) SELECT {0} FROM source.sweep AS other WHERE NOT EXISTS (SELECT 1 "
      "FROM main.sweep AS mine WHERE {1}) ORDER BY id",
      names_of(sweep_columns()), kSame));
  database.exec(fmt::format(
      "INSERT INTO temp.sweep_number SELECT other.id, max(mine.id) FROM source.sweep AS other JOIN "
      "main.sweep AS mine ON {} GROUP BY other.id",
      kSame));
  return added;
}

/// Rows of one key may have been reused by sweeps of edited sources: the source of the later sweep counts.
void take_later_sources(SQLite::Database& database) {
  database.exec(
      fmt::format("UPDATE main.trial SET ({}) = (other.{}) FROM source.trial AS other WHERE trial.\"key\" = "
                  "other.\"key\" "
                  "AND other.source_hash <> '' AND (trial.source_hash = '' OR "
                  "(SELECT started_at FROM source.sweep WHERE id = other.seen_in_sweep) > "
                  "(SELECT started_at FROM main.sweep WHERE id = trial.seen_in_sweep))",
                  fmt::join(kSourceColumns, ", "), fmt::join(kSourceColumns, ", other.")));
}

void merge_trials(SQLite::Database& database, MergeSummary& summary) {
  const std::int64_t last = database.execAndGet("SELECT coalesce(max(id), 0) FROM main.trial").getInt64();
  summary.rows = count_of(database, "source.trial");
  // OR ROLLBACK, because a statement that might only have to be undone itself keeps a copy of every page it
  // changes. "WHERE true" keeps SQLite from taking ON CONFLICT for a join's condition.
  summary.new_rows = database.exec(fmt::format(
      "INSERT OR ROLLBACK INTO main.trial ({}) SELECT {} FROM source.trial AS other WHERE true ORDER BY "
      "other.id ON CONFLICT(\"key\") DO NOTHING",
      column_list(), trial_columns_sql("other.", "other.")));
  if (summary.new_rows < summary.rows) {
    take_later_sources(database);
    summary.replaced = database.exec(fmt::format(
        "UPDATE main.trial SET ({}) = ({}) FROM source.trial AS other WHERE trial.\"key\" = other.\"key\" "
        "AND "
        "{} > {}",
        column_list(), trial_columns_sql("other.", "trial."), weight_sql("other"), weight_sql("trial")));
  }
  SQLite::Statement members(database,
                            "INSERT OR IGNORE INTO sweep_trial SELECT seen_in_sweep, id FROM trial NOT "
                            "INDEXED WHERE id > ? AND seen_in_sweep IS NOT NULL");
  members.bind(1, last);
  members.exec();
}

/// A row is seen last in the one of its sweeps that began last.
void merge_memberships(SQLite::Database& database) {
  database.exec(
      "INSERT OR IGNORE INTO main.sweep_trial SELECT numbers.number, mine.id FROM source.sweep_trial AS "
      "member "
      "JOIN temp.sweep_number AS numbers ON numbers.id = member.sweep_id "
      "JOIN source.trial AS other ON other.id = member.trial_id "
      "JOIN main.trial AS mine ON mine.\"key\" = other.\"key\"");
  database.exec(R"(
UPDATE main.trial SET seen_in_sweep = latest.sweep_id FROM (
  SELECT trial_id, sweep_id,
    row_number() OVER (PARTITION BY trial_id ORDER BY started_at DESC, sweep_id DESC) AS place
  FROM main.sweep_trial JOIN main.sweep ON sweep.id = sweep_id
) AS latest
WHERE place = 1 AND trial.id = trial_id AND seen_in_sweep IS NOT latest.sweep_id)");
}

/// Statements of the connection end as `stop` has it; `before` watches the connection again afterwards.
template <typename Action>
auto stopping(const Stop& stop, SQLite::Database& database, StepLimit* before, Action&& action) {
  constexpr int kInstructions = 100000;
  const auto ask = [](void* data) { return (*static_cast<const Stop*>(data))() ? 1 : 0; };
  ::sqlite3_progress_handler(database.getHandle(), kInstructions, ask, const_cast<Stop*>(&stop));
  const auto end = [&](sqlite3* connection) {
    ::sqlite3_progress_handler(connection, 0, nullptr, nullptr);
    if (before != nullptr) before->resume();
  };
  const std::unique_ptr<sqlite3, decltype(end)> watched(database.getHandle(), end);
  try {
    return action();
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() == SQLITE_INTERRUPT) throw Stopped();
    throw;
  }
}

/// The other database for as long as this lives, and the connection as it suits many rows: what foreign keys
/// see to is done for all rows at once, and the index over keys is hit at random.
class Attached {
 public:
  Attached(SQLite::Database& database, const fs::path& file) : database_(database) {
    SQLite::Statement attach(database, "ATTACH ? AS source");
    attach.bind(1, file.string());
    attach.exec();
    database.exec("PRAGMA foreign_keys = OFF; PRAGMA main.cache_size = -131072");
  }
  ~Attached() {
    database_.tryExec("PRAGMA main.cache_size = -65536; PRAGMA foreign_keys = ON");
    database_.tryExec("DROP TABLE IF EXISTS temp.sweep_number");
    database_.tryExec("DETACH source");
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  SQLite::Database& database_;
};

/// Every row of the other database is in this one, which has got no others.
void check_counts(SQLite::Database& database, std::int64_t rows_before, const MergeSummary& summary) {
  const std::int64_t found =
      summary.new_rows == summary.rows
          ? summary.rows
          : count_of(database,
                     R"(source.trial AS other JOIN main.trial AS mine ON mine."key" = other."key")");
  const std::int64_t rows = count_of(database, "main.trial");
  if (found == summary.rows && rows == rows_before + summary.new_rows) return;
  throw SQLite::Exception(
      fmt::format("of {} rows {} are there after merging; {} rows became {} with {} new ones", summary.rows,
                  found, rows_before, rows, summary.new_rows),
      SQLITE_CORRUPT);
}

/// All of it, or nothing.
MergeSummary merge_copy(SQLite::Database& database, StepLimit& limit, const DatabaseCopy& from,
                        const Stop& stop, const std::function<void()>& check) {
  const Attached attached(database, from.copy());
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (stop()) throw Stopped();
  return stopping(stop, database, &limit, [&] {
    MergeSummary summary;
    const std::int64_t rows_before = count_of(database, "main.trial");
    summary.sweeps = merge_sweeps(database);
    merge_trials(database, summary);
    merge_memberships(database);
    summary.calibrations = database.exec(fmt::format(
        "INSERT OR REPLACE INTO main.calibration ({0}) SELECT {0} FROM source.calibration AS other "
        "WHERE NOT EXISTS (SELECT 1 FROM main.calibration AS mine WHERE mine.gpu_uuid = other.gpu_uuid "
        "AND mine.driver_version = other.driver_version AND mine.recorded_at >= other.recorded_at)",
        names_of(calibration_columns())));
    summary.skipped = from.skipped();
    check_counts(database, rows_before, summary);
    check();
    transaction.commit();
    return summary;
  });
}

}  // namespace

DatabaseCopy::DatabaseCopy(const fs::path& file, const fs::path& folder, const Stop& stop, bool skip_bad)
    : original_(file), folder_(folder), copy_(folder_.path() / "copy.db") {
  {
    constexpr std::chrono::seconds kPatience{10};
    Connection source = open_for_copying(file, kPatience);
    translating_errors(file, [&] {
      try {
        if (!copy_pages(source.database, copy_, stop)) throw Stopped();
      } catch (const SQLite::Exception& error) {
        const int code = error.getErrorCode();
        if (code != SQLITE_FULL && code != SQLITE_IOERR_WRITE) throw;
        throw UserError(fmt::format("{} cannot be copied to here: {}", file.string(), error.what()),
                        Where{folder.string(), ""},
                        "Free space on the disk, or merge into a file on another one.");
      }
    });
  }
  translating_errors(file, [&] {
    SQLite::Database copy = open_copy(copy_);
    stopping(stop, copy, nullptr, [&] {
      check_integrity(copy);
      upgrade_copy(copy, file);
    });
  });
  // One of them would keep all rows of the output from being read.
  std::vector<std::int64_t> bad;
  try {
    const Database database(copy_, Database::Mode::read_only);
    bad = database.bad_rows(stop);
    if (!bad.empty() && !skip_bad) database.row(bad.front());
  } catch (const UserError& error) {
    throw UserError(error.message(), Where{file.string(), error.where().pointer}, error.remedy());
  }
  if (bad.empty()) return;
  translating_errors(file, [&] {
    SQLite::Database copy = open_copy(copy_);
    for (const char* column : {"sweep_trial WHERE trial_id", "trial WHERE id"})
      copy.exec(fmt::format("DELETE FROM {} IN ({})", column, fmt::join(bad, ",")));
  });
  skipped_ = bad.size();
}

std::int64_t row_count(const Database& database) {
  std::int64_t rows = 0;
  for (const auto& [outcome, count] : database.outcome_counts({})) rows += count;
  return rows;
}

MergeSummary merge(const DatabaseCopy& from, Database& into, const Stop& stop) {
  into.impl_->watch.check();
  return translating_errors(into.file(), [&] {
    SQLite::Database& connection = into.impl_->connection;
    return merge_copy(connection, into.impl_->limit, from, stop, [&] { check_integrity(connection); });
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
    return translating_errors(file_, [&] {
      if (!database_) {
        database_.emplace(file_, Database::Mode::read_write);
        // What is not finished is thrown away.
        database_->impl_->connection.execAndGet("PRAGMA journal_mode = MEMORY");
      }
      try {
        return merge_copy(database_->impl_->connection, database_->impl_->limit, from, stop, [] {});
      } catch (const SQLite::Exception& error) {
        // Nobody else can write to the database that is being made.
        if (error.getErrorCode() == SQLITE_CORRUPT) throw_user_error(error, from.original());
        throw;
      }
    });
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
