#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/statistics.h"
#include "gpu/nvml.h"
#include "measure/baselines.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// Measures the leaders of a problem again, one sample each per round, in a random order that changes from
/// round to round, in memory that is fresh every few rounds; with the baselines and a second copy of
/// the first finalist. All are timed alike: in batches if the fastest of them is short. Then, where the
/// policy says so, the best run back to back for seconds, and are timed with copies from and to the host
/// (HostCopies). Where the host's memory does not suffice for that, they have a warning.
///
/// `turn` is called with a finalist's ticket (0: a baseline or the second copy) before it is launched. A
/// finalist's own fault is returned as its outcome; an error that ruins the context is thrown as CudaError.
FinalsMeasured run_finals(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Nvml& nvml,
                          const FinalsRequest& request, const std::vector<LibraryWay>& baselines,
                          const std::function<void(std::uint64_t ticket)>& turn);

/// One finalist of the finals, with a sample per round so far.
struct FinalistSamples {
  Samples samples;
  bool stays = false;    ///< to the end, however slow: baselines, the leader and its second copy
  bool competes = true;  ///< false for baselines: they set no pace for the others
  bool is_out = false;
};

/// After enough rounds, drops finalists whose 95% interval is narrow and lies above that of the fastest
/// of those who compete by more than what the finals can still change.
void drop_slow_finalists(std::vector<FinalistSamples>& finalists);

/// Whether further rounds would change little: there were 40, and the 95% intervals of all who still take
/// part are within 0.1% of the median, those of baselines within 0.2%.
bool are_times_known(const std::vector<FinalistSamples>& finalists);

/// How many rounds: `most`, but fewer for slow kernels, so that all take at most `longest_us`; never so few
/// that nothing could be said. `round_us` is what one round of all takes.
int rounds_for(double round_us, int most, double longest_us);

/// Runs a subject back to back for `seconds`, as the batch says (without a graph: on the first copy of its
/// buffers), and reads clock and power
/// over the second half of that time, after the first half has warmed the GPU up. Every some milliseconds it
/// gets other inputs, and its outputs are checked; that is not timed. Returns sustained_us (time per launch),
/// sustained_clock_mhz and sustained_power_w (the mean, from the energy counter if the GPU has one).
/// `heartbeat` is called often.
Figures run_sustained(Gpu& gpu, const Nvml& nvml, const Subject& subject, const Batch& batch,
                      double estimate_us, double seconds, const std::function<void()>& heartbeat);

/// Pinned host memory for the buffers of a problem, to time launches with the copies that an application
/// whose data lie on the host makes.
class HostCopies {
 public:
  /// Allocates memory for each input and each output: the bytes of all buffers, those of inout buffers twice.
  /// Throws GpuError where the host does not have as much. All arguments must outlive it.
  HostCopies(Gpu& gpu, ProblemBuffers& buffers, Timer& timer);
  /// Median time, us, from a common start until the last output has arrived on the host: every input is
  /// copied from the host, then the subject is launched once, then every output is copied to the host. On
  /// several GPUs each copies its slices on its own stream, all at the same time, and inputs that every GPU
  /// has in full go to each; the launch begins when all inputs have arrived on all GPUs, and the copies of
  /// the outputs begin when it has ended on all. Nothing overlaps within a GPU. The GPU waits for the host to
  /// queue the work, so that the latency of these calls counts. Throws what a launch does.
  double time_us(const Subject& subject);

 private:
  void fetch();
  void copy(DeviceAddress to, DeviceAddress from, std::size_t buffer);
  void copy_slices_and_launch(Slices& slices, const Subject& subject);

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  Timer& timer_;
  std::vector<std::unique_ptr<PinnedBuffer>> memory_;
  std::vector<DeviceAddress> inputs_;   ///< by buffer: where its input is; 0: it has none
  std::vector<DeviceAddress> outputs_;  ///< by buffer: where its output is; 0: it has none
};

}  // namespace tiletune
