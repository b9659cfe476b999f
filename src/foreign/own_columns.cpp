#include "foreign/own_columns.h"

#include <fmt/format.h>

#include "store/columns.h"
#include "store/samples.h"
#include "store/schema.h"

namespace tiletune {

namespace {

std::vector<double> numbers_of(const Branch& list) {
  std::vector<double> numbers;
  if (!list.is(Tree::Kind::list)) return numbers;
  for (const Branch number : list) numbers.push_back(number.number());
  return numbers;
}

/// None: the column cannot have this value.
std::optional<Cell> cell_of(const Branch& value, CellType type) {
  using Kind = Tree::Kind;
  if (value.is(Kind::null)) return Cell();
  switch (type) {
    case CellType::integer:
      return value.is(Kind::integer) ? std::optional<Cell>(value.integer()) : std::nullopt;
    case CellType::real:
      return value.is_number() ? std::optional<Cell>(value.number()) : std::nullopt;
    case CellType::text:
      return value.is(Kind::text) ? std::optional<Cell>(std::string(value.text())) : std::nullopt;
    case CellType::json:
      return Cell(to_json_text(value));
    case CellType::blob:
      return value.is(Kind::list) ? std::optional<Cell>(pack_samples(numbers_of(value))) : std::nullopt;
  }
  return std::nullopt;
}

void read_sweeps(const Branch& object, const Where& where, Trial& trial) {
  const auto list = object.find("sweeps");
  if (!list) {
    trial.sweeps = {trial.sweep_id, trial.seen_in_sweep};
    return;
  }
  if (!list->is(Tree::Kind::list)) throw UserError("this is no list", where.at("sweeps"), "Correct it.");
  for (const Branch sweep : *list) {
    if (!sweep.is(Tree::Kind::integer))
      throw UserError("this is no list of sweeps", where.at("sweeps"), "Correct it.");
    trial.sweeps.push_back(sweep.integer());
  }
}

}  // namespace

void read_columns(const Branch& object, const Where& where, Trial& trial) {
  for (const Column& column : trial_columns()) {
    const auto value = object.find(column.name);
    if (!value) continue;
    const auto cell = cell_of(*value, column.type);
    if (!cell)
      throw UserError(fmt::format("this is no {}", column.name), where.at(column.name), "Correct it.");
    try {
      column.write(trial, *cell);
    } catch (const UserError& error) {
      throw UserError(error.message(), where.at(column.name), error.remedy());
    }
  }
  read_sweeps(object, where, trial);
}

SweepRecord read_sweep(const Branch& object) {
  SweepRecord sweep;
  const auto id = object.find("id");
  if (id && id->is(Tree::Kind::integer)) sweep.id = id->integer();
  for (const SweepColumn& column : sweep_columns()) sweep.*column.member = object.text_of(column.name);
  return sweep;
}

CalibrationRecord read_calibration(const Branch& object, const Where& where) {
  CalibrationRecord calibration;
  for (const CalibrationColumn& column : calibration_columns()) {
    const auto value = object.find(column.name);
    const auto* text = std::get_if<0>(&column.member);
    const auto* number = std::get_if<1>(&column.member);
    if (number != nullptr && value && value->is(Tree::Kind::null)) continue;  // It was not finite.
    if (!value || !(text != nullptr ? value->is(Tree::Kind::text) : value->is_number()))
      throw UserError(fmt::format("this is no {}", column.name), where.at(column.name), "Correct it.");
    if (text != nullptr) calibration.** text = value->text();
    if (number != nullptr) calibration.** number = value->number();
  }
  return calibration;
}

}  // namespace tiletune
