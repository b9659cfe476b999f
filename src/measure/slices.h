#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/gpu_group.h"
#include "measure/guards.h"
#include "space/instance.h"

namespace tiletune {

/// What each GPU of a group has of a problem's buffers, in memory of its own between guard bands, the first
/// GPU too. The whole of every buffer lies on the first GPU.
class Slices {
 public:
  /// Where the whole of a buffer lies, and what an inout buffer holds before a launch.
  struct Whole {
    DeviceAddress data = 0;
    DeviceAddress initial = 0;
  };

  /// Allocates. Throws CudaError.
  Slices(GpuGroup& group, const Workload& workload);

  GpuGroup& group() { return group_; }
  const std::map<std::string, DeviceAddress>& addresses(std::size_t gpu) const { return addresses_[gpu]; }
  /// Of a buffer's elements; none of another name.
  std::optional<ElementType> type(const std::string& buffer) const;

  /// Takes the inputs from the whole; `wholes` are in the order of the buffers, here and below.
  void fill(const std::vector<Whole>& wholes);
  /// Queues the filling of outputs with a word, and of inout buffers with what they hold before a launch.
  void fill_outputs(const std::vector<Whole>& wholes, std::uint32_t word);
  /// Queues on the stream of each GPU the copying of what it reads, from wholes in the host's memory; they
  /// are in the order of the buffers, here and below.
  void copy_inputs(const std::vector<DeviceAddress>& wholes);
  /// Queues on the stream of each GPU the copying of what it writes, into wholes in the host's memory. Of
  /// outputs that every GPU has in full, that of the first.
  void copy_outputs(const std::vector<DeviceAddress>& wholes);
  /// How many results there are: one, or that of each GPU where they have an output each.
  std::size_t results() const;
  /// Queues the copying of one of the results into the whole.
  void gather(const std::vector<Whole>& wholes, std::size_t result);
  /// What was written that must not be, if anything.
  std::optional<Finding> check();

 private:
  struct Slice {
    DeviceBuffer memory;  // guard, data, guard
    Guarded guarded;
    std::uint64_t checksum = 0;  // of an input
  };

  template <typename Body>
  void on_each_slice(const Body& body);
  void copy_part(const Workload::SizedBuffer& buffer, std::size_t gpu, DeviceAddress whole,
                 DeviceAddress slice, bool to_slice, CUstream_st* stream) const;

  GpuGroup& group_;
  const Workload& workload_;
  std::vector<std::vector<Slice>> slices_;  ///< by GPU and buffer
  std::vector<std::map<std::string, DeviceAddress>> addresses_;
};

}  // namespace tiletune
