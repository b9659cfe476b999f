#include "tune/identity.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// As the driver's encoder takes it; without extents it is 128 zero bytes.
Json tensor_map_json(const ArgumentValue& argument) {
  Json json{{"tensor_map", argument.name}};
  if (!argument.tensor_map) return json;
  const TensorMapShape& map = *argument.tensor_map;
  json["type"] = name(map.type);
  json["extents"] = map.extents;
  json["pitches"] = map.pitches;
  json["box"] = map.box;
  json["swizzle"] = name(map.swizzle);
  if (map.promotion != Promotion::bytes_128) json["promotion"] = name(map.promotion);
  if (map.offset != 0) json["offset"] = map.offset;
  return json;
}

Json argument_json(const ArgumentValue& argument) {
  if (argument.kind == Argument::Kind::buffer) return {{"buffer", argument.name}};
  if (argument.kind == Argument::Kind::peers) return {{"peers", argument.name}};
  if (argument.kind == Argument::Kind::tensor_map) return tensor_map_json(argument);
  if (argument.is_rank) return {{"scalar", argument.name}, {"type", name(argument.type)}, {"value", kRank}};
  return {{"scalar", argument.name}, {"type", name(argument.type)}, {"value", to_json(argument.value)}};
}

template <typename Item, typename JsonOf>
Json list_json(const std::vector<Item>& items, const JsonOf& json_of) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list;
}

Json step_json(const GpuStep& step) {
  Json json{{"step", name(step.kind)}};
  if (step.kind == StepKind::kernel) json["launch"] = step.launch;
  if (step.kind == StepKind::collective) json["collective"] = name(step.collective);
  if (!step.from.empty()) json.update({{"from", step.from}, {"to", step.to}});
  if (step.kind == StepKind::collective) json["elements"] = step.elements;
  if (step.kind != StepKind::copy) return json;
  // A copy is a list: GPU, peer, elements before the first in either, elements, and the word of a signal.
  json["copies"] = list_json(step.copies, [](const PeerCopy& copy) -> Json {
    return {copy.gpu, copy.peer, copy.from, copy.to, copy.elements, copy.word};
  });
  if (step.beside) json["beside"] = true;
  if (!step.signal.empty()) json["signal"] = step.signal;
  return json;
}

Json shape_json(const KernelLaunch& launch) {
  return {{"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
          {"block", {launch.block.x, launch.block.y, launch.block.z}},
          {"dynamic_shared_bytes", launch.dynamic_shared_bytes}};
}

Json launch_json(const KernelLaunch& launch) {
  Json json{{"kernel", launch.kernel_expression}};
  json.update(shape_json(launch));
  json["arguments"] = list_json(launch.arguments, argument_json);
  if (launch.programmatic) json["programmatic"] = true;
  return json;
}

template <typename Pairs>
std::string settings_text(const Pairs& pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) text += fmt::format("{}={};", name, value);
  return text;
}

std::string values_text(const Workload::Values& values) {
  return fmt::format("{}({},{})", name(values.distribution), values.a, values.b);
}

std::string buffers_text(const Workload& workload) {
  std::string text;
  for (const auto& buffer : workload.buffers) {
    text += fmt::format("{}:{}:{}:{}", buffer.name, name(buffer.type), buffer.elements, name(buffer.role));
    if (buffer.file) text += ":file";
    if (!buffer.is_compared) text += ":not compared";
    if (buffer.rows) text += fmt::format(":{}:{}", buffer.rows->columns, buffer.rows->pitch);
    if (buffer.input) text += ":" + values_text(*buffer.input);
    if (buffer.layout != BufferLayout::replicated) text += fmt::format(":{}", name(buffer.layout));
    text += ";";
  }
  return text;
}

/// In order: addresses by name, and "a:f32=2.5". What tensor maps look like is part of the launch.
std::string arguments_text(const std::vector<ArgumentValue>& arguments) {
  std::string text;
  for (const ArgumentValue& argument : arguments) {
    text += argument.name;
    if (argument.kind == Argument::Kind::scalar)
      text += fmt::format(":{}={}", name(argument.type), argument.is_rank ? kRank : to_text(argument.value));
    if (argument.kind == Argument::Kind::peers) text += ":peers";
    text += ";";
  }
  return text;
}

/// The arguments of all launches, each behind its number but the first.
std::string all_arguments_text(const Instance& instance) {
  std::string text;
  for (std::size_t i = 0; i < instance.launches.size(); ++i) {
    if (i > 0) text += fmt::format("launch {}:", i + 1);
    text += arguments_text(instance.launches[i].arguments);
  }
  return text;
}

