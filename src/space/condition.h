#pragma once

#include <cstddef>
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

/// All constraints' conditions, in the order of the list. Throws UserError for what cannot be parsed.
std::vector<Condition> parse_conditions(const std::vector<Constraint>& constraints, const Scope& scope);

/// Parameters that conditions connect, directly or over others. Each component is ascending; the components
/// are in the order of their first parameters.
std::vector<std::vector<std::size_t>> connected_components(const Scope& scope,
                                                           const std::vector<Condition>& conditions);

/// The order in which to bind a component's parameters so that little is tried in vain: next come always the
/// parameters that complete the condition with the fewest combinations still open. Throws Stopped.
std::vector<std::size_t> walk_order(const Scope& scope, const std::vector<std::size_t>& component,
                                    const std::vector<const Condition*>& conditions, const Stop& stop);

}  // namespace tiletune::space
