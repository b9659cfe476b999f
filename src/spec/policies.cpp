#include "spec/policies.h"

#include "spec/keys.h"

namespace tiletune {

namespace {

constexpr std::int64_t kMostRegisters =
    255;  // Per thread, on every architecture since compute capability 3.5.
constexpr NumberRange kTimeout{.min = 0, .max = 24 * 3600, .above = true};
constexpr NumberRange kWallTime{.min = 0, .max = 366 * 24 * 3600.0};
constexpr NumberRange kBatched{.min = 0, .max = 1000};

double read_screening(const JsonNode& node) {
  const double factor = read_number(node, kScreening);
  if (factor == 0 || factor >= 1) return factor;
  throw UserError("a factor below 1 would drop what is faster than the leader", node.where,
                  "Write a factor such as 1.5, or 0 for no screening.");
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

Budget read_budget(const JsonNode& node) {
  ObjectReader reader(node, keys::kBudget);
  Budget budget;
  if (const auto evaluations = reader.find("evaluations")) {
    budget.evaluations = static_cast<std::uint64_t>(read_integer(*evaluations));
  }
  if (const auto seconds = reader.find("seconds")) budget.seconds = read_number(*seconds, kWallTime);
  reader.finish();
  return budget;
}

FinalsPolicy read_finals(const JsonNode& node) {
  ObjectReader reader(node, keys::kFinals);
  FinalsPolicy finals;
  if (const auto configurations = reader.find("configurations")) {
    finals.configurations = static_cast<int>(read_integer(*configurations, 0, kMostFinalists));
  }
  if (const auto within = reader.find("within_percent"))
    finals.within_percent = read_number(*within, kPercentage);
  if (const auto rounds = reader.find("rounds")) {
    finals.rounds = static_cast<int>(read_integer(*rounds, kFewestRounds, kMostLaunches));
  }
  if (const auto sustained = reader.find("sustained_s"))
    finals.sustained_s = read_number(*sustained, kSustained);
  reader.finish();
  return finals;
}

MeasurePolicy read_measure(const JsonNode& node) {
  ObjectReader reader(node, keys::kMeasure);
  MeasurePolicy policy;
  if (const auto warmup = reader.find("warmup")) {
    policy.warmup = static_cast<int>(read_integer(*warmup, 0, kMostLaunches));
  }
  if (const auto samples = reader.find("samples")) {
    policy.samples = static_cast<int>(read_integer(*samples, 1, kMostLaunches));
  }
  if (const auto precision = reader.find("precision_percent"))
    policy.precision_percent = read_number(*precision, kPercentage);
  if (const auto screening = reader.find("screening")) policy.screening = read_screening(*screening);
  if (const auto batch = reader.find("batch_below_us")) policy.batch_below_us = read_number(*batch, kBatched);
  if (const auto cache = reader.find("cache")) policy.cache = read_enum(*cache, kCachePolicies);
  if (const auto seed = reader.find("seed")) policy.seed = static_cast<std::uint64_t>(read_integer(*seed));
  if (const auto verify = reader.find("verify")) policy.verify = read_boolean(*verify);
  if (const auto timeout = reader.find("launch_timeout_s"))
    policy.launch_timeout_s = read_number(*timeout, kTimeout);
  if (const auto finals = reader.find("finals")) policy.finals = read_finals(*finals);
  reader.finish();
  return policy;
}

CompilePolicy read_compile(const JsonNode& node) {
  ObjectReader reader(node, keys::kCompile);
  CompilePolicy policy;
  if (const auto options = reader.find("options")) policy.options = read_strings(*options, "NVRTC options");
  if (const auto timeout = reader.find("timeout_s")) policy.timeout_s = read_number(*timeout, kTimeout);
  reader.finish();
  return policy;
}

AdmissionLimits read_limits(const JsonNode& node) {
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
