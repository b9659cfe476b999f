#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "inspect/occupancy.h"

namespace tiletune {
namespace {

/// "i32" and its size; a buffer is passed by its address.
std::pair<std::string_view, int> passed_as(const ArgumentValue& argument) {
  if (argument.kind == Argument::Kind::buffer) return {"buffer", 8};
  if (argument.kind == Argument::Kind::peers) return {"peers", 8};
  if (argument.kind == Argument::Kind::tensor_map) return {"tensor map", 128};
  return {name(argument.type), static_cast<int>(size_bytes(argument.type))};
}

/// Whether the parameter takes what is passed: the same size, or the low bytes of an integer, for parameters
/// such as bool.
bool fits(const ArgumentValue& argument, int parameter_bytes) {
  const bool integer = argument.kind == Argument::Kind::scalar && !is_floating(argument.type);
  const int bytes = passed_as(argument).second;
  return bytes == parameter_bytes || (integer && parameter_bytes <= 2 && parameter_bytes < bytes);
}

constexpr std::int64_t kMostExtent = std::int64_t{1} << 32;
constexpr std::int64_t kPitchBytesEnd = std::int64_t{1} << 40;
constexpr std::int64_t kMostBox = 256;
constexpr std::int64_t kPiece = 16;  // bytes that addresses, pitches and boxes are made of

std::int64_t swizzle_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::bytes_32:
      return 32;
    case Swizzle::bytes_64:
      return 64;
    case Swizzle::bytes_128:
      return 128;
    case Swizzle::none:
      break;
  }
  return 0;
}

std::string pitch_fault(std::int64_t pitch, std::int64_t element_bytes) {
  if (pitch >= kPitchBytesEnd / element_bytes)
    return fmt::format("pitch {} x {} B is not below 2^40 B", pitch, element_bytes);
  if (pitch * element_bytes % kPiece == 0) return "";
  return fmt::format("pitch {} x {} B = {} B is not a multiple of {} B", pitch, element_bytes,
                     pitch * element_bytes, kPiece);
}

std::string box_fault(const TensorMapShape& map, std::int64_t element_bytes) {
  for (const std::int64_t size : map.box) {
    if (size > kMostBox) return fmt::format("box of {} elements > {} in one dimension", size, kMostBox);
  }
  const std::int64_t width = map.box.front() * element_bytes;
  const std::string rows =
      fmt::format("rows of its box {} x {} B = {} B", map.box.front(), element_bytes, width);
  if (width % kPiece != 0) return fmt::format("{} are not a multiple of {} B", rows, kPiece);
  const std::int64_t span = swizzle_bytes(map.swizzle);
  if (span == 0 || width <= span) return "";
  return fmt::format("{} > {} B of the swizzle", rows, span);
}

}  // namespace

std::optional<std::string> argument_fault(const std::vector<ArgumentValue>& arguments,
                                          const Resources& resources) {
  if (!resources.parameter_bytes) return std::nullopt;
  const std::vector<int>& parameters = *resources.parameter_bytes;
  if (parameters.size() != arguments.size())
    return fmt::format("arguments: the kernel takes {}, the manifest passes {}", parameters.size(),
                       arguments.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (fits(arguments[i], parameters[i])) continue;
    const auto [type, bytes] = passed_as(arguments[i]);
    return fmt::format("argument {} of the kernel has {} B, the manifest passes {} ({}) with {} B", i + 1,
                       parameters[i], arguments[i].name, type, bytes);
  }
  return std::nullopt;
}

std::string tensor_map_fault(const GpuModel& gpu, const TensorMapShape& map) {
  constexpr int kFirstWithTensorMaps = 9;
  if (gpu.compute_major < kFirstWithTensorMaps)
    return fmt::format("needs compute capability 9.0, {} has {}", gpu.name, gpu.compute_capability());
  for (const std::int64_t extent : map.extents) {
    if (extent > kMostExtent) return fmt::format("extent {} > 2^32", extent);
  }
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(map.type));
  for (const std::int64_t pitch : map.pitches) {
    if (std::string fault = pitch_fault(pitch, element_bytes); !fault.empty()) return fault;
  }
  if (map.offset * element_bytes % kPiece != 0)
    return fmt::format("offset {} x {} B is not a multiple of {} B", map.offset, element_bytes, kPiece);
  return box_fault(map, element_bytes);
}

}  // namespace tiletune
