#include "output/report/survey.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "output/cell_text.h"
#include "output/failures.h"
#include "rank/parameters.h"
#include "store/columns.h"

namespace tiletune {

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

std::vector<const char*> survey_columns() {
  const auto ranking = ranking_columns();
  std::vector<const char*> columns(ranking.begin(), ranking.end());
  columns.insert(columns.end(), {"reason", "relative_error"});
  columns.insert(columns.end(), HistoryReader::kMoreColumns.begin(), HistoryReader::kMoreColumns.end());
  return columns;
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
    add_current(id, trial);
  }

  /// In order of id.
  std::vector<CurrentRow> current() {
    add_histories();
    keep_latest(rows_, [](const CurrentRow& row) { return std::tie(row.what, row.identity); });
    std::erase_if(rows_, [](const CurrentRow& row) { return row.time_us == 0; });
    std::sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return std::move(rows_);
  }

 private:
  /// Rows of one group mostly stand together.
  void choose_group(const Trial& trial) {
    Comparable what{trial.gpu, trial.problem, trial.source, conditions_of(trial), trial.cache};
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

  void add_current(std::int64_t id, const Trial& trial) {
    CurrentRow row;
    DatedRow& dated = row;
    dated = {id, trial, order_};
    row.what = group_;
    row.identity = identity_of(trial.template_name, trial.parameters);
    row.time_us = time_of(trial).value_or(0);
    row.screened_out = trial.outcome == Outcome::screened_out;
    rows_.push_back(row);
  }

  void add_histories() {
    for (History& history : histories_.histories()) {
      const Comparable what = history;
      survey_.histories.emplace(what, std::move(history));
    }
  }

  Survey& survey_;
  HistoryReader histories_;
  SweepOrder order_;
  std::set<Comparable> groups_;
  const Comparable* group_ = nullptr;  ///< of the row at hand
  Outcomes* outcomes_ = nullptr;
  std::vector<CurrentRow> rows_;
};

void add_importance(std::map<std::string, Importance>& importance, const CurrentRow& row,
                    const Trial& trial) {
  importance[""].add({{"template", trial.template_name}}, row.time_us);
  const nlohmann::ordered_json parameters = parsed_cell(trial.parameters);
  if (parameters.is_object()) importance[trial.template_name].add(parameters, row.time_us);
}

}  // namespace

Survey survey(const Database& database, const TrialFilter& filter) {
  const SweepOrder order(database);
  Survey survey;
  survey.ranking = RankingRows(order);
  Reader reader(survey, order);
  database.for_each(filter, survey_columns(),
                    [&](std::int64_t id, const Trial& trial) { reader.add(id, trial); });
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
    add_importance(*importance, *next++, trial);
  });
  return survey;
}

}  // namespace tiletune
