#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/export.h"
#include "output/views.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The best kernels of problems that were worked on under the same conditions, on the same GPU.
struct Winners {
  const RankingGroup* first;
  std::vector<RankedTrial> best;

  TrialRows rows() const {
    return [this](const auto& visit) { std::ranges::for_each(best, visit); };
  }
};

std::vector<Winners> winners_of(const std::vector<RankingGroup>& groups, const Database& database) {
  std::vector<Winners> all;
  for (const RankingGroup& group : groups) {
    std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    auto place = std::find_if(all.begin(), all.end(), [&](const Winners& winners) {
      const RankingGroup& other = *winners.first;
      return other.gpu == group.gpu && other.source == group.source &&
             other.unmarked().conditions == group.unmarked().conditions &&
             other.definition == group.definition;
    });
    if (place == all.end()) place = all.insert(place, {&group, {}});
    place->best.push_back(read_row(database, leaders.front()));
    place->best.back().others.assign(leaders.begin() + 1, leaders.end());
  }
  return all;
}

/// The geometric mean over the problems that have a baseline.
struct MeanOfBaseline {
  std::size_t problems = 0;
  std::optional<double> percent = {};
};

MeanOfBaseline mean_of_baseline(const Winners& winners) {
  MeanOfBaseline mean;
  double sum = 0;
  for (const RankedTrial& row : winners.best) {
    const auto& percent = row.trial.percent_of_baseline;
    if (!percent || *percent <= 0) continue;
    sum += std::log(*percent);
    ++mean.problems;
  }
  if (mean.problems > 0) mean.percent = std::exp(sum / static_cast<double>(mean.problems));
  return mean;
}

Field tied_with_field() {
  return {{"tied_with", CellType::integer, ColumnOf::all, nullptr, drop_order("tied_with")},
          "",
          [](const RankedTrial& row) { return count_cell(row.others.size()); }};
}

ViewPage page_of(const Winners& winners) {
  VaryingParameters parameters(VaryingParameters::AllAlike::in_rows);
  Throughput throughput;
  std::size_t unverified = 0;
  for (const RankedTrial& row : winners.best) {
    parameters.add(row.trial);
    throughput.add(row.trial);
    unverified += is_unverified(row.trial) ? 1 : 0;
  }
  TextTable table = trial_table(
      {field_by_name("problem"), field_by_name("template"), parameters.field(),
       time_field(winners.first->source), result_field(unverified > 0), field_by_name(throughput.column()),
       field_by_name("baseline"), field_by_name("baseline_us"), field_by_name("percent_of_baseline"),
       tied_with_field(), field_by_name("noise_floor_percent")},
      winners.rows());
  table.hide_empty_columns();
  Lines lines = parameters.legend();
  for (std::string& line : unverified_lines(unverified)) lines.push_back(std::move(line));
  if (std::ranges::any_of(winners.best, [](const RankedTrial& row) { return !row.others.empty(); }))
    lines.emplace_back(
        "tied_with: how many others cannot be distinguished from it; tiletune rank lists them");
  const MeanOfBaseline mean = mean_of_baseline(winners);
  if (!mean.percent) return {std::move(table), std::move(lines)};
  lines.push_back(fmt::format("geometric mean over {}: {:.1f}% of the faster baseline",
                              counted(mean.problems, "problem"), *mean.percent));
  const std::size_t without = winners.best.size() - mean.problems;
  if (without > 0) lines.back() += fmt::format("; {} more had none to compare with", without);
  return {std::move(table), std::move(lines)};
}

void add_facts(Json& facts, const Winners& winners, const Database& database) {
  const MeanOfBaseline mean = mean_of_baseline(winners);
  facts["geometric_mean_percent_of_baseline"] = or_null(mean.percent);
  facts["problems_with_baseline"] = mean.problems;
  facts["best"] = Json::array();
  for (const RankedTrial& row : winners.best) {
    Json& best = facts["best"].emplace_back(to_json(row.trial));
    best["verified"] = or_null(verified_of(row.trial));
    best["tied_with"] = Json::array();
    for (const RankedRow& other : row.others)
      best["tied_with"].push_back(
          columns_json(database.row(other.id),
                       {"template", "parameters", "median_us", "ci_low_us", "ci_high_us", "predicted_us"}));
  }
}

}  // namespace

ViewDocument winners_view(const std::vector<RankingGroup>& groups, const Database& database) {
  std::vector<Field> fields = comparable_fields(
      {"template", "parameters", "median_us", "ci_low_us", "ci_high_us", "predicted_us", "tflops", "gbs",
       "baseline", "baseline_us", "percent_of_baseline", "noise_floor_percent", "verified"});
  fields.insert(fields.end() - 1, tied_with_field());
  ViewDocument view{"winners", "", columns_of(fields)};
  std::vector<Winners> all = winners_of(groups, database);
  if (all.empty()) view.footer = "No row that ran can be ranked.\n";
  add_sections(view, std::move(all), [&database, fields](const Winners& winners) {
    ViewSection section("best of each problem", *winners.first);
    section.add_facts = [&](Json& facts) { add_facts(facts, winners, database); };
    section.page = [&](std::size_t) { return page_of(winners); };
    section.rows = cells_of(fields, winners.rows());
    return section;
  });
  return view;
}

}  // namespace tiletune
