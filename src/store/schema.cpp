#include "store/schema.h"

#include <sqlite3.h>

#include <set>

#include "base/error.h"
#include "store/connection.h"
#include "store/database.h"

namespace tiletune {

namespace {

constexpr std::array kSweepColumns{
    SweepColumn{"started_at", &SweepRecord::started_at},
    SweepColumn{"finished_at", &SweepRecord::finished_at},
    SweepColumn{"command", &SweepRecord::command},
    SweepColumn{"config_file", &SweepRecord::config_file},
    SweepColumn{"config", &SweepRecord::config},
    SweepColumn{"tiletune_version", &SweepRecord::tiletune_version},
    SweepColumn{"git_commit", &SweepRecord::git_commit},
    SweepColumn{"host", &SweepRecord::host},
    SweepColumn{"gpu", &SweepRecord::gpu},
    SweepColumn{"shard", &SweepRecord::shard},
};

using C = CalibrationRecord;
constexpr std::array kCalibrationColumns{
    CalibrationColumn{"gpu", &C::gpu, "GPU model by its driver's name"},
    CalibrationColumn{"gpu_uuid", &C::gpu_uuid, "UUID of the GPU"},
    CalibrationColumn{"driver_version", &C::driver_version, "NVIDIA driver"},
    CalibrationColumn{"recorded_at", &C::recorded_at, "when the row was written, UTC"},
    CalibrationColumn{"ffma_tflops", &C::ffma_tflops,
                      "FP32 multiply-adds from registers, 10^12 operations/s"},
    CalibrationColumn{"tensor_f16_tflops", &C::tensor_f16_tflops,
                      "tensor cores from random f16, sums in FP32, 10^12 operations/s; 0: not measured"},
    CalibrationColumn{"tensor_bf16_tflops", &C::tensor_bf16_tflops, "the same from bf16"},
    CalibrationColumn{"tensor_tf32_tflops", &C::tensor_tf32_tflops, "the same from tf32"},
    CalibrationColumn{"tensor_fp8_tflops", &C::tensor_fp8_tflops, "the same from e4m3"},
    CalibrationColumn{"tensor_i8_tflops", &C::tensor_i8_tflops, "from i8, sums in 32-bit integers"},
    CalibrationColumn{"copy_gbs", &C::copy_gbs, "copy in device memory, bytes read and written, 10^9/s"},
    CalibrationColumn{
        "read_gbs", &C::read_gbs,
        "reads of device memory, 10^9 bytes/s; 0 in a calibration of before schema 5, which is not used"},
    CalibrationColumn{"shared_gbs", &C::shared_gbs,
                      "reads of shared memory, all multiprocessors, 10^9 bytes/s"},
    CalibrationColumn{"event_floor_us", &C::event_floor_us,
                      "two events with nothing between them; subtracted from every sample, us"},
    CalibrationColumn{"empty_kernel_us", &C::empty_kernel_us,
                      "what a kernel that does nothing then takes, us"},
    CalibrationColumn{"empty_kernel_batch_us", &C::empty_kernel_batch_us, "the same in a batch, us"},
};

const char* sql_type(CellType type) {
  switch (type) {
    case CellType::integer:
      return "INTEGER";
    case CellType::real:
      return "REAL";
    case CellType::text:
      return "TEXT NOT NULL";
    case CellType::json:
      return "TEXT";
    case CellType::blob:
      return "BLOB";
  }
  return "";
}

std::string extra_clause(const Column& column) {
  if (column.name == "key") return " UNIQUE CHECK (key <> '')";
  if (column.name == "sweep_id" || column.name == "seen_in_sweep") return " REFERENCES sweep(id)";
  return "";
}

/// Meanings stand in the DDL as comments: `.schema trial` in any SQLite shell explains the table.
std::string trial_table_sql() {
  std::string figures;
  for (const Column& column : trial_columns())
    if (column.is_figure) figures += fmt::format("\n  --   {}: {}", column.name, column.meaning);
  std::string sql = "CREATE TABLE trial (\n  id INTEGER PRIMARY KEY";
  for (const Column& column : stored_columns()) {
    sql += fmt::format(",\n  -- {}{}\n  \"{}\" {}{}", column.meaning, column.name == "figures" ? figures : "",
                       column.name, sql_type(column.type), extra_clause(column));
  }
  return sql + "\n) STRICT;\n";
}

/// A row is read by its key or together with most others. A baseline is looked for whenever a kernel is
/// compared with it, among rows that are few. Rows of sweeps are found by what was compiled and by what would
/// be measured; those that were imported are in neither index. Every sweep looks for rows whose operation has
/// no definition.
constexpr const char* kIndices = R"(
CREATE INDEX IF NOT EXISTS trial_baseline ON trial(gpu, problem) WHERE kind = 'baseline';
CREATE INDEX IF NOT EXISTS trial_source ON trial(source_key) WHERE source_key <> '';
CREATE INDEX IF NOT EXISTS trial_source_hash ON trial("template") WHERE source_hash <> '';
CREATE INDEX IF NOT EXISTS trial_undefined ON trial(operation) WHERE operation_hash = '' AND source <> 'imported';
CREATE INDEX IF NOT EXISTS trial_measurement ON trial(measurement) WHERE measurement <> '';
)";

/// A row belongs to every run of the sweep command that made or reused it; seen_in_sweep is the latest alone,
/// which another run into the same file may become at any time.
constexpr const char* kMembership = R"(
CREATE TABLE sweep_trial (
  -- which runs of the sweep command made or reused which rows
  sweep_id INTEGER NOT NULL REFERENCES sweep(id),
  trial_id INTEGER NOT NULL REFERENCES trial(id),
  PRIMARY KEY (sweep_id, trial_id)
) STRICT, WITHOUT ROWID;
INSERT INTO sweep_trial SELECT seen_in_sweep, id FROM trial WHERE seen_in_sweep IS NOT NULL;
)";

