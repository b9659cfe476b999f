#include "gpu/tensor_map.h"

#include <cstring>

#include "gpu/driver_api.h"

namespace tiletune {

namespace {

static_assert(sizeof(CUtensorMap) == sizeof(TensorMapBytes));

CUtensorMapDataType data_type(ElementType type) {
  using enum ElementType;
  constexpr std::array<std::pair<ElementType, CUtensorMapDataType>, 11> kTypes{
      {{f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
       {bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
       {tf32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
       {f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
       {f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
       {i16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
       {u16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
       {i32, CU_TENSOR_MAP_DATA_TYPE_INT32},
       {u32, CU_TENSOR_MAP_DATA_TYPE_UINT32},
       {i64, CU_TENSOR_MAP_DATA_TYPE_INT64},
       {u64, CU_TENSOR_MAP_DATA_TYPE_UINT64}}};
  for (const auto& [known, data_type] : kTypes)
    if (known == type) return data_type;
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // of one byte
}

// In the order of the enumerations.
constexpr std::array kSwizzles{CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                               CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
constexpr std::array kPromotions{CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B};

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
               kSwizzles.at(static_cast<std::size_t>(layout.swizzle)),
               kPromotions.at(static_cast<std::size_t>(layout.promotion)), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  TensorMapBytes bytes;
  std::memcpy(bytes.bytes.data(), &map, sizeof map);
  return bytes;
}

}  // namespace tiletune
