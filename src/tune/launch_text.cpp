#include "tune/launch_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

Json workspace_json(const std::vector<SizedWorkspace>& workspace) {
  Json list = Json::array();
  for (const SizedWorkspace& array : workspace) {
    list.push_back({{"name", array.name},
                    {"type", name(array.type)},
                    {"elements", array.elements},
                    {"bytes", array.bytes()},
                    {"zeroed", array.zeroed}});
  }
  return list;
}

Json arguments_json(const std::vector<ArgumentValue>& arguments) {
  Json list = Json::array();
  for (const ArgumentValue& argument : arguments) list.push_back(argument_json(argument));
  return list;
}

/// A copy is a list: GPU, peer, elements before the first in either, elements, and the word of a signal.
Json copies_json(const std::vector<PeerCopy>& copies) {
  Json list = Json::array();
  for (const PeerCopy& copy : copies)
    list.push_back({copy.gpu, copy.peer, copy.from, copy.to, copy.elements, copy.word});
  return list;
}

Json step_json(const GpuStep& step) {
  Json json{{"step", name(step.kind)}};
  if (step.kind == StepKind::kernel) json["launch"] = step.launch;
  if (step.kind == StepKind::collective) json["collective"] = name(step.collective);
  if (!step.from.empty()) json.update({{"from", step.from}, {"to", step.to}});
  if (step.kind == StepKind::collective) json["elements"] = step.elements;
  if (step.kind != StepKind::copy) return json;
  json["copies"] = copies_json(step.copies);
  if (step.beside) json["beside"] = true;
  if (!step.signal.empty()) json["signal"] = step.signal;
  return json;
}

Json steps_json(const std::vector<GpuStep>& steps) {
  Json list = Json::array();
  for (const GpuStep& step : steps) list.push_back(step_json(step));
  return list;
}

bool takes_tensor_maps(const KernelLaunch& launch) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [](const ArgumentValue& argument) {
    return argument.kind == Argument::Kind::tensor_map;
  });
}

Json shape_json(const KernelLaunch& launch) {
  return {{"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
          {"block", {launch.block.x, launch.block.y, launch.block.z}},
          {"dynamic_shared_bytes", launch.dynamic_shared_bytes}};
}

Json launches_json(const Instance& instance) {
  Json list = Json::array();
  for (const KernelLaunch& launch : instance.launches) {
    Json json{{"kernel", launch.kernel_expression}};
    json.update(shape_json(launch));
    json["arguments"] = arguments_json(launch.arguments);
    if (launch.programmatic) json["programmatic"] = true;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string launch_text(const Instance& instance) {
  if (instance.launches.empty()) return "";
  const bool is_one = instance.launches.size() == 1;
  const KernelLaunch& first = instance.launches.front();
  Json json = is_one ? shape_json(first) : Json{{"launches", launches_json(instance)}};
  if (!instance.steps.empty()) json["steps"] = steps_json(instance.steps);
  if (!instance.workspace.empty()) json["workspace"] = workspace_json(instance.workspace);
  for (const ConstantCopy& constant : instance.constants)
    json["constants"][constant.symbol] = constant.buffer;
  const bool needs_arguments =
      !instance.workspace.empty() || !instance.constants.empty() || !instance.steps.empty();
  if (is_one && (needs_arguments || takes_tensor_maps(first)))
    json["arguments"] = arguments_json(first.arguments);
  return json.dump();
}

std::string kernels_text(const Instance& instance) {
  std::vector<std::string> kernels;
  for (const KernelLaunch& launch : instance.launches) kernels.push_back(launch.kernel_expression);
  return join(kernels, " + ");
}

}  // namespace tiletune
