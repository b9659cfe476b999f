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

double combinations(const Scope& scope, const std::vector<std::size_t>& parameters) {
  double product = 1;
  for (const std::size_t parameter : parameters)
    product *= static_cast<double>(value_count(scope, parameter));
  return product;
}

}  // namespace

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

}  // namespace tiletune::space