/// Drops samples that version 0.1 packed in its own way; databases of 0.2 may hold such rows. Their
/// statistics stay.
constexpr const char* kForgetOldSamples = R"(
UPDATE trial SET samples_us = NULL WHERE substr(samples_us, 1, 1) IN (x'01', x'02');
UPDATE trial SET clocks_mhz = NULL WHERE substr(clocks_mhz, 1, 1) IN (x'01', x'02');
)";

/// How rows that are compared are named alike, whoever wrote them: rank/parameters.h in SQL. Text that is not
/// a JSON object, or names no parameter, stands for itself.
constexpr const char* kWrittenAlike = R"(coalesce((
      SELECT group_concat(member) FROM (
        SELECT json_quote("key") || CASE
            WHEN type = 'true' THEN 1
            WHEN type = 'false' THEN 0
            WHEN type <> 'real' THEN json_quote(value)
            WHEN value = CAST(value AS INTEGER) AND abs(value) < 1e16 THEN CAST(value AS INTEGER)
            ELSE printf('%!.17g', value) END AS member
        FROM json_each(iif(json_valid(parameters), parameters, 'null'))
        WHERE typeof("key") = 'text' ORDER BY "key")), parameters, ''))";

/// The rule of rank/ranking.h in SQL, but for ranks behind the first. The columns of a row are joined in the
/// end: every window sorts what it is given. 9e999 is infinity.
constexpr const char* kViews = R"(
CREATE VIEW ranking AS
WITH kernel AS (
  SELECT id, "key", outcome, first_median_us,
    dense_rank() OVER (ORDER BY {comparable}) AS comparable,
    row_number() OVER (PARTITION BY {comparable}, "template", {written_alike}
                       ORDER BY (SELECT started_at FROM sweep WHERE id = seen_in_sweep) DESC,
                         seen_in_sweep DESC, substr(recorded_at, 1, 20) DESC, id DESC) = 1 AS is_latest,
    iif(source = 'predicted', coalesce(predicted_us, median_us), median_us) AS time_us,
    iif(source <> 'predicted', ci_low_us, NULL) AS ci_low_us,
    iif(source <> 'predicted', ci_high_us, NULL) AS ci_high_us,
    iif(source <> 'predicted' AND noise_floor_percent > 0 AND noise_floor_percent < 9e999,
        noise_floor_percent / 200, 0) AS half_noise,
    iif(source <> 'predicted' AND timed_in = 'final', coalesce(sweep_id, -1), NULL) AS finals
  FROM trial WHERE kind = 'kernel' AND outcome NOT IN ('dispatched', 'not_recorded')
), timed AS (
  SELECT *, count(finals) OVER (PARTITION BY comparable, finals) AS kernels,
    iif(finals IS NOT NULL AND first_median_us > 0 AND first_median_us < 9e999, first_median_us, time_us)
      AS first_us
  FROM kernel WHERE is_latest AND outcome = 'ok' AND time_us > 0 AND time_us < 9e999
), decided AS (
  SELECT *, first_value(finals) OVER (PARTITION BY comparable
                                    ORDER BY min(kernels, 2) DESC, first_us, "key") AS deciding
  FROM timed
), paced AS (
  SELECT *, coalesce(finals = deciding, 0) AS in_finals,
    CASE WHEN deciding IS NULL OR finals = deciding THEN 1
      ELSE avg(CASE WHEN finals = deciding THEN time_us / first_us END) OVER (PARTITION BY comparable)
        * first_us / time_us END AS pace
  FROM decided
), bounded AS (
  SELECT *, time_us * pace AS compared_us,
    min(time_us, coalesce(ci_low_us, time_us) * (1 - half_noise)) * pace AS low_us,
    max(time_us, coalesce(ci_high_us, time_us) * (1 + half_noise)) * pace AS high_us
  FROM paced
), led AS (
  SELECT *, first_value(high_us) OVER fastest_first AS leader_high_us,
    first_value(in_finals) OVER fastest_first AS leader_in_finals
  FROM bounded WINDOW fastest_first AS (PARTITION BY comparable ORDER BY compared_us, "key")
), placed AS (
  SELECT id, time_us, rank() OVER (PARTITION BY comparable ORDER BY compared_us) AS order_by_time,
    in_finals = leader_in_finals AND low_us <= leader_high_us AS tied_with_best,
    sum(low_us > leader_high_us) OVER (PARTITION BY comparable, in_finals ORDER BY compared_us, "key"
                                       ROWS UNBOUNDED PRECEDING) = 0 AS is_before_others
  FROM led
)
SELECT order_by_time, tied_with_best, tied_with_best AND is_before_others AS may_be_best, time_us, {cells}
FROM placed JOIN trial USING (id);

