#include "spec/policies.h"

#include <limits>
#include <utility>

#include "spec/keys.h"

namespace tiletune {

namespace {

template <HasFields Policy>
Policy read_policy(const JsonNode& node);

template <typename Number>
Number read_bounded(const JsonNode& node, const Bounds<Number>& bounds) {
  if constexpr (std::is_floating_point_v<Number>) {
    return read_number(node, bounds);
  } else {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    const auto max = std::cmp_less(bounds.max, kMost) ? static_cast<std::int64_t>(bounds.max) : kMost;
    return static_cast<Number>(read_integer(node, static_cast<std::int64_t>(bounds.min), max));
  }
}

void read_into(const JsonNode& node, bool& out, NoBounds /*bounds*/) { out = read_boolean(node); }

void read_into(const JsonNode& node, std::vector<std::string>& out, NoBounds /*bounds*/) {
  out = read_strings(node, "NVRTC options");
}

template <Spelled Enum>
void read_into(const JsonNode& node, Enum& out, NoBounds /*bounds*/) {
  out = read_enum<Enum>(node);
}

template <HasFields Policy>
void read_into(const JsonNode& node, Policy& out, NoBounds /*bounds*/) {
  out = read_policy<Policy>(node);
}

/// A number, or one that may be absent.
template <typename Out, typename Number>
void read_into(const JsonNode& node, Out& out, const Bounds<Number>& bounds) {
  out = read_bounded(node, bounds);
}

/// By its list of fields.
template <HasFields Policy>
Policy read_policy(const JsonNode& node) {
  static constexpr auto kKeys = field_names<Policy>();
  ObjectReader reader(node, kKeys);
  Policy policy;
  for_each_field<Policy>([&](const auto& field) {
    if (const auto member = reader.find(field.name)) read_into(*member, policy.*field.member, field.bounds);
  });
  reader.finish();
  return policy;
}

}  // namespace

StrategySpec read_strategy(const JsonNode& node) {
  ObjectReader reader(node, keys::kStrategy);
  StrategySpec strategy;
  if (const auto name = reader.find("name")) {
    strategy.name = read_string(*name);
    strategy.where = name->where;
  }
  if (const auto seed = reader.find("seed")) strategy.seed = static_cast<std::uint64_t>(read_integer(*seed));
  reader.finish();
  return strategy;
}

Budget read_budget(const JsonNode& node) { return read_policy<Budget>(node); }
MeasurePolicy read_measure(const JsonNode& node) { return read_policy<MeasurePolicy>(node); }
CompilePolicy read_compile(const JsonNode& node) { return read_policy<CompilePolicy>(node); }
AdmissionLimits read_limits(const JsonNode& node) { return read_policy<AdmissionLimits>(node); }
Tolerance read_tolerance(const JsonNode& node) { return read_policy<Tolerance>(node); }

}  // namespace tiletune
