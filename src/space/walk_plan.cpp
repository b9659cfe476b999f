#include "space/walk_plan.h"

#include <algorithm>

namespace tiletune::space {
namespace {

Level make_level(const Scope& scope, const std::vector<std::size_t>& component, std::size_t parameter) {
  Level level;
  level.parameter = parameter;
  level.slot = scope.first_parameter() + parameter;
  level.column = static_cast<std::size_t>(std::lower_bound(component.begin(), component.end(), parameter) -
                                          component.begin());
  for (const Value& value : scope.parameters()[parameter].values) level.values.push_back(to_scalar(value));
  return level;
}

/// The level at which the last of the parameters is bound.
std::size_t level_of(const std::vector<Level>& levels, const std::vector<std::size_t>& parameters) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (std::binary_search(parameters.begin(), parameters.end(), levels[i].parameter)) last = i;
  return last;
}

void place_tests(std::vector<Level>& levels, const std::vector<const Condition*>& conditions) {
  std::size_t guarded = 0;  // the level by which this condition and all listed before it have been tested
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Condition& condition = *conditions[i];
    const std::size_t own = level_of(levels, condition.parameters);
    guarded = std::max(guarded, own);
    const bool early = own < guarded;
    levels[own].tests.push_back(
        {&condition.program, condition.constraint, i, early ? Test::Turn::early : Test::Turn::only});
    if (early)
      levels[guarded].tests.push_back({&condition.program, condition.constraint, i, Test::Turn::late});
  }
}

/// A derived value without parameters belongs to no level: it is computed once.
void place_derived(std::vector<Level>& levels, const Scope& scope,
                   const std::vector<const Condition*>& conditions) {
  std::vector<std::size_t> read;
  for (const Condition* condition : conditions)
    read.insert(read.end(), condition->derived.begin(), condition->derived.end());
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (const std::size_t derived : read) {
    const auto parameters = scope.parameters_of(scope.derived()[derived]);
    if (parameters.empty()) continue;
    levels[level_of(levels, parameters)].derived.push_back(scope.first_derived() + derived);
  }
}

}  // namespace

std::vector<Level> plan_walk(const Scope& scope, const std::vector<std::size_t>& component,
                             const std::vector<const Condition*>& conditions, const Stop& stop) {
  std::vector<Level> levels;
  for (const std::size_t parameter : walk_order(scope, component, conditions, stop))
    levels.push_back(make_level(scope, component, parameter));
  for (std::size_t i = levels.size(); i-- > 1;)
    levels[i - 1].below = levels[i].below * static_cast<double>(levels[i].values.size());
  place_tests(levels, conditions);
  place_derived(levels, scope, conditions);
  return levels;
}

}  // namespace tiletune::space
