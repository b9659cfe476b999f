#include "output/report/report.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/comparison.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/report/survey.h"
#include "output/views.h"
#include "rank/compare.h"
#include "rank/ranking.h"
#include "tune/ceilings.h"

namespace tiletune {

// The page with its style and scripts, up to its data and after it: page_text.cpp.in.
extern const std::string_view kPageBeforeData, kPageAfterData;
extern const bool kPageHasCharts;

using Json = nlohmann::ordered_json;

Json rounded(const Json& value) {
  if (!value.is_number_float()) return value;
  const double number = value.get<double>();
  if (!std::isfinite(number)) return nullptr;
  return std::strtod(fmt::format("{:.5g}", number).c_str(), nullptr);
}

Json packed_column(const std::vector<Json>& values) {
  if (std::ranges::all_of(values, &Json::is_null)) return nullptr;
  if (std::ranges::count(values, values.front()) == static_cast<std::ptrdiff_t>(values.size()))
    return {{"all", values.front()}};
  if (std::ranges::none_of(values, &Json::is_string)) return {{"values", values}};
  std::map<std::string, int> places;
  Json names = Json::array();
  Json indices = Json::array();
  for (const Json& value : values) {
    const std::string key = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!value.is_null() && places.try_emplace(key, static_cast<int>(names.size())).second)
      names.push_back(value);
    indices.push_back(value.is_null() ? -1 : places.at(key));
  }
  return {{"names", std::move(names)}, {"values", std::move(indices)}};
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
  PageRows() : columns_{{"rank"}, {"tied"}} {
    for (const char* name : kColumns) columns_.push_back({name, &column_by_name(name)});
  }

  void add(const Trial& trial, const Json& rank, bool tied) {
    columns_[0].values.push_back(rank);
    columns_[1].values.emplace_back(tied);
    for (NamedColumn& column : columns_) {
      if (column.column == nullptr) continue;
      const Json cell = json_of(column.column->read(trial), column.column->type);
      column.values.push_back(cell == "" ? Json() : rounded(cell));  // an empty text says no more than null
    }
    add_parameters(trial);
    for (const char* name : kProvenance) {
      const Cell cell = column_by_name(name).read(trial);
      const auto* text = std::get_if<std::string>(&cell);
      if (text != nullptr && !text->empty()) provenance_[name].insert(*text);
    }
    if (first_recorded_at_.empty() || trial.recorded_at < first_recorded_at_)
      first_recorded_at_ = trial.recorded_at;
    last_recorded_at_ = std::max(last_recorded_at_, trial.recorded_at);
  }

  void write(Json& group) const {
    group["recorded"] = {{"from", first_recorded_at_}, {"to", last_recorded_at_}};
    for (const auto& [column, texts] : provenance_) group["recorded"][column] = texts;
    group["rows"] = {{"count", size()}};
    for (const NamedColumn& column : columns_) group["rows"][column.name] = packed_column(column.values);
    group["parameters"] = Json::array();
    for (const NamedColumn& parameter : parameters_) {
      std::vector<Json> values = parameter.values;
      values.resize(size());
      Json column = packed_column(values);
      if (column.is_null()) continue;
      column["name"] = parameter.name;
      group["parameters"].push_back(std::move(column));
    }
  }

 private:
  struct NamedColumn {
    std::string name;
    const Column* column = nullptr;  ///< of the database
    std::vector<Json> values = {};
  };

  std::size_t size() const { return columns_.front().values.size(); }

  void add_parameters(const Trial& trial) {
    const Json parameters = parsed_cell(trial.parameters);
    if (!parameters.is_object()) return;
    for (const auto& [name, value] : parameters.items()) {
      auto found = std::ranges::find(parameters_, name, &NamedColumn::name);
      if (found == parameters_.end() && parameters_.size() == kMostParameters) continue;
      if (found == parameters_.end()) found = parameters_.insert(found, {name});
      found->values.resize(size() - 1);
      found->values.push_back(value.is_primitive() ? value : Json(value_text(value)));
    }
  }

  std::vector<NamedColumn> columns_;
  std::vector<NamedColumn> parameters_;
  std::map<std::string, std::set<std::string>> provenance_;  ///< texts by column
  std::string first_recorded_at_;
  std::string last_recorded_at_;
};

template <typename Value>
const Value& of_group(const std::map<Comparable, Value>& values, const Comparable& group) {
  static const Value kNone{};
  const auto found = values.find(group.unmarked());
  return found == values.end() ? kNone : found->second;
}

/// Counts the configurations near the best choice, including rows that the page does not show.
Json near_best(const std::vector<TimedRow>& timed, std::int64_t best) {
  const auto found = std::ranges::find(timed, best, &TimedRow::id);
  Json list = Json::array();
  if (found == timed.end()) return list;
  for (const int percent : {1, 2, 5, 10, 20, 50, 100, 400, 900}) {
    const double most_us = found->time_us * (1 + percent / 100.0);
    const auto is_near = [&](const TimedRow& row) { return row.time_us <= most_us; };
    list.push_back({{"percent", percent}, {"count", std::count_if(timed.begin(), timed.end(), is_near)}});
  }
  return list;
}

