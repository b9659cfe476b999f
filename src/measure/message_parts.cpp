#include "measure/message_parts.h"

#include <cmath>

#include "measure/message_json.h"
#include "spec/names.h"

namespace tiletune::message {

namespace {

constexpr std::int64_t kMostLaunches = 1'000'000;

CachePolicy cache_policy_from(const std::string& text) {
  for (const auto& known : kCachePolicies) {
    if (known.name == text) return known.value;
  }
  throw ProtocolError("there is no cache policy '" + text + "'");
}

std::vector<double> measurements(const Json& json, const char* what) {
  auto values = json.get<std::vector<double>>();
  for (const double value : values) {
    if (!std::isfinite(value) || value < 0) throw ProtocolError(fmt::format("a {} is {}", what, value));
  }
  return values;
}

Json sustained_json(const Sustained& sustained) {
  return {{"launch_us", sustained.launch_us},
          {"sm_clock_mhz", optional(sustained.sm_clock_mhz)},
          {"power_w", optional(sustained.power_w)}};
}

Workload::Rows rows_from(const Json& json, std::int64_t elements) {
  const auto [columns, pitch] = integers<std::int64_t, 2>(json);
  const bool is_whole =
      columns > 0 && pitch >= columns && elements >= columns && (elements - columns) % pitch == 0;
  if (!is_whole)
    throw ProtocolError(fmt::format("{} elements are not rows of {}, {} apart", elements, columns, pitch));
  return {columns, pitch};
}

Sustained sustained_from(const Json& json) {
  Sustained sustained;
  get(json, "launch_us", sustained.launch_us);
  get(json, "sm_clock_mhz", sustained.sm_clock_mhz);
  get(json, "power_w", sustained.power_w);
  return sustained;
}

}  // namespace

Json workload_json(const Workload& workload) {
  Json buffers = Json::array();
  for (const auto& buffer : workload.buffers) {
    Json& item = buffers.emplace_back(Json{{"name", buffer.name},
                                           {"element", static_cast<int>(buffer.type)},
                                           {"elements", buffer.elements},
                                           {"role", static_cast<int>(buffer.role)}});
    if (buffer.rows) item["rows"] = {buffer.rows->columns, buffer.rows->pitch};
  }
  return {{"buffers", buffers},
          {"flops", workload.flops},
          {"bytes", workload.bytes},
          {"accumulation", workload.accumulation}};
}

Workload workload_from(const Json& json) {
  Workload workload;
  for (const Json& item : json.at("buffers")) {
    Workload::SizedBuffer buffer{};
    get(item, "name", buffer.name);
    buffer.type = get_enum<ElementType>(item, "element", static_cast<int>(ElementType::u32));
    get(item, "elements", buffer.elements);
    buffer.role = get_enum<BufferRole>(item, "role", static_cast<int>(BufferRole::inout));
    if (item.contains("rows")) buffer.rows = rows_from(item["rows"], buffer.elements);
    workload.buffers.push_back(buffer);
  }
  get(json, "flops", workload.flops);
  get(json, "bytes", workload.bytes);
  get(json, "accumulation", workload.accumulation);
  return workload;
}

Json timing_json(const Timing& timing) {
  return {{"times_us", timing.times_us},
          {"clocks_mhz", timing.clocks_mhz},
          {"batch", timing.batch},
          {"discarded", timing.discarded},
          {"isolated_us", optional(timing.isolated_us)}};
}

Timing timing_from(const Json& json) {
  Samples samples;
  samples.times_us = measurements(json.at("times_us"), "sample");
  samples.clocks_mhz = measurements(json.at("clocks_mhz"), "clock");
  if (samples.times_us.empty()) throw ProtocolError("a timing has no samples");
  if (!samples.clocks_mhz.empty() && samples.clocks_mhz.size() != samples.times_us.size())
    throw ProtocolError("a timing has not one clock per sample");
  samples.batch = static_cast<int>(message_integer(json.at("batch"), 1, kMostLaunches));
  samples.discarded = static_cast<int>(message_integer(json.at("discarded"), 0, kMostLaunches));
  get(json, "isolated_us", samples.isolated_us);
  return summarise(std::move(samples));
}

Json accuracy_json(const Accuracy& accuracy) {
  return {{"relative_error", accuracy.relative_error},
          {"error_bound", accuracy.error_bound},
          {"largest_error", accuracy.largest_error},
          {"largest_error_at", accuracy.largest_error_at}};
}

Accuracy accuracy_from(const Json& json) {
  Accuracy accuracy;
  get(json, "relative_error", accuracy.relative_error);
  get(json, "error_bound", accuracy.error_bound);
  get(json, "largest_error", accuracy.largest_error);
  get(json, "largest_error_at", accuracy.largest_error_at);
  return accuracy;
}

Json condition_json(const GpuCondition& condition) {
  return {{"power_w", optional(condition.power_w)},
          {"throttle_reasons", condition.throttle_reasons},
          {"neighbours", condition.neighbours},
          {"waits_for_host", condition.waits_for_host}};
}

GpuCondition condition_from(const Json& json) {
  GpuCondition condition;
  get(json, "power_w", condition.power_w);
  get(json, "throttle_reasons", condition.throttle_reasons);
  get(json, "neighbours", condition.neighbours);
  get(json, "waits_for_host", condition.waits_for_host);
  return condition;
}

Json baseline_json(const MeasuredBaseline& baseline) {
  return {{"name", baseline.name},
          {"library", baseline.library},
          {"kernel", baseline.kernel},
          {"algorithm", baseline.algorithm},
          {"relative_error", baseline.relative_error},
          {"timing", timing_json(baseline.timing)}};
}

MeasuredBaseline baseline_from(const Json& json) {
  MeasuredBaseline baseline;
  get(json, "name", baseline.name);
  get(json, "library", baseline.library);
  get(json, "kernel", baseline.kernel);
  get(json, "algorithm", baseline.algorithm);
  get(json, "relative_error", baseline.relative_error);
  baseline.timing = timing_from(json.at("timing"));
  return baseline;
}

Json calibration_json(const Calibration& calibration) {
  return {{"ffma_tflops", calibration.ffma_tflops},
          {"copy_gbs", calibration.copy_gbs},
          {"read_gbs", calibration.read_gbs},
          {"shared_gbs", calibration.shared_gbs},
          {"event_floor_us", calibration.event_floor_us},
          {"empty_kernel_us", calibration.empty_kernel_us},
          {"empty_kernel_batch_us", calibration.empty_kernel_batch_us}};
}

Calibration calibration_from(const Json& json) {
  Calibration calibration;
  get(json, "ffma_tflops", calibration.ffma_tflops);
  get(json, "copy_gbs", calibration.copy_gbs);
  get(json, "read_gbs", calibration.read_gbs);
  get(json, "shared_gbs", calibration.shared_gbs);
  get(json, "event_floor_us", calibration.event_floor_us);
  get(json, "empty_kernel_us", calibration.empty_kernel_us);
  get(json, "empty_kernel_batch_us", calibration.empty_kernel_batch_us);
  return calibration;
}

Outcome get_outcome(const Json& json, const char* type) {
  const auto outcome = outcome_from_name(json.at("outcome").get<std::string>());
  if (!outcome) throw ProtocolError(fmt::format("a message '{}' has an unknown outcome", type));
  return *outcome;
}

MeasurePolicy policy_from(const Json& json) {
  MeasurePolicy policy;
  get(json, "warmup", policy.warmup);
  get(json, "samples", policy.samples);
  get(json, "precision_percent", policy.precision_percent);
  get(json, "screening", policy.screening);
  get(json, "batch_below_us", policy.batch_below_us);
  policy.cache = cache_policy_from(json.at("cache").get<std::string>());
  get(json, "seed", policy.seed);
  get(json, "verify", policy.verify);
  get(json, "launch_timeout_s", policy.launch_timeout_s);
  const Json& finals = json.at("finals");
  get(finals, "configurations", policy.finals.configurations);
  get(finals, "within_percent", policy.finals.within_percent);
  get(finals, "rounds", policy.finals.rounds);
  get(finals, "sustained_s", policy.finals.sustained_s);
  return policy;
}

Json whole_policy_json(const MeasurePolicy& policy) {
  Json json = to_json(policy);
  json["finals"] = to_json(policy.finals);
  return json;
}

Json final_time_json(const FinalTime& time) {
  return {{"ticket", time.ticket},
          {"name", time.name},
          {"outcome", name(time.outcome)},
          {"reason", time.reason},
          {"timing", optional_json(time.timing, timing_json)},
          {"accuracy", optional_json(time.accuracy, accuracy_json)},
          {"sustained", optional_json(time.sustained, sustained_json)}};
}

FinalTime final_time_from(const Json& json) {
  FinalTime time;
  get(json, "ticket", time.ticket);
  get(json, "name", time.name);
  time.outcome = get_outcome(json, "finals_measured");
  get(json, "reason", time.reason);
  get_optional(json, "timing", time.timing, timing_from);
  get_optional(json, "accuracy", time.accuracy, accuracy_from);
  get_optional(json, "sustained", time.sustained, sustained_from);
  return time;
}

}  // namespace tiletune::message
