#include "output/export.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/view.h"
#include "store/schema.h"

namespace tiletune {

namespace {
using Json = nlohmann::ordered_json;
}  // namespace

Json to_json(const Trial& trial, bool with_samples) {
  Json object = Json::object();
  for (const Column& column : trial_columns()) {
    if (column.type == CellType::blob && !with_samples) continue;
    object[column.name] = json_of(column.read(trial), column.type);
  }
  return object;
}

Json columns_json(const Trial& trial, std::initializer_list<const char*> names) {
  Json object = Json::object();
  for (const char* name : names) {
    const Column& column = column_by_name(name);
    object[name] = json_of(column.read(trial), column.type);
  }
  return object;
}

Json exported_row(const Trial& trial, bool with_samples) {
  Json object = to_json(trial, with_samples);
  object["sweeps"] = trial.sweeps;
  return object;
}

Json to_json(const SweepRecord& sweep) {
  Json object{{"id", sweep.id}};
  for (const SweepColumn& column : sweep_columns()) object[column.name] = sweep.*column.member;
  if (sweep.finished_at.empty()) object["finished_at"] = nullptr;
  return object;
}

Json to_json(const CalibrationRecord& calibration) {
  Json object = Json::object();
  for (const CalibrationColumn& column : calibration_columns())
    std::visit([&](auto member) { object[column.name] = calibration.*member; }, column.member);
  return object;
}

void write_export(std::ostream& out, const Database& database, const ExportRequest& request) {
  Json envelope{{"tiletune_trials", 2}, {"sweeps", Json::array()}, {"calibrations", Json::array()}};
  for (const SweepRecord& sweep : database.sweeps()) envelope["sweeps"].push_back(to_json(sweep));
  for (const CalibrationRecord& calibration : database.calibrations())
    envelope["calibrations"].push_back(to_json(calibration));
  envelope["trials"] = Json::array();
  JsonArrayStream trials(out, envelope, 1);
  database.for_each_with_sweeps(
      request.filter, [&](const Trial& trial) { trials.add(exported_row(trial, request.samples)); });
  trials.end();
  out << '\n';
}

namespace {

using Names = std::initializer_list<const char*>;

constexpr Names kRoofline{"arithmetic_intensity", "bound", "percent_of_ceiling", "percent_of_copy"};
constexpr Names kErrors{"relative_error", "error_bound", "largest_error", "largest_error_at",
                        "baseline_error"};

/// The config's text stays in the database; its file and the commit say which it was.
Json provenance_of(const Trial& trial, const std::vector<SweepRecord>& sweeps) {
  Json object = columns_json(trial, {"key", "measurement", "shares", "kernel_hash", "source_key",
                                     "source_hash", "included_files", "recorded_at", "host", "gpu_uuid",
                                     "driver_version", "cuda_version", "nvrtc_version", "measure_policy"});
  const auto sweep = std::ranges::find(sweeps, trial.sweep_id, &SweepRecord::id);
  const bool is_known = trial.sweep_id != 0 && sweep != sweeps.end();
  object["sweep"] = is_known ? to_json(*sweep) : Json();
  if (is_known) object["sweep"].erase("config");
  return object;
}

/// Columns of the result that no other section has, whatever columns there will be.
Json timing_of(const Trial& trial) {
  Json object = Json::object();
  for (const Column& column : std::span(&column_by_name("median_us"), &column_by_name("predicted_us") + 1)) {
    const auto is_listed = [&](Names names) { return std::ranges::find(names, column.name) != names.end(); };
    if (column.type != CellType::blob && !is_listed(kRoofline) && !is_listed(kErrors))
      object[column.name] = json_of(column.read(trial), column.type);
  }
  object.update(columns_json(trial, {"compile_ms", "measure_ms"}));
  return object;
}

/// The libraries' kernels that the group's kernels are compared with, fastest first.
Json baselines_of(const RankingGroup& group, const Database& database) {
  Json baselines = Json::array();
  for (const RankedRow& row : group.rows) {
    if (row.rank != 0) continue;
    const Trial trial = database.row(row.id);
    const Json derived = object_of(trial.derived);
    Json baseline{{"name", trial.template_name},
                  {"library", derived.value("library", Json())},
                  {"kernel", trial.kernel_expression},
                  {"algorithm", derived.value("algorithm", Json())}};
    baseline.update(columns_json(trial, {"median_us", "relative_error"}));
    baselines.push_back(std::move(baseline));
  }
  return baselines;
}

/// `trial` is a kernel of the group; `tied` counts the others of its rank.
Json entry_of(const Trial& trial, const RankingGroup& group, std::size_t tied, const Database& database,
              const std::vector<SweepRecord>& sweeps) {
  Json entry = columns_json(trial, {"gpu", "architecture", "problem"});
  entry["dimensions"] = trial.dimensions.empty() ? Json() : parsed_cell(trial.dimensions);
  entry.update(columns_json(
      trial, {"operation", "operation_hash", "options", "element_types", "scalars", "cache", "source"}));
  const std::string banner = group_banner(group);
  if (!banner.empty()) entry["note"] = banner;
  entry.update(columns_json(trial, {"template", "parameters", "derived", "kernel_expression",
                                    "compile_options", "launch", "launch_shares", "warnings"}));
  entry["resources"] = columns_json(
      trial, {"registers", "spill_bytes", "stack_bytes", "static_shared_bytes", "dynamic_shared_bytes"});
  entry["occupancy"] = columns_json(trial, {"occupancy", "occupancy_limiter", "blocks_per_multiprocessor",
                                            "driver_blocks_per_multiprocessor"});
  entry["timing"] = timing_of(trial);
  entry["roofline"] = columns_json(trial, kRoofline);
  entry["verified"] = trial.source == Source::measured ? Json(!is_unverified(trial)) : Json();
  entry["verification"] = columns_json(trial, kErrors);
  entry["verification"].update(columns_json(trial, {"baseline"}));
  entry["baselines"] = baselines_of(group, database);
  entry["tied_with"] = tied;
  entry["provenance"] = provenance_of(trial, sweeps);
  return entry;
}

/// The places of groups, in their order, and the best rows of each.
struct Family {
  std::vector<std::size_t> groups;
  std::vector<Trial> best;
};

/// By what a query of the header can name of a group, but for the scalars.
std::map<std::array<std::string, 6>, Family> families_of(const std::vector<RankingGroup>& groups,
                                                         const Database& database) {
  std::map<std::array<std::string, 6>, Family> families;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<RankedRow> leaders = leaders_of(groups[i]);
    if (leaders.empty()) continue;
    const Trial best = database.row(leaders.front().id);
    Family& family = families[{best.gpu, best.problem, std::string(name(best.source)), best.operation,
                               best.options, best.element_types}];
    family.groups.push_back(i);
    family.best.push_back(best);
  }
  return families;
}

/// Scalars that were corrected leave entries behind that a reader may take for the right ones.
void note_scalars(const std::vector<RankingGroup>& groups, const Database& database,
                  const ExportRequest& request) {
  if (!request.note) return;
  std::string first;
  std::size_t more = 0;
  for (const auto& [what, family] : families_of(groups, database)) {
    std::vector<std::string> scalars;
    for (const Trial& best : family.best) {
      const std::string text = best.scalars.empty() ? "none" : best.scalars;
      if (std::ranges::find(scalars, text) == scalars.end()) scalars.push_back(text);
    }
    if (scalars.size() < 2) continue;
    const Trial& best = family.best.front();
    if (first.empty())
      first = fmt::format("{} at {} on {} has entries that differ in scalars only, newest first: {}",
                          best.operation, best.problem, best.gpu, join(scalars, "; "));
    else
      ++more;
  }
  if (first.empty()) return;
  if (more > 0) first += fmt::format(" (and {})", counted(more, "more problem"));
  request.note(first + ". --sweep N exports those of one sweep.");
}

}  // namespace

