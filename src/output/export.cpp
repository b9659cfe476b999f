#include "output/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/export_formats.h"
#include "output/json_stream.h"
#include "store/columns.h"
#include "store/schema.h"

namespace tiletune {

namespace {

constexpr std::array<std::pair<const char*, Format>, 4> kFormats{{
    {"table", Format::table},
    {"json", Format::json},
    {"csv", Format::csv},
    {"markdown", Format::markdown},
}};

nlohmann::ordered_json to_json(const CalibrationRecord& calibration) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const CalibrationColumn& column : calibration_columns())
    std::visit([&](auto member) { object[column.name] = calibration.*member; }, column.member);
  return object;
}

}  // namespace

Format format_from_name(const std::string& name, std::initializer_list<Format> formats) {
  std::vector<std::string> known;
  for (const auto& [text, format] : kFormats) {
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) continue;
    if (name == text) return format;
    known.emplace_back(text);
  }
  throw UserError(fmt::format("there is no output format '{}'", name),
                  fmt::format("Use one of {}.", join(known, ", ")));
}

std::string source_banner(Source source, const std::string& gpu) {
  switch (source) {
    case Source::measured:
      return "";
    case Source::predicted:
      return fmt::format("predicted by the static model for {}; nothing was timed", gpu);
    case Source::replayed:
      return fmt::format("replayed from times recorded on {}; no kernel was timed", gpu);
    case Source::imported:
      return fmt::format("imported times of {}; they were not measured by this tiletune", gpu);
  }
  return "";
}

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
