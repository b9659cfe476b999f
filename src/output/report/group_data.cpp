#include "output/report/group_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "output/cell_text.h"
#include "output/fields.h"
#include "output/group_facts.h"
#include "output/view.h"
#include "store/columns.h"
#include "tune/ceilings.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Each different text once; -1 stands for null.
Json by_name(const std::vector<Json>& values) {
  std::map<std::string, int> places;
  Json names = Json::array();
  Json indices = Json::array();
  for (const Json& value : values) {
    if (value.is_null()) {
      indices.push_back(-1);
      continue;
    }
    const std::string key = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto [place, is_new] = places.try_emplace(key, static_cast<int>(names.size()));
    if (is_new) names.push_back(value);
    indices.push_back(place->second);
  }
  return {{"names", std::move(names)}, {"values", std::move(indices)}};
}

}  // namespace

Json rounded(const Json& value) {
  if (!value.is_number_float()) return value;
  const double number = value.get<double>();
  if (!std::isfinite(number)) return nullptr;
  return std::strtod(fmt::format("{:.5g}", number).c_str(), nullptr);
}

Json packed_column(const std::vector<Json>& values) {
  if (std::all_of(values.begin(), values.end(), [](const Json& value) { return value.is_null(); }))
    return nullptr;
  if (std::all_of(values.begin(), values.end(), [&](const Json& value) { return value == values.front(); }))
    return {{"all", values.front()}};
  if (std::any_of(values.begin(), values.end(), [](const Json& value) { return value.is_string(); }))
    return by_name(values);
  return {{"values", values}};
}

namespace {

/// What the page shows or draws of a row, as the database names it.
constexpr std::array kColumns{"kind",
                              "template",
                              "outcome",
                              "median_us",
                              "predicted_us",
                              "ci_low_us",
                              "ci_high_us",
                              "sample_count",
                              "timed_in",
                              "tflops",
                              "gbs",
                              "percent_of_baseline",
                              "percent_of_peak",
                              "percent_of_ceiling",
                              "percent_of_copy",
                              "bound",
                              "arithmetic_intensity",
                              "registers",
                              "spill_bytes",
                              "static_shared_bytes",
                              "dynamic_shared_bytes",
                              "occupancy",
                              "occupancy_limiter",
                              "sm_clock_mhz",
                              "power_w",
                              "relative_error",
                              "warnings"};
/// Where the numbers come from: every different text of the rows shown.
constexpr std::array kProvenance{"driver_version", "cuda_version", "nvrtc_version", "architecture", "host"};
/// Other people's rows may each have a name of their own.
constexpr std::size_t kMostParameters = 100;
/// The most steps that a curve shows.
constexpr std::size_t kMostSteps = 200;

/// The rows of the page, by column.
class PageRows {
 public:
  PageRows() : columns_(kColumns.size()) {
    for (const char* name : kColumns) fields_.push_back(&column_by_name(name));
    for (const char* name : kProvenance) provenance_columns_.push_back(&column_by_name(name));
  }

  void add(const Trial& trial, const Json& rank, bool tied) {
    ranks_.push_back(rank);
    ties_.emplace_back(tied);
    for (std::size_t i = 0; i < fields_.size(); ++i)
      columns_[i].push_back(rounded(shown(json_of(fields_[i]->read(trial), fields_[i]->type))));
    add_parameters(trial);
    add_provenance(trial);
  }

  std::size_t size() const { return ranks_.size(); }

  void write(Json& group) const {
    group["recorded"] = {{"from", first_recorded_at_}, {"to", last_recorded_at_}};
    for (const auto& [column, texts] : provenance_) group["recorded"][column] = texts;
    Json rows{{"count", size()}, {"rank", packed_column(ranks_)}, {"tied", packed_column(ties_)}};
    for (std::size_t i = 0; i < kColumns.size(); ++i) rows[kColumns[i]] = packed_column(columns_[i]);
    group["rows"] = std::move(rows);
    group["parameters"] = Json::array();
    for (const ParameterColumn& parameter : parameters_) {
      std::vector<Json> values = parameter.values;
      values.resize(size());
      Json column = packed_column(values);
      if (column.is_null()) continue;
      column["name"] = parameter.name;
      group["parameters"].push_back(std::move(column));
    }
  }

 private:
  struct ParameterColumn {
    std::string name;
    std::vector<Json> values;
  };

  /// An empty text says no more than null.
  static Json shown(const Json& cell) { return cell == "" ? Json() : cell; }

