#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/device.h"
#include "measure/device_kernels.h"

namespace tiletune {

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

  std::size_t place_of(int index, int multiprocessor) const;
  const Reading& at(int index, int multiprocessor) const;

  Gpu& gpu_;
  DeviceKernels& kernels_;
  int multiprocessors_;
  std::vector<Reading> readings_;
  DeviceBuffer memory_;
  std::uint64_t timer_step_ns_ = 0;
};

}  // namespace tiletune