std::string launch_text(const KernelLaunch& launch) {
  const Dim3& grid = launch.grid;
  const Dim3& block = launch.block;
  return fmt::format("{},{},{};{},{},{};{}", grid.x, grid.y, grid.z, block.x, block.y, block.z,
                     arguments_text(launch.arguments));
}

/// "name=value;" of every field that has one.
template <HasFields Struct>
std::string fields_text(const Struct& value) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& number) {
    text += fmt::format("{}={};", name, number);
  };
  for_each_field<Struct>([&](const auto& field) {
    const auto& member = value.*field.member;
    if constexpr (requires { member.has_value(); }) {
      if (member) add(field.name, *member);
    } else {
      add(field.name, member);
    }
  });
  return text;
}

/// As a policy's identity has it.
template <typename T>
std::string option_text(const T& value) {
  if constexpr (Spelled<T>)
    return std::string(name(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value ? "on" : "off";
  else
    return fmt::format("{}", value);
}

}  // namespace

std::string launch_text(const Instance& instance, Arguments arguments) {
  if (instance.launches.empty()) return "";
  const bool is_one = instance.launches.size() == 1;
  const KernelLaunch& first = instance.launches.front();
  Json json = is_one ? shape_json(first) : Json{{"launches", list_json(instance.launches, launch_json)}};
  if (!instance.steps.empty()) json["steps"] = list_json(instance.steps, step_json);
  const auto workspace_json = [](const SizedWorkspace& array) -> Json {
    return {{"name", array.name},
            {"type", name(array.type)},
            {"elements", array.elements},
            {"bytes", array.bytes()},
            {"zeroed", array.zeroed}};
  };
  if (!instance.workspace.empty()) json["workspace"] = list_json(instance.workspace, workspace_json);
  for (const ConstantCopy& constant : instance.constants)
    json["constants"][constant.symbol] = constant.buffer;
  const bool needs_arguments = arguments == Arguments::always || !instance.workspace.empty() ||
                               !instance.constants.empty() || !instance.steps.empty() ||
                               std::ranges::find(first.arguments, Argument::Kind::tensor_map,
                                                 &ArgumentValue::kind) != first.arguments.end();
  if (is_one && needs_arguments) json["arguments"] = list_json(first.arguments, argument_json);
  return json.dump();
}

std::string kernels_text(const Instance& instance) {
  std::vector<std::string> kernels;
  for (const KernelLaunch& launch : instance.launches) kernels.push_back(launch.kernel_expression);
  return join(kernels, " + ");
}

IdentityFields& IdentityFields::add(std::string_view name, std::string value) {
  if (!value.empty()) fields_.emplace_back(name, std::move(value));
  return *this;
}

std::string IdentityFields::text() const {
  std::string text = kind_ + "\n";
  for (const auto& [name, value] : fields_) text += fmt::format("{}={}\n", name, value);
  return text;
}

std::string IdentityFields::hex() const {
  Hasher hasher;
  hasher.add(kind_);
  for (const auto& [name, value] : fields_) hasher.add(name).add(value);
  return hasher.hex();
}

IdentityFields workload_identity(const Task& task) {
  const Operation& operation = task.spec->operation;
  const Workload& workload = task.instantiator.workload();
  IdentityFields identity("workload 1");
  identity.add("dimensions", settings_text(task.problem.dimensions))
      .add("leading", settings_text(task.problem.leading))
      .add("options", settings_text(operation.own_options))
      .add("scalars", settings_text(operation.scalars))
      .add("buffers", buffers_text(workload))
      .add("accumulator", std::string(name(operation.accumulator)))
      .add("accumulation", workload.accumulation == 0 ? "" : fmt::format("{}", workload.accumulation));
  if (workload.gpus > 1) identity.add("gpus", std::to_string(workload.gpus));
  if (operation.accumulation_bits)
    identity.add("accumulation_bits", std::to_string(*operation.accumulation_bits));
  identity.add("arrays", task.arrays);
  if (workload.tolerance)
    identity.add("tolerance",
                 fmt::format("{},{}", workload.tolerance->absolute, workload.tolerance->relative));
  if (operation.reference_library)
    identity.add("reference_library", std::string(name(*operation.reference_library)));
  if (const auto& reference = task.instantiator.reference())
    identity.add("reference_launch", launch_text(*reference));
  for (std::size_t i = 0; i < operation.input_kernels.size(); ++i)
    identity.add("computed " + operation.input_kernels[i].input,
                 launch_text(task.instantiator.input_launches()[i]));
  return identity;
}

std::string checks_text(const Task& task) {
  std::string text;
  for (const TaskCheck& check : task.checks)
    text += fmt::format("{} {} {} {};", check.spec->name, check.problem.label(), check.scale,
                        buffers_text(check.workload));
  return text;
}

IdentityFields result_identity(const std::string& kernel_hash, const Instance& instance) {
  IdentityFields identity("result 1");
  identity.add("kernel", kernel_hash)
      .add("launch", launch_text(instance))
      .add("arguments", all_arguments_text(instance));
  return identity;
}

IdentityFields policy_identity(MeasurePolicy policy, View view) {
  // Sweeps that draw a seed measure what was measured when it was always 1.
  if (policy.seed == 0) policy.seed = 1;
  IdentityFields identity("policy 1");
  for_each_field<MeasurePolicy>([&](const auto& field) {
    if constexpr (requires { field.neutral; }) {
      const auto& value = policy.*field.member;
      if (value != field.neutral) identity.add(field.name, option_text(value));
    }
  });
  // A ladder screens each template against its own best.
  if (view == View::ladder && policy.screening > 0) identity.add("screened_by", "template");
  return identity;
}

IdentityFields measurement_identity(const TuneSpec& spec, const Task& task, const Target& target,
                                    const Instance& instance, const Trial& row,
                                    const std::string& reference) {
  const bool predicted = target.source == Source::predicted;
  IdentityFields identity("measurement 1");
  if (row.kernel_hash.empty()) {
    identity.add("source", row.source_key).add("includes", row.included_files);
  } else {
    identity.add("kernel", row.kernel_hash).add("reference", reference);
  }
  identity.add("launch", launch_text(instance))
      .add("arguments", all_arguments_text(instance))
      .add("workload", workload_identity(task).hex())
      .add("tolerance", fmt::format("{}", task.spec->tolerance_factor))
      .add("pipe", task.spec->pipe ? std::string(name(*task.spec->pipe)) : "")
      .add("checks", predicted || !spec.measure.verify ? "" : checks_text(task))
      .add("limits", fields_text(spec.limits))
      .add("kind", std::string(name(target.source)))
      .add("gpu", target.name)
      .add("driver", target.driver_version)
      .add("compiler", row.nvrtc_version)
      .add("policy", predicted ? row.measure_policy : policy_identity(spec.measure, spec.view).hex())
      .add("model", predicted ? fields_text(target.model) : "");
  return identity;
}

IdentityFields row_identity(const Trial& row, const IdentityFields& measurement) {
  IdentityFields identity("row 1");
  identity.add("template", row.template_name)
      .add("parameters", row.parameters)
      .add("compile_options", row.compile_options)
      .add("measurement", measurement.hex());
  return identity;
}

std::string inputs_text(const Task& task) {
  std::string text;
  for (const auto& buffer : task.instantiator.workload().buffers)
    if (buffer.input) text += fmt::format("{}:{};", buffer.name, values_text(*buffer.input));
  if (!task.arrays.empty()) text += fmt::format("arrays:{};", task.arrays);
  for (const TaskKernel& kernel : task.kernels)
    if (!kernel.is_reference())
      text += fmt::format("{}:{} {};", kernel.spec->input, kernel.hash, launch_text(*kernel.launch));
  return text;
}

IdentityFields baseline_identity(const Trial& row, const std::string& library, const std::string& inputs,
                                 const IdentityFields& policy) {
  IdentityFields identity("baseline 1");
  // For the library's own operation it is left out, which keeps the keys of rows that have none.
  const auto own = from_name<LibraryOperation>(row.operation);
  const bool is_own = own && !is_over_gpus(*own);
  identity.add("name", row.template_name)
      .add("library", library)
      .add("operation", is_own ? "" : row.operation)
      .add("problem", row.problem)
      .add("options", row.options)
      .add("scalars", row.scalars)
      .add("element_types", row.element_types)
      .add("inputs", inputs)
      .add("kind", std::string(name(row.source)))
      .add("gpu", row.gpu)
      .add("driver", row.driver_version)
      .add("policy", policy.hex());
  return identity;
}

IdentityFields baseline_identity(const Trial& row, const IdentityFields& measurement) {
  IdentityFields identity("baseline 1");
  identity.add("name", row.template_name)
      .add("operation", row.operation)
      .add("measurement", measurement.hex());
  return identity;
}

}  // namespace tiletune
