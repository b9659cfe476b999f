#include "measure/messages.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/cbor.h"
#include "base/frame.h"
#include "spec/names.h"

namespace tiletune {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::int64_t kMostLaunches = 1'000'000;

CachePolicy cache_policy_from(const std::string& text) {
  for (const auto& known : kCachePolicies) {
    if (known.name == text) return known.value;
  }
  throw ProtocolError("there is no cache policy '" + text + "'");
}

/// Runs a reader over a message and turns the JSON library's complaints into a ProtocolError.
template <typename Message>
Message read(const Json& json, const char* type, const std::function<void(Message&)>& fill) {
  try {
    if (json.at("type").get<std::string>() != type) {
      throw ProtocolError(
          fmt::format("expected a message '{}', got '{}'", type, json["type"].get<std::string>()));
    }
    Message message;
    fill(message);
    return message;
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(fmt::format("a message '{}' is malformed: {}", type, error.what()));
  }
}

template <typename T>
T as(const Json& json) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return message_unsigned(json);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(
        message_integer(json, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else {
    return json.get<T>();
  }
}

template <typename T>
void get(const Json& json, const char* key, T& out) {
  out = as<T>(json.at(key));
}

template <typename T, std::size_t N>
std::array<T, N> integers(const Json& json) {
  if (json.size() != N) throw ProtocolError(fmt::format("a list of {} integers has {}", N, json.size()));
  std::array<T, N> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = as<T>(json.at(i));
  return out;
}

template <typename T>
void get(const Json& json, const char* key, std::optional<T>& out) {
  if (!json.at(key).is_null()) out = as<T>(json.at(key));
}

template <typename T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json binary(const std::string& bytes) { return Json::binary({bytes.begin(), bytes.end()}); }

std::string binary_text(const Json& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

template <typename Enum>
Enum get_enum(const Json& json, const char* key, int last) {
  return static_cast<Enum>(message_integer(json.at(key), 0, last));
}

Json shape_json(const LaunchShape& s) {
  return {s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.dynamic_shared_bytes};
}

LaunchShape shape_from(const Json& json) {
  const auto n = integers<unsigned, 7>(json);
  return {n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
}

Json arguments_json(const std::vector<ArgumentValue>& arguments) {
  Json list = Json::array();
  for (const ArgumentValue& argument : arguments) {
    list.push_back({{"kind", static_cast<int>(argument.kind)},
                    {"name", argument.name},
                    {"scalar", static_cast<int>(argument.type)},
                    {"value", to_json(argument.value)}});
  }
  return list;
}

std::vector<ArgumentValue> arguments_from(const Json& json) {
  std::vector<ArgumentValue> arguments;
  for (const Json& item : json) {
    ArgumentValue argument;
    argument.kind = get_enum<Argument::Kind>(item, "kind", 1);
    argument.type = get_enum<ScalarType>(item, "scalar", static_cast<int>(ScalarType::f64));
    get(item, "name", argument.name);
    if (!from_json(item.at("value"), argument.value)) throw ProtocolError("an argument's value is no scalar");
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Json workload_json(const Workload& workload) {
  Json buffers = Json::array();
  for (const auto& buffer : workload.buffers) {
    buffers.push_back({{"name", buffer.name},
                       {"element", static_cast<int>(buffer.type)},
                       {"elements", buffer.elements},
                       {"role", static_cast<int>(buffer.role)}});
  }
  return {{"buffers", buffers}, {"flops", workload.flops}, {"bytes", workload.bytes}};
}

Workload workload_from(const Json& json) {
  Workload workload;
  for (const Json& item : json.at("buffers")) {
    Workload::SizedBuffer buffer{};
    get(item, "name", buffer.name);
    buffer.type = get_enum<ElementType>(item, "element", static_cast<int>(ElementType::u32));
    get(item, "elements", buffer.elements);
    buffer.role = get_enum<BufferRole>(item, "role", static_cast<int>(BufferRole::inout));
    workload.buffers.push_back(buffer);
  }
  get(json, "flops", workload.flops);
  get(json, "bytes", workload.bytes);
  return workload;
}

Json timing_json(const Timing& timing) {
  return {{"times_us", timing.times_us},
          {"clocks_mhz", timing.clocks_mhz},
          {"batch", timing.batch},
          {"discarded", timing.discarded},
          {"isolated_us", optional(timing.isolated_us)}};
}

std::vector<double> measurements(const Json& json, const char* what) {
  auto values = json.get<std::vector<double>>();
  for (const double value : values) {
    if (!std::isfinite(value) || value < 0) throw ProtocolError(fmt::format("a {} is {}", what, value));
  }
  return values;
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

template <typename T>
Json optional_json(const std::optional<T>& value, Json (*convert)(const T&)) {
  return value ? convert(*value) : Json(nullptr);
}

template <typename T>
void get_optional(const Json& json, const char* key, std::optional<T>& out, T (*convert)(const Json&)) {
  if (const Json& value = json.at(key); !value.is_null()) out = convert(value);
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
  return {{"power_w", optional(condition.power_w)}, {"throttle_reasons", condition.throttle_reasons}};
}

GpuCondition condition_from(const Json& json) {
  GpuCondition condition;
  get(json, "power_w", condition.power_w);
  get(json, "throttle_reasons", condition.throttle_reasons);
  return condition;
}

Json sustained_json(const Sustained& sustained) {
  return {{"launch_us", sustained.launch_us},
          {"sm_clock_mhz", optional(sustained.sm_clock_mhz)},
          {"power_w", optional(sustained.power_w)}};
}

Sustained sustained_from(const Json& json) {
  Sustained sustained;
  get(json, "launch_us", sustained.launch_us);
  get(json, "sm_clock_mhz", sustained.sm_clock_mhz);
  get(json, "power_w", sustained.power_w);
  return sustained;
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
          {"shared_gbs", calibration.shared_gbs},
          {"event_floor_us", calibration.event_floor_us},
          {"empty_kernel_us", calibration.empty_kernel_us},
          {"empty_kernel_batch_us", calibration.empty_kernel_batch_us}};
}

Calibration calibration_from(const Json& json) {
  Calibration calibration;
  get(json, "ffma_tflops", calibration.ffma_tflops);
  get(json, "copy_gbs", calibration.copy_gbs);
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

Json finals_policy_json(const FinalsPolicy& finals) {
  return {{"configurations", finals.configurations},
          {"within_percent", finals.within_percent},
          {"rounds", finals.rounds},
          {"sustained_s", finals.sustained_s}};
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
  json["finals"] = finals_policy_json(policy.finals);
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

}  // namespace

Json to_json(const MeasurePolicy& policy) {
  return {{"warmup", policy.warmup},
          {"samples", policy.samples},
          {"precision_percent", policy.precision_percent},
          {"screening", policy.screening},
          {"batch_below_us", policy.batch_below_us},
          {"cache", name(policy.cache)},
          {"seed", policy.seed},
          {"verify", policy.verify},
          {"launch_timeout_s", policy.launch_timeout_s}};
}

Json to_json(const GpuOpened& message) {
  const DeviceFacts& d = message.device;
  return {{"type", "opened"},
          {"index", d.index},
          {"name", d.name},
          {"uuid", d.uuid},
          {"compute_capability", {d.compute_major, d.compute_minor}},
          {"multiprocessors", d.multiprocessors},
          {"warp_size", d.warp_size},
          {"max_threads_per_block", d.max_threads_per_block},
          {"max_threads_per_multiprocessor", d.max_threads_per_multiprocessor},
          {"max_blocks_per_multiprocessor", d.max_blocks_per_multiprocessor},
          {"registers_per_multiprocessor", d.registers_per_multiprocessor},
          {"registers_per_block", d.registers_per_block},
          {"shared_bytes_per_multiprocessor", d.shared_bytes_per_multiprocessor},
          {"shared_bytes_per_block", d.shared_bytes_per_block},
          {"shared_bytes_per_block_optin", d.shared_bytes_per_block_optin},
          {"reserved_shared_bytes_per_block", d.reserved_shared_bytes_per_block},
          {"l2_bytes", d.l2_bytes},
          {"memory_bytes", d.memory_bytes},
          {"clock_khz", d.clock_khz},
          {"cuda_version", d.cuda_version},
          {"devices", message.devices},
          {"driver_version", message.driver_version}};
}

GpuOpened gpu_opened_from_json(const Json& json) {
  return read<GpuOpened>(json, "opened", [&](GpuOpened& message) {
    DeviceFacts& d = message.device;
    get(json, "index", d.index);
    get(json, "name", d.name);
    get(json, "uuid", d.uuid);
    get(json, "devices", message.devices);
    const auto capability = integers<int, 2>(json.at("compute_capability"));
    d.compute_major = capability[0];
    d.compute_minor = capability[1];
    get(json, "multiprocessors", d.multiprocessors);
    get(json, "warp_size", d.warp_size);
    get(json, "max_threads_per_block", d.max_threads_per_block);
    get(json, "max_threads_per_multiprocessor", d.max_threads_per_multiprocessor);
    get(json, "max_blocks_per_multiprocessor", d.max_blocks_per_multiprocessor);
    get(json, "registers_per_multiprocessor", d.registers_per_multiprocessor);
    get(json, "registers_per_block", d.registers_per_block);
    get(json, "shared_bytes_per_multiprocessor", d.shared_bytes_per_multiprocessor);
    get(json, "shared_bytes_per_block", d.shared_bytes_per_block);
    get(json, "shared_bytes_per_block_optin", d.shared_bytes_per_block_optin);
    get(json, "reserved_shared_bytes_per_block", d.reserved_shared_bytes_per_block);
    get(json, "l2_bytes", d.l2_bytes);
    get(json, "memory_bytes", d.memory_bytes);
    get(json, "clock_khz", d.clock_khz);
    get(json, "cuda_version", d.cuda_version);
    get(json, "driver_version", message.driver_version);
  });
}

Json to_json(const PrepareRequest& message) {
  Json reference = nullptr;
  if (message.reference) {
    reference = {{"cubin", binary(message.reference->cubin)},
                 {"symbol", message.reference->symbol},
                 {"shape", shape_json(message.reference->shape)},
                 {"arguments", arguments_json(message.reference->arguments)}};
  }
  return {{"type", "prepare"},
          {"operation", static_cast<int>(message.operation)},
          {"workload", workload_json(message.workload)},
          {"dimensions", message.dimensions},
          {"scalars", message.scalars},
          {"accumulator", static_cast<int>(message.accumulator)},
          {"policy", whole_policy_json(message.policy)},
          {"baseline", static_cast<int>(message.baseline)},
          {"calibrate", message.calibrate},
          {"reference", reference}};
}

PrepareRequest prepare_request_from_json(const Json& json) {
  return read<PrepareRequest>(json, "prepare", [&](PrepareRequest& message) {
    message.operation = get_enum<Operation>(json, "operation", static_cast<int>(Operation::custom));
    message.workload = workload_from(json.at("workload"));
    for (const Json& dimension : json.at("dimensions")) {
      message.dimensions.emplace_back(dimension.at(0).get<std::string>(), as<std::int64_t>(dimension.at(1)));
    }
    get(json, "scalars", message.scalars);
    message.accumulator = get_enum<ElementType>(json, "accumulator", static_cast<int>(ElementType::u32));
    message.policy = policy_from(json.at("policy"));
    message.baseline = get_enum<Baseline>(json, "baseline", static_cast<int>(Baseline::lt));
    get(json, "calibrate", message.calibrate);
    const Json& reference = json.at("reference");
    if (reference.is_null()) return;
    message.reference = PrepareRequest::ReferenceLaunch{
        binary_text(reference.at("cubin")), reference.at("symbol").get<std::string>(),
        shape_from(reference.at("shape")), arguments_from(reference.at("arguments"))};
  });
}

Json to_json(const Prepared& message) {
  Json baselines = Json::array();
  for (const MeasuredBaseline& baseline : message.baselines) baselines.push_back(baseline_json(baseline));
  return {{"type", "prepared"},
          {"baselines", baselines},
          {"calibration", optional_json(message.calibration, calibration_json)},
          {"note", message.note}};
}

Prepared prepared_from_json(const Json& json) {
  return read<Prepared>(json, "prepared", [&](Prepared& message) {
    for (const Json& baseline : json.at("baselines")) message.baselines.push_back(baseline_from(baseline));
    get_optional(json, "calibration", message.calibration, calibration_from);
    get(json, "note", message.note);
  });
}

Json to_json(const MeasureRequest& message) {
  return {{"type", "measure"},
          {"ticket", message.ticket},
          {"cubin", binary(message.cubin)},
          {"symbol", message.symbol},
          {"shape", shape_json(message.shape)},
          {"arguments", arguments_json(message.arguments)},
          {"tolerance_factor", message.tolerance_factor},
          {"leader_us", optional(message.leader_us)}};
}

MeasureRequest measure_request_from_json(const Json& json) {
  return read<MeasureRequest>(json, "measure", [&](MeasureRequest& message) {
    get(json, "ticket", message.ticket);
    message.cubin = binary_text(json.at("cubin"));
    get(json, "symbol", message.symbol);
    message.shape = shape_from(json.at("shape"));
    message.arguments = arguments_from(json.at("arguments"));
    get(json, "tolerance_factor", message.tolerance_factor);
    get(json, "leader_us", message.leader_us);
  });
}

Json to_json(const Measured& message) {
  Json attributes = nullptr;
  if (message.attributes) {
    attributes = {message.attributes->registers, message.attributes->static_shared_bytes,
                  message.attributes->local_bytes, message.attributes->max_threads_per_block};
  }
  return {{"type", "measured"},
          {"ticket", message.ticket},
          {"outcome", name(message.outcome)},
          {"reason", message.reason},
          {"timing", optional_json(message.timing, timing_json)},
          {"accuracy", optional_json(message.accuracy, accuracy_json)},
          {"condition", condition_json(message.condition)},
          {"attributes", attributes},
          {"driver_blocks", optional(message.driver_blocks_per_multiprocessor)},
          {"wall_ms", message.wall_ms}};
}

Measured measured_from_json(const Json& json) {
  return read<Measured>(json, "measured", [&](Measured& message) {
    get(json, "ticket", message.ticket);
    message.outcome = get_outcome(json, "measured");
    get(json, "reason", message.reason);
    get_optional(json, "timing", message.timing, timing_from);
    get_optional(json, "accuracy", message.accuracy, accuracy_from);
    message.condition = condition_from(json.at("condition"));
    if (const Json& attributes = json.at("attributes"); !attributes.is_null()) {
      const auto n = integers<int, 4>(attributes);
      message.attributes = KernelAttributes{n[0], n[1], n[2], n[3]};
    }
    get(json, "driver_blocks", message.driver_blocks_per_multiprocessor);
    get(json, "wall_ms", message.wall_ms);
  });
}

Json to_json(const FinalsRequest& message) {
  Json participants = Json::array();
  for (const MeasureRequest& participant : message.participants) participants.push_back(to_json(participant));
  return {{"type", "finals"}, {"participants", participants}};
}

FinalsRequest finals_request_from_json(const Json& json) {
  return read<FinalsRequest>(json, "finals", [&](FinalsRequest& message) {
    for (const Json& participant : json.at("participants"))
      message.participants.push_back(measure_request_from_json(participant));
  });
}

Json to_json(const FinalsMeasured& message) {
  Json times = Json::array();
  for (const FinalTime& time : message.times) times.push_back(final_time_json(time));
  return {{"type", "finals_measured"},
          {"times", times},
          {"condition", condition_json(message.condition)},
          {"wall_ms", message.wall_ms}};
}

FinalsMeasured finals_measured_from_json(const Json& json) {
  return read<FinalsMeasured>(json, "finals_measured", [&](FinalsMeasured& message) {
    for (const Json& time : json.at("times")) message.times.push_back(final_time_from(time));
    message.condition = condition_from(json.at("condition"));
    get(json, "wall_ms", message.wall_ms);
  });
}

}  // namespace tiletune
