#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "spec/tune_spec.h"

struct CUgraph_st;
struct CUgraphExec_st;

namespace tiletune {

/// What a kernel takes as a tensor map, as it is passed: cuda.h's CUtensorMap.
struct alignas(64) TensorMapBytes {
  std::array<std::byte, 128> bytes{};
};

/// Innermost dimension first; the pitches are of all but that.
struct TensorMapLayout {
  ElementType type = ElementType::f32;
  DeviceAddress address = 0;
  std::vector<std::uint64_t> extents;  ///< elements
  std::vector<std::uint64_t> pitch_bytes;
  std::vector<std::uint32_t> box;  ///< elements
  Swizzle swizzle = Swizzle::none;
  Promotion promotion = Promotion::bytes_128;
};

/// Elements beyond the extents read as zero and are not written. Throws CudaError when the driver refuses it,
/// GpuError when it knows no tensor maps.
TensorMapBytes encode_tensor_map(const TensorMapLayout& layout);

/// Makes a GPU's context current in this thread; then the one that was current before.
class OnGpu {
 public:
  /// Throws CudaError.
  explicit OnGpu(const Gpu& gpu);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
};

/// Lets kernels and copies of both GPUs use each other's memory. Throws GpuError that names them where they
/// cannot.
void enable_peer_access(const Gpu& first, const Gpu& second);

/// A further stream of a GPU whose context is current.
class Stream {
 public:
  /// Throws CudaError.
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream_st* get() const { return stream_; }

 private:
  CUstream_st* stream_ = nullptr;
};

/// Rows whose starts lie a pitch apart, in bytes.
struct RowsCopy {
  DeviceAddress to = 0;
  std::size_t to_pitch = 0;
  DeviceAddress from = 0;
  std::size_t from_pitch = 0;
  std::size_t bytes = 0;  ///< of a row
  std::size_t rows = 0;
};

// Each throws CudaError. Events and streams of one call may belong to different GPUs, but for record(). The
// context of the stream's GPU is current.

void record(const Event& event, CUstream_st* stream);
/// Work that is queued from now on begins when what was queued before the event has ended.
void wait_for(const Event& event, CUstream_st* stream);
/// Between the memories of any GPUs that have access to each other's.
void copy_between(DeviceAddress to, DeviceAddress from, std::size_t bytes, CUstream_st* stream);
void copy_rows(const RowsCopy& copy, CUstream_st* stream);
/// Writes a word of the GPU's memory after all that was queued before it. Throws GpuError where the driver
/// cannot.
void write_word(DeviceAddress to, std::uint32_t word, CUstream_st* stream);
/// Whether all that was queued has ended. Throws CudaError for errors of what ran before.
bool is_idle(CUstream_st* stream);

/// What another process of this machine needs to open a buffer; may be sent to it as bytes.
struct IpcName {
  std::array<std::byte, 64> handle{};  ///< cuda.h's CUipcMemHandle
  std::size_t offset = 0;              ///< bytes from the start of what the handle stands for
};

/// Throws CudaError where the system has no such handles.
IpcName ipc_name(const DeviceBuffer& buffer);

/// A buffer of another process, whose GPU the current one has peer access to; closed when this ends.
class IpcBuffer {
 public:
  /// Throws CudaError.
  explicit IpcBuffer(const IpcName& name);
  ~IpcBuffer();
  IpcBuffer(const IpcBuffer&) = delete;
  IpcBuffer& operator=(const IpcBuffer&) = delete;

  DeviceAddress address() const { return opened_ + offset_; }

 private:
  DeviceAddress opened_ = 0;
  std::size_t offset_ = 0;
};

/// Launches recorded once and launched as one: the driver's work between them is small, so that short kernels
/// follow each other closely.
class Graph {
 public:
  /// Records what `body` queues on the GPU's stream; nothing of it runs. Throws CudaError, also for work that
  /// cannot be recorded.
  Graph(Gpu& gpu, const std::function<void()>& body);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Queues everything recorded.
  void launch();
  /// Names of the kernels in it, as compiled, in the order they were recorded; empty where the driver cannot
  /// tell.
  std::vector<std::string> kernel_names() const;

 private:
  Gpu& gpu_;
  CUgraph_st* graph_ = nullptr;
  CUgraphExec_st* executable_ = nullptr;
};

}  // namespace tiletune
