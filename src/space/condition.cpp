#include "space/condition.h"

#include <algorithm>
#include <numeric>

namespace tiletune::space {
namespace {

std::size_t value_count(const Scope& scope, std::size_t parameter) {
  return scope.parameters()[parameter].values.size();
}

/// Disjoint sets of parameters; the root of a set is its smallest member.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  std::size_t root(std::size_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }

  void unite(std::size_t left, std::size_t right) {
    const auto [first, second] = std::minmax({root(left), root(right)});
    parent_[second] = first;
  }

 private:
  std::vector<std::size_t> parent_;
};

/// Parameters of a condition that are not bound yet, the ones with the fewest values first.
std::vector<std::size_t> open_parameters(const Scope& scope, const Condition& condition,
                                         const std::vector<bool>& bound) {
  std::vector<std::size_t> open;
  for (const std::size_t parameter : condition.parameters)
    if (!bound[parameter]) open.push_back(parameter);
  std::stable_sort(open.begin(), open.end(), [&](std::size_t left, std::size_t right) {
    return value_count(scope, left) < value_count(scope, right);
  });
  return open;
}

/// The order in which to bind a component's parameters so that little is tried in vain: next come always the
/// parameters that complete the condition with the fewest combinations still open. Throws Stopped.
std::vector<std::size_t> walk_order(const Scope& scope, const std::vector<std::size_t>& component,
                                    const std::vector<const Condition*>& conditions, const Stop& stop) {
  std::vector<std::size_t> order;
  std::vector<bool> bound(scope.parameters().size(), false);
  while (order.size() < component.size()) {
    std::vector<std::size_t> cheapest;
    if (stop()) throw Stopped();
    for (const Condition* condition : conditions) {
      std::vector<std::size_t> open = open_parameters(scope, *condition, bound);
      if (open.empty()) continue;
      if (cheapest.empty() || combinations(scope, open) < combinations(scope, cheapest))
        cheapest = std::move(open);
    }
    if (cheapest.empty()) cheapest = component;  // a single parameter without conditions
    order.insert(order.end(), cheapest.begin(), cheapest.end());
    for (const std::size_t parameter : cheapest) bound[parameter] = true;
  }
  return order;
}

}  // namespace

double combinations(const Scope& scope, const std::vector<std::size_t>& parameters) {
  double product = 1;
  for (const std::size_t parameter : parameters)
    product *= static_cast<double>(value_count(scope, parameter));
  return product;
}

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

std::vector<Condition> parse_conditions(const std::vector<Constraint>& constraints, const Scope& scope) {
  std::vector<Condition> conditions;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    for (Program& program : Program::conjuncts(constraints[i].require, scope.symbols())) {
      auto parameters = scope.parameters_of(program);
      auto derived = scope.derived_of(program);
      conditions.push_back({std::move(program), i, std::move(parameters), std::move(derived)});
    }
  }
  return conditions;
}

std::vector<std::vector<std::size_t>> connected_components(const Scope& scope,
                                                           const std::vector<Condition>& conditions) {
  const std::size_t count = scope.parameters().size();
  DisjointSets sets(count);
  for (const Condition& condition : conditions)
    for (const std::size_t parameter : condition.parameters)
      sets.unite(condition.parameters.front(), parameter);
  std::vector<std::vector<std::size_t>> members(count);
  for (std::size_t parameter = 0; parameter < count; ++parameter)
    members[sets.root(parameter)].push_back(parameter);
  std::erase_if(members, [](const auto& component) { return component.empty(); });
  return members;
}

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
