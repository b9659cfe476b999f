#include "space/space.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "space/component.h"
#include "space/packed_rows.h"

namespace tiletune {

using namespace space;

NamedValues Configuration::named(const TemplateSpec& spec) const {
  NamedValues named;
  for (std::size_t i = 0; i < values.size(); ++i) named.emplace_back(spec.parameters.at(i).name, values[i]);
  return named;
}

std::string ConstraintReport::fault_text() const {
  return fmt::format("a constraint that cannot be evaluated excludes {:.15g} combination{}, the first: {}",
                     without_value, without_value == 1 ? "" : "s", fault);
}

struct Space::Impl {
  std::vector<Parameter> parameters;
  std::vector<Component> components;   ///< the last one varies fastest
  std::vector<std::uint64_t> strides;  ///< by component: configurations that share its row
  std::vector<ConstraintReport> reports;
  double raw_size = 1;
  std::uint64_t size = 1;

  Impl(const TemplateSpec& spec, const Problem& problem, const Stop& stop, const Shard& shard) {
    Scope scope(spec, problem);
    for (const Constraint& constraint : spec.constraints)
      reports.push_back({constraint.require.text, constraint.why, 0, 0, ""});
    const std::vector<Condition> conditions = parse_conditions(spec.constraints, scope);
    parameters = spec.parameters;
    if (spec.listed) {
      raw_size = static_cast<double>(spec.listed->size()) / static_cast<double>(parameters.size());
      components.push_back(listed_component(scope, *spec.listed, conditions, reports.size(), stop));
      add_removed(1);
      size = components.front().rows.size();
    } else {
      enumerate(scope, conditions, spec.where, stop);
    }
    // The only configuration of a template without parameters.
    if (components.empty() && checksum64(spec.label()) % shard.count != shard.number - 1) size = 0;
    components = shard_of(std::move(components), parameters, shard, checksum64(spec.label()));
    strides.assign(components.size(), 1);
    for (std::size_t i = components.size(); i-- > 1;) strides[i - 1] = strides[i] * components[i].rows.size();
    if (size > 0 && !components.empty()) size = strides.front() * components.front().rows.size();
  }

  /// What the last component removes, each with `times` combinations of the other parameters.
  void add_removed(double times) {
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const Removed& removed = components.back().removed[i];
      reports[i].removed_first += times * removed.combinations;
      reports[i].without_value += times * removed.without_value;
      if (reports[i].fault.empty()) reports[i].fault = removed.fault;
    }
  }

  /// Nothing is left to test once a component has no valid combination.
  void enumerate(const Scope& scope, const std::vector<Condition>& conditions, const Where& where,
                 const Stop& stop) {
    const auto connected = connected_components(scope, conditions);
    for (const auto& component : connected) raw_size *= combinations(scope, component);
    std::vector<Scalar> slots = scope.initial_slots();
    const std::vector<const Program*> definitions = scope.definitions();
    const auto constant = std::ranges::find_if(conditions, [&](const Condition& condition) {
      return condition.parameters.empty() && !is_true(evaluate(condition.program, {slots, definitions}));
    });
    if (constant != conditions.end()) {
      reports[constant->constraint].removed_first = raw_size;
      size = 0;
    }
    double untested = raw_size;
    for (auto component = connected.begin(); component != connected.end() && size > 0; ++component) {
      untested /= combinations(scope, *component);
      components.push_back(enumerate_component(scope, *component, conditions, reports.size(), {}, stop));
      add_removed(static_cast<double>(size) * untested);
      if (__builtin_mul_overflow(size, components.back().rows.size(), &size))
        throw UserError("more than 2^64 valid configurations", where,
                        "Add constraints, or list fewer values.");
    }
  }

  std::uint64_t row_in(std::size_t component, std::uint64_t index) const {
    return index / strides[component] % components[component].rows.size();
  }

  std::vector<std::uint32_t> positions_in(std::size_t component, std::uint64_t index) const {
    std::vector<std::uint32_t> positions(components[component].parameters.size());
    components[component].rows.unpack(row_in(component, index), positions);
    return positions;
  }

