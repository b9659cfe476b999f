#include "gpu/tensor_map.h"

#include <cstring>

#include "gpu/driver_api.h"

namespace tiletune {

namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMapBytes));

CUtensorMapDataType data_type(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ElementType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ElementType::tf32:
    case ElementType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case ElementType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case ElementType::i16:
    case ElementType::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case ElementType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case ElementType::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case ElementType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case ElementType::u64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case ElementType::e4m3:
    case ElementType::e5m2:
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::boolean:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzle_mode(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::bytes_32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case Swizzle::bytes_64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case Swizzle::bytes_128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case Swizzle::none:
      break;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUtensorMapL2promotion promotion_mode(Promotion promotion) {
  switch (promotion) {
    case Promotion::bytes_64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case Promotion::bytes_128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case Promotion::bytes_256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    case Promotion::none:
      break;
  }
  return CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

}  // namespace

TensorMapBytes encode_tensor_map(const TensorMapLayout& layout) {
  const auto encode = driver_api().tensor_map_encode;
  if (encode == nullptr) throw GpuError("the driver has no cuTensorMapEncodeTiled; it came with CUDA 12.0");
  const std::vector<cuuint64_t> extents(layout.extents.begin(), layout.extents.end());
  const std::vector<cuuint64_t> pitches(layout.pitch_bytes.begin(), layout.pitch_bytes.end());
  const std::vector<cuuint32_t> box(layout.box.begin(), layout.box.end());
  const std::vector<cuuint32_t> every_element(box.size(), 1);
  CUtensorMap map{};
  // The address is of device memory: the driver takes it as a pointer all the same.
  void* const address = reinterpret_cast<void*>(layout.address);  // NOLINT(performance-no-int-to-ptr)
  check(encode(&map, data_type(layout.type), static_cast<cuuint32_t>(extents.size()), address, extents.data(),
               pitches.data(), box.data(), every_element.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
               swizzle_mode(layout.swizzle), promotion_mode(layout.promotion),
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  TensorMapBytes bytes;
  std::memcpy(bytes.bytes.data(), &map, sizeof map);
  return bytes;
}

}  // namespace tiletune
