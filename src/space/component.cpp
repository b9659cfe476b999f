#include "space/component.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/text.h"
#include "space/condition.h"

namespace tiletune::space {
namespace {

[[noreturn]] void refuse_size(const Scope& scope, const std::vector<std::size_t>& parameters,
                              std::uint64_t limit, const char* what, const char* remedy) {
  std::vector<std::string> names;
  names.reserve(parameters.size());
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
       const std::vector<const Condition*>& conditions, const ComponentLimits& limits, const Stop& stop)
      : scope_(scope),
        parameters_(parameters),
        limits_(limits),
        stop_(stop),
        levels_(plan_walk(scope, parameters, conditions, stop)),
        put_off_(conditions.size(), false),
        slots_(scope.initial_slots()),
        definitions_(scope.definitions()),
        bindings_{slots_, definitions_},
        row_(parameters.size()),
        rows_(value_counts(scope.parameters(), parameters)) {}

  Component run(std::size_t constraint_count) {
    descend(0);
    rows_.sort();
    std::vector<double> removed(constraint_count, 0);
    for (const Level& level : levels_)
      for (const Test& test : level.tests)
        removed[test.constraint] += static_cast<double>(test.removed) * level.below;
    return {parameters_, std::move(rows_), std::move(removed)};
  }

 private:
  void descend(std::size_t depth) {
    if (depth == levels_.size()) return add_row();
    Level& level = levels_[depth];
    steps_ += level.values.size();
    if (steps_ > limits_.steps) {
      refuse_size(
          scope_, parameters_, limits_.steps, "steps through the combinations",
          "Add constraints that hold for fewer of these parameters at a time, so that they apply earlier, or "
          "list fewer values.");
    }
    for (std::size_t value = 0; value < level.values.size(); ++value) {
      spend(1);
      slots_[level.slot] = level.values[value];
      for (const std::size_t slot : level.derived) slots_[slot] = unset_scalar();
      row_[level.column] = static_cast<std::uint32_t>(value);
      if (passes(level)) descend(depth + 1);
    }
  }

  void spend(std::size_t work) {
    work_ += work;
    if (work_ < kWorkPerQuestion) return;
    work_ = 0;
    if (stop_()) throw Stopped();
  }

  bool passes(Level& level) {
    for (Test& test : level.tests) {
      if (test.turn == Test::Turn::late && !put_off_[test.condition]) continue;
      Scalar result = unset_scalar();
      Fault fault;
      spend(test.program->instructions());
      const bool known = test.program->run(bindings_, result, fault);
      if (test.turn == Test::Turn::early) put_off_[test.condition] = !known;
      if (!known && test.turn != Test::Turn::early) test.program->raise(fault, bindings_);
      if (known && !is_true(result)) {
        ++test.removed;
        return false;
      }
    }
    return true;
  }

  void add_row() {
    if (rows_.size() == limits_.rows) {
      refuse_size(scope_, parameters_, limits_.rows, "valid combinations",
                  "Add constraints, or list fewer values of these parameters.");
    }
    rows_.push_back(row_);
  }

  const Scope& scope_;
  const std::vector<std::size_t>& parameters_;
  ComponentLimits limits_;
  const Stop& stop_;
  std::uint64_t steps_ = 0;
  std::size_t work_ = 0;  ///< since it was last asked whether to stop
  std::vector<Level> levels_;
  std::vector<bool> put_off_;  ///< by condition: it had no result on the way to here
  std::vector<Scalar> slots_;
  std::vector<const Program*> definitions_;
  Bindings bindings_;
  std::vector<std::uint32_t> row_;
  PackedRows rows_;
};

}  // namespace

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
  return Walk(scope, parameters, own, limits, stop).run(constraint_count);
}

Component listed_component(const Scope& scope, const std::vector<std::uint32_t>& listed,
                           const std::vector<Condition>& conditions, std::size_t constraint_count,
                           const Stop& stop) {
  std::vector<std::size_t> parameters(scope.parameters().size());
  std::iota(parameters.begin(), parameters.end(), std::size_t{0});
  Component component{parameters, PackedRows(value_counts(scope.parameters(), parameters)),
                      std::vector<double>(constraint_count, 0)};
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
      return !is_true(evaluate(condition.program, bindings));
    });
    if (broken == conditions.end()) {
      component.rows.push_back(row);
    } else {
      ++component.removed[broken->constraint];
    }
    if (++work < kWorkPerQuestion) continue;
    work = 0;
    if (stop()) throw Stopped();
  }
  component.rows.sort();
  return component;
}

}  // namespace tiletune::space
