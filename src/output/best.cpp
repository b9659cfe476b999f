#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/export.h"
#include "output/header.h"
#include "output/portfolio.h"
#include "output/view.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;
using Names = std::initializer_list<const char*>;

constexpr Names kRoofline{"arithmetic_intensity", "bound", "percent_of_ceiling", "percent_of_copy"};
constexpr Names kErrors{"relative_error", "error_bound", "largest_error", "largest_error_at",
                        "baseline_error"};

/// The version of the document that `export --best` writes.
constexpr int kBestFormat = 1;

void add_columns(Json& object, const Trial& trial, Names names) {
  for (const char* name : names) {
    const Column& column = column_by_name(name);
    object[name] = json_of(column.read(trial), column.type);
  }
}

Json section(const Trial& trial, Names names) {
  Json object = Json::object();
  add_columns(object, trial, names);
  return object;
}

/// The config's text stays in the database; its file and the commit say which it was.
Json sweep_of(const Trial& trial, const std::vector<SweepRecord>& sweeps) {
  const auto sweep = std::find_if(sweeps.begin(), sweeps.end(),
                                  [&](const SweepRecord& s) { return s.id == trial.sweep_id; });
  if (trial.sweep_id == 0 || sweep == sweeps.end()) return nullptr;
  Json object = to_json(*sweep);
  object.erase("config");
  return object;
}

Json provenance_of(const Trial& trial, const std::vector<SweepRecord>& sweeps) {
  Json object = section(trial, {"key", "measurement", "shares", "kernel_hash", "source_key", "source_hash",
                                "included_files", "recorded_at", "host", "gpu_uuid", "driver_version",
                                "cuda_version", "nvrtc_version", "measure_policy"});
  object["sweep"] = sweep_of(trial, sweeps);
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
  add_columns(object, trial, {"compile_ms", "measure_ms"});
  return object;
}

/// The libraries' kernels that the group's kernels are compared with, fastest first.
Json baselines_of(const RankingGroup& group, const Database& database) {
  Json baselines = Json::array();
  for (const RankedRow& row : group.rows) {
    if (row.rank != 0) continue;
    const Trial trial = database.row(row.id);
    Json derived = parsed_cell(trial.derived);
    if (!derived.is_object()) derived = Json::object();
    Json baseline{{"name", trial.template_name},
                  {"library", derived.value("library", Json())},
                  {"kernel", trial.kernel_expression},
                  {"algorithm", derived.value("algorithm", Json())}};
    add_columns(baseline, trial, {"median_us", "relative_error"});
    baselines.push_back(std::move(baseline));
  }
  return baselines;
}

/// `trial` is a kernel of the group; `tied` counts the others of its rank.
Json entry_of(const Trial& trial, const RankingGroup& group, std::size_t tied, const Database& database,
              const std::vector<SweepRecord>& sweeps) {
  Json entry = section(trial, {"gpu", "architecture", "problem"});
  entry["dimensions"] = trial.dimensions.empty() ? Json() : parsed_cell(trial.dimensions);
  entry.update(section(trial, {"operation", "options", "element_types", "scalars", "cache", "source"}));
  const std::string banner = source_banner(group.source, group.gpu);
  if (!banner.empty()) entry["note"] = banner;
  add_columns(entry, trial,
              {"template", "parameters", "derived", "kernel_expression", "compile_options", "launch",
               "launch_shares", "size_conditions", "waves", "warnings"});
  entry["resources"] = section(
      trial, {"registers", "spill_bytes", "stack_bytes", "static_shared_bytes", "dynamic_shared_bytes"});
  entry["occupancy"] = section(trial, {"occupancy", "occupancy_limiter", "blocks_per_multiprocessor",
                                       "driver_blocks_per_multiprocessor"});
  entry["timing"] = timing_of(trial);
  entry["roofline"] = section(trial, kRoofline);
  entry["verified"] = trial.source == Source::measured ? Json(!is_unverified(trial)) : Json();
  entry["verification"] = section(trial, kErrors);
  add_columns(entry["verification"], trial, {"baseline"});
  entry["baselines"] = baselines_of(group, database);
  entry["tied_with"] = tied;
  entry["provenance"] = provenance_of(trial, sweeps);
  return entry;
}

/// What a query of the header can name of a group, but for the scalars.
using Family = std::array<std::string, 6>;

Family family_of(const Trial& trial) {
  return {trial.gpu,       trial.problem, std::string(name(trial.source)),
          trial.operation, trial.options, trial.element_types};
}