CREATE VIEW best AS
SELECT {columns} FROM (
  SELECT *, row_number() OVER (PARTITION BY {comparable}
                               ORDER BY chosen_at DESC, coalesce(registers, 9223372036854775807),
                                 coalesce(occupancy, 0) DESC, order_by_time, "key") AS place
  FROM ranking WHERE may_be_best
) WHERE place = 1;
)";

/// The views have a column for each figure.
std::string views_sql() {
  std::vector<std::string> cells;
  for (const Column& column : trial_columns())
    cells.push_back(column.is_figure
                        ? fmt::format("json_extract(iif(json_valid(figures), figures, NULL), '$.{0}') AS {0}",
                                      column.name)
                        : fmt::format("\"{}\"", column.name));
  return fmt::format(fmt::runtime(kViews), fmt::arg("columns", names_of(trial_columns())),
                     fmt::arg("cells", join(cells, ", ")),
                     fmt::arg("comparable", fmt::format("{}", fmt::join(comparable_columns(), ", "))),
                     fmt::arg("written_alike", kWrittenAlike));
}

/// What the table trial of an earlier schema is called while its rows are copied.
constexpr const char* kOldTrial = "trial_before_upgrade";

std::string version_sql() { return fmt::format("PRAGMA user_version = {};\n", kSchemaVersion); }

/// Copies all rows of the table `old` into the table trial. What `old` lacks is null, or empty text.
void copy_rows(SQLite::Database& database, const std::set<std::string>& present) {
  std::string cells = "id";
  for (const Column& column : stored_columns()) {
    const char* absent = column.type == CellType::text ? "''" : "NULL";
    cells +=
        present.contains(column.name) ? fmt::format(", \"{}\"", column.name) : fmt::format(", {}", absent);
  }
  database.exec(fmt::format("INSERT INTO trial (id, {}) SELECT {} FROM {} NOT INDEXED ORDER BY id",
                            column_list(), cells, kOldTrial));
}

