#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/stop.h"
#include "space/scope.h"

namespace tiletune::space {

/// A constraint, or one operand of the `and` at its top.
struct Condition {
  Program program;
  std::size_t constraint;               ///< position in the template's list
  std::vector<std::size_t> parameters;  ///< it depends on, by position, also through derived values
  std::vector<std::size_t> derived;     ///< it depends on, by position
};

/// The product of these parameters' value counts.
double combinations(const Scope& scope, const std::vector<std::size_t>& parameters);

/// All constraints' conditions, in the order of the list. Throws UserError for what cannot be parsed.
std::vector<Condition> parse_conditions(const std::vector<Constraint>& constraints, const Scope& scope);

/// Parameters that conditions connect, directly or over others. Each component is ascending; the components
/// are in the order of their first parameters.
std::vector<std::vector<std::size_t>> connected_components(const Scope& scope,
                                                           const std::vector<Condition>& conditions);

/// A condition where it is tested.
struct Test {
  enum class Turn {
    only,   ///< everything listed before it has been tested by then
    early,  ///< conditions listed before it are still open: without a result it is put off
    late    ///< after those, when it was put off
  };

  const Program* program;
  std::size_t constraint;
  std::size_t condition;  ///< position among the component's conditions
  Turn turn;
  std::uint64_t removed = 0;  ///< how often it was the first false one
};

/// A parameter in the order of the walk, with what its binding makes possible.
struct Level {
  std::size_t parameter;  ///< by position
  std::size_t slot;
  std::size_t column;  ///< in the component's rows
  std::vector<Scalar> values;
  std::vector<std::size_t> derived;  ///< slots of the derived values that are complete here
  std::vector<Test> tests;           ///< in the order of the list
  double below = 1;                  ///< raw combinations of the parameters after it
};

/// Plans the walk over a component's parameters. `conditions` are the component's, in the order of the list.
/// Throws Stopped.
std::vector<Level> plan_walk(const Scope& scope, const std::vector<std::size_t>& component,
                             const std::vector<const Condition*>& conditions, const Stop& stop);

}  // namespace tiletune::space