/// Places of the groups whose best row is of each family, in the order of the groups.
std::map<Family, std::vector<std::size_t>> families_of(const std::vector<RankingGroup>& groups,
                                                       const Database& database, std::vector<Trial>& best) {
  std::map<Family, std::vector<std::size_t>> families;
  best.resize(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<RankedRow> leaders = leaders_of(groups[i]);
    if (leaders.empty()) continue;
    best[i] = database.row(leaders.front().id);
    families[family_of(best[i])].push_back(i);
  }
  return families;
}

/// Scalars that were corrected leave entries behind that a reader may take for the right ones.
void note_scalars(const std::vector<RankingGroup>& groups, const Database& database,
                  const ExportRequest& request) {
  if (!request.note) return;
  std::vector<Trial> best;
  std::string first;
  std::size_t more = 0;
  for (const auto& [family, members] : families_of(groups, database, best)) {
    std::vector<std::string> scalars;
    for (const std::size_t i : members) {
      const std::string text = best[i].scalars.empty() ? "none" : best[i].scalars;
      if (std::ranges::find(scalars, text) == scalars.end()) scalars.push_back(text);
    }
    if (scalars.size() < 2) continue;
    if (!first.empty()) {
      ++more;
      continue;
    }
    first = fmt::format("{} at {} on {}", best[members.front()].operation, best[members.front()].problem,
                        best[members.front()].gpu);
    first += fmt::format(" has entries that differ in scalars only, newest first: {}", join(scalars, "; "));
  }
  if (first.empty()) return;
  if (more > 0) first += fmt::format(" (and {})", counted(more, "more problem"));
  request.note(first + ". --sweep N exports those of one sweep.");
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

}  // namespace

void newest_first(std::vector<RankingGroup>& groups, const Database& database) {
  std::vector<Trial> best;
  std::vector<RankingGroup> ordered = groups;
  for (const auto& [family, members] : families_of(groups, database, best)) {
    std::vector<std::size_t> by_date = members;
    std::stable_sort(by_date.begin(), by_date.end(), [&](std::size_t a, std::size_t b) {
      return is_newer(groups[a].newest, groups[b].newest);
    });
    for (std::size_t i = 0; i < members.size(); ++i) ordered[members[i]] = groups[by_date[i]];
  }
  groups = std::move(ordered);
}

Json best_as_json(const std::vector<RankingGroup>& groups, const Database& database) {
  const std::vector<SweepRecord> sweeps = database.sweeps();
  Json document{{"tiletune_best", kBestFormat}, {"tiletune", kVersion}, {"best", Json::array()}};
  for (const RankingGroup& group : groups) {
    const std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    document["best"].push_back(
        entry_of(database.row(leaders.front().id), group, leaders.size() - 1, database, sweeps));
  }
  return document;
}

Json portfolios_as_json(const std::vector<RecordedPortfolio>& portfolios,
                        const std::vector<RankingGroup>& groups, const Database& database) {
  std::map<std::int64_t, std::pair<const RankingGroup*, int>> places;  // group and rank of a row
  for (const RankingGroup& group : groups) {
    for (const RankedRow& row : group.rows) places.emplace(row.id, std::pair(&group, row.rank));
  }
  const std::vector<SweepRecord> sweeps = database.sweeps();
  Json document{{"tiletune_best", kBestFormat}, {"tiletune", kVersion}, {"best", Json::array()}};
  document["portfolios"] = Json::array();
  for (const RecordedPortfolio& recorded : portfolios) {
    std::vector<std::size_t> entries;
    for (const std::size_t kernel : recorded.portfolio.kernels) {
      const std::int64_t id = recorded.group.table.kernels[kernel].row;
      const auto& [group, rank] = places.at(id);
      const auto of_rank = std::ranges::count(group->rows, rank, &RankedRow::rank);
      entries.push_back(document["best"].size());
      document["best"].push_back(
          entry_of(database.row(id), *group, static_cast<std::size_t>(of_rank) - 1, database, sweeps));
    }
    document["portfolios"].push_back(to_json(recorded, entries));
  }
  return document;
}

void write_best(std::ostream& out, const Database& database, const ExportRequest& request) {
  const std::vector<RankingGroup> groups = groups_that_ran(database, request);
  const Json document =
      request.portfolio
          ? portfolios_as_json(recorded_portfolios(database, request.filter, *request.portfolio), groups,
                               database)
          : best_as_json(groups, database);
  out << json_text(document, 2) << '\n';
}

void write_header(std::ostream& out, const Database& database, const ExportRequest& request) {
  const std::string name_space = request.name_space.empty() ? kHeaderNamespace : request.name_space;
  if (request.portfolio) {
    out << portfolios_as_header(recorded_portfolios(database, request.filter, *request.portfolio), database,
                                name_space, request.note);
    return;
  }
  out << best_as_header(groups_that_ran(database, request), database, name_space, request.note);
}

}  // namespace tiletune
