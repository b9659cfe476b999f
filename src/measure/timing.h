#pragma once

#include <functional>

#include "gpu/device.h"
#include "measure/statistics.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Times launches with CUDA events on the GPU's stream.
class Timer {
 public:
  /// `beat` is called after every launch that ended, as a sign of life.
  Timer(Gpu& gpu, std::function<void()> beat);

  /// Warm-up launches, then the policy's samples. Before each sample the L2 cache is flushed by writing twice
  /// its size (unless the policy says warm); the write also keeps the GPU busy while the launch is queued, so
  /// that launch latency stays out of the sample. Kernels so slow that a second is spent stop at three
  /// samples.
  Timing time(const MeasurePolicy& policy, const std::function<void()>& launch);

  /// Gives the sign of life for a launch that was not timed.
  void beat() const { beat_(); }

 private:
  double sample(CachePolicy cache, const std::function<void()>& launch);

  Gpu& gpu_;
  std::function<void()> beat_;
  DeviceBuffer flush_;
  Event begin_;
  Event end_;
};

}  // namespace tiletune
