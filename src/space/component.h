#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/stop.h"
#include "space/packed_rows.h"
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

/// The raw combinations that one constraint is the first to remove.
struct Removed {
  double combinations = 0;
  double without_value = 0;  ///< those for which it was evaluated and has no value
  std::string fault;         ///< of the first of these
};

/// The valid combinations of parameters that conditions connect.
struct Component {
  std::vector<std::size_t> parameters;  ///< by position, ascending
  PackedRows rows;                      ///< valid combinations, as positions of values; sorted
  std::vector<Removed> removed;         ///< by constraint
};

/// How many values each of some parameters has.
std::vector<std::size_t> value_counts(const std::vector<Parameter>& all,
                                      const std::vector<std::size_t>& some);

/// How much of one component is walked before it is refused.
struct ComponentLimits {
  std::uint64_t bytes = std::uint64_t{1} << 29;  ///< of valid combinations: at most 2^26 of them
  std::uint64_t steps = std::uint64_t{1}
                        << 31;  ///< values tried, on all levels together: about half a minute
};

/// Walks a component's parameters depth first, testing each condition as soon as its names are bound. Before
/// that, and for several values of a parameter at a time, it is evaluated on ranges of values: where it
/// cannot be true all these combinations are removed at once.
///
/// A condition without a value for some parameters' values removes these, like a false one. Throws UserError
/// when its types are wrong or parameters have no part in it, and when the component is beyond the limits;
/// Stopped once `stop` says so.
Component enumerate_component(const Scope& scope, const std::vector<std::size_t>& parameters,
                              const std::vector<Condition>& conditions, std::size_t constraint_count,
                              const ComponentLimits& limits = {}, const Stop& stop = never_stop);

/// Tests each of the combinations that `listed` holds, row after row the positions of all parameters' values,
/// instead of walking through all: a component of all parameters. `removed` counts listed combinations. The
/// conditions are tested in the order of the list. Throws as enumerate_component() does.
Component listed_component(const Scope& scope, const std::vector<std::uint32_t>& listed,
                           const std::vector<Condition>& conditions, std::size_t constraint_count,
                           const Stop& stop = never_stop);

/// Leaves the rows of one shard: of its largest component, joined with others as long as it has few rows for
/// so many shards. Each shard gets a stretch of the rows in an order that is the same everywhere and in which
/// neighbours lie apart. Over all shards each configuration is in exactly one; a shard has one row of the
/// component more or less than another. Which stretch a shard gets follows from `turn`: with another turn for
/// each template no shard has more of all of them. `parameters` are those of all components.
std::vector<Component> shard_of(std::vector<Component> components, const std::vector<Parameter>& parameters,
                                const Shard& shard, std::uint64_t turn);

}  // namespace tiletune::space
