#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/gpu_group.h"
#include "measure/guards.h"
#include "measure/launch_checks.h"

namespace tiletune {

class ComputeLibrary;

/// The result of a launch and of the comparison with the reference.
struct Verification {
  double launch_us = 0;              ///< a crude time of the launch
  std::optional<Accuracy> accuracy;  ///< where the outputs were compared
  std::optional<Finding> finding;    ///< none: correct
};

/// Copies of all buffers: those of launches that follow each other.
struct CopyRange {
  std::size_t first = 0;
  std::size_t count = 1;
};

/// The buffers of one problem, each between two guard bands, with their FP64 reference. Guard bands and
/// padding of inputs are NaN; no byte of any guard band or padding may change. Of a problem of several GPUs
/// they hold the whole, and every GPU has slices: these are what launches use, and what their outputs hold is
/// copied into the whole before it is compared.
class ProblemBuffers {
 public:
  /// Allocates, fills the inputs and computes the reference. Throws GpuError, with the arithmetic, when the
  /// GPU's free memory does not suffice, and when a kernel that computes an input does other than that.
  /// `library`, if not null, computes the reference. `group` is null on one GPU.
  ProblemBuffers(Gpu& gpu, DeviceKernels& kernels, ComputeLibrary* library, PrepareRequest request,
                 GpuGroup* group);

  const PrepareRequest& request() const { return request_; }
  DeviceKernels& kernels() { return kernels_; }
  /// Null of a problem of one GPU.
  Slices* slices() { return slices_ ? &*slices_ : nullptr; }
  const std::map<std::string, DeviceAddress>& addresses() const { return addresses_; }
  /// Where they lie, in the workload's order.
  std::vector<Slices::Whole> wholes() const;
  /// The addresses of one of several copies of all buffers; copy 0 are the buffers themselves. Each has
  /// outputs of its own; inputs are shared among copies that lie far enough apart.
  const std::map<std::string, DeviceAddress>& addresses(std::size_t copy) const;
  /// How many there are: one for each launch of a batch, as far as memory allows. Their inputs together
  /// exceed twice the L2 cache; of a warm cache they have one input, and outputs that leave space for it.
  /// Makes them on first use. Of a problem of several GPUs there is one.
  std::size_t copies();
  /// Moves the buffers, and drops their copies: other addresses, other pages.
  void relocate();

  /// Restores what a launch reads and writes: outputs become NaN (one of two bit patterns), inout buffers
  /// their start.
  void poison(int variant);
  /// Queues the same before timed launches, but outputs are filled with a number: a kernel that works where
  /// it finds a NaN does nothing then.
  void invalidate(const CopyRange& copies);
  /// Queues reads of what a launch on the first copy reads, so that it is in the cache.
  void touch_inputs();
  /// Queues a comparison of what launches after invalidate() left. False where nothing was verified
  /// before, so that there is nothing to go by.
  bool queue_check(const CopyRange& copies, std::shared_ptr<LaunchTally> tally);
  /// The queue that queue_check() uses.
  CheckQueue& checks() { return *checks_; }
  /// Compares the outputs with the reference; correct if there is none. With `whole`, compares the whole
  /// buffers as they are, without copying slices into them first.
  Verification verify(double tolerance_factor, bool whole = false);
  /// Writes what an output holds to a file.
  void store(const OutputFile& file);
  /// The checksum of each output's bits, in the buffers' order.
  std::vector<std::uint64_t> output_checksums();
  /// Guard bands, padding, inputs and the reference itself: has anything been written that must not be?
  std::optional<Finding> check_surroundings();
  /// Fills everything again after a kernel damaged it.
  void rebuild();
  /// Fills everything but the reference again.
  void refill();

  /// Takes what `reach` gives for the reference, now and whenever it must be made again.
  void use_consensus(std::function<std::map<std::string, DeviceBuffer>()> reach);
  /// Copies of the outputs that are compared: of FP64 numbers, or of integers of their own type.
  std::map<std::string, DeviceBuffer> widened_outputs();
  /// Whether the outputs are numbers, and differ from such copies by no more than both may err.
  bool agree_with(const std::map<std::string, DeviceBuffer>& others);

 private:
  /// Further copies of one buffer, each followed by a guard band.
  struct Copies {
    DeviceBuffer memory;
    std::size_t count = 0;
    std::size_t pitch = 0;
    std::size_t bytes = 0;
  };
  /// How many copies of inputs and of outputs there are, the buffers themselves among them.
  struct CopyCounts {
    std::size_t inputs = 1;
    std::size_t outputs = 1;
  };
  struct Slot {
    Workload::SizedBuffer buffer;
    GuardedBuffer memory;
    DeviceBuffer initial;        // inout: the contents before every launch
    std::uint64_t checksum = 0;  // in: of the contents

    DeviceAddress data() const { return memory.data(); }
    std::size_t bytes() const { return memory.bytes(); }
  };

  std::vector<Slot> allocated() const;
  void use(std::vector<Slot> slots);
  void gather(std::size_t result = 0);
  void compare_result(double tolerance_factor, Verification& verification);
  CopyCounts wanted_copies() const;
  Copies copies_of(const Slot& slot, std::size_t count) const;
  void fill_outputs(const CopyRange& copies, std::uint32_t word);
  /// Where the copies of a slot lie: the buffer itself, and the others.
  std::array<BufferCopies, 2> places(std::size_t slot, const CopyRange& copies) const;
  std::optional<Tolerance> tolerance_of(const Slot& slot) const;
  ErrorLimits limits_of(const Slot& slot, double tolerance_factor, double reference_rms) const;
  void drop_copies();
  void fill();
  void compute_input(const PrepareRequest::OperationLaunch& launch);
  std::vector<std::uint64_t> checksums();
  void compute_references();
  bool references_are_intact();
  std::optional<Finding> check_padding(const Slot& slot, DeviceAddress data);
  ComparisonResult compare(const Slot& slot, DeviceAddress reference) const;

  Gpu& gpu_;
  DeviceKernels& kernels_;
  ComputeLibrary* library_;
  PrepareRequest request_;
  std::vector<Copies> copies_;                                        ///< by slot
  std::vector<std::map<std::string, DeviceAddress>> copy_addresses_;  ///< by copy, from 1 on
  std::vector<Slot> slots_;
  std::optional<Slices> slices_;
  std::map<std::string, DeviceAddress> addresses_;
  std::map<std::string, std::uint64_t> computed_checksums_;         ///< of inputs that kernels computed
  std::function<std::map<std::string, DeviceBuffer>()> consensus_;  ///< where one makes the reference
  std::map<std::string, DeviceBuffer> references_;
  std::map<std::string, std::uint64_t> reference_checksums_;
  std::map<std::string, double> reference_rms_;  ///< known once something was verified
  std::vector<std::size_t> outputs_;             ///< slots
  std::vector<std::size_t> compared_;            ///< slots of the outputs that have a reference
  std::optional<CheckQueue> checks_;             ///< always, once the outputs are known
};

}  // namespace tiletune
