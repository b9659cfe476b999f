#pragma once

#include <memory>
#include <vector>

#include "gpu/device.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// Pinned host memory for the buffers of a problem, to time launches with the copies that an application
/// whose data lie on the host makes.
class HostCopies {
 public:
  /// Allocates memory for each input and each output: the bytes of all buffers, those of inout buffers twice.
  /// Throws GpuError where the host does not have as much. All arguments must outlive it.
  HostCopies(Gpu& gpu, ProblemBuffers& buffers, Timer& timer);
  /// Fetches what the inputs hold. Throws CudaError.
  void fill();

  /// Median time, us, from a common start until the last output has arrived on the host: every input is
  /// copied from the host, then the subject is launched once, then every output is copied to the host. On
  /// several GPUs each copies its slices on its own stream, all at the same time, and inputs that every GPU
  /// has in full go to each; the launch begins when all inputs have arrived on all GPUs, and the copies of
  /// the outputs begin when it has ended on all. Nothing overlaps within a GPU. The GPU waits for the host to
  /// queue the work, so that the latency of these calls counts. Throws what a launch does.
  double time_us(const Subject& subject);

 private:
  void copy(DeviceAddress to, DeviceAddress from, std::size_t buffer);
  void copy_and_launch(const Subject& subject);
  void copy_slices_and_launch(Slices& slices, const Subject& subject);

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  Timer& timer_;
  std::vector<std::unique_ptr<PinnedBuffer>> memory_;
  std::vector<DeviceAddress> inputs_;   ///< by buffer: where its input is; 0: it has none
  std::vector<DeviceAddress> outputs_;  ///< the same of outputs
};

}  // namespace tiletune