  /// Appends the other valid rows that differ in one column.
  void add_neighbours(std::size_t component, std::uint64_t index, std::vector<std::uint64_t>& found) const {
    const std::uint64_t base = index - row_in(component, index) * strides[component];
    std::vector<std::uint32_t> positions = positions_in(component, index);
    for (std::size_t column = 0; column < positions.size(); ++column) {
      const std::uint32_t own = positions[column];
      const auto parameter = components[component].parameters[column];
      for (std::uint32_t other = 0; other < parameters[parameter].values.size(); ++other) {
        positions[column] = other;
        const auto row = other == own ? std::nullopt : components[component].rows.find(positions);
        if (row) found.push_back(base + *row * strides[component]);
      }
      positions[column] = own;
    }
  }
};

Space::Space(const TemplateSpec& spec, const Problem& problem, const Stop& stop, const Shard& shard)
    : impl_(std::make_shared<const Impl>(spec, problem, stop, shard)) {}

double Space::raw_size() const { return impl_->raw_size; }
std::uint64_t Space::size() const { return impl_->size; }
std::uint64_t Space::rows() const {
  std::uint64_t rows = 0;
  for (const Component& component : impl_->components) rows += component.rows.size();
  return rows;
}
const std::vector<ConstraintReport>& Space::constraints() const { return impl_->reports; }

Configuration Space::at(std::uint64_t index) const {
  Configuration configuration;
  const std::vector<std::uint32_t> held = positions(index);
  for (std::size_t i = 0; i < held.size(); ++i)
    configuration.values.push_back(impl_->parameters[i].values[held[i]]);
  return configuration;
}

std::uint64_t Space::index_of(const Configuration& configuration) const {
  if (impl_->size == 0 || configuration.values.size() != impl_->parameters.size()) return impl_->size;
  std::vector<std::uint32_t> positions;
  for (std::size_t i = 0; i < configuration.values.size(); ++i) {
    const auto& values = impl_->parameters[i].values;
    const Scalar wanted = to_scalar(configuration.values[i]);
    const auto found =
        std::ranges::find_if(values, [&](const Value& value) { return equals(to_scalar(value), wanted); });
    if (found == values.end()) return impl_->size;
    positions.push_back(static_cast<std::uint32_t>(found - values.begin()));
  }
  return index_at(positions);
}

std::vector<std::uint64_t> Space::neighbours(std::uint64_t index) const {
  std::vector<std::uint64_t> found;
  for (std::size_t component = 0; component < impl_->components.size(); ++component)
    impl_->add_neighbours(component, index, found);
  return found;
}

const std::vector<Parameter>& Space::parameters() const { return impl_->parameters; }

std::vector<std::size_t> Space::value_counts() const {
  std::vector<std::size_t> counts;
  for (const Parameter& parameter : impl_->parameters) counts.push_back(parameter.values.size());
  return counts;
}

std::vector<std::uint32_t> Space::positions(std::uint64_t index) const {
  std::vector<std::uint32_t> positions(impl_->parameters.size());
  for (std::size_t component = 0; component < impl_->components.size(); ++component) {
    const auto own = impl_->positions_in(component, index);
    for (std::size_t column = 0; column < own.size(); ++column)
      positions[impl_->components[component].parameters[column]] = own[column];
  }
  return positions;
}

std::uint64_t Space::index_at(std::span<const std::uint32_t> positions) const {
  std::uint64_t index = 0;
  std::vector<std::uint32_t> own;
  for (std::size_t i = 0; i < impl_->components.size(); ++i) {
    const Component& component = impl_->components[i];
    own.clear();
    for (const std::size_t parameter : component.parameters) own.push_back(positions[parameter]);
    const auto row = component.rows.find(own);
    if (!row) return impl_->size;
    index += *row * impl_->strides[i];
  }
  return index;
}

std::uint64_t Space::nearest(std::span<const double> point) const {
  std::uint64_t index = 0;
  std::vector<WantedPosition> wanted;
  for (std::size_t i = 0; i < impl_->components.size(); ++i) {
    const Component& component = impl_->components[i];
    wanted.clear();
    for (const std::size_t parameter : component.parameters)
      wanted.push_back({point[parameter], impl_->parameters[parameter].values.size()});
    index += nearest_row(component.rows, wanted) * impl_->strides[i];
  }
  return index;
}

}  // namespace tiletune
