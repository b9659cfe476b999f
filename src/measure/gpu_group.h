#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cublas.h"
#include "gpu/device.h"
#include "gpu/nccl.h"
#include "gpu/stream.h"
#include "measure/cache_flush.h"
#include "measure/device_kernels.h"
#include "measure/messages.h"

namespace tiletune {

/// GPUs of one model that compute an operation together. Work on all of them begins and ends on the stream of
/// the first one: what is queued between fork() and join() on their streams is part of it.
class GpuGroup {
 public:
  /// Opens the others by their numbers, with peer access between all. The context of the first stays current.
  /// Throws GpuError for GPUs that cannot work together.
  GpuGroup(Gpu& first, const std::vector<int>& others);

  std::size_t size() const { return gpus_.size(); }
  Gpu& gpu(std::size_t number) { return *gpus_[number]; }
  DeviceKernels& kernels(std::size_t number) { return *kernels_[number]; }
  CUstream_st* stream(std::size_t number) { return gpus_[number]->stream(); }
  /// For what runs beside the stream.
  CUstream_st* side_stream(std::size_t number) { return own_[number]->side.get(); }

  /// Loads the harness' kernels, once. Those of the first GPU are loaded already.
  void load(DeviceKernels& first);
  /// Calls `body(number)` for each GPU, with its context current.
  template <typename Body>
  void on_each(const Body& body) {
    for (std::size_t number = 0; number < size(); ++number) {
      const OnGpu current(gpu(number));
      body(number);
    }
  }

  /// The other GPUs wait for what is queued on the first.
  void fork();
  /// The first GPU waits for what is queued on the others.
  void join();
  /// Every GPU waits for what is queued on all.
  void barrier();
  /// The side stream waits for what is queued on the stream; then the other way round.
  void fork_side(std::size_t number);
  void join_side(std::size_t number);
  /// Empties the L2 caches of the other GPUs, by writes or by reads. Queued.
  void flush_others(bool dirty);
  /// Waits for all GPUs. Throws CudaError for the first on which something failed, while others may still
  /// wait for it.
  void wait();

  /// What an empty launch on all of them takes; set by whoever has measured it.
  double floor_us = 0;

 private:
  /// What one GPU has beside its stream.
  struct Own {
    Stream side;
    Event reached{Event::Use::order};  ///< what was queued on the stream until fork(), join() or barrier()
    Event side_forked{Event::Use::order};
    Event side_done{Event::Use::order};
  };

  std::vector<std::unique_ptr<Gpu>> others_;
  std::vector<Gpu*> gpus_;
  std::vector<std::unique_ptr<Own>> own_;
  std::vector<std::unique_ptr<DeviceKernels>> other_kernels_;
  std::vector<DeviceKernels*> kernels_;
  std::vector<std::unique_ptr<CacheFlush>> flushes_;  ///< of the others
};

/// Launches on all GPUs of a group, each GPU's part between two events of its own.
class GroupLaunches {
 public:
  explicit GroupLaunches(GpuGroup& group);

  /// Calls `queue`, which queues work on the streams of the group.
  void launch(const std::function<void()>& queue);
  /// What each GPU's part took, for each of the last `count` launches (kLongestSeries at most). Waits.
  std::vector<std::vector<double>> times_us(int count);

 private:
  struct Events {
    Events();

    std::vector<Event> begins;
    std::vector<Event> ends;
  };

  GpuGroup& group_;
  std::vector<std::unique_ptr<Events>> events_;  ///< by GPU
  std::size_t launches_ = 0;
};

/// Libraries on all GPUs of a group.
struct GroupLibraries {
  std::unique_ptr<Nccl> nccl;               ///< none while it was not asked for, or where it cannot be had
  std::string why_no_nccl;                  ///< why it cannot be had
  std::vector<std::unique_ptr<Blas>> blas;  ///< by GPU; empty while they were not asked for

  /// Where NCCL cannot be had, why_no_nccl says so. Throws CudaError.
  void open_nccl(GpuGroup& group);
  /// Throws GpuError.
  void open_blas(GpuGroup& group);
};

}  // namespace tiletune
