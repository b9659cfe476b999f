#include "measure/messages.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/cbor.h"
#include "base/frame.h"

namespace tiletune {

using Json = nlohmann::ordered_json;

namespace {

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

Json timing_json(const std::optional<Timing>& timing) {
  return timing ? Json(timing->samples_us) : Json(nullptr);
}

std::optional<Timing> timing_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  auto samples = json.get<std::vector<double>>();
  if (samples.empty()) throw ProtocolError("a timing has no samples");
  for (const double sample : samples) {
    if (!std::isfinite(sample) || sample < 0) throw ProtocolError(fmt::format("a sample is {} us", sample));
  }
  return summarise(std::move(samples));
}

MeasurePolicy policy_from(const Json& json) {
  MeasurePolicy policy;
  get(json, "warmup", policy.warmup);
  get(json, "samples", policy.samples);
  policy.cache = json.at("cache").get<std::string>() == "warm" ? CachePolicy::warm : CachePolicy::cold;
  get(json, "seed", policy.seed);
  get(json, "verify", policy.verify);
  get(json, "launch_timeout_s", policy.launch_timeout_s);
  return policy;
}

}  // namespace

Json to_json(const MeasurePolicy& policy) {
  return {{"warmup", policy.warmup},
          {"samples", policy.samples},
          {"cache", policy.cache == CachePolicy::warm ? "warm" : "cold"},
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
          {"policy", to_json(message.policy)},
          {"baseline", static_cast<int>(message.baseline)},
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
    message.baseline = get_enum<Baseline>(json, "baseline", static_cast<int>(Baseline::cublas));
    const Json& reference = json.at("reference");
    if (reference.is_null()) return;
    message.reference = PrepareRequest::ReferenceLaunch{
        binary_text(reference.at("cubin")), reference.at("symbol").get<std::string>(),
        shape_from(reference.at("shape")), arguments_from(reference.at("arguments"))};
  });
}

Json to_json(const Prepared& message) {
  return {{"type", "prepared"},
          {"baseline_us", timing_json(message.baseline)},
          {"baseline_version", message.baseline_version},
          {"baseline_error", message.baseline_error},
          {"note", message.note}};
}

Prepared prepared_from_json(const Json& json) {
  return read<Prepared>(json, "prepared", [&](Prepared& message) {
    message.baseline = timing_from(json.at("baseline_us"));
    get(json, "baseline_version", message.baseline_version);
    get(json, "baseline_error", message.baseline_error);
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
          {"tolerance_factor", message.tolerance_factor}};
}

MeasureRequest measure_request_from_json(const Json& json) {
  return read<MeasureRequest>(json, "measure", [&](MeasureRequest& message) {
    get(json, "ticket", message.ticket);
    message.cubin = binary_text(json.at("cubin"));
    get(json, "symbol", message.symbol);
    message.shape = shape_from(json.at("shape"));
    message.arguments = arguments_from(json.at("arguments"));
    get(json, "tolerance_factor", message.tolerance_factor);
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
          {"samples_us", timing_json(message.timing)},
          {"relative_error", optional(message.relative_error)},
          {"error_bound", optional(message.error_bound)},
          {"sm_clock_mhz", optional(message.sm_clock_mhz)},
          {"attributes", attributes},
          {"driver_blocks", optional(message.driver_blocks_per_multiprocessor)},
          {"wall_ms", message.wall_ms}};
}

Measured measured_from_json(const Json& json) {
  return read<Measured>(json, "measured", [&](Measured& message) {
    get(json, "ticket", message.ticket);
    const auto outcome = outcome_from_name(json.at("outcome").get<std::string>());
    if (!outcome) throw ProtocolError("a message 'measured' has an unknown outcome");
    message.outcome = *outcome;
    get(json, "reason", message.reason);
    message.timing = timing_from(json.at("samples_us"));
    get(json, "relative_error", message.relative_error);
    get(json, "error_bound", message.error_bound);
    get(json, "sm_clock_mhz", message.sm_clock_mhz);
    if (const Json& attributes = json.at("attributes"); !attributes.is_null()) {
      const auto n = integers<int, 4>(attributes);
      message.attributes = KernelAttributes{n[0], n[1], n[2], n[3]};
    }
    get(json, "driver_blocks", message.driver_blocks_per_multiprocessor);
    get(json, "wall_ms", message.wall_ms);
  });
}

}  // namespace tiletune
