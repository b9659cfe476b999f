#include "output/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/table.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The version of the document.
constexpr int kReplayFormat = 1;

/// How near a time comes to the best: 100 is the same time. None without both.
std::optional<double> percent(const std::optional<double>& best_us, const std::optional<double>& found_us) {
  if (!best_us || !found_us) return std::nullopt;
  return 100 * *best_us / *found_us;
}

Json step_json(const ReplayStep& step) {
  return {{"evaluation", step.evaluation}, {"simulated_s", step.simulated_s}, {"best_us", step.best_us}};
}

void add_found(Json& json, const ReplayedProblem& problem) {
  const ReplayStep* best = problem.curve.empty() ? nullptr : &problem.curve.back();
  json["best_found_us"] = best != nullptr ? Json(best->best_us) : Json();
  json["percent_of_best"] =
      best != nullptr ? or_null(percent(problem.best_recorded_us, best->best_us)) : Json();
  json["found_after_evaluations"] = best != nullptr ? Json(best->evaluation) : Json();
  json["found_after_simulated_s"] = best != nullptr ? Json(best->simulated_s) : Json();
  json["evaluations"] = problem.evaluations;
}

Json problem_json(const ReplayedProblem& problem) {
  Json json{{"problem", problem.problem}, {"conditions", problem.conditions}, {"recorded", problem.recorded}};
  json["best_recorded_us"] = or_null(problem.best_recorded_us);
  return json;
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
      if (const auto share = percent(problem.best_recorded_us, best.best_us))
        text += fmt::format(", {}% of the best recorded ({} us)", three_digits(*share),
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
  Json json{{"tiletune_replay", kReplayFormat},
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
    Json& entry = json["problems"].emplace_back(problem_json(problem));
    add_found(entry, problem);
    entry["not_recorded"] = problem.not_recorded;
    entry["simulated_s"] = problem.simulated_s;
    entry["curve"] = Json::array();
    for (const ReplayStep& step : problem.curve) {
      Json& json_step = entry["curve"].emplace_back(step_json(step));
      json_step["percent_of_best"] = or_null(percent(problem.best_recorded_us, step.best_us));
      json_step["template"] = step.template_name;
      json_step["parameters"] = json_of(step.parameters, CellType::json);
    }
  }
  return json;
}

namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();

/// Interpolates between neighbours of the sorted values.
std::optional<double> quantile_of_runs(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  double value = sorted[below];
  if (share > 0) value += share * (sorted[below + 1] - value);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

ReplayQuartiles quartiles_after(const std::vector<Replay>& runs, std::size_t problem,
                                std::uint64_t evaluation) {
  std::vector<double> best_us;
  for (const Replay& run : runs) {
    best_us.push_back(kNothing);
    for (const ReplayStep& step : run.problems[problem].curve)
      if (step.evaluation <= evaluation) best_us.back() = step.best_us;
  }
  std::sort(best_us.begin(), best_us.end());
  return {evaluation, quantile_of_runs(best_us, 0.25), quantile_of_runs(best_us, 0.5),
          quantile_of_runs(best_us, 0.75)};
}

std::string text_of(const std::optional<double>& number) { return number ? three_digits(*number) : "-"; }

TextTable table_of(const std::vector<Replay>& runs, std::size_t problem) {
  TextTable table;
  for (const char* header :
       {"evaluations", "lower_quartile_us", "median_us", "upper_quartile_us", "percent_of_best"})
    table.add_column(header, Align::right);
  std::uint64_t most = 0;
  for (const Replay& run : runs) most = std::max(most, run.problems[problem].evaluations);
  std::set<std::uint64_t> shown{most};
  for (std::uint64_t decade = 1; decade < most; decade *= 10) {
    for (const std::uint64_t step : {1, 2, 5})
      if (step * decade < most) shown.insert(step * decade);
  }
  const auto& best_us = runs.front().problems[problem].best_recorded_us;
  for (const std::uint64_t evaluation : shown) {
    const ReplayQuartiles at = quartiles_after(runs, problem, evaluation);
    table.add_row({std::to_string(evaluation), text_of(at.lower_us), text_of(at.median_us),
                   text_of(at.upper_us), text_of(percent(best_us, at.median_us))});
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
    Json& entry = json["problems"].emplace_back(problem_json(problem));
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
      Json& json_run = entry["runs"].emplace_back(Json{{"seed", run.seed}});
      add_found(json_run, run.problems[i]);
      json_run["simulated_s"] = run.problems[i].simulated_s;
      json_run["curve"] = Json::array();
      for (const ReplayStep& step : run.problems[i].curve) json_run["curve"].push_back(step_json(step));
    }
  }
  return json;
}

}  // namespace tiletune
