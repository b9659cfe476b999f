#include "store/upgrade.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "store/cells.h"
#include "store/connection.h"
#include "store/samples.h"
#include "store/schema.h"

namespace tiletune {

namespace {

/// Schema 1 kept samples as doubles, one after the other.
Blob repacked(const Blob& doubles) {
  std::vector<double> samples(doubles.size() / sizeof(double));
  if (!samples.empty()) std::memcpy(samples.data(), doubles.data(), samples.size() * sizeof(double));
  return pack_samples(samples);
}

void repack_samples(SQLite::Database& database) {
  SQLite::Statement rows(database, "SELECT id, samples_us FROM trial WHERE samples_us IS NOT NULL");
  SQLite::Statement update(database, "UPDATE trial SET samples_us = ? WHERE id = ?");
  while (rows.executeStep()) {
    const Cell cell = read_cell(rows.getColumn(1));
    if (!std::holds_alternative<Blob>(cell)) continue;
    update.reset();
    bind_cell(update, 1, repacked(std::get<Blob>(cell)));
    update.bind(2, rows.getColumn(0).getInt64());
    update.exec();
  }
}

std::set<std::string> columns_of(SQLite::Database& database, const char* table) {
  std::set<std::string> present;
  SQLite::Statement names(database, "SELECT name FROM pragma_table_info(?)");
  names.bind(1, table);
  while (names.executeStep()) present.insert(names.getColumn(0).getString());
  return present;
}

void add_missing_columns(SQLite::Database& database) {
  const std::set<std::string> present = columns_of(database, "trial");
  for (const Column& column : trial_columns()) {
    if (!present.contains(column.name)) database.exec(add_column_sql(column));
  }
  const std::set<std::string> of_sweeps = columns_of(database, "sweep");
  for (const SweepColumn& column : sweep_columns()) {
    if (!of_sweeps.contains(column.name)) database.exec(add_column_sql(column));
  }
}

/// Schema 1 knew one baseline, and had its library where its kernel is now.
constexpr const char* kBaselines = R"(
UPDATE trial SET baseline = 'cublas' WHERE baseline_us IS NOT NULL;
UPDATE trial SET derived = json_object('library', kernel_expression, 'algorithm', ''), kernel_expression = ''
  WHERE kind = 'baseline' AND derived IS NULL;
)";

/// Schema 2 took the numbers of sweeps for their order in time, and up to schema 4 triggers recorded which
/// sweeps rows belong to.
constexpr const char* kDropViewsAndTriggers =
    "DROP VIEW IF EXISTS best; DROP VIEW IF EXISTS ranking; DROP TRIGGER IF EXISTS trial_made; DROP TRIGGER "
    "IF EXISTS "
    "trial_seen;";

/// Up to schema 3 keys of imported rows did not begin with the digits of their time. Otherwise they are the
/// same, so that a file that is imported again finds its rows.
constexpr const char* kKeysByTime = R"(
UPDATE trial SET "key" = digits || substr("key", length(digits) + 1) FROM (
  SELECT id AS row, replace(replace(replace(replace(recorded_at, '-', ''), ':', ''), 'T', ''), 'Z', '') AS digits
  FROM trial WHERE source = 'imported'
) WHERE id = row;
)";

/// Up to schema 4 the flush before a cold sample left lines that the kernel had to write back.
constexpr const char* kColdWasDirty = "UPDATE trial SET cache = 'dirty' WHERE cache = 'cold';";

/// Up to schema 4 the operations of manifests had no names, and the sizes of gemm's problems were not named.
constexpr const char* kNoNames = "UPDATE trial SET operation = template WHERE operation = 'custom';";

/// {"M": 64, "N": 32, "K": 16, "lda": 48} of "64x32x16 lda=48"; empty for what no sweep wrote.
std::string gemm_dimensions(const std::string& problem) {
  constexpr std::array kNames{"M", "N", "K"};
  std::vector<std::string> settings = split(problem, ' ');
  const std::vector<std::string> sizes = split(settings.front(), 'x');
  if (sizes.size() != kNames.size()) return "";
  settings.erase(settings.begin());
  for (std::size_t i = kNames.size(); i-- > 0;)
    settings.insert(settings.begin(), kNames.at(i) + ("=" + sizes[i]));
  auto dimensions = nlohmann::ordered_json::object();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const auto size = nlohmann::ordered_json::parse(setting.substr(std::min(equals, setting.size() - 1) + 1),
                                                    nullptr, false);
    if (!size.is_number_unsigned()) return "";
    dimensions[setting.substr(0, equals)] = size;
  }
  return dimensions.dump();
}

void name_dimensions(SQLite::Database& database) {
  SQLite::Statement problems(database, "SELECT DISTINCT problem FROM trial WHERE operation = 'gemm'");
  SQLite::Statement update(database,
                           "UPDATE trial SET dimensions = ? WHERE operation = 'gemm' AND problem = ?");
  while (problems.executeStep()) {
    const std::string problem = problems.getColumn(0).getString();
    update.reset();
    update.bind(1, gemm_dimensions(problem));
    update.bind(2, problem);
    update.exec();
  }
}

/// A calibration without a rate of reads was taken in that state too, and is not used.
void add_later_rates(SQLite::Database& database) {
  const std::set<std::string> present = columns_of(database, "calibration");
  for (const char* name : kLaterRates)
    if (!present.contains(name)) database.exec(add_rate_sql(name));
}

void upgrade_from_1(SQLite::Database& database) {
  if (!database.tableExists("sweep_trial")) database.exec(membership_sql());
  database.exec(calibration_table_sql());
  repack_samples(database);
  database.exec(kBaselines);
}

}  // namespace

std::string add_rate_sql(const char* name) {
  return fmt::format("ALTER TABLE calibration ADD COLUMN {} REAL NOT NULL DEFAULT 0", name);
}

const std::set<std::string>& dropped_indices() {
  // Up to schema 3 every write kept indices that nothing read by. Those of today are made again.
  static const std::set<std::string> names{"trial_comparable", "trial_template",    "trial_sweep",
                                           "trial_source",     "trial_measurement", "trial_baseline",
                                           "trial_source_hash"};
  return names;
}

void upgrade(SQLite::Database& database, const std::filesystem::path& file) {
  const std::int64_t version = database.execAndGet("PRAGMA user_version").getInt64();
  try {
    database.exec(kDropViewsAndTriggers);
    for (const std::string& name : dropped_indices()) database.exec("DROP INDEX IF EXISTS " + name);
    add_missing_columns(database);
    if (version == 1) upgrade_from_1(database);
    add_later_rates(database);
    if (version < 4) database.exec(kKeysByTime);
    if (version < 5) {
      database.exec(kColdWasDirty);
      database.exec(kNoNames);
      name_dimensions(database);
    }
    database.exec(indices_sql() + views_sql() + version_sql());
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_ERROR && error.getErrorCode() != SQLITE_CONSTRAINT) throw;
    throw UserError(fmt::format("this database of schema {} is damaged: {}", version, error.what()),
                    Where{file.string(), ""}, kRestore);
  }
}

}  // namespace tiletune