  void add_parameters(const Trial& trial) {
    const Json parameters = parsed_cell(trial.parameters);
    if (!parameters.is_object()) return;
    for (const auto& [name, value] : parameters.items()) {
      auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                [&, &known = name](const ParameterColumn& p) { return p.name == known; });
      if (found == parameters_.end() && parameters_.size() == kMostParameters) continue;
      if (found == parameters_.end()) found = parameters_.insert(found, {name, {}});
      found->values.resize(size() - 1);
      found->values.push_back(value.is_primitive() ? value : Json(value_text(value)));
    }
  }

  void add_provenance(const Trial& trial) {
    for (const Column* column : provenance_columns_) {
      const Cell cell = column->read(trial);
      const auto* text = std::get_if<std::string>(&cell);
      if (text != nullptr && !text->empty()) provenance_[column->name].insert(*text);
    }
    if (first_recorded_at_.empty() || trial.recorded_at < first_recorded_at_)
      first_recorded_at_ = trial.recorded_at;
    last_recorded_at_ = std::max(last_recorded_at_, trial.recorded_at);
  }

  std::vector<const Column*> fields_;
  std::vector<std::vector<Json>> columns_;
  std::vector<Json> ranks_;
  std::vector<Json> ties_;
  std::vector<ParameterColumn> parameters_;
  std::vector<const Column*> provenance_columns_;
  std::map<std::string, std::set<std::string>> provenance_;  ///< texts by column
  std::string first_recorded_at_;
  std::string last_recorded_at_;
};

template <typename Value>
const Value& of_group(const std::map<Comparable, Value>& values, const Comparable& group) {
  static const Value kNone{};
  const auto found = values.find(group);
  return found == values.end() ? kNone : found->second;
}

/// Counts the configurations near the best choice, including rows that the page does not show.
Json near_best(const std::vector<TimedRow>& timed, std::int64_t best) {
  const auto is_best = [&](const TimedRow& row) { return row.id == best; };
  const auto found = std::find_if(timed.begin(), timed.end(), is_best);
  Json list = Json::array();
  if (found == timed.end()) return list;
  for (const int percent : {1, 2, 5, 10, 20, 50, 100, 400, 900}) {
    const double most_us = found->time_us * (1 + percent / 100.0);
    const auto is_near = [&](const TimedRow& row) { return row.time_us <= most_us; };
    list.push_back({{"percent", percent}, {"count", std::count_if(timed.begin(), timed.end(), is_near)}});
  }
  return list;
}

double to_three_digits(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  const double rounded = std::round(value / unit) * unit;
  return std::isfinite(rounded) ? rounded : value;
}

/// Times of the rows that the page does not show, for its histogram: [us to three digits, rows] of those that
/// were measured in full and of those that were screened out.
Json times_left_out(const std::vector<TimedRow>& timed, const std::set<std::int64_t>& shown) {
  std::map<double, std::int64_t> counts[2];
  for (const TimedRow& row : timed)
    if (!shown.contains(row.id)) ++counts[row.screened_out ? 1 : 0][to_three_digits(row.time_us)];
  return {{"ok", counts[0]}, {"screened_out", counts[1]}};
}

void add_rows(Json& data, const RankingGroup& group, const Database& database, const Survey& survey,
              std::size_t limit) {
  PageRows rows;
  std::set<std::int64_t> shown;
  std::size_t kernels = 0;
  const auto has_room = [&] { return limit == 0 || kernels < limit; };
  for (const RankedRow& row : group.rows) {
    if (row.rank != 0 && !has_room()) continue;
    rows.add(database.row(row.id), row.rank == 0 ? Json() : Json(row.rank), row.tied);
    if (row.rank != 0) ++kernels;
    shown.insert(row.id);
  }
  const std::vector<TimedRow>& timed = of_group(survey.timed, group);
  for (const TimedRow& row : timed) {
    if (!row.screened_out) continue;
    if (!has_room()) break;
    rows.add(database.row(row.id), nullptr, false);
    ++kernels;
    shown.insert(row.id);
  }
  data["timed"] = timed.size();
  data["shown"] = kernels;
  const auto best = std::ranges::find_if(group.rows, [](const RankedRow& row) { return row.rank != 0; });
  data["leaders"] = std::ranges::count(group.rows, 1, &RankedRow::rank);
  data["near_best"] = best == group.rows.end() ? Json::array() : near_best(timed, best->id);
  data["times_left_out"] = times_left_out(timed, shown);
  rows.write(data);
}

