#include "measure/cache_flush.h"

#include <algorithm>

namespace tiletune {

namespace {

constexpr std::int64_t kLeastBytes = std::int64_t{16} << 20;

}  // namespace

CacheFlush::CacheFlush(Gpu& gpu, DeviceKernels& kernels)
    : gpu_(gpu),
      kernels_(kernels),
      memory_(static_cast<std::size_t>(std::max(2 * gpu.facts().l2_bytes, kLeastBytes))) {
  dirty();
  kernels_.prepare("read_memory");
}

}  // namespace tiletune
