#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/nccl.h"
#include "gpu/stream.h"
#include "measure/device_kernels.h"
#include "measure/guards.h"
#include "measure/instruments.h"
#include "measure/launch_checks.h"
#include "measure/messages.h"
#include "space/instance.h"

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

  /// Opens NCCL at the first call. If that fails, why_no_nccl() returns the reason. Throws CudaError.
  void open_nccl();
  /// Null before open_nccl(), and if that failed.
  Nccl* nccl() const { return nccl_.get(); }
  const std::string& why_no_nccl() const { return why_no_nccl_; }

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
  std::unique_ptr<Nccl> nccl_;
  std::string why_no_nccl_;
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
    std::vector<Event> begins = std::vector<Event>(kLongestSeries);
    std::vector<Event> ends = std::vector<Event>(kLongestSeries);
  };

  GpuGroup& group_;
  std::vector<std::unique_ptr<Events>> events_;  ///< by GPU
  std::size_t launches_ = 0;
};

/// What each GPU of a group has of a problem's buffers, in memory of its own between guard bands, the first
/// GPU too. The whole of every buffer lies on the first GPU.
class Slices {
 public:
  /// Allocates the slices. `wholes` are where the whole buffers lie, in their order, here and below. Throws
  /// CudaError.
  Slices(GpuGroup& group, const Workload& workload, std::vector<DeviceAddress> wholes);

  GpuGroup& group() { return group_; }
  const std::map<std::string, DeviceAddress>& addresses(std::size_t gpu) const { return addresses_[gpu]; }
  /// The type of a buffer's elements; none of another name.
  std::optional<ElementType> type(const std::string& buffer) const;

  /// Copies the inputs of every GPU from the whole buffers.
  void fill();
  /// Queues the same, and the filling of outputs with a word.
  void restore(std::uint32_t word);
  /// Queues, on each GPU's stream, copies of what it reads from wholes, on a GPU or the host.
  void copy_inputs(const std::vector<DeviceAddress>& wholes);
  /// Queues, on each GPU's stream, copies of what it writes to wholes in host memory. Outputs that every GPU
  /// has in full are copied from the first.
  void copy_outputs(const std::vector<DeviceAddress>& wholes);
  /// How many results there are: one, or that of each GPU where they have an output each.
  std::size_t results() const;
  /// Queues the copying of one of the results into the whole.
  void gather(std::size_t result);
  /// What was written that must not be, if anything: an input must be a part of the whole.
  std::optional<Finding> check();

 private:
  template <typename Body>
  void on_each_slice(const Body& body);
  void copy_part(const Workload::SizedBuffer& buffer, std::size_t gpu, DeviceAddress whole,
                 DeviceAddress slice, bool to_slice, CUstream_st* stream) const;

  GpuGroup& group_;
  const Workload& workload_;
  std::vector<DeviceAddress> wholes_;
  std::vector<std::vector<GuardedBuffer>> slices_;  ///< by GPU and buffer
  std::vector<std::map<std::string, DeviceAddress>> addresses_;
};

}  // namespace tiletune
