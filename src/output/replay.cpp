#include "output/replay.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/table.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> percent(const std::optional<double>& best_us, const std::optional<double>& found_us) {
  if (!best_us || !found_us) return std::nullopt;
  return 100 * *best_us / *found_us;
}

std::optional<double> percent_of_best(const ReplayedProblem& problem) {
  if (problem.curve.empty()) return std::nullopt;
  return percent(problem.best_recorded_us, problem.curve.back().best_us);
}

/// What all its runs have in common.
Json json_of(const ReplayedProblem& problem) {
  return {{"problem", problem.problem},
          {"conditions", problem.conditions},
          {"recorded", problem.recorded},
          {"best_recorded_us", or_null(problem.best_recorded_us)}};
}

void add_found(Json& json, const ReplayedProblem& problem) {
  const bool found = !problem.curve.empty();
  json["best_found_us"] = found ? Json(problem.curve.back().best_us) : Json();
  json["percent_of_best"] = or_null(percent_of_best(problem));
  json["found_after_evaluations"] = found ? Json(problem.curve.back().evaluation) : Json();
  json["found_after_simulated_s"] = found ? Json(problem.curve.back().simulated_s) : Json();
  json["evaluations"] = problem.evaluations;
}

Json step_json(const ReplayStep& step) {
  return {{"evaluation", step.evaluation}, {"simulated_s", step.simulated_s}, {"best_us", step.best_us}};
}

}  // namespace

std::string replay_text(const Replay& replay) {
  std::string text;
  for (const ReplayedProblem& problem : replay.problems) {
    text += printable(problem.problem) + ": ";
    if (problem.curve.empty()) {
      text += "nothing that ran was found";
    } else {
      const ReplayStep& best = problem.curve.back();
      text += fmt::format("found {} us", three_digits(best.best_us));
      if (const auto percent = percent_of_best(problem))
        text += fmt::format(", {}% of the best recorded ({} us)", three_digits(*percent),
                            three_digits(*problem.best_recorded_us));
      text += fmt::format(", after {} and {} simulated", counted(best.evaluation, "evaluation"),
                          human_seconds(best.simulated_s));
    }
    text += fmt::format("; {} in all, {} simulated", counted(problem.evaluations, "evaluation"),
                        human_seconds(problem.simulated_s));
    if (problem.not_recorded > 0) text += fmt::format(", {} not recorded", problem.not_recorded);
    text += "\n";
  }
  return text;
}

Json to_json(const Replay& replay) {
  Json json{{"tiletune_replay", 1},
            {"tiletune", kVersion},
            {"file", replay.file},
            {"gpu", replay.gpu},
            {"recorded_as", name(replay.recorded_as)},
            {"strategy", replay.strategy},
            {"seed", replay.seed}};
  json["budget_s"] = replay.budget_s > 0 ? Json(replay.budget_s) : Json();
  json["budget_evaluations"] = replay.budget_evaluations > 0 ? Json(replay.budget_evaluations) : Json();
  json["simulated_s"] = replay.simulated_s();
  json["notes"] = replay.notes;
  json["problems"] = Json::array();
  for (const ReplayedProblem& problem : replay.problems) {
    Json& entry = json["problems"].emplace_back(json_of(problem));
    add_found(entry, problem);
    entry["not_recorded"] = problem.not_recorded;
    entry["simulated_s"] = problem.simulated_s;
    entry["curve"] = Json::array();
    for (const ReplayStep& step : problem.curve) {
      Json& point = entry["curve"].emplace_back(step_json(step));
      point["percent_of_best"] = or_null(percent(problem.best_recorded_us, step.best_us));
      point["template"] = step.template_name;
      point["parameters"] = json_of(step.parameters, CellType::json);
    }
  }
  return json;
}

