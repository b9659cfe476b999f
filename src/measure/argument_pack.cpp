#include "measure/argument_pack.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <fmt/format.h>

#include <cstring>

#include "base/text.h"
#include "measure/guards.h"

namespace tiletune {

namespace {

double as_double(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? 1 : 0;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  throw GpuError("a string cannot be a kernel argument");
}

std::int64_t as_integer(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  return static_cast<std::int64_t>(as_double(value));
}

template <typename T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

}  // namespace

std::uint64_t scalar_bits(ArgumentValue argument, std::int64_t rank) {
  if (argument.is_rank) argument.value = rank;
  const auto number = [&] { return static_cast<float>(as_double(argument.value)); };
  switch (argument.type) {
    case ElementType::f16:
      return bits_of(__float2half(number()));
    case ElementType::bf16:
      return bits_of(__float2bfloat16(number()));
    case ElementType::e4m3:
      return bits_of(__nv_fp8_e4m3(number()));
    case ElementType::e5m2:
      return bits_of(__nv_fp8_e5m2(number()));
    case ElementType::tf32:
    case ElementType::f32:
      return bits_of(number());
    case ElementType::f64:
      return bits_of(as_double(argument.value));
    case ElementType::boolean:
      return as_integer(argument.value) != 0 ? 1 : 0;
    default:
      // The low bytes of an integer are those of a shorter one.
      return bits_of(as_integer(argument.value));
  }
}

namespace {

TensorMapLayout layout_of(const TensorMapShape& shape, DeviceAddress address) {
  TensorMapLayout layout;
  layout.type = shape.type;
  layout.address = address + static_cast<std::uint64_t>(shape.offset) * size_bytes(shape.type);
  layout.extents.assign(shape.extents.begin(), shape.extents.end());
  for (const std::int64_t pitch : shape.pitches)
    layout.pitch_bytes.push_back(static_cast<std::uint64_t>(pitch) * size_bytes(shape.type));
  for (const std::int64_t size : shape.box) layout.box.push_back(static_cast<std::uint32_t>(size));
  layout.swizzle = shape.swizzle;
  layout.promotion = shape.promotion;
  return layout;
}

/// Zero where there is no map, or nothing that it could describe.
TensorMapBytes tensor_map(const ArgumentValue& argument, DeviceAddress address) {
  if (!argument.tensor_map || address == 0) return {};
  const TensorMapLayout layout = layout_of(*argument.tensor_map, address);
  try {
    return encode_tensor_map(layout);
  } catch (const GpuError& error) {
    throw Unlaunchable(
        Outcome::launch_failed,
        fmt::format(
            "tensor map of {}: {}: {}, address {:#x}, extents {}, pitches {} B, box {}, swizzle {}; the "
            "driver wants address and pitches in multiples of 16 B and at most 256 elements of a box in "
            "each dimension, its rows a multiple of 16 B and no longer than the swizzle",
            argument.name, error.what(), name(layout.type), layout.address, fmt::join(layout.extents, " x "),
            fmt::join(layout.pitch_bytes, ", "), fmt::join(layout.box, " x "), name(layout.swizzle)));
  }
}

template <typename T>
TensorMapBytes bytes_of(const T& value) {
  TensorMapBytes bytes;
  std::memcpy(bytes.bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

ArgumentPack::ArgumentPack(const std::vector<ArgumentValue>& arguments,
                           const std::map<std::string, DeviceAddress>& addresses,
                           const PeerArguments& peers) {
  for (const ArgumentValue& argument : arguments) {
    if (argument.kind == Argument::Kind::scalar) {
      storage_.push_back(bytes_of(scalar_bits(argument, peers.rank)));
      continue;
    }
    const bool wants_list = argument.kind == Argument::Kind::peers && peers.lists != nullptr;
    const auto& known = wants_list ? *peers.lists : addresses;
    const auto found = known.find(argument.name);
    if (found == known.end()) throw GpuError(fmt::format("there is no buffer '{}'", argument.name));
    const bool by_address = argument.kind != Argument::Kind::tensor_map;
    storage_.push_back(by_address ? bytes_of(found->second) : tensor_map(argument, found->second));
  }
  pointers_.reserve(storage_.size());
  for (TensorMapBytes& value : storage_) pointers_.push_back(value.bytes.data());
}

}  // namespace tiletune
