#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "output/cell_text.h"
#include "output/export.h"
#include "output/group_table.h"
#include "output/views.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The best kernel of a problem, and those that cannot be distinguished from it.
struct Winner {
  Trial trial;
  std::vector<RankedRow> tied;
};

/// Problems that were worked on under the same conditions, on the same GPU.
struct Winners {
  const RankingGroup* first;
  std::vector<Winner> of_problems;
};

std::vector<Winners> winners_of(const std::vector<RankingGroup>& groups, const Database& database) {
  std::vector<Winners> all;
  for (const RankingGroup& group : groups) {
    std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    auto place = std::find_if(all.begin(), all.end(), [&](const Winners& winners) {
      const RankingGroup& other = *winners.first;
      return other.gpu == group.gpu && other.source == group.source && other.conditions == group.conditions;
    });
    if (place == all.end()) place = all.insert(place, {&group, {}});
    Winner winner{database.row(leaders.front().id), {}};
    leaders.erase(leaders.begin());
    winner.tied = std::move(leaders);
    place->of_problems.push_back(std::move(winner));
  }
  return all;
}

/// Over the problems that have a baseline; how many these are is added up in `problems`.
std::optional<double> mean_percent_of_baseline(const Winners& winners, std::size_t& problems) {
  double sum = 0;
  for (const Winner& winner : winners.of_problems) {
    const auto& percent = winner.trial.percent_of_baseline;
    if (!percent || *percent <= 0) continue;
    sum += std::log(*percent);
    ++problems;
  }
  if (problems == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(problems));
}

std::size_t unverified_rows(const Winners& winners) {
  return static_cast<std::size_t>(
      std::count_if(winners.of_problems.begin(), winners.of_problems.end(),
                    [](const Winner& winner) { return is_unverified(winner.trial); }));
}

TextTable winners_table(const Winners& winners, const VaryingParameters& parameters) {
  Throughput throughput;
  for (const Winner& winner : winners.of_problems) throughput.add(winner.trial);
  const std::vector<Field> fields =
      fields_by_name({throughput.column(), "baseline", "baseline_us", "percent_of_baseline"});
  std::vector<ViewColumn> columns{{"problem"},
                                  {"template"},
                                  {"parameters"},
                                  {time_column(winners.first->source), CellType::real},
                                  {"result"}};
  for (const Field& field : fields) columns.push_back(column_of(field));
  columns.push_back({"tied_with", CellType::integer});
  columns.push_back({"noise_floor_percent", CellType::real});
  for (ViewColumn& column : columns) column.drop_order = drop_order(column.name);
  const bool any_unverified = unverified_rows(winners) > 0;
  TextTable table = table_of(columns, [&](const auto& visit) {
    for (const auto& [trial, tied] : winners.of_problems) {
      ViewRow row{trial.problem, trial.template_name, parameters.of(trial), *ranking_time_us(trial),
                  any_unverified ? Cell(verified_text(trial)) : Cell()};
      for (Cell& cell : cells_of({trial, 0, false}, fields)) row.push_back(std::move(cell));
      row.push_back(count_cell(tied.size()));
      row.push_back(column_by_name("noise_floor_percent").read(trial));
      visit(row);
    }
  });
  table.hide_empty_columns();
  return table;
}

std::vector<std::string> lines_under(const Winners& winners, const VaryingParameters& parameters) {
  std::vector<std::string> lines = parameters.legend();
  for (std::string& line : unverified_lines(unverified_rows(winners))) lines.push_back(std::move(line));
  const bool tied = std::any_of(winners.of_problems.begin(), winners.of_problems.end(),
                                [](const Winner& winner) { return !winner.tied.empty(); });
  if (tied)
    lines.emplace_back(
        "tied_with: how many others cannot be distinguished from it; tiletune rank lists them");
  std::size_t with_baseline = 0;
  const auto mean = mean_percent_of_baseline(winners, with_baseline);
  if (!mean) return lines;
  std::string line = fmt::format("geometric mean over {} problem{}: {:.1f}% of the faster baseline",
                                 with_baseline, with_baseline == 1 ? "" : "s", *mean);
  const std::size_t without = winners.of_problems.size() - with_baseline;
  if (without > 0) line += fmt::format("; {} more had none to compare with", without);
  lines.push_back(std::move(line));
  return lines;
}

ViewPage page_of(const Winners& winners) {
  VaryingParameters parameters(VaryingParameters::AllAlike::in_rows);
  for (const Winner& winner : winners.of_problems) parameters.add(winner.trial);
  return {{winners_table(winners, parameters)}, lines_under(winners, parameters)};
}

Json tied_json(const std::vector<RankedRow>& tied, const Database& database) {
  Json list = Json::array();
  for (const RankedRow& row : tied) {
    const Json all = to_json(database.row(row.id));
    Json one = Json::object();
    for (const char* name :
         {"template", "parameters", "median_us", "ci_low_us", "ci_high_us", "predicted_us"})
      one[name] = all.at(name);
    list.push_back(std::move(one));
  }
  return list;
}

void add_facts(Json& facts, const Winners& winners, const Database& database) {
  std::size_t with_baseline = 0;
  facts["geometric_mean_percent_of_baseline"] = or_null(mean_percent_of_baseline(winners, with_baseline));
  facts["problems_with_baseline"] = with_baseline;
  facts["best"] = Json::array();
  for (const Winner& winner : winners.of_problems) {
    Json best = to_json(winner.trial);
    best["verified"] = or_null(verified_of(winner.trial));
    best["tied_with"] = tied_json(winner.tied, database);
    facts["best"].push_back(std::move(best));
  }
}

/// The columns of CSV but for tied_with, which stands before the last.
std::vector<Field> csv_fields() {
  const auto leading = comparable_columns();
  std::vector<std::string> names(leading.begin(), leading.end());
  names.insert(names.end(),
               {"template", "parameters", "median_us", "ci_low_us", "ci_high_us", "predicted_us", "tflops",
                "gbs", "baseline", "baseline_us", "percent_of_baseline", "noise_floor_percent", "verified"});
  return fields_by_name(names);
}

}  // namespace

ViewDocument winners_view(const std::vector<RankingGroup>& groups, const Database& database) {
  const std::vector<Field> fields = csv_fields();
  ViewDocument view{"winners", "", columns_of(fields, ColumnOf::csv)};
  view.columns.insert(view.columns.end() - 1, {"tied_with", CellType::integer, ColumnOf::csv});
  std::vector<Winners> all = winners_of(groups, database);
  if (all.empty()) view.footer = "No row that ran can be ranked.\n";
  add_sections(view, std::move(all), [&database, fields](const Winners& winners) {
    ViewSection section("best of each problem", *winners.first);
    section.add_facts = [&](Json& facts) { add_facts(facts, winners, database); };
    section.page = [&] { return page_of(winners); };
    section.rows = [&](const auto& visit) {
      for (const Winner& winner : winners.of_problems) {
        ViewRow row = cells_of({winner.trial, 0, false}, fields);
        row.insert(row.end() - 1, count_cell(winner.tied.size()));
        visit(row);
      }
    };
    return section;
  });
  return view;
}

}  // namespace tiletune
