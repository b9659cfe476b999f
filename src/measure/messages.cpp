#include "measure/messages.h"

#include <nlohmann/json.hpp>

#include "measure/message_json.h"
#include "measure/message_parts.h"

namespace tiletune {

using namespace message;

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

Json to_json(const FinalsPolicy& finals) {
  return {{"configurations", finals.configurations},
          {"within_percent", finals.within_percent},
          {"rounds", finals.rounds},
          {"sustained_s", finals.sustained_s}};
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

namespace {

Json library_json(const std::optional<LibraryOperation>& library) {
  return library ? Json(static_cast<int>(*library)) : Json(nullptr);
}

std::optional<LibraryOperation> library_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return static_cast<LibraryOperation>(message_integer(json, 0, static_cast<int>(LibraryOperation::gemm)));
}

}  // namespace

Json to_json(const PrepareRequest& message) {
  Json reference = nullptr;
  if (message.reference) {
    reference = {{"cubin", binary(message.reference->cubin)},
                 {"symbol", message.reference->symbol},
                 {"shape", shape_json(message.reference->shape)},
                 {"arguments", arguments_json(message.reference->arguments)}};
  }
  return {{"type", "prepare"},
          {"workload", workload_json(message.workload)},
          {"reference_library", library_json(message.reference_library)},
          {"baselines", library_json(message.baselines)},
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
    message.workload = workload_from(json.at("workload"));
    message.reference_library = library_from(json.at("reference_library"));
    message.baselines = library_from(json.at("baselines"));
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
          {"workspace", workspace_json(message.workspace)},
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
    message.workspace = workspace_from(json.at("workspace"));
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
  Json finalists = Json::array();
  for (const MeasureRequest& finalist : message.finalists) finalists.push_back(to_json(finalist));
  return {{"type", "finals"}, {"finalists", finalists}};
}

FinalsRequest finals_request_from_json(const Json& json) {
  return read<FinalsRequest>(json, "finals", [&](FinalsRequest& message) {
    for (const Json& finalist : json.at("finalists"))
      message.finalists.push_back(measure_request_from_json(finalist));
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