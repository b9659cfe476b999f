#include "space/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "space/group.h"

namespace tiletune {

using namespace space;

namespace {

double raw_size_of(const Scope& scope, const std::vector<std::size_t>& parameters) {
  double product = 1;
  for (const std::size_t parameter : parameters)
    product *= static_cast<double>(scope.parameters()[parameter].values.size());
  return product;
}

/// The first condition without parameters that is false; null when there is none.
const Condition* false_constant(const Scope& scope, const std::vector<Condition>& conditions) {
  std::vector<Scalar> slots = scope.initial_slots();
  const std::vector<const Program*> definitions = scope.definitions();
  const Frame frame{slots, definitions};
  for (const Condition& condition : conditions)
    if (condition.parameters.empty() && !is_true(evaluate(condition.program, frame))) return &condition;
  return nullptr;
}

}  // namespace

NamedValues Configuration::named(const TemplateSpec& spec) const {
  NamedValues named;
  for (std::size_t i = 0; i < values.size(); ++i) named.emplace_back(spec.parameters.at(i).name, values[i]);
  return named;
}

struct Space::Impl {
  std::vector<Parameter> parameters;
  std::vector<Group> groups;           ///< the last one varies fastest
  std::vector<std::uint64_t> strides;  ///< by group: configurations that share its row
  std::vector<ConstraintReport> reports;
  double raw_size = 1;
  std::uint64_t size = 1;

  Impl(const TemplateSpec& spec, const Problem& problem, const Stop& stop) {
    Scope scope(spec, problem);
    for (const Constraint& constraint : spec.constraints)
      reports.push_back({constraint.require.text, constraint.why, 0});
    const std::vector<Condition> conditions = parse_conditions(spec.constraints, scope);
    const auto connected = connected_groups(scope, conditions);
    for (const auto& group : connected) raw_size *= raw_size_of(scope, group);
    if (const Condition* constant = false_constant(scope, conditions)) {
      reports[constant->constraint].removed_first = raw_size;
      size = 0;
    }
    enumerate(scope, connected, conditions, spec.where, stop);
    strides.assign(groups.size(), 1);
    for (std::size_t i = groups.size(); i-- > 1;) strides[i - 1] = strides[i] * groups[i].rows.size();
    parameters = spec.parameters;
  }

  /// Nothing is left to test once a group has no valid combination.
  void enumerate(const Scope& scope, const std::vector<std::vector<std::size_t>>& connected,
                 const std::vector<Condition>& conditions, const Where& where, const Stop& stop) {
    double untested = raw_size;
    for (auto group = connected.begin(); group != connected.end() && size > 0; ++group) {
      untested /= raw_size_of(scope, *group);
      groups.push_back(enumerate_group(scope, *group, conditions, reports.size(), {}, stop));
      for (std::size_t i = 0; i < reports.size(); ++i)
        reports[i].removed_first += static_cast<double>(size) * groups.back().removed[i] * untested;
      if (__builtin_mul_overflow(size, groups.back().rows.size(), &size))
        throw UserError("more than 2^64 valid configurations", where,
                        "Add constraints, or list fewer values.");
    }
  }

  std::uint64_t row_in(std::size_t group, std::uint64_t index) const {
    return index / strides[group] % groups[group].rows.size();
  }

  std::vector<std::uint32_t> positions_in(std::size_t group, std::uint64_t index) const {
    std::vector<std::uint32_t> positions(groups[group].parameters.size());
    groups[group].rows.unpack(row_in(group, index), positions);
    return positions;
  }

  /// Appends the other valid rows that differ in one column.
  void add_neighbours(std::size_t group, std::uint64_t index, std::vector<std::uint64_t>& found) const {
    const std::uint64_t base = index - row_in(group, index) * strides[group];
    std::vector<std::uint32_t> positions = positions_in(group, index);
    for (std::size_t column = 0; column < positions.size(); ++column) {
      const std::uint32_t own = positions[column];
      const auto parameter = groups[group].parameters[column];
      for (std::uint32_t other = 0; other < parameters[parameter].values.size(); ++other) {
        positions[column] = other;
        const auto row = other == own ? std::nullopt : groups[group].rows.find(positions);
        if (row) found.push_back(base + *row * strides[group]);
      }
      positions[column] = own;
    }
  }

  /// The position of each of the group's values; empty when one is not a value of its parameter.
  std::vector<std::uint32_t> positions_of(const Group& group, const Configuration& configuration) const {
    std::vector<std::uint32_t> positions;
    for (const std::size_t parameter : group.parameters) {
      const auto& values = parameters[parameter].values;
      const auto found = std::find(values.begin(), values.end(), configuration.values[parameter]);
      if (found == values.end()) return {};
      positions.push_back(static_cast<std::uint32_t>(found - values.begin()));
    }
    return positions;
  }
};

Space::Space(const TemplateSpec& spec, const Problem& problem, const Stop& stop)
    : impl_(std::make_unique<Impl>(spec, problem, stop)) {}
Space::~Space() = default;
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;

double Space::raw_size() const { return impl_->raw_size; }
std::uint64_t Space::size() const { return impl_->size; }
std::uint64_t Space::rows() const {
  std::uint64_t rows = 0;
  for (const Group& group : impl_->groups) rows += group.rows.size();
  return rows;
}
const std::vector<ConstraintReport>& Space::constraints() const { return impl_->reports; }

Configuration Space::at(std::uint64_t index) const {
  Configuration configuration;
  configuration.values.resize(impl_->parameters.size());
  for (std::size_t group = 0; group < impl_->groups.size(); ++group) {
    const auto positions = impl_->positions_in(group, index);
    for (std::size_t column = 0; column < positions.size(); ++column) {
      const auto parameter = impl_->groups[group].parameters[column];
      configuration.values[parameter] = impl_->parameters[parameter].values[positions[column]];
    }
  }
  return configuration;
}

std::uint64_t Space::index_of(const Configuration& configuration) const {
  if (impl_->size == 0 || configuration.values.size() != impl_->parameters.size()) return impl_->size;
  std::uint64_t index = 0;
  for (std::size_t group = 0; group < impl_->groups.size(); ++group) {
    const auto positions = impl_->positions_of(impl_->groups[group], configuration);
    const auto row = positions.empty() ? std::nullopt : impl_->groups[group].rows.find(positions);
    if (!row) return impl_->size;
    index += *row * impl_->strides[group];
  }
  return index;
}

std::vector<std::uint64_t> Space::neighbours(std::uint64_t index) const {
  std::vector<std::uint64_t> found;
  for (std::size_t group = 0; group < impl_->groups.size(); ++group)
    impl_->add_neighbours(group, index, found);
  return found;
}

}  // namespace tiletune
