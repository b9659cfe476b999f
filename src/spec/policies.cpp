#include "spec/policies.h"

#include "spec/keys.h"

namespace tiletune {

namespace {

constexpr std::int64_t kMostLaunches = 10000;
constexpr std::int64_t kMostRegisters =
    255;  // Per thread, on every architecture since compute capability 3.5.
constexpr NumberRange kTimeout{.min = 0, .max = 24 * 3600, .above = true};
constexpr NumberRange kWallTime{.min = 0, .max = 366 * 24 * 3600.0};

}  // namespace

StrategySpec read_strategy(const Node& node) {
  ObjectReader reader(node, keys::kStrategy);
  StrategySpec strategy;
  if (const auto name = reader.find("name")) strategy.kind = read_enum(*name, kStrategies);
  if (const auto seed = reader.find("seed")) strategy.seed = static_cast<std::uint64_t>(read_integer(*seed));
  reader.finish();
  return strategy;
}

Budget read_budget(const Node& node) {
  ObjectReader reader(node, keys::kBudget);
  Budget budget;
  if (const auto evaluations = reader.find("evaluations")) {
    budget.evaluations = static_cast<std::uint64_t>(read_integer(*evaluations));
  }
  if (const auto seconds = reader.find("seconds")) budget.seconds = read_number(*seconds, kWallTime);
  reader.finish();
  return budget;
}

MeasurePolicy read_measure(const Node& node) {
  ObjectReader reader(node, keys::kMeasure);
  MeasurePolicy policy;
  if (const auto warmup = reader.find("warmup")) {
    policy.warmup = static_cast<int>(read_integer(*warmup, 0, kMostLaunches));
  }
  if (const auto samples = reader.find("samples")) {
    policy.samples = static_cast<int>(read_integer(*samples, 1, kMostLaunches));
  }
  if (const auto cache = reader.find("cache")) policy.cache = read_enum(*cache, kCachePolicies);
  if (const auto seed = reader.find("seed")) policy.seed = static_cast<std::uint64_t>(read_integer(*seed));
  if (const auto verify = reader.find("verify")) policy.verify = read_boolean(*verify);
  if (const auto timeout = reader.find("launch_timeout_s"))
    policy.launch_timeout_s = read_number(*timeout, kTimeout);
  reader.finish();
  return policy;
}

CompilePolicy read_compile(const Node& node) {
  ObjectReader reader(node, keys::kCompile);
  CompilePolicy policy;
  if (const auto options = reader.find("options")) policy.options = read_strings(*options, "NVRTC options");
  if (const auto timeout = reader.find("timeout_s")) policy.timeout_s = read_number(*timeout, kTimeout);
  reader.finish();
  return policy;
}

AdmissionLimits read_limits(const Node& node) {
  ObjectReader reader(node, keys::kLimits);
  AdmissionLimits limits;
  if (const auto spills = reader.find("max_spill_bytes")) limits.max_spill_bytes = read_integer(*spills);
  if (const auto occupancy = reader.find("min_occupancy")) {
    limits.min_occupancy = read_number(*occupancy, {.min = 0, .max = 1});
  }
  if (const auto registers = reader.find("max_registers")) {
    limits.max_registers = read_integer(*registers, 1, kMostRegisters);
  }
  reader.finish();
  return limits;
}

}  // namespace tiletune