void newest_first(std::vector<RankingGroup>& groups, const Database& database) {
  std::vector<RankingGroup> ordered = groups;
  for (const auto& [what, family] : families_of(groups, database)) {
    std::vector<std::size_t> by_date = family.groups;
    std::ranges::stable_sort(by_date, is_newer, [&](std::size_t i) { return groups[i].newest; });
    for (std::size_t i = 0; i < by_date.size(); ++i) ordered[family.groups[i]] = groups[by_date[i]];
  }
  groups = std::move(ordered);
}

std::vector<RankingGroup> groups_that_ran(const Database& database, const ExportRequest& request) {
  RankingRows rows = ranking_rows(database, request.filter);
  std::vector<RankingGroup> groups = rank_rows(rows);
  newest_first(groups, database);
  note_scalars(groups, database, request);
  if (!groups.empty()) return groups;
  throw NothingToDo("no row that ran matches", Where{database.file().string(), ""},
                    "Loosen the filters, or run 'tiletune sweep' first.");
}

Json best_as_json(const std::vector<RankingGroup>& groups, const Database& database,
                  const CompleteEntry& complete) {
  const std::vector<SweepRecord> sweeps = database.sweeps();
  Json document{{"tiletune_best", 1}, {"tiletune", kVersion}, {"best", Json::array()}};
  for (const RankingGroup& group : groups) {
    const std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    const std::int64_t row = leaders.front().id;
    Json& entry = document["best"].emplace_back(
        entry_of(database.row(row), group, leaders.size() - 1, database, sweeps));
    if (complete) complete(row, entry);
  }
  return document;
}

void write_best(std::ostream& out, const Database& database, const ExportRequest& request) {
  const std::vector<RankingGroup> groups = groups_that_ran(database, request);
  out << json_text(best_as_json(groups, database, request.complete), 2) << '\n';
}

std::string outcome_summary(const std::vector<std::pair<Outcome, std::int64_t>>& counts) {
  std::vector<std::pair<Outcome, std::int64_t>> ordered = counts;
  std::sort(ordered.begin(), ordered.end());
  std::string summary;
  for (const auto& [outcome, count] : ordered)
    if (count != 0) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", name(outcome), count);
  return summary.empty() ? "nothing" : summary;
}

}  // namespace tiletune
