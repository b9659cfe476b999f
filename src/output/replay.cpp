#include "output/replay.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/display.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The version of the document.
constexpr int kReplayFormat = 1;

template <typename Number>
Json or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

std::string problem_text(const ReplayedProblem& problem) {
  std::string text = printable(problem.problem) + ": ";
  if (problem.curve.empty()) return text + "nothing that ran was found";
  const ReplayStep& best = problem.curve.back();
  text += fmt::format("found {} us", three_digits(best.best_us));
  if (const auto percent = percent_of_best(problem)) {
    text += fmt::format(", {}% of the best recorded ({} us)", three_digits(*percent),
                        three_digits(*problem.best_recorded_us));
  }
  return text + fmt::format(", after {} and {} simulated", counted(best.evaluation, "evaluation"),
                            human_seconds(best.simulated_s));
}

Json step_json(const ReplayStep& step, const ReplayedProblem& problem) {
  Json json{{"evaluation", step.evaluation}, {"simulated_s", step.simulated_s}, {"best_us", step.best_us}};
  json["percent_of_best"] =
      problem.best_recorded_us ? Json(100 * *problem.best_recorded_us / step.best_us) : Json();
  json["template"] = step.template_name;
  json["parameters"] = json_of(step.parameters, CellType::json);
  return json;
}

Json problem_json(const ReplayedProblem& problem) {
  Json json{{"problem", problem.problem}, {"conditions", problem.conditions}, {"recorded", problem.recorded}};
  json["best_recorded_us"] = or_null(problem.best_recorded_us);
  json["best_found_us"] = problem.curve.empty() ? Json() : Json(problem.curve.back().best_us);
  json["percent_of_best"] = or_null(percent_of_best(problem));
  json["found_after_evaluations"] = problem.curve.empty() ? Json() : Json(problem.curve.back().evaluation);
  json["found_after_simulated_s"] = problem.curve.empty() ? Json() : Json(problem.curve.back().simulated_s);
  json["evaluations"] = problem.evaluations;
  json["not_recorded"] = problem.not_recorded;
  json["simulated_s"] = problem.simulated_s;
  json["curve"] = Json::array();
  for (const ReplayStep& step : problem.curve) json["curve"].push_back(step_json(step, problem));
  return json;
}

}  // namespace

std::optional<double> percent_of_best(const ReplayedProblem& problem) {
  if (problem.curve.empty() || !problem.best_recorded_us) return std::nullopt;
  return 100 * *problem.best_recorded_us / problem.curve.back().best_us;
}

std::string replay_text(const Replay& replay) {
  std::string text;
  for (const ReplayedProblem& problem : replay.problems) {
    text += problem_text(problem) + fmt::format("; {} in all, {} simulated",
                                                counted(problem.evaluations, "evaluation"),
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
  for (const ReplayedProblem& problem : replay.problems) json["problems"].push_back(problem_json(problem));
  return json;
}

}  // namespace tiletune
