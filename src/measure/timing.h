#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/device.h"
#include "gpu/stream.h"
#include "measure/device_kernels.h"
#include "measure/instruments.h"
#include "measure/launch_checks.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/sampling.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Something that can be timed: it queues one launch, on the buffers of the given copy.
struct Subject {
  std::function<void(std::size_t copy)> launch;
  std::function<std::size_t()> copies = {};      ///< of its buffers; asked for only where several are needed
  ProblemBuffers* buffers = nullptr;             ///< whose outputs become invalid before every timed launch
  std::shared_ptr<LaunchTally> tally = nullptr;  ///< of checked launches; none: they are not checked
  /// Queues what is due to its own memory before each launch on a copy, or before a batch.
  std::function<void(std::size_t copy)> prepare = {};
  InputRules inputs = {};
  /// On several GPUs: what each one's part took, for each of the last launches.
  std::function<std::vector<std::vector<double>>(int launches)> gpu_times_us = {};
  double floor_us = 0;  ///< on several GPUs: what a launch takes that does nothing
};

/// Queues what precedes launches on copies of a subject's buffers: other inputs, and invalid outputs and
/// workspaces.
void restore(const Subject& subject, const CopyRange& copies);

/// Launches recorded as a graph.
struct Batch {
  std::unique_ptr<Graph> graph;
  int launches = 0;
};

/// Times launches with CUDA events on the GPU's stream, less what two events with nothing between them read.
/// Launches are queued behind a blocking kernel, so that no sample waits for the host. Before every timed
/// launch it gets other inputs, its outputs and workspaces become invalid, and then the cache is brought into
/// its state; after it the outputs are compared with the reference. None of that is timed.
class Timer {
 public:
  /// Launches in a batch; fewer if memory does not suffice for the outputs of all.
  static constexpr int kBatch = 100;
  /// Single launches of a kernel that is timed in batches.
  static constexpr int kIsolatedSamples = 7;

  /// `heartbeat` is called whenever launches have ended, as a sign of life. `wait`, if any, is called before
  /// the timer waits for the GPU: it waits for others that take part, and throws what fails on them.
  Timer(Gpu& gpu, DeviceKernels& kernels, std::function<void()> heartbeat, std::function<void()> wait = {});

  /// A crude time of one launch, with whatever the first one has to load. Waits for it.
  double estimate_us(const std::function<void()>& launch);

  /// Warm-up, screening and samples as the policy says; in batches where single launches prove too short.
  /// `estimate_us` is of a launch that was made before; without one the first warm-up serves.
  Sampled time(const MeasurePolicy& policy, const Subject& subject, std::optional<double> estimate_us,
               std::optional<double> leader_us = {});

  /// `count` samples of single launches. A kernel that takes `estimate_us` is queued so few times at once
  /// that signs of life keep coming.
  std::vector<Shot> singles(const Subject& subject, CachePolicy cache, double estimate_us, int count);
  /// Medians of single launches of each part of a subject's launch, behind the parts before it.
  std::vector<double> parts_us(const Subject& subject, const std::vector<std::function<void()>>& parts,
                               CachePolicy cache, double estimate_us);
  /// A launch on each copy of the subject's buffers; kBatch launches of one without buffers.
  Batch record_batch(const Subject& subject);
  /// `count` samples of a batch that record_batch() has made of the subject, per launch.
  std::vector<Shot> batches(const Subject& subject, const Batch& batch, CachePolicy cache, int count);

  /// The time of a launch where the host queues one by one on each copy of the subject's buffers.
  double eager_us(const Subject& subject);

  /// Whether single launches of that time are too short to be timed by themselves. What may compete with a
  /// leader that is timed in batches is so too: the two ways differ by some tenths of a microsecond.
  static bool needs_batch(const MeasurePolicy& policy, double single_us, std::optional<double> leader_us);

  /// What a kernel that does nothing is reported to take, singly and in a batch, and the event floor.
  void measure_floors(Calibration& calibration);

  RunClock& clock() { return clock_; }
  /// Whether samples are free of the host's launch latency: launches can be queued behind a blocking kernel.
  bool blocks() const { return blocker_.works(); }

  CacheFlush& flush() { return flush_; }

  /// Gives the sign of life for a launch that was not timed.
  void heartbeat() const { heartbeat_(); }

 private:
  /// Parts of one sample.
  struct Part {
    std::function<void()> prepare;
    std::function<void()> timed;
    const Subject* subject = nullptr;        ///< none: there is nothing to check
    std::function<CopyRange()> copies = {};  ///< on which the timed launches were
  };

  std::vector<Shot> in_series(const Part& part, int count, double estimate_us, int launches);
  std::vector<Shot> series(const Part& part, int count, int launches);
  std::vector<Shot> read(const Subject* subject, int count, int launches);
  void add_gpu_times(const Subject& subject, std::vector<Shot>& shots) const;
  Batch record(const Subject& subject, std::size_t copies, int launches);
  /// What precedes a timed launch on the first copy, or on all of a batch.
  void bring_cache_to(CachePolicy cache, const Subject& subject, const CopyRange& copies);
  /// Keeps an idle GPU busy until its clock has risen.
  void wake();
  Sampled time_in_batches(const MeasurePolicy& policy, const Subject& subject,
                          std::optional<double> leader_us);

  Gpu& gpu_;
  DeviceKernels& kernels_;
  std::function<void()> heartbeat_;
  std::function<void()> wait_;
  CacheFlush flush_;
  Blocker blocker_;
  ClockProbe probe_;
  std::size_t next_copy_ = 0;  ///< of rotating buffers; counts on from series to series
  std::vector<Event> begins_;
  std::vector<Event> ends_;
  RunClock clock_;
  double event_floor_us_ = 0;
  std::chrono::steady_clock::time_point last_busy_;
};

}  // namespace tiletune
