#include "output/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/json_stream.h"
#include "store/columns.h"
#include "store/schema.h"

namespace tiletune {

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

nlohmann::ordered_json to_json(const CalibrationRecord& calibration) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const CalibrationColumn& column : calibration_columns())
    std::visit([&](auto member) { object[column.name] = calibration.*member; }, column.member);
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

namespace {

/// name, help, is_best, takes_samples, takes_name_space, write
constexpr std::array kExportFormats{
    ExportFormat{"json", "all columns", false, true, false, write_export},
    ExportFormat{"json", "", true, false, false, write_best},
    ExportFormat{"t4", "results as autotuners exchange them, with every sample", false, true, false,
                 write_t4},
    ExportFormat{"header", "the best configurations and their lookup in C++17", true, false, true,
                 write_header},
};

}  // namespace

std::string export_formats_help() {
  std::vector<std::string> lines;
  for (const ExportFormat& format : kExportFormats) {
    if (*format.help != '\0') lines.push_back(fmt::format("{}: {}", format.name, format.help));
  }
  return join(lines, "; ");
}

const ExportFormat& find_export_format(const std::string& name, bool best) {
  const Where where{"--format", ""};
  std::vector<std::string> known;
  bool is_known = false;
  for (const ExportFormat& format : kExportFormats) {
    if (known.empty() || known.back() != format.name) known.emplace_back(format.name);
    if (format.name != name) continue;
    if (format.is_best || !best) return format;
    is_known = true;
  }
  if (is_known) throw UserError("has no effect with --best", where, "Leave one of the two out.");
  throw UserError(fmt::format("there is no export format '{}'", name), where,
                  fmt::format("Use one of {}; for CSV: tiletune rank --format csv.", join(known, ", ")));
}

}  // namespace tiletune
