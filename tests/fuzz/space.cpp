// A small space, one part a line: "p NAME VALUE...", "d NAME EXPRESSION", "c EXPRESSION". What the space
// holds must be what testing every combination finds.

#include "space/space.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "base/value.h"
#include "fuzz/fuzz.h"
#include "space/component.h"
#include "space/operators.h"
#include "space/program.h"
#include "space/scope.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

Value value_of(const std::string& word) {
  if (word == "true" || word == "false") return word == "true";
  const bool digits =
      !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
  if (digits) return std::int64_t{std::stoll(word)};
  if (word == "-1") return std::int64_t{-1};
  if (word == "0.5") return 0.5;
  return word;
}

std::vector<Value> values_of(std::istringstream& words) {
  std::vector<Value> values;
  std::string word;
  while (words >> word) values.push_back(value_of(word));
  return values;
}

TemplateSpec spec_of(std::string_view text) {
  TemplateSpec spec;
  spec.operation.dimensions = {"M"};
  for (const std::string& line : split(text, '\n')) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind;
    if (kind == "c") spec.constraints.push_back({{line.substr(line.find('c') + 1), {}}, "why"});
    if (kind == "p" && words >> name) spec.parameters.push_back({name, values_of(words), "", {}});
    if (kind == "d" && words >> name) {
      std::string rest;
      std::getline(words, rest);
      spec.derived.push_back({name, {rest, {}}, ""});
    }
  }
  return spec;
}

enum class Verdict { valid, removed, undefined };

/// Tests one combination after the other, each constraint in the order of the list.
class OneByOne {
 public:
  OneByOne(const TemplateSpec& spec, const Problem& problem) : spec_(spec) {
    for (const auto& [name, size] : problem.dimensions) {
      symbols_.declare(name, {});
      constants_.emplace_back(size);
    }
    for (const Parameter& parameter : spec.parameters) symbols_.declare(parameter.name, {});
    for (const Derived& derived : spec.derived) {
      derived_.emplace_back(derived.value, symbols_);
      symbols_.declare(derived.name, {});
    }
    for (const Constraint& constraint : spec.constraints)
      constraints_.emplace_back(constraint.require, symbols_);
    walk({});
  }

  std::vector<Configuration> valid;
  double combinations = 0;
  bool undefined = false;  ///< some constraint has no value where none before it is false

 private:
  void walk(std::vector<Value> values) {
    if (values.size() == spec_.parameters.size()) return add(values);
    for (const Value& value : spec_.parameters[values.size()].values) {
      values.push_back(value);
      walk(values);
      values.pop_back();
    }
  }

  void add(const std::vector<Value>& values) {
    ++combinations;
    const Verdict verdict = judge(values);
    if (verdict == Verdict::valid) valid.push_back({values});
    undefined = undefined || verdict == Verdict::undefined;
  }

  /// Derived values that cannot be computed stay away, so that whoever reads one has no value either.
  Verdict judge(const std::vector<Value>& values) const {
    std::vector<space::Scalar> slots;
    for (const auto* of : {&constants_, &values})
      for (const Value& value : *of) slots.push_back(space::to_scalar(value));
    std::vector<bool> missing(slots.size(), false);
    for (const space::Program& derived : derived_) {
      slots.push_back(space::unset_scalar());
      missing.push_back(!computed(derived, slots, missing));
    }
    for (const space::Program& constraint : constraints_) {
      bool holds = false;
      if (reads_missing(constraint, missing)) return Verdict::undefined;
      if (refused([&] { holds = space::is_true(space::evaluate(constraint, {slots, {}})); }))
        return Verdict::undefined;
      if (!holds) return Verdict::removed;
    }
    return Verdict::valid;
  }

  static bool computed(const space::Program& derived, std::vector<space::Scalar>& slots,
                       const std::vector<bool>& missing) {
    return !reads_missing(derived, missing) && !refused([&] {
      slots.back() = space::evaluate(derived, {slots, {}});
    });
  }

  static bool reads_missing(const space::Program& program, const std::vector<bool>& missing) {
    const auto& slots = program.slots();
    return std::any_of(slots.begin(), slots.end(),
                       [&](int slot) { return missing[static_cast<std::size_t>(slot)]; });
  }

  const TemplateSpec& spec_;
  space::SymbolTable symbols_;
  std::vector<Value> constants_;
  std::vector<space::Program> derived_, constraints_;
};

/// Names and values can be declared, all expressions parsed, and those without parameters, which are tested
/// before all others, evaluated.
bool well_formed(const TemplateSpec& spec, const Problem& problem) {
  return !refused([&] {
    const space::Scope scope(spec, problem);
    std::vector<space::Scalar> slots = scope.initial_slots();
    const auto definitions = scope.definitions();
    for (const space::Condition& condition : space::parse_conditions(spec.constraints, scope)) {
      if (condition.parameters.empty()) space::evaluate(condition.program, {slots, definitions});
    }
  });
}

void check(const Space& space, const OneByOne& expected) {
  if (!expected.undefined)
    require(space.size() == expected.valid.size(), "every valid configuration is there");
  require(space.raw_size() == expected.combinations, "the raw size is the product");
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const Configuration configuration = space.at(i);
    require(space.index_of(configuration) == i, "a configuration has one index");
    for (const std::uint64_t other : space.neighbours(i))
      require(other < space.size() && other != i, "a neighbour");
  }
  for (const Configuration& configuration : expected.valid) {
    require(space.index_of(configuration) < space.size(), "a valid configuration is found");
  }
  double removed = 0;
  for (const ConstraintReport& report : space.constraints()) removed += report.removed_first;
  require(removed == space.raw_size() - static_cast<double>(space.size()), "what constraints remove adds up");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostCombinations = 300;
  const TemplateSpec spec = spec_of(text_of(data, size));
  const Problem problem{{{"M", 96}}};
  if (!raw_size(spec, kMostCombinations)) return 0;
  std::optional<Space> space;
  const bool failed = refused([&] { space.emplace(spec, problem); });
  std::optional<OneByOne> expected;
  const bool unreadable = refused([&] { expected.emplace(spec, problem); });
  if (unreadable) return 0;
  if (failed) require(expected->undefined || !well_formed(spec, problem), "a space is refused for a reason");
  if (!failed) check(*space, *expected);
  return 0;
}
