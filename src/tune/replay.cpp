#include "tune/replay.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "output/cell_text.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// Whether a configuration, as a row has it, is in a stage's space.
bool contains(const Stage& stage, const std::string& parameters) {
  const auto json = parsed_cell(parameters);
  if (!json.is_object() || json.size() != stage.spec->parameters.size()) return false;
  Configuration configuration;
  for (const Parameter& parameter : stage.spec->parameters) {
    const auto value = json.find(parameter.name);
    if (value == json.end() || !from_json(*value, configuration.values.emplace_back())) return false;
  }
  return stage.space.index_of(configuration) < stage.space.size();
}

void add_recorded(ReplayedProblem& problem, const Stage& stage, const Trial& like,
                  const Recording& recording) {
  problem.recorded += recording.count(like);
  const auto fastest =
      recording.fastest_us(like, [&](const std::string& parameters) { return contains(stage, parameters); });
  if (fastest) problem.best_recorded_us = std::min(*fastest, problem.best_recorded_us.value_or(*fastest));
}

}  // namespace

Replay plan_replay(const TuneSpec& spec, const std::vector<Stage>& stages, const Recording& recording,
                   const Target& target, const std::string& file) {
  Replay replay;
  replay.file = file;
  replay.gpu = recording.set().gpu;
  replay.recorded_as = recording.set().source;
  replay.strategy = spec.strategy.kind == StrategyKind::random ? "random" : "exhaustive";
  replay.seed = spec.strategy.seed;
  replay.budget_s = spec.budget.seconds;
  replay.budget_evaluations = spec.budget.evaluations;
  for (const Stage& stage : stages) {
    const Trial like = make_stage_trial(spec, stage, target);
    if (replay.problems.size() <= stage.group) replay.problems.resize(stage.group + 1);
    ReplayedProblem& problem = replay.problems[stage.group];
    problem.problem = like.problem;
    problem.conditions = conditions_of(like);
    add_recorded(problem, stage, like, recording);
  }
  return replay;
}

}  // namespace tiletune
