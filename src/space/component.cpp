#include "space/component.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>
#include <ranges>

#include "base/hash.h"
#include "base/text.h"

namespace tiletune::space {
namespace {

/// Whether a condition is true; if it is not, counts combinations for which it has no value.
bool is_satisfied(const Condition& condition, const Bindings& bindings, const Scope& scope, double count,
                  Removed& removed) {
  Scalar result = unset_scalar();
  Fault fault;
  if (condition.program.run(bindings, result, fault)) return is_true(result);
  const bool is_first = removed.fault.empty();
  if (!is_arithmetic(fault.kind) || (is_first && scope.parameters_of(*fault.program).empty()))
    throw condition.program.error(fault, bindings);
  if (is_first) removed.fault = condition.program.error(fault, bindings).message();
  removed.without_value += count;
  return false;
}

/// How often ranges of values have decided something of late. Those of remainders, for example, rarely do.
struct Usefulness {
  std::uint32_t tried = 0;
  std::uint32_t decided = 0;
  std::uint32_t skipped = 0;

  bool is_worth_trying() {
    constexpr std::uint32_t kFewTries = 32;
    return tried < kFewTries || decided * 8 >= tried || ++skipped % kFewTries == 0;
  }
  void note(bool has_decided) {
    constexpr std::uint32_t kOfLate = 64;
    decided += has_decided ? 1 : 0;
    if (++tried == kOfLate) tried /= 2, decided /= 2;
  }
};

/// A condition where it is tested.
struct Test {
  const Condition* condition;
  bool is_complete;            ///< all its parameters are bound here
  std::uint64_t removed = 0;   ///< combinations of the parameters up to here
  Usefulness usefulness = {};  ///< of the ranges of parameters that are not bound yet
};

/// A parameter in the order of the walk, with what its binding makes possible.
struct Level {
  std::size_t parameter;  ///< by position
  std::size_t slot;
  std::size_t column;  ///< in the component's rows
  std::vector<Scalar> values;
  Range all_values;
  bool is_ordered;                   ///< integers, which ascend or descend
  std::vector<std::size_t> derived;  ///< slots of the derived values that depend on it
  std::vector<Test> tests;           ///< in the order of the list; first those that are complete
  Usefulness usefulness;             ///< of ranges of its values
  std::size_t edge = 0;              ///< behind the last value that passed: mostly near the next one's
  double below = 1;                  ///< raw combinations of the parameters after it
};

/// Parameters of a condition that are not bound yet, the ones with the fewest values first.
std::vector<std::size_t> open_parameters(const Scope& scope, const Condition& condition,
                                         const std::vector<bool>& bound) {
  std::vector<std::size_t> open;
  for (const std::size_t parameter : condition.parameters)
    if (!bound[parameter]) open.push_back(parameter);
  std::ranges::stable_sort(
      open, {}, [&](std::size_t parameter) { return scope.parameters()[parameter].values.size(); });
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

void place_tests(std::vector<Level>& levels, const std::vector<const Condition*>& conditions) {
  for (const Condition* condition : conditions) {
    bool is_complete = true;
    for (Level& level : std::ranges::reverse_view(levels)) {
      if (!std::ranges::binary_search(condition->parameters, level.parameter)) continue;
      level.tests.push_back({condition, is_complete});
      is_complete = false;
    }
  }
  for (Level& level : levels) std::ranges::stable_partition(level.tests, std::identity{}, &Test::is_complete);
}

void place_derived(std::vector<Level>& levels, const Scope& scope) {
  for (std::size_t i = 0; i < scope.derived().size(); ++i) {
    const auto parameters = scope.parameters_of(scope.derived()[i]);
    for (Level& level : levels)
      if (std::ranges::binary_search(parameters, level.parameter))
        level.derived.push_back(scope.first_derived() + i);
  }
}

/// Plans the walk over a component's parameters. `conditions` are the component's, in the order of the list.
/// Throws Stopped.
std::vector<Level> plan_walk(const Scope& scope, const std::vector<std::size_t>& component,
                             const std::vector<const Condition*>& conditions, const Stop& stop) {
  std::vector<Level> levels;
  for (const std::size_t parameter : walk_order(scope, component, conditions, stop)) {
    Level& level = levels.emplace_back();
    level.parameter = parameter;
    level.slot = scope.first_parameter() + parameter;
    level.column = static_cast<std::size_t>(std::lower_bound(component.begin(), component.end(), parameter) -
                                            component.begin());
    for (const Value& value : scope.parameters()[parameter].values) level.values.push_back(to_scalar(value));
    level.all_values = range_of(level.values.front());
    for (const Scalar& value : level.values) level.all_values = joined(level.all_values, range_of(value));
    level.is_ordered = level.all_values.integers &&
                       (std::ranges::is_sorted(level.values, {}, &Scalar::integer) ||
                        std::ranges::is_sorted(level.values, std::greater<>(), &Scalar::integer));
  }
  for (std::size_t i = levels.size(); i-- > 1;)
    levels[i - 1].below = levels[i].below * static_cast<double>(levels[i].values.size());
  place_tests(levels, conditions);
  place_derived(levels, scope);
  return levels;
}

[[noreturn]] void refuse_size(const Scope& scope, const std::vector<std::size_t>& parameters,
                              std::uint64_t limit, const char* what, const char* remedy) {
  std::vector<std::string> names;
  for (const std::size_t parameter : parameters) names.push_back(scope.parameters()[parameter].name);
  throw UserError(
      fmt::format("more than {} {} of {}, which constraints connect", limit, what, join(names, ", ")),
      scope.parameters()[parameters.front()].where, remedy);
}

/// Values tried and instructions run between two questions whether to stop: about a millisecond.
constexpr std::size_t kWorkPerQuestion = std::size_t{1} << 17;

class Walk {
 public:
  Walk(const Scope& scope, const std::vector<std::size_t>& parameters,
       const std::vector<const Condition*>& conditions, const ComponentLimits& limits, const Stop& stop,
       std::size_t constraint_count)
      : scope_(scope),
        parameters_(parameters),
        limits_(limits),
        stop_(stop),
        levels_(plan_walk(scope, parameters, conditions, stop)),
        removed_(constraint_count),
        slots_(scope.initial_slots()),
        definitions_(scope.definitions()),
        bindings_{slots_, definitions_},
        row_(parameters.size()),
        rows_(value_counts(scope.parameters(), parameters)) {
    for (const Scalar& slot : slots_) ranges_.push_back(range_of(slot));
    for (const Level& level : levels_) bind(level, level.all_values);
  }

  Component run() {
    descend(0);
    rows_.sort();
    for (const Level& level : levels_)
      for (const Test& test : level.tests)
        removed_[test.condition->constraint].combinations += static_cast<double>(test.removed) * level.below;
    return {parameters_, std::move(rows_), std::move(removed_)};
  }

 private:
  void descend(std::size_t depth) {
    if (depth == levels_.size()) {
      if (const std::uint64_t most = limits_.bytes / rows_.bytes_per_row(); rows_.size() == most)
        refuse_size(scope_, parameters_, most, "valid combinations",
                    "Add constraints, or list fewer values of these parameters.");
      return rows_.push_back(row_);
    }
    visit(depth, 0, levels_[depth].values.size());
    bind(levels_[depth], levels_[depth].all_values);
  }

  /// Goes through the values from `begin` to before `end` of a parameter.
  void visit(std::size_t depth, std::size_t begin, std::size_t end) {
    constexpr std::size_t kFewValues = 8;
    Level& level = levels_[depth];
    bool holds = false;
    if (level.is_ordered && end - begin >= kFewValues && level.usefulness.is_worth_trying()) {
      step();
      bind(level, joined(range_of(level.values[begin]), range_of(level.values[end - 1])));
      const std::optional<bool> decided = decide(level, end - begin);
      level.usefulness.note(decided.has_value());
      if (!decided) {
        const bool is_new = end - begin == level.values.size() && level.edge > begin && level.edge < end;
        const std::size_t middle = is_new ? level.edge : begin + (end - begin) / 2;
        visit(depth, begin, middle);
        return visit(depth, middle, end);
      }
      if (!*decided) return;
      holds = true;
    }
    for (std::size_t value = begin; value < end; ++value) {
      step();
      slots_[level.slot] = level.values[value];
      bind(level, range_of(level.values[value]));
      row_[level.column] = static_cast<std::uint32_t>(value);
      if (!holds && !passes(level)) continue;
      level.edge = value + 1;
      descend(depth + 1);
    }
  }

  void bind(const Level& level, const Range& range) {
    ranges_[level.slot] = range;
    for (const std::size_t slot : level.derived) {
      slots_[slot] = unset_scalar();
      ranges_[slot].kind = Range::Kind::unset;
    }
  }

  void step() {
    if (++steps_ > limits_.steps) {
      refuse_size(
          scope_, parameters_, limits_.steps, "steps through the combinations",
          "Add constraints that hold for fewer of these parameters at a time, so that they apply earlier, or "
          "list fewer values.");
    }
    spend(1);
  }

  void spend(std::size_t work) {
    work_ += work;
    if (work_ < kWorkPerQuestion) return;
    work_ = 0;
    if (stop_()) throw Stopped();
  }

  /// What the condition of a test can be with what is bound and the ranges of what is not.
  Range range(const Test& test) {
    constexpr std::size_t kWork = 4;  // of an instruction
    for (const std::size_t derived : test.condition->derived) {
      const Program& program = scope_.derived()[derived];
      Range& range = ranges_[scope_.first_derived() + derived];
      if (range.kind != Range::Kind::unset) continue;
      spend(kWork * program.instructions());
      range = program.range(ranges_);
    }
    spend(kWork * test.condition->program.instructions());
    return test.condition->program.range(ranges_);
  }

  /// What has no value is left to is_satisfied(), which says why.
  static bool is_never_true(const Range& range) { return !range.can_be_true() && !range.is_empty(); }

  /// Whether all tests hold for all of so many values, or one, before which all hold, for none of them.
  std::optional<bool> decide(Level& level, std::size_t values) {
    for (Test& test : level.tests) {
      const Range result = range(test);
      if (is_never_true(result)) {
        test.removed += values;
        return false;
      }
      if (result.can_be_false() || result.faults) return std::nullopt;
    }
    return true;
  }

  bool passes(Level& level) {
    for (Test& test : level.tests) {
      bool can_hold = true;
      if (test.is_complete) {
        spend(test.condition->program.instructions());
        can_hold = is_satisfied(*test.condition, bindings_, scope_, level.below,
                                removed_[test.condition->constraint]);
      } else if (test.usefulness.is_worth_trying()) {
        can_hold = !is_never_true(range(test));
        test.usefulness.note(!can_hold);
      }
      if (can_hold) continue;
      ++test.removed;
      return false;
    }
    return true;
  }

  const Scope& scope_;
  const std::vector<std::size_t>& parameters_;
  ComponentLimits limits_;
  const Stop& stop_;
  std::uint64_t steps_ = 0;
  std::size_t work_ = 0;  ///< since it was last asked whether to stop
  std::vector<Level> levels_;
  std::vector<Removed> removed_;  ///< by constraint
  std::vector<Scalar> slots_;
  std::vector<Range> ranges_;  ///< by slot: what each name can be with the parameters that are bound
  std::vector<const Program*> definitions_;
  Bindings bindings_;
  std::vector<std::uint32_t> row_;
  PackedRows rows_;
};

}  // namespace

double combinations(const Scope& scope, const std::vector<std::size_t>& parameters) {
  double product = 1;
  for (const std::size_t parameter : parameters)
    product *= static_cast<double>(scope.parameters()[parameter].values.size());
  return product;
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
  std::vector<std::size_t> roots(count);  // by parameter: the smallest that it is connected with
  std::iota(roots.begin(), roots.end(), std::size_t{0});
  for (const Condition& condition : conditions) {
    for (const std::size_t parameter : condition.parameters) {
      const auto [root, other] = std::minmax({roots[condition.parameters.front()], roots[parameter]});
      if (root != other) std::ranges::replace(roots, other, root);
    }
  }
  std::vector<std::vector<std::size_t>> members(count);
  for (std::size_t parameter = 0; parameter < count; ++parameter)
    members[roots[parameter]].push_back(parameter);
  std::erase_if(members, [](const auto& component) { return component.empty(); });
  return members;
}

std::vector<std::size_t> value_counts(const std::vector<Parameter>& all,
                                      const std::vector<std::size_t>& some) {
  std::vector<std::size_t> counts;
  for (const std::size_t parameter : some) counts.push_back(all[parameter].values.size());
  return counts;
}

Component enumerate_component(const Scope& scope, const std::vector<std::size_t>& parameters,
                              const std::vector<Condition>& conditions, std::size_t constraint_count,
                              const ComponentLimits& limits, const Stop& stop) {
  std::vector<const Condition*> own;
  for (const Condition& condition : conditions) {
    const auto& reads = condition.parameters;
    if (!reads.empty() && std::binary_search(parameters.begin(), parameters.end(), reads.front()))
      own.push_back(&condition);
  }
  return Walk(scope, parameters, own, limits, stop, constraint_count).run();
}

Component listed_component(const Scope& scope, const std::vector<std::uint32_t>& listed,
                           const std::vector<Condition>& conditions, std::size_t constraint_count,
                           const Stop& stop) {
  std::vector<std::size_t> parameters(scope.parameters().size());
  std::iota(parameters.begin(), parameters.end(), std::size_t{0});
  Component component{parameters, PackedRows(value_counts(scope.parameters(), parameters)),
                      std::vector<Removed>(constraint_count)};
  std::vector<Scalar> slots = scope.initial_slots();
  const std::vector<const Program*> definitions = scope.definitions();
  const Bindings bindings{slots, definitions};
  std::size_t work = 0;
  for (std::size_t at = 0; at < listed.size(); at += parameters.size()) {
    const auto row = std::span(listed).subspan(at, parameters.size());
    for (const std::size_t parameter : parameters)
      slots[scope.first_parameter() + parameter] =
          to_scalar(scope.parameters()[parameter].values[row[parameter]]);
    for (std::size_t derived = 0; derived < scope.derived().size(); ++derived)
      slots[scope.first_derived() + derived] = unset_scalar();
    const auto broken = std::find_if(conditions.begin(), conditions.end(), [&](const Condition& condition) {
      work += condition.program.instructions();
      return !is_satisfied(condition, bindings, scope, 1, component.removed[condition.constraint]);
    });
    if (broken == conditions.end()) {
      component.rows.push_back(row);
    } else {
      ++component.removed[broken->constraint].combinations;
    }
    if (++work < kWorkPerQuestion) continue;
    work = 0;
    if (stop()) throw Stopped();
  }
  component.rows.sort();
  return component;
}

namespace {

/// So many rows for each shard make one row more or less a small difference.
constexpr std::uint64_t kRowsPerShard = 64;
constexpr std::uint64_t kMostJoinedRows = std::uint64_t{1} << 22;

/// All combinations of the rows of two components.
Component joined(const Component& a, const Component& b, const std::vector<Parameter>& parameters) {
  std::vector<std::size_t> columns;
  std::merge(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
             std::back_inserter(columns));
  const auto places = [&](const Component& part) {
    std::vector<std::size_t> found;
    for (const std::size_t parameter : part.parameters)
      found.push_back(static_cast<std::size_t>(std::lower_bound(columns.begin(), columns.end(), parameter) -
                                               columns.begin()));
    return found;
  };
  const std::vector<std::size_t> places_of_a = places(a);
  const std::vector<std::size_t> places_of_b = places(b);
  PackedRows rows(value_counts(parameters, columns));
  std::vector<std::uint32_t> row(columns.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    for (std::size_t column = 0; column < places_of_a.size(); ++column)
      row[places_of_a[column]] = a.rows.value(i, column);
    for (std::size_t j = 0; j < b.rows.size(); ++j) {
      for (std::size_t column = 0; column < places_of_b.size(); ++column)
        row[places_of_b[column]] = b.rows.value(j, column);
      rows.push_back(row);
    }
  }
  rows.sort();
  return {std::move(columns), std::move(rows), {}};
}

/// The rows of a stretch of an order by a hash of the positions of their values, so that equal rows of
/// another problem's space are ordered alike: where that lacks some rows, few of the others are in another
/// shard there.
PackedRows rows_of(const Component& component, const std::vector<Parameter>& parameters, std::uint64_t number,
                   std::uint64_t count) {
  std::vector<std::uint32_t> row(component.parameters.size());
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t i = 0; i < component.rows.size(); ++i) {
    component.rows.unpack(i, row);
    const std::string_view bytes(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(row[0]));
    order.emplace_back(checksum64(bytes), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> own;
  const std::size_t end = order.size() * (number + 1) / count;
  for (std::size_t i = order.size() * number / count; i < end; ++i) own.push_back(order[i].second);
  std::sort(own.begin(), own.end());
  PackedRows rows(value_counts(parameters, component.parameters));
  for (const std::size_t i : own) {
    component.rows.unpack(i, row);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::vector<Component> shard_of(std::vector<Component> components, const std::vector<Parameter>& parameters,
                                const Shard& shard, std::uint64_t turn) {
  if (shard.count == 1 || components.empty()) return components;
  std::stable_sort(components.begin(), components.end(),
                   [](const Component& a, const Component& b) { return a.rows.size() > b.rows.size(); });
  Component& largest = components.front();
  while (components.size() > 1 && largest.rows.size() < kRowsPerShard * shard.count &&
         largest.rows.size() * components[1].rows.size() <= kMostJoinedRows) {
    largest = joined(largest, components[1], parameters);
    components.erase(components.begin() + 1);
  }
  const std::uint64_t number = (shard.number - 1 + turn % shard.count) % shard.count;
  largest.rows = rows_of(largest, parameters, number, shard.count);
  std::sort(components.begin(), components.end(), [](const Component& a, const Component& b) {
    return a.parameters.front() < b.parameters.front();
  });
  return components;
}

}  // namespace tiletune::space
