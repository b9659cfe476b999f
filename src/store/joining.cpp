#include "store/joining.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/text.h"
#include "store/schema.h"

namespace tiletune {

namespace {

std::string weight_sql(const std::string& outcome) {
  return fmt::format(
      "CASE {} WHEN 'ok' THEN 3 WHEN 'screened_out' THEN 2 WHEN 'dispatched' THEN 0 ELSE 1 END", outcome);
}

}  // namespace

std::string same_sweep_sql(const std::string& a, const std::string& b) {
  std::vector<std::string> terms;
  for (const char* column : {"started_at", "command", "host", "config", "shard"})
    terms.push_back(fmt::format("{0}.{2} = {1}.{2}", a, b, column));
  return join(terms, " AND ");
}

std::string find_sweep_sql() {
  return fmt::format("SELECT max(mine.id) FROM sweep AS mine JOIN ({}) AS other ON {}", given_sweep_sql(),
                     same_sweep_sql("mine", "other"));
}

std::string counts_more_sql(const std::string& outcome, const std::string& recorded_at,
                            const std::string& samples_us) {
  return fmt::format("({}, {}, {} IS NOT NULL) > ({}, trial.recorded_at, trial.samples_us IS NOT NULL)",
                     weight_sql(outcome), recorded_at, samples_us, weight_sql("trial.outcome"));
}

std::string replace_lesser_sql() {
  std::vector<std::string> updates;
  std::map<std::string, std::string> parameters;
  for (const Column& column : trial_columns()) {
    const std::string parameter = fmt::format("?{}", parameters.size() + 1);
    parameters.emplace(column.name, parameter);
    updates.push_back(fmt::format("\"{}\" = {}", column.name, parameter));
  }
  return fmt::format(
      "UPDATE trial SET {} WHERE \"key\" = {} AND {}", join(updates, ", "), parameters.at("key"),
      counts_more_sql(parameters.at("outcome"), parameters.at("recorded_at"), parameters.at("samples_us")));
}

std::string see_in_latest_sql() {
  return R"(
UPDATE main.trial SET seen_in_sweep = latest.sweep_id FROM (
  SELECT trial_id, sweep_id,
    row_number() OVER (PARTITION BY trial_id ORDER BY started_at DESC, sweep_id DESC) AS place
  FROM main.sweep_trial JOIN main.sweep ON sweep.id = sweep_id
) AS latest
WHERE place = 1 AND trial.id = trial_id AND seen_in_sweep IS NOT latest.sweep_id)";
}

}  // namespace tiletune
