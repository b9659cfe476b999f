#include <fmt/format.h>

#include <stdexcept>

#include "store/connection.h"
#include "store/database_impl.h"
#include "store/schema.h"

// What the database holds beside the rows: runs of the sweep command, and what was measured of GPUs.

namespace tiletune {

std::int64_t Database::begin_sweep(const SweepRecord& sweep) {
  impl_->watch.check();
  const std::int64_t id = translating_errors(file(), [&]() -> std::int64_t {
    std::vector<std::string> marks;
    for (const SweepColumn& column : sweep_columns()) marks.push_back(fmt::format("? AS {}", column.name));
    // One statement, so that of two shards that begin at the same time one is refused.
    const InUse statement = impl_->prepared(fmt::format(
        "INSERT INTO sweep ({}) SELECT new.* FROM (SELECT {}) AS new WHERE new.shard = '' OR NOT EXISTS "
        "(SELECT 1 FROM sweep WHERE sweep.shard NOT IN ('', new.shard))",
        names_of(sweep_columns()), join(marks, ", ")));
    int index = 0;
    for (const SweepColumn& column : sweep_columns()) statement->bind(++index, sweep.*column.member);
    return statement->exec() > 0 ? impl_->connection.getLastInsertRowid() : 0;
  });
  if (id > 0) return id;
  std::string other;
  for (const SweepRecord& present : sweeps())
    if (!present.shard.empty() && present.shard != sweep.shard) other = present.shard;
  throw UserError(fmt::format("this database holds shard {}, and this sweep is shard {}", other, sweep.shard),
                  Where{file().string(), ""},
                  "Name a database for each shard with --db FILE. 'tiletune merge' joins them afterwards.");
}

int Database::Impl::change(const char* sql, const std::vector<Cell>& values) {
  watch.check();
  return translating_errors(file, [&] {
    const InUse statement = prepared(sql);
    int index = 0;
    for (const Cell& value : values) bind_cell(*statement, ++index, value);
    return statement->exec();
  });
}

void Database::adopt(const std::string& operation, const std::string& kernel_template,
                     const std::string& operation_hash) {
  impl_->change(
      "UPDATE trial SET operation_hash = ?1 WHERE operation_hash = '' AND source <> 'imported' AND operation "
      "= ?2 "
      "AND iif(?3 = '', kind = 'baseline', kind <> 'baseline' AND \"template\" = ?3)",
      {operation_hash, operation, kernel_template});
}

void Database::choose(std::int64_t row, const std::string& when) {
  impl_->change("UPDATE trial SET chosen_at = ? WHERE id = ?", {when, row});
}

void Database::end_sweep(std::int64_t id, const std::string& finished_at) {
  if (impl_->change("UPDATE sweep SET finished_at = ? WHERE id = ?", {finished_at, id}) == 0)
    throw std::out_of_range(fmt::format("{} has no sweep {}", file().string(), id));
}

std::vector<SweepRecord> Database::sweeps() const {
  return translating_errors(file(), [&] {
    const InUse statement =
        impl_->prepared("SELECT id, " + names_of(sweep_columns()) + " FROM sweep ORDER BY id");
    std::vector<SweepRecord> sweeps;
    while (statement->executeStep()) {
      SweepRecord& sweep = sweeps.emplace_back();
      sweep.id = statement->getColumn(0).getInt64();
      int index = 0;
      for (const SweepColumn& column : sweep_columns())
        sweep.*column.member = statement->getColumn(++index).getString();
    }
    return sweeps;
  });
}

void Database::record_calibration(const CalibrationRecord& calibration) {
  impl_->watch.check();
  translating_errors(file(), [&] {
    const InUse statement =
        impl_->prepared(fmt::format("INSERT OR REPLACE INTO calibration ({}) VALUES ({})",
                                    names_of(calibration_columns()), marks(calibration_columns().size())));
    int index = 0;
    for (const CalibrationColumn& column : calibration_columns())
      std::visit([&](auto member) { statement->bind(++index, calibration.*member); }, column.member);
    statement->exec();
  });
}

std::vector<CalibrationRecord> Database::calibrations() const {
  return translating_errors(file(), [&] {
    const InUse statement = impl_->prepared("SELECT " + names_of(calibration_columns()) +
                                            " FROM calibration ORDER BY gpu_uuid, driver_version");
    std::vector<CalibrationRecord> calibrations;
    while (statement->executeStep()) {
      CalibrationRecord& calibration = calibrations.emplace_back();
      int index = 0;
      for (const CalibrationColumn& column : calibration_columns()) {
        const SQLite::Column cell = statement->getColumn(index++);
        if (const auto* text = std::get_if<0>(&column.member)) calibration.** text = cell.getString();
        if (const auto* number = std::get_if<1>(&column.member)) calibration.** number = cell.getDouble();
      }
    }
    return calibrations;
  });
}

std::optional<CalibrationRecord> Database::calibration(const std::string& gpu_uuid,
                                                       const std::string& driver_version) const {
  for (CalibrationRecord& found : calibrations())
    if (found.gpu_uuid == gpu_uuid && found.driver_version == driver_version) return std::move(found);
  return std::nullopt;
}

}  // namespace tiletune
