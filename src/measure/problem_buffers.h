#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
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

/// How launches of a range get inputs.
struct InputRules {
  bool same = false;  ///< all the same
  bool all = false;   ///< every one anew: other kernels may have damaged what there is
};

/// The buffers of one problem, each between two guard bands. Before every launch they get one of several sets
/// of inputs, which have FP64 references of their own; which one, a kernel cannot know. Guard bands and
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
  std::vector<DeviceAddress> wholes() const;
  /// What each must hold before the launch on the first copy, in the same order; 0: it is an output.
  std::vector<DeviceAddress> contents() const;
  /// How many sets of inputs there are.
  std::size_t sets() const { return sets_; }
  /// The addresses of one of several copies of all buffers; copy 0 are the buffers themselves. Each has
  /// buffers of its own; of a warm cache they share their inputs.
  const std::map<std::string, DeviceAddress>& addresses(std::size_t copy) const;
  /// How many there are: one for each launch of a batch, as far as memory allows. Together they exceed twice
  /// the L2 cache; of a warm cache they have one input, and outputs that leave space for it. Makes them on
  /// first use, with a set of inputs for each as far as memory and time allow. Of a problem of several GPUs
  /// there is one.
  std::size_t copies();
  /// Moves the buffers, and drops their copies: other addresses, other pages.
  void relocate();

  /// Chooses another set of inputs for the launch on the first copy.
  void draw();
  /// Chooses the first set, which is the same in all sweeps of a seed.
  void use_first_set();
  /// Queues the restoring of what a launch on the first copy reads and writes: inputs get what was drawn,
  /// outputs become NaN (variant 0) or some number.
  void poison(int variant);
  /// Draws, and queues the same for all launches of a range before they are timed. Each has inputs of its
  /// own, as far as there are sets; of many launches only some get other ones. Outputs and shared memory are
  /// filled with a NaN or with some number: a kernel cannot tell these launches from those that are verified.
  void invalidate(const CopyRange& copies, const InputRules& rules);
  /// The word that poison() or invalidate() filled with.
  std::uint32_t filled_with() const { return filled_with_; }
  /// Queues reads of what a launch on the first copy reads, so that it is in the cache.
  void touch_inputs();
  /// Queues a comparison of what launches after invalidate() left, where there is a reference.
  void queue_check(const CopyRange& copies, std::shared_ptr<LaunchTally> tally);
  /// The queue that queue_check() uses.
  CheckQueue& checks() { return *checks_; }
  /// Compares the outputs with the reference; correct if there is none. With `whole`, compares the whole
  /// buffers as they are, without copying slices into them first.
  Verification verify(double tolerance_factor, bool whole = false);
  /// Writes what an output holds to a file.
  void store(const OutputFile& file);
  /// The checksum of each output's bits, in the buffers' order.
  std::vector<std::uint64_t> output_checksums();
  /// Guard bands, padding and inputs: has anything been written that must not be?
  std::optional<Finding> check_surroundings();
  /// Fills everything again after a kernel damaged it.
  void rebuild();
  /// Fills everything but the sets of inputs again.
  void refill();

  /// Takes what `reach` gives for the reference of the inputs in the buffers, now and whenever one must be
  /// made.
  void use_consensus(std::function<std::map<std::string, DeviceBuffer>()> reach);
  /// Copies of the outputs that are compared: of FP64 numbers, or of integers of their own type.
  std::map<std::string, DeviceBuffer> widened_outputs();
  /// Whether the outputs are numbers, and differ from such copies by no more than both may err.
  bool agree_with(const std::map<std::string, DeviceBuffer>& others);

 private:
  /// So many draws of sets are under way at most.
  static constexpr std::size_t kDraws = std::size_t{4} * kLongestSeries;
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
    Sets contents;              ///< what it holds before a launch; none of an output
    Sets reference;             ///< what a launch leaves in it; none of an input
    std::optional<double> rms;  ///< the largest of the references

    DeviceAddress data() const { return memory.data(); }
    std::size_t bytes() const { return memory.bytes(); }
  };

  std::vector<GuardedBuffer> allocated() const;
  void use(std::vector<GuardedBuffer> memory);
  void gather(std::size_t result = 0);
  void compare_result(double tolerance_factor, Verification& verification);
  static void use_scale(ComparisonResult& result, const Slot& slot);
  CopyCounts wanted_copies() const;
  Copies copies_of(const Slot& slot, std::size_t count) const;
  std::size_t wanted_sets();
  void make_sets(std::size_t count);
  void add_sets(std::size_t wanted);
  /// Returns the copies of inputs that got other ones.
  CopyRange draw(const CopyRange& launches, const InputRules& rules);
  void upload_sets();
  void restore(const CopyRange& copies, const CopyRange& inputs, std::uint32_t word);
  /// Where the copies of a slot lie, and what they hold of some sets: the buffer itself, and the others.
  struct Places {
    std::array<BufferCopies, 2> copies;
    std::array<SetChoice, 2> choices;
  };
  Places places(std::size_t slot, const CopyRange& copies, const Sets& sets) const;
  std::optional<Tolerance> tolerance_of(const Slot& slot) const;
  ErrorLimits limits_of(const Slot& slot, double tolerance_factor, double reference_rms) const;
  void drop_copies();
  void fill(std::size_t set);
  void compute_input(const PrepareRequest::OperationLaunch& launch);
  void check_input_kernels();
  std::vector<std::uint64_t> checksums();
  void compute_references(std::size_t set);
  bool has_reference() const { return !compared_.empty() && slots_[compared_.front()].rms; }
  bool sets_are_intact();
  std::optional<Finding> check_inputs();
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
  std::function<std::map<std::string, DeviceBuffer>()> consensus_;  ///< where one makes the reference
  std::size_t sets_ = 0;
  bool keeps_inputs_ = true;              ///< else there is one set, and inputs lie in the buffers alone
  double set_s_ = 0;                      ///< what it took to make the last one
  std::vector<std::uint32_t> set_of_{0};  ///< by copy of the inputs: the set that it has
  bool hold_all_ = false;                 ///< whether these are as different as can be
  DeviceBuffer set_numbers_ = DeviceBuffer::apart(kMostCopies * sizeof(std::uint32_t));  ///< the same
  PinnedBuffer drawn_{kDraws * kMostCopies * sizeof(std::uint32_t)};  ///< what was copied there last
  std::size_t draws_ = 0;
  std::mt19937_64 random_{std::random_device()()};
  std::uint32_t filled_with_ = 0;      ///< what outputs held before the launches that were timed last
  std::vector<std::size_t> compared_;  ///< slots of the outputs that have a reference
  std::optional<CheckQueue> checks_;   ///< always, once the outputs are known
};

}  // namespace tiletune