namespace {

ReplayQuartiles quartiles_after(const std::vector<Replay>& runs, std::size_t problem,
                                std::uint64_t evaluation) {
  std::vector<double> best_us;  // infinite of a run that had found nothing
  for (const Replay& run : runs) {
    best_us.push_back(std::numeric_limits<double>::infinity());
    for (const ReplayStep& step : run.problems[problem].curve)
      if (step.evaluation <= evaluation) best_us.back() = step.best_us;
  }
  std::sort(best_us.begin(), best_us.end());
  const auto at = [&](double fraction) {
    const double time_us = quantile(best_us, fraction);
    return std::isfinite(time_us) ? std::optional(time_us) : std::nullopt;
  };
  return {evaluation, at(0.25), at(0.5), at(0.75)};
}

/// After 1, 2, 5, 10 evaluations and so on, and after the last.
TextTable table_of(const std::vector<Replay>& runs, std::size_t problem) {
  std::uint64_t most = 0;
  for (const Replay& run : runs) most = std::max(most, run.problems[problem].evaluations);
  std::set<std::uint64_t> shown{most};
  for (std::uint64_t decade = 1; decade < most; decade *= 10) {
    for (const std::uint64_t step : {1, 2, 5})
      if (step * decade < most) shown.insert(step * decade);
  }
  TextTable table;
  table.add_columns({"evaluations", "lower_quartile_us", "median_us", "upper_quartile_us", "percent_of_best"},
                    Align::right);
  for (const std::uint64_t evaluation : shown) {
    const ReplayQuartiles at = quartiles_after(runs, problem, evaluation);
    std::vector<std::string> cells{std::to_string(evaluation)};
    for (const auto& number : {at.lower_us, at.median_us, at.upper_us,
                               percent(runs.front().problems[problem].best_recorded_us, at.median_us)})
      cells.push_back(number ? three_digits(*number) : "-");
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace

std::vector<ReplayQuartiles> quartiles_of(const std::vector<Replay>& runs, std::size_t problem) {
  std::set<std::uint64_t> changes;
  for (const Replay& run : runs)
    for (const ReplayStep& step : run.problems[problem].curve) changes.insert(step.evaluation);
  std::vector<ReplayQuartiles> quartiles;
  for (const std::uint64_t evaluation : changes) {
    const ReplayQuartiles at = quartiles_after(runs, problem, evaluation);
    const bool same = !quartiles.empty() && quartiles.back().lower_us == at.lower_us &&
                      quartiles.back().median_us == at.median_us && quartiles.back().upper_us == at.upper_us;
    if (!same) quartiles.push_back(at);
  }
  return quartiles;
}

std::string replay_runs_text(const std::vector<Replay>& runs) {
  const Replay& first = runs.front();
  std::string text;
  for (std::size_t i = 0; i < first.problems.size(); ++i) {
    const ReplayedProblem& problem = first.problems[i];
    text += fmt::format("{}: {} runs of {}, seeds {} to {}", printable(problem.problem), runs.size(),
                        first.strategy, first.seed, runs.back().seed);
    if (problem.best_recorded_us)
      text += fmt::format("; the best recorded is {} us", three_digits(*problem.best_recorded_us));
    text += fmt::format("\n{}", table_of(runs, i).text(stdout_style()));
  }
  return text;
}

Json replay_runs_json(const std::vector<Replay>& runs) {
  Json json = to_json(runs.front());
  json.erase("simulated_s");
  json["runs"] = runs.size();
  json["problems"] = Json::array();
  for (std::size_t i = 0; i < runs.front().problems.size(); ++i) {
    const ReplayedProblem& problem = runs.front().problems[i];
    Json& entry = json["problems"].emplace_back(json_of(problem));
    entry["quartiles"] = Json::array();
    for (const ReplayQuartiles& at : quartiles_of(runs, i)) {
      entry["quartiles"].push_back(
          {{"evaluation", at.evaluation},
           {"lower_us", or_null(at.lower_us)},
           {"median_us", or_null(at.median_us)},
           {"upper_us", or_null(at.upper_us)},
           {"percent_of_best", or_null(percent(problem.best_recorded_us, at.median_us))}});
    }
    entry["runs"] = Json::array();
    for (const Replay& run : runs) {
      const ReplayedProblem& its_problem = run.problems[i];
      Json& its_entry = entry["runs"].emplace_back(Json{{"seed", run.seed}});
      add_found(its_entry, its_problem);
      its_entry["simulated_s"] = its_problem.simulated_s;
      its_entry["curve"] = Json::array();
      for (const ReplayStep& step : its_problem.curve) its_entry["curve"].push_back(step_json(step));
    }
  }
  return json;
}

}  // namespace tiletune
