#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/device_properties.h"
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
  PinnedBuffer memory_;
  std::uint32_t* words_;  ///< in memory_: the last ticket released, then the last ticket given up
  DeviceAddress address_ = memory_.address();
  std::uint32_t ticket_ = 0;
  int failures_ = 0;
};

/// Reads the SM clock over stretches of the stream: a kernel of one block per multiprocessor notes the
/// multiprocessor's cycle counter and the GPU's nanosecond timer at both ends.
class ClockProbe {
 public:
  ClockProbe(Gpu& gpu, DeviceKernels& kernels, int most_readings);

  /// Forgets all readings; queued.
  void clear();
  /// Queues reading number `index`.
  void read(int index);
  /// Copies the readings to the host; waits for the stream.
  void collect();
  /// Median over the multiprocessors of the clock between two readings, MHz. None when the stretch is too
  /// short for the timer's step, or a reading is missing.
  std::optional<double> mhz(int from, int to) const;

 private:
  struct Reading {
    std::uint64_t cycles = 0;
    std::uint64_t nanoseconds = 0;
  };

  Gpu& gpu_;
  DeviceKernels& kernels_;
  int multiprocessors_;
  std::vector<Reading> readings_;
  DeviceBuffer memory_;
  std::uint64_t timer_step_ns_ = 0;
};

/// Measures what no kernel on this GPU can exceed: FP32 multiply-adds, copies and reads of device memory,
/// reads of shared memory; all with an L2 cache that has been flushed as before a cold sample. Each is the
/// best of a few launch shapes, a shape's time the median of five samples of about a millisecond. Takes about
/// 0.15 s of the GPU, and as much of its memory as eight times its L2 cache twice. The floors of the method
/// stay zero. Throws GpuError.
Calibration measure_ceilings(Gpu& gpu, CacheFlush& flush);

/// What it compiles for a device.
std::vector<OwnKernels> ceiling_kernels(const DeviceFacts& device);

}  // namespace tiletune
