#include "output/report/survey.h"

#include <nlohmann/json.hpp>
#include <set>

#include "output/cell_text.h"
#include "output/views.h"

namespace tiletune {

/// What has more values names its rows; it is nothing to choose.
constexpr std::size_t kMostValues = 1000;

void Importance::add(const nlohmann::ordered_json& parameters, double time_us) {
  const double time = std::log(time_us);
  if (total_.count == 0) first_ = time;
  const double y = time - first_;
  ++total_.count;
  total_.sum += y;
  squares_ += y * y;
  for (const auto& [name, value] : parameters.items()) {
    std::map<std::string, Sum>& by_value = by_parameter_[name];
    if (by_value.size() > kMostValues) continue;
    Sum& sum = by_value[value_text(value)];
    ++sum.count;
    sum.sum += y;
  }
}

std::vector<ParameterImportance> Importance::shares() const {
  std::vector<ParameterImportance> shares;
  const auto rows = static_cast<double>(total_.count);
  const double total = squares_ - total_.sum * total_.mean();
  for (const auto& [name, values] : by_parameter_) {
    const auto kinds = static_cast<double>(values.size());
    if (values.size() < 2 || values.size() > kMostValues || kinds >= rows || total <= 0) continue;
    double between = 0;
    for (const auto& [value, sum] : values) {
      const double distance = sum.mean() - total_.mean();
      between += static_cast<double>(sum.count) * distance * distance;
    }
    const double within = std::max(0.0, total - between) / (rows - kinds);
    const double share = std::clamp((between - (kinds - 1) * within) / total, 0.0, 1.0);
    const auto slower = [](const auto& a, const auto& b) { return a.second.mean() < b.second.mean(); };
    const auto [best, worst] = std::minmax_element(values.begin(), values.end(), slower);
    shares.push_back(
        {name, share, values.size(), best->first, std::exp(worst->second.mean() - best->second.mean())});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return shares;
}

nlohmann::ordered_json importance_json(const std::map<std::string, Importance>& by_template,
                                       const char* name) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [template_name, importance] : by_template) {
    nlohmann::ordered_json shares;
    for (const ParameterImportance& share : importance.shares())
      shares.push_back({{"parameter", share.name},
                        {"share", share.share},
                        {"values", share.values},
                        {"best", share.best},
                        {"worst_to_best", share.worst_to_best}});
    if (!shares.empty())
      list.push_back({{"template", template_name}, {"rows", importance.rows()}, {name, std::move(shares)}});
  }
  return list;
}

namespace {

constexpr std::size_t kMostReasons = 200;

/// The latest row of a configuration decides what is known of it; of the others nothing is shown.
struct CurrentRow : DatedRow {
  const Comparable* what = nullptr;
  Identity identity{};
  double time_us = 0;  ///< 0: none
  bool screened_out = false;
};

std::optional<double> time_of(const Trial& trial) {
  if (trial.outcome != Outcome::screened_out) return ranking_time_us(trial);
  const bool known = trial.median_us && std::isfinite(*trial.median_us) && *trial.median_us > 0;
  return known ? trial.median_us : std::nullopt;
}

/// The first pass: everything but what needs parameters taken apart.
class Reader {
 public:
  Reader(Survey& survey, SweepOrder order) : survey_(survey), order_(std::move(order)) {}

  void add(std::int64_t id, const Trial& trial) {
    survey_.ranking.add(id, trial);
    histories_.add(id, trial);
    if (trial.outcome == Outcome::dispatched || trial.kind != "kernel") return;
    choose_group(trial);
    add_outcome(trial);
    CurrentRow& row = rows_.emplace_back(CurrentRow{DatedRow(id, trial, order_)});
    row.what = group_;
    row.identity = identity_of(trial.template_name, trial.parameters);
    row.time_us = time_of(trial).value_or(0);
    row.screened_out = trial.outcome == Outcome::screened_out;
  }

  /// In order of id.
  std::vector<CurrentRow> current() {
    for (History& history : histories_.histories()) {
      const Comparable what = history;
      survey_.histories.emplace(what, std::move(history));
    }
    keep_latest(rows_, [](const CurrentRow& row) { return std::tie(row.what, row.identity); });
    std::erase_if(rows_, [](const CurrentRow& row) { return row.time_us == 0; });
    std::sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return std::move(rows_);
  }

 private:
  /// Rows of one group mostly stand together.
  void choose_group(const Trial& trial) {
    Comparable what = comparable_of(trial);
    if (group_ != nullptr && *group_ == what) return;
    outcomes_ = &survey_.outcomes[without_cache(what)];
    group_ = &*groups_.insert(std::move(what)).first;
  }

  void add_outcome(const Trial& trial) {
    ++outcomes_->counts[trial.outcome];
    if (trial.outcome == Outcome::ok && trial.relative_error) ++outcomes_->verified;
    if (time_of(trial)) return;
    const auto key = std::make_tuple(trial.outcome, trial.template_name, without_numbers(trial.reason));
    auto found = outcomes_->reasons.find(key);
    if (found == outcomes_->reasons.end() && outcomes_->reasons.size() == kMostReasons) {
      ++outcomes_->more_failures;
      return;
    }
    if (found == outcomes_->reasons.end()) {
      const std::string parameters = human_text(trial.parameters, CellType::json);
      found = outcomes_->reasons.emplace(key, Failures{0, trial.reason, parameters}).first;
    }
    ++found->second.count;
  }

  Survey& survey_;
  HistoryReader histories_;
  SweepOrder order_;
  std::set<Comparable> groups_;
  const Comparable* group_ = nullptr;  ///< of the row at hand
  Outcomes* outcomes_ = nullptr;
  std::vector<CurrentRow> rows_;
};

}  // namespace

Survey survey(const Database& database, const TrialFilter& filter) {
  const SweepOrder order(database);
  Survey survey;
  survey.ranking = RankingRows(order);
  Reader reader(survey, order);
  const auto ranking = ranking_columns();
  std::vector<const char*> columns(ranking.begin(), ranking.end());
  columns.insert(columns.end(), {"reason", "relative_error"});
  columns.insert(columns.end(), HistoryReader::kMoreColumns.begin(), HistoryReader::kMoreColumns.end());
  database.for_each(filter, columns, [&](std::int64_t id, const Trial& trial) { reader.add(id, trial); });
  const std::vector<CurrentRow> rows = reader.current();
  for (const CurrentRow& row : rows)
    survey.timed[*row.what].push_back({row.id, row.time_us, row.screened_out});
  for (auto& [what, timed] : survey.timed) {
    std::sort(timed.begin(), timed.end(),
              [](const TimedRow& a, const TimedRow& b) { return a.time_us < b.time_us; });
  }
  static constexpr std::array kColumns{"template", "parameters"};
  auto next = rows.begin();
  const Comparable* group = nullptr;
  std::map<std::string, Importance>* importance = nullptr;
  database.for_each(filter, kColumns, [&](std::int64_t id, const Trial& trial) {
    if (next == rows.end() || next->id != id) return;
    if (next->what != group) importance = &survey.importance[*(group = next->what)];
    const double time_us = (next++)->time_us;
    (*importance)[""].add({{"template", trial.template_name}}, time_us);
    const nlohmann::ordered_json parameters = parsed_cell(trial.parameters);
    if (parameters.is_object()) (*importance)[trial.template_name].add(parameters, time_us);
  });
  return survey;
}

}  // namespace tiletune