Json importance_data(const std::map<std::string, Importance>& by_template) {
  Json list = importance_json(by_template, "shares");
  for (Json& one : list) {
    for (Json& share : one["shares"]) {
      for (Json& value : share) value = rounded(value);
    }
  }
  return list;
}

Json history_data(const History& history, const Database& database) {
  if (history.steps.empty()) return nullptr;
  std::vector<Json> templates;
  Json data{{"evaluations", history.evaluations}, {"without_cost", history.without_cost},
            {"cost_s", rounded(history.cost_s)},  {"steps", history.steps.size()},
            {"evaluation", Json::array()},        {"at_s", Json::array()},
            {"best_us", Json::array()},           {"parameters", Json::array()}};
  for (const HistoryStep& step : thinned(history.steps, kMostSteps)) {
    const Trial trial = database.row(step.id);
    data["evaluation"].push_back(step.evaluation);
    data["at_s"].push_back(rounded(step.cost_s));
    data["best_us"].push_back(rounded(step.best_us));
    data["parameters"].push_back(human_text(trial.parameters, CellType::json));
    templates.emplace_back(trial.template_name);
  }
  data["template"] = packed_column(templates);
  return data;
}

/// Rows that were not timed have no state of the cache.
void add_outcomes(Json& data, const RankingGroup& group, const Survey& survey) {
  data["outcomes"] = Json::array();
  data["verified"] = 0;
  data["failures"] = Json::array();
  data["more_failures"] = 0;
  const auto found = survey.outcomes.find(without_cache(group));
  if (found == survey.outcomes.end()) return;
  for (const auto& [outcome, count] : found->second.counts)
    data["outcomes"].push_back({{"outcome", name(outcome)}, {"count", count}});
  data["verified"] = found->second.verified;
  for (const auto& [what, failures] : found->second.reasons) {
    const auto& [outcome, template_name, pattern] = what;
    data["failures"].push_back({{"outcome", name(outcome)},
                                {"template", template_name},
                                {"reason", failures.reason},
                                {"count", failures.count},
                                {"example", failures.parameters}});
  }
  data["more_failures"] = found->second.more_failures;
}

void add_ceilings(Json& data, const GroupFacts& facts) {
  data["ceilings"] = nullptr;
  if (!facts.floor || !(facts.floor->ffma_tflops > 0) || !(facts.floor->copy_gbs > 0)) return;
  const double tflops = ceiling_of(facts.pipe, *facts.floor);
  const bool is_known = tflops > 0;
  data["ceilings"] = {{"arithmetic", pipe_text(is_known ? facts.pipe : "fp32")},
                      {"arithmetic_tflops", rounded(is_known ? tflops : facts.floor->ffma_tflops)},
                      {"copy_gbs", rounded(facts.floor->copy_gbs)},
                      {"shared_gbs", rounded(facts.floor->shared_gbs)}};
}

}  // namespace

Json report_columns() {
  Json columns = Json::array();
  for (const char* name : kColumns) {
    columns.push_back({{"name", name}, {"meaning", column_by_name(name).meaning}});
  }
  return columns;
}

Json group_data(const RankingGroup& group, const Database& database, const Survey& survey,
                std::size_t limit) {
  const GroupFacts facts = facts_of(group, database);
  Json data{{"gpu", group.gpu},
            {"problem", group.problem},
            {"source", name(group.source)},
            {"conditions", group.conditions},
            {"cache", group.cache},
            {"banner", source_banner(group.source, group.gpu)}};
  add_facts(data, facts);
  data["lines"] = lines_of(facts);
  add_ceilings(data, facts);
  add_rows(data, group, database, survey, limit);
  data["importance"] = importance_data(of_group(survey.importance, group));
  data["history"] = history_data(of_group(survey.histories, group), database);
  add_outcomes(data, group, survey);
  return data;
}

Json ladder_data(const Ladder& ladder, const Database& database) {
  Json rungs = Json::array();
  for (const LadderRung& rung : ladder.rungs) {
    const Trial trial = database.row(rung.id);
    rungs.push_back({{"template", rung.step.empty() ? trial.template_name : rung.step},
                     {"kind", trial.kind},
                     {"verified", !is_unverified(trial)},
                     {"parameters", parameters_text(trial)},
                     {"time_us", rounded(ranking_time_us(trial).value_or(0))},
                     {"tflops", trial.tflops ? rounded(*trial.tflops) : Json()},
                     {"speedup_over_first", rounded(rung.speedup_over_first)},
                     {"speedup_over_previous", rounded(rung.speedup_over_previous)}});
  }
  return rungs;
}

}  // namespace tiletune