/// Rows of before schema 15 have a column for each figure. SQL's functions would write them with 15 digits.
void gather_figures(SQLite::Database& database, const std::set<std::string>& present) {
  std::vector<const Column*> figures;
  std::vector<std::string> names;
  for (const Column& column : trial_columns()) {
    if (!column.is_figure || !present.contains(column.name)) continue;
    figures.push_back(&column);
    names.push_back(column.name);
  }
  if (figures.empty()) return;
  SQLite::Statement rows(
      database, fmt::format("SELECT id, {} FROM {} WHERE {} IS NOT NULL", join(names, ", "), kOldTrial,
                            join(names, " IS NOT NULL OR ")));
  SQLite::Statement update(database, "UPDATE trial SET figures = ? WHERE id = ?");
  while (rows.executeStep()) {
    Trial trial;
    int index = 0;
    for (const Column* figure : figures) figure->write(trial, read_cell(rows.getColumn(++index)));
    bind_cell(update, 1, stored_column(*figures.front()).read(trial));
    update.bind(2, rows.getColumn(0).getInt64());
    update.exec();
    update.reset();
  }
}

}  // namespace

const std::string& column_list() {
  static const std::string list = names_of(stored_columns());
  return list;
}

std::string marks(std::size_t count) { return join(std::vector<std::string>(count, "?"), ", "); }

std::span<const SweepColumn> sweep_columns() { return kSweepColumns; }

std::span<const CalibrationColumn> calibration_columns() { return kCalibrationColumns; }

std::string schema_sql() {
  std::string sweep = "CREATE TABLE sweep (\n  id INTEGER PRIMARY KEY AUTOINCREMENT";
  for (const SweepColumn& column : kSweepColumns) sweep += fmt::format(",\n  {} TEXT NOT NULL", column.name);
  std::string calibration =
      "CREATE TABLE calibration (\n  -- what was measured of a GPU itself, once per driver\n";
  for (const CalibrationColumn& column : kCalibrationColumns) {
    const char* type = column.member.index() == 0 ? "TEXT" : "REAL";
    calibration += fmt::format("  -- {}\n  \"{}\" {} NOT NULL,\n", column.meaning, column.name, type);
  }
  return sweep + "\n) STRICT;\n" + trial_table_sql() + kIndices + kMembership + calibration +
         "  PRIMARY KEY (gpu_uuid, driver_version)\n) STRICT;\n" + views_sql() +
         fmt::format("PRAGMA application_id = {};\n", kApplicationId) + version_sql();
}

std::string added_column_sql(const Column& column) {
  // Columns of text are never null.
  return fmt::format("\"{}\" {}{}{}", column.name, sql_type(column.type),
                     column.type == CellType::text ? " DEFAULT ''" : "", extra_clause(column));
}

void upgrade(SQLite::Database& database, const std::filesystem::path& file) {
  const std::int64_t version = database.execAndGet("PRAGMA user_version").getInt64();
  try {
    // Otherwise references of other tables, and views that people made, would follow the name.
    database.exec(fmt::format(
        "PRAGMA secure_delete = OFF; DROP VIEW IF EXISTS best; DROP VIEW IF EXISTS ranking; "
        "PRAGMA legacy_alter_table = ON; ALTER TABLE trial RENAME TO {}; PRAGMA legacy_alter_table = OFF; {}",
        kOldTrial, trial_table_sql()));
    std::set<std::string> present;
    SQLite::Statement names(database, fmt::format("SELECT name FROM pragma_table_info('{}')", kOldTrial));
    while (names.executeStep()) present.insert(names.getColumn(0).getString());
    copy_rows(database, present);
    gather_figures(database, present);
    database.exec(fmt::format("DROP TABLE {};", kOldTrial) + kForgetOldSamples + kIndices + views_sql() +
                  version_sql());
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_ERROR && error.getErrorCode() != SQLITE_CONSTRAINT) throw;
    throw UserError(fmt::format("this database of schema {} is damaged: {}", version, error.what()),
                    Where{file.string(), ""}, kRestore);
  }
}

std::string upsert_sql() {
  // A row that is measured again is still what a sweep chose.
  return fmt::format(
      "INSERT INTO trial ({0}) VALUES ({1}) ON CONFLICT(\"key\") DO UPDATE SET ({0}) = ({2}), "
      "chosen_at = max(excluded.chosen_at, trial.chosen_at) "
      "WHERE excluded.outcome <> 'dispatched' OR trial.outcome <> 'ok'",
      column_list(), marks(stored_columns().size()), names_of(stored_columns(), "excluded."));
}

}  // namespace tiletune
