#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/stop.h"
#include "base/value.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// One point of a space: the value of each parameter, in the template's order.
struct Configuration {
  std::vector<Value> values;

  NamedValues named(const TemplateSpec& spec) const;
  bool operator==(const Configuration&) const = default;
};

/// What one constraint removes.
struct ConstraintReport {
  std::string require;
  std::string why;
  double removed_first = 0;  ///< raw combinations that it is the first to exclude in the order tested;
                             ///< these sum, over all constraints, to raw size minus valid size
  double without_value = 0;  ///< those among them for which it was evaluated and has no value
  std::string fault;         ///< why it has none for the first of these

  /// A sentence on combinations without a value.
  std::string fault_text() const;
};

/// Number of the way in which a space is divided into shards. Parts of different divisions are neither
/// disjoint nor complete.
inline constexpr int kShardDivision = 2;

/// The valid configurations of one template for one problem, indexed without listing the raw product.
///
/// Constraints are tested as soon as their names are bound while parameters are walked in a chosen order;
/// parameters that no constraint connects are separate factors, so 10^10 raw combinations cost what their
/// connected components cost. A constraint `a and b` is tested as two. Constraints on dimensions and scalars
/// alone are tested first, once; then component by component, in the order of their first parameters. What
/// one component removes counts with the valid combinations of the components before it and the raw ones of
/// the components after it.
///
/// A constraint that has no value for some values of parameters, itself or through a derived value, because
/// of an overflow or a division by zero for example, excludes them like a false one. Such a fault that does
/// not depend on parameters, and a wrong type, are errors. Derived values are evaluated when a constraint
/// reads them.
///
/// A constraint on many parameters is tested on ranges of values, too, before all of them are bound. It then
/// counts as the first to exclude all combinations for which it cannot be true.
///
/// Index order: lexicographic in the positions of the values within a component, with the parameters in the
/// template's order; the components in the order of their first parameters, the last one varying fastest. It
/// does not depend on the order of the walk.
///
/// Where a config lists the configurations, these are one component of all parameters.
///
/// A shard of a space is a space of its own: size(), rows() and indices are those of its configurations;
/// raw_size() and what constraints remove are those of the whole.
class Space {
 public:
  /// Builds the index. Throws UserError for expressions that cannot be parsed or evaluated, and when the
  /// valid part of one connected component exceeds 2^27 combinations; Stopped once `stop` says so.
  Space(const TemplateSpec& spec, const Problem& problem, const Stop& stop = never_stop,
        const Shard& shard = {});

  double raw_size() const;     ///< product of the parameters' value counts (may exceed 2^64), or those listed
  std::uint64_t size() const;  ///< valid configurations
  std::uint64_t rows() const;  ///< valid combinations of connected parameters, which are kept in memory
  /// The i-th valid configuration, i < size().
  Configuration at(std::uint64_t index) const;
  /// The index of a configuration; size() when it is not in the space.
  std::uint64_t index_of(const Configuration& configuration) const;
  /// Indices of the valid configurations that differ in exactly one parameter, each once, in no particular
  /// order.
  std::vector<std::uint64_t> neighbours(std::uint64_t index) const;
  const std::vector<Parameter>& parameters() const;
  /// How many values each parameter has, in the template's order.
  std::vector<std::size_t> value_counts() const;
  /// Where the values of the i-th valid configuration stand among those of their parameters.
  std::vector<std::uint32_t> positions(std::uint64_t index) const;
  /// The index of the configuration with values at these positions; size() when it is not in the space.
  std::uint64_t index_at(std::span<const std::uint32_t> positions) const;
  /// A valid configuration near a point between the positions of values; size() must not be 0. The distance
  /// is the sum over the parameters of the difference, relative to the parameter's range. The nearest one
  /// where few enough have to be looked at, which bounds the time in spaces of any size.
  std::uint64_t nearest(std::span<const double> point) const;
  const std::vector<ConstraintReport>& constraints() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;  ///< copies share it
};

}  // namespace tiletune
