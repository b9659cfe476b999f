#include "foreign/own_columns.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "foreign/row.h"
#include "foreign/units.h"
#include "store/columns.h"
#include "store/samples.h"
#include "store/schema.h"
#include "store/upgrade.h"

namespace tiletune {

namespace {

/// None: the column cannot have this value.
std::optional<Cell> cell_of(const JsonValue& value, CellType type, const Where& where) {
  if (value.IsNull()) return Cell();
  switch (type) {
    case CellType::integer:
      return value.IsInt64() ? std::optional<Cell>(value.GetInt64()) : std::nullopt;
    case CellType::real:
      return value.IsNumber() ? std::optional<Cell>(value.GetDouble()) : std::nullopt;
    case CellType::text:
      return value.IsString() ? std::optional<Cell>(std::string(text(value))) : std::nullopt;
    case CellType::json:
      return Cell(to_json_text(value));
    case CellType::blob:
      return value.IsArray() ? std::optional<Cell>(pack_samples(numbers_of(value, where))) : std::nullopt;
  }
  return std::nullopt;
}

void refuse(const char* column, const char* why, const Where& where) {
  throw UserError(why, where.at(column), "Correct or remove the row.");
}

/// Of two rows the later one counts, as texts compare.
void check_moment(const std::string& when, const Where& where) {
  if (when.empty() || utc_time(when) == when) return;
  throw UserError(fmt::format("'{}' is not a time such as 2026-11-21T10:00:00Z", when),
                  where.at("recorded_at"), "Correct it.");
}

/// Figures that no kernel can have, however the file came to say them.
void check_figures(const Trial& trial, const Where& where) {
  const std::pair<const char*, std::optional<double>> times[] = {
      {"median_us", trial.median_us},     {"ci_low_us", trial.ci_low_us},
      {"ci_high_us", trial.ci_high_us},   {"min_us", trial.min_us},
      {"mean_us", trial.mean_us},         {"isolated_us", trial.isolated_us},
      {"baseline_us", trial.baseline_us}, {"predicted_us", trial.predicted_us}};
  for (const auto& [column, time] : times) {
    if (time && !(std::isfinite(*time) && *time > 0)) refuse(column, "not a valid kernel time", where);
  }
  for (const double sample : trial.samples_us) {
    if (!(std::isfinite(sample) && sample > 0)) refuse("samples_us", "not a valid kernel time", where);
  }
  const std::pair<const char*, std::optional<std::int64_t>> counts[] = {
      {"registers", trial.registers},
      {"spill_bytes", trial.spill_bytes},
      {"sample_count", trial.sample_count},
      {"static_shared_bytes", trial.static_shared_bytes},
      {"dynamic_shared_bytes", trial.dynamic_shared_bytes}};
  for (const auto& [column, count] : counts) {
    if (count && *count < 0) refuse(column, "this cannot be negative", where);
  }
  if (trial.occupancy && !(*trial.occupancy >= 0 && *trial.occupancy <= 1))
    refuse("occupancy", "this is not from 0 to 1", where);
}

void check_facts(const Trial& trial, const ImportFacts& facts, const Where& where) {
  check_same(trial.gpu, facts, &ImportFacts::gpu, "--gpu", where);
  check_same(trial.problem, facts, &ImportFacts::problem, "--problem", where);
  if (trial.kind == "kernel") check_same(trial.template_name, facts, &ImportFacts::kernel, "--kernel", where);
}

void read_sweeps(const JsonValue& object, const Where& where, Trial& trial) {
  trial.sweeps = {trial.sweep_id, trial.seen_in_sweep};
  const JsonValue* list = find(object, "sweeps");
  if (list == nullptr) return;
  if (!list->IsArray()) throw UserError("not a list", where.at("sweeps"), "Correct it.");
  for (const JsonValue& sweep : list->GetArray()) {
    if (!sweep.IsInt64()) throw UserError("not a list of sweeps", where.at("sweeps"), "Correct it.");
    trial.sweeps.push_back(sweep.GetInt64());
  }
}

}  // namespace

std::vector<double> numbers_of(const JsonValue& list, const Where& where) {
  if (!list.IsArray()) throw UserError("not a list", where, "Correct it.");
  std::vector<double> numbers;
  for (const JsonValue& number : list.GetArray()) {
    if (!number.IsNumber())
      throw UserError("not a number", where.at(numbers.size()), "Correct or remove the row.");
    numbers.push_back(number.GetDouble());
  }
  return numbers;
}

void read_own_columns(const JsonValue& object, const Where& where, const ImportFacts& facts, Trial& trial) {
  for (const Column& column : trial_columns()) {
    const JsonValue* value = find(object, column.name);
    if (value == nullptr) continue;
    const auto cell = cell_of(*value, column.type, where.at(column.name));
    if (!cell)
      throw UserError(fmt::format("not a value of the column {}", column.name), where.at(column.name),
                      "Correct it.");
    try {
      column.write(trial, *cell);
    } catch (const UserError& error) {
      throw UserError(error.message(), where.at(column.name), error.remedy());
    }
  }
  if (trial.operation == "custom") trial.operation = trial.template_name;  // as version 0.1 wrote it
  read_sweeps(object, where, trial);
  if (trial.key.empty()) throw UserError("the row has no key", where, "Export it again.");
  if (trial.kind != "kernel" && trial.kind != "baseline" && trial.kind != "twin")
    refuse("kind", "this is neither kernel, baseline nor twin", where);
  if (!trial.parameters.empty() && !trial.parameters.starts_with('{'))
    refuse("parameters", "a kernel's parameters must be an object", where);
  if (trial.outcome == Outcome::ok && trial.source == Source::measured && !trial.median_us)
    refuse("outcome", "a row that is ok must have a time", where);
  check_figures(trial, where);
  check_moment(trial.recorded_at, where);
  check_facts(trial, facts, where);
}

SweepRecord read_sweep(const JsonValue& object) {
  SweepRecord sweep;
  const JsonValue* id = find(object, "id");
  if (id != nullptr && id->IsInt64()) sweep.id = id->GetInt64();
  for (const SweepColumn& column : sweep_columns()) sweep.*column.member = text_of(object, column.name);
  return sweep;
}

CalibrationRecord read_calibration(const JsonValue& object, const Where& where) {
  CalibrationRecord calibration;
  for (const CalibrationColumn& column : calibration_columns()) {
    const JsonValue* value = find(object, column.name);
    const auto* text_member = std::get_if<0>(&column.member);
    const auto* number = std::get_if<1>(&column.member);
    if (number != nullptr && value != nullptr && value->IsNull()) continue;  // It was not finite.
    const bool is_later =
        std::find(kLaterRates.begin(), kLaterRates.end(), std::string_view(column.name)) != kLaterRates.end();
    if (value == nullptr && is_later) continue;  // An earlier version wrote the file.
    if (value == nullptr || !(text_member != nullptr ? value->IsString() : value->IsNumber()))
      throw UserError(fmt::format("not a value of the column {}", column.name), where.at(column.name),
                      "Correct it.");
    if (text_member != nullptr) calibration.** text_member = text(*value);
    if (number != nullptr) calibration.** number = value->GetDouble();
  }
  check_moment(calibration.recorded_at, where);
  return calibration;
}

}  // namespace tiletune
