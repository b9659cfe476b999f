#include "output/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "output/cell_text.h"
#include "output/export_formats.h"
#include "output/json_stream.h"
#include "store/columns.h"
#include "store/schema.h"

namespace tiletune {

namespace {

nlohmann::ordered_json to_json(const CalibrationRecord& calibration) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const CalibrationColumn& column : calibration_columns())
    std::visit([&](auto member) { object[column.name] = calibration.*member; }, column.member);
  return object;
}

}  // namespace

nlohmann::ordered_json to_json(const Trial& trial, bool with_samples) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Column& column : trial_columns()) {
    if (column.type == CellType::blob && !with_samples) continue;
    object[column.name] = json_of(column.read(trial), column.type);
  }
  return object;
}

nlohmann::ordered_json exported_row(const Trial& trial, bool with_samples) {
  nlohmann::ordered_json object = to_json(trial, with_samples);
  object["sweeps"] = trial.sweeps;
  return object;
}

void add_records(nlohmann::ordered_json& object, const Database& database) {
  object["sweeps"] = nlohmann::ordered_json::array();
  for (const SweepRecord& sweep : database.sweeps()) object["sweeps"].push_back(to_json(sweep));
  object["calibrations"] = nlohmann::ordered_json::array();
  for (const CalibrationRecord& calibration : database.calibrations())
    object["calibrations"].push_back(to_json(calibration));
}

nlohmann::ordered_json to_json(const SweepRecord& sweep) {
  nlohmann::ordered_json object{{"id", sweep.id}};
  for (const SweepColumn& column : sweep_columns()) object[column.name] = sweep.*column.member;
  if (sweep.finished_at.empty()) object["finished_at"] = nullptr;
  return object;
}

void write_export(std::ostream& out, const Database& database, const ExportRequest& request) {
  nlohmann::ordered_json envelope{{"tiletune_trials", 2}};
  add_records(envelope, database);
  envelope["trials"] = nlohmann::ordered_json::array();
  JsonArrayStream trials(out, envelope, 1);
  database.for_each_with_sweeps(
      request.filter, [&](const Trial& trial) { trials.add(exported_row(trial, request.samples)); });
  trials.end();
  out << '\n';
}

std::string outcome_summary(const std::vector<std::pair<Outcome, std::int64_t>>& counts) {
  std::vector<std::pair<Outcome, std::int64_t>> ordered = counts;
  std::sort(ordered.begin(), ordered.end());
  std::string summary;
  for (const auto& [outcome, count] : ordered) {
    if (count != 0) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", name(outcome), count);
  }
  return summary.empty() ? "nothing" : summary;
}

}  // namespace tiletune
