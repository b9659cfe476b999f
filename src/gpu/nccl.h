#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "gpu/device.h"
#include "spec/element_type.h"

namespace tiletune {

/// One GPU's part of a collective operation: what it reads and writes, and the stream on which it runs.
struct NcclPart {
  DeviceAddress from = 0;
  DeviceAddress to = 0;
  CUstream_st* stream = nullptr;
};

/// NCCL, loaded at run time: one communicator for several GPUs of this process. NVLink SHARP, which needs
/// multicast memory, is switched off.
///
/// Every call queues work on all GPUs as one group, and leaves this thread's current context as it was. The
/// calls may be captured into a graph.
class Nccl {
 public:
  /// `devices`: indices of the GPUs as the driver counts them; the first is rank 0. Their primary contexts
  /// must be retained. Throws GpuError when libnccl.so.2 cannot be opened or does not start.
  explicit Nccl(std::span<const int> devices);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  /// Whether NCCL adds numbers of this type; all_gather() copies those of any type.
  static bool adds(ElementType type);

  /// Queues: `to` of every rank holds the `elements` elements of `from` of rank 0, then those of rank 1, ...
  /// `parts` has one entry for each rank. Throws GpuError.
  void all_gather(std::span<const NcclPart> parts, std::size_t elements, ElementType type);
  /// Queues: `to` of rank r holds the sum over all ranks of their elements r * elements to
  /// (r + 1) * elements - 1 of `from`. Throws GpuError, also when NCCL does not add such numbers.
  void reduce_scatter(std::span<const NcclPart> parts, std::size_t elements, ElementType type);
  /// "2.28.3"
  std::string version() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiletune
