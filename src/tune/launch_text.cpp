#include "tune/launch_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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
  return json;
}

Json argument_json(const ArgumentValue& argument) {
  if (argument.kind == Argument::Kind::buffer) return {{"buffer", argument.name}};
  if (argument.kind == Argument::Kind::tensor_map) return tensor_map_json(argument);
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

bool takes_tensor_maps(const Instance& instance) {
  return std::any_of(instance.arguments.begin(), instance.arguments.end(), [](const ArgumentValue& argument) {
    return argument.kind == Argument::Kind::tensor_map;
  });
}

}  // namespace

std::string launch_text(const Instance& instance) {
  Json launch{{"grid", {instance.grid.x, instance.grid.y, instance.grid.z}},
              {"block", {instance.block.x, instance.block.y, instance.block.z}},
              {"dynamic_shared_bytes", instance.dynamic_shared_bytes}};
  if (!instance.workspace.empty()) launch["workspace"] = workspace_json(instance.workspace);
  if (!instance.workspace.empty() || takes_tensor_maps(instance))
    launch["arguments"] = arguments_json(instance.arguments);
  return launch.dump();
}

}  // namespace tiletune
