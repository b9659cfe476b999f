#pragma once

#include <cstdint>

#include "gpu/device.h"
#include "measure/device_kernels.h"

namespace tiletune {

/// Holds the GPU's stream with a kernel that waits for the host, so that everything queued meanwhile then
/// runs without waiting for launches. The kernel has a deadline of its own: under a profiler, or where
/// launches wait for their end, the host cannot come to its release.
class Blocker {
 public:
  explicit Blocker(DeviceKernels& kernels);

  /// Queues the kernel, unless it gave up too often: then nothing is held from now on.
  void block();
  void release();
  /// After the stream was synchronised: whether the last kernel gave up before it was released, so that what
  /// was queued behind it ran too early.
  bool gave_up();
  /// Blocking works here.
  bool works() const { return failures_ < kMostFailures; }

 private:
  static constexpr int kMostFailures = 2;

  DeviceKernels& kernels_;
  HostWords words_;  ///< [0]: the ticket released last, [1]: the ticket given up last
  std::uint32_t ticket_ = 0;
  int failures_ = 0;
};

}  // namespace tiletune
