#include "measure/message_json.h"
#include "measure/message_parts.h"

namespace tiletune::message {

namespace {

Json tensor_map_json(const TensorMapShape& map) {
  return {{"element", static_cast<int>(map.type)},
          {"extents", map.extents},
          {"pitches", map.pitches},
          {"box", map.box},
          {"swizzle", static_cast<int>(map.swizzle)}};
}

std::vector<std::int64_t> sizes_from(const Json& json, std::size_t count, std::int64_t most) {
  if (!json.is_array() || json.size() != count)
    throw ProtocolError("a tensor map has sizes too many or too few");
  std::vector<std::int64_t> sizes;
  for (const Json& size : json) sizes.push_back(message_integer(size, 1, most));
  return sizes;
}

TensorMapShape tensor_map_from(const Json& json) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  constexpr std::int64_t kMostBox = 256;
  TensorMapShape map;
  map.type = get_enum<ElementType>(json, "element", static_cast<int>(ElementType::u32));
  const std::size_t rank = json.at("extents").size();
  if (rank < 1 || rank > TensorMap::kMostDimensions) throw ProtocolError("a tensor map has no such rank");
  map.extents = sizes_from(json.at("extents"), rank, kMostElements);
  map.pitches = sizes_from(json.at("pitches"), rank - 1, kMostElements);
  map.box = sizes_from(json.at("box"), rank, kMostBox);
  map.swizzle = get_enum<Swizzle>(json, "swizzle", static_cast<int>(Swizzle::bytes_128));
  return map;
}

}  // namespace

Json shape_json(const LaunchShape& s) {
  return {s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.dynamic_shared_bytes};
}

LaunchShape shape_from(const Json& json) {
  const auto n = integers<unsigned, 7>(json);
  return {n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
}

/// A member of tensor maps alone: what a row's key is made of must not change for others.
Json arguments_json(const std::vector<ArgumentValue>& arguments) {
  Json list = Json::array();
  for (const ArgumentValue& argument : arguments) {
    list.push_back({{"kind", static_cast<int>(argument.kind)},
                    {"name", argument.name},
                    {"scalar", static_cast<int>(argument.type)},
                    {"value", to_json(argument.value)}});
    if (argument.kind == Argument::Kind::tensor_map)
      list.back()["tensor_map"] = optional_json(argument.tensor_map, tensor_map_json);
  }
  return list;
}

std::vector<ArgumentValue> arguments_from(const Json& json) {
  std::vector<ArgumentValue> arguments;
  for (const Json& item : json) {
    ArgumentValue argument;
    argument.kind = get_enum<Argument::Kind>(item, "kind", static_cast<int>(Argument::Kind::tensor_map));
    argument.type = get_enum<ScalarType>(item, "scalar", static_cast<int>(ScalarType::f64));
    get(item, "name", argument.name);
    if (!from_json(item.at("value"), argument.value))
      throw ProtocolError("an argument's value is not a scalar");
    if (argument.kind == Argument::Kind::tensor_map)
      get_optional(item, "tensor_map", argument.tensor_map, tensor_map_from);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Json workspace_json(const std::vector<SizedWorkspace>& workspace) {
  Json list = Json::array();
  for (const SizedWorkspace& array : workspace) {
    list.push_back({{"name", array.name},
                    {"element", static_cast<int>(array.type)},
                    {"elements", array.elements},
                    {"zeroed", array.zeroed}});
  }
  return list;
}

std::vector<SizedWorkspace> workspace_from(const Json& json) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 56;
  std::vector<SizedWorkspace> workspace;
  for (const Json& item : json) {
    SizedWorkspace array;
    get(item, "name", array.name);
    array.type = get_enum<ElementType>(item, "element", static_cast<int>(ElementType::u32));
    array.elements = message_integer(item.at("elements"), 0, kMostElements);
    get(item, "zeroed", array.zeroed);
    workspace.push_back(std::move(array));
  }
  return workspace;
}

}  // namespace tiletune::message