/// Times of the rows that the page does not show, for its histogram: [us to three digits, rows] of those that
/// were measured in full and of those that were screened out.
Json times_left_out(const std::vector<TimedRow>& timed, const std::set<std::int64_t>& shown) {
  std::map<double, std::int64_t> counts[2];
  for (const TimedRow& row : timed) {
    if (shown.contains(row.id)) continue;
    const double unit = std::pow(10.0, std::floor(std::log10(row.time_us)) - 2);
    const double rounded = std::round(row.time_us / unit) * unit;
    ++counts[row.screened_out ? 1 : 0][std::isfinite(rounded) ? rounded : row.time_us];
  }
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
  const auto found = survey.outcomes.find(without_cache(group.unmarked()));
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

/// One chooseable set of the page: what its rows share, its rows (ranked ones first, then those screened out,
/// together at most `limit` beside the baselines; 0: all), importance, history and outcomes.
Json group_data(const RankingGroup& group, const Database& database, const Survey& survey,
                std::size_t limit) {
  const GroupFacts facts = facts_of(group, database);
  Json data{{"gpu", group.gpu},
            {"problem", group.problem},
            {"source", name(group.source)},
            {"conditions", group.conditions},
            {"cache", group.cache},
            {"banner", group_banner(group)}};
  add_facts(data, facts);
  data["lines"] = lines_of(facts);
  add_ceilings(data, facts);
  add_rows(data, group, database, survey, limit);
  data["importance"] = importance_json(of_group(survey.importance, group), "shares");
  for (Json& one : data["importance"])
    for (Json& share : one["shares"])
      for (Json& value : share) value = rounded(value);
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
                     {"tflops", rounded(or_null(trial.tflops))},
                     {"speedup_over_first", rounded(rung.speedup_over_first)},
                     {"speedup_over_previous", rounded(rung.speedup_over_previous)}});
  }
  return rungs;
}

/// The comparison of the GPUs that rows of the filter are of, as `compare --format json` writes it, with
/// "notes" of each problem besides: lines of text; null where there are not two.
Json compared_gpus(const Database& database, const TrialFilter& filter, const GpuAlias& alias) {
  const std::size_t gpus = database.distinct("gpu").size();
  if (gpus < 2 || gpus > kMostSides) return nullptr;
  const Databases databases({&database});
  const Comparison comparison = compare_databases(databases, {CompareBy::gpu, filter, {}, {}}, alias);
  if (comparison.sides.size() < 2) return nullptr;
  Json document{{"tiletune", kVersion}};
  const ViewDocument view = comparison_view(comparison, databases);
  view.add_head(document);
  document["problems"] = Json::array();
  for (std::size_t i = 0; i < view.size; ++i) {
    const ViewSection section = view.section(i);
    Json& problem = document["problems"].emplace_back(section.facts);
    section.add_facts(problem);
    problem["notes"] = notes_on(comparison, comparison.problems[i]);
  }
  return document;
}

}  // namespace

Json report_data(const Database& database, const TrialFilter& filter, const ReportOptions& options) {
  Survey all = survey(database, filter);
  const std::vector<LadderStep> steps = ladder_steps(database);
  const std::vector<Ladder> ladders =
      steps.empty() ? std::vector<Ladder>() : build_ladders(all.ranking, steps);
  std::vector<RankingGroup> groups = rank_rows(all.ranking);
  all.ranking = RankingRows();
  // Groups of which nothing ran have no ranking, but outcomes all the same.
  for (const auto& outcomes : all.outcomes) {
    const auto has_rows = [&](const auto& group) {
      return without_cache(group.unmarked()) == outcomes.first;
    };
    if (std::ranges::none_of(groups, has_rows)) groups.push_back({outcomes.first, {}});
  }
  Json document{{"tiletune", kVersion},
                {"created_at", options.created_at},
                {"database", database.file().filename().string()},
                {"command", options.command},
                {"earlier_source_rows", database.rows_hidden_by(filter)},
                {"sweeps", Json::array()},
                {"columns", Json::array()},
                {"comparison", compared_gpus(database, filter, options.alias)},
                {"groups", Json::array()}};
  for (const SweepRecord& sweep : database.sweeps()) {
    if (filter.sweep_id && sweep.id != *filter.sweep_id) continue;
    document["sweeps"].push_back(to_json(sweep));
    document["sweeps"].back().erase("config");
  }
  for (const char* name : kColumns)
    document["columns"].push_back({{"name", name}, {"meaning", column_by_name(name).meaning}});
  for (const RankingGroup& group : groups) {
    Json data = group_data(group, database, all, options.limit);
    data["ladder"] = nullptr;
    for (const Ladder& ladder : ladders)
      if (static_cast<const Comparable&>(ladder) == group) data["ladder"] = ladder_data(ladder, database);
    document["groups"].push_back(std::move(data));
  }
  return document;
}

bool report_has_charts() { return kPageHasCharts; }

ReportSize write_report(std::ostream& out, const Database& database, const TrialFilter& filter,
                        const ReportOptions& options) {
  const Json data = report_data(database, filter, options);
  ReportSize size;
  for (const auto& group : data["groups"]) {
    ++size.groups;
    size.configurations += group["timed"].get<std::size_t>();
    size.shown += group["shown"].get<std::size_t>();
  }
  if (size.groups == 0) return size;
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  out << kPageBeforeData;
  // JSON that may stand in a <script> element: without '<' there is neither an end of the element nor a
  // comment, and without '&' nothing that XML would read. Outside of strings JSON has neither. A browser
  // obeys what reorders text, so the page shows its escapes.
  for (const char c : with_escaped_controls(text, "\\\\u")) {
    if (c == '<' || c == '>' || c == '&')
      out << fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out << c;
  }
  out << kPageAfterData;
  return size;
}

}  // namespace tiletune
