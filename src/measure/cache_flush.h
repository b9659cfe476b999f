#pragma once

#include "gpu/device.h"
#include "measure/device_kernels.h"

namespace tiletune {

/// Empties the L2 cache of everything else, with memory of twice its size.
class CacheFlush {
 public:
  /// Throws CudaError.
  CacheFlush(Gpu& gpu, DeviceKernels& kernels);

  /// By reads: no line is left that would have to be written back before another can take its place.
  void clean() { kernels_.read_memory(memory_.address(), memory_.bytes()); }
  /// By writes: whatever comes next pays for writing these lines back.
  void dirty() { gpu_.fill32(memory_.address(), 0, memory_.bytes() / sizeof(std::uint32_t)); }

 private:
  Gpu& gpu_;
  DeviceKernels& kernels_;
  DeviceBuffer memory_;
};

}  // namespace tiletune
