#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/device.h"
#include "measure/group_kernel.h"
#include "measure/kernel_workspace.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/reference.h"
#include "measure/timing.h"

namespace tiletune {

/// One configuration on the GPU: its loaded kernels, bound to the problem's buffers and to its own workspace;
/// where the problem is that of several GPUs, on all of them.
class LoadedKernel {
 public:
  /// Throws CudaError, and Unlaunchable when memory does not suffice for its own workspace or the driver
  /// refuses a tensor map. `request` and `buffers` must outlive it.
  LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request);

  /// By the driver, of the launch with the lowest occupancy.
  KernelAttributes attributes() const { return kernels_[narrowest()].attributes(); }
  int blocks_per_multiprocessor() const { return blocks_per_multiprocessor(narrowest()); }

  /// All kernels, in their order.
  void launch(std::size_t copy = 0);
  /// Each of them alone, on the first copy; none on several GPUs, where they depend on each other.
  std::vector<std::function<void()>> parts();
  /// For the timer. Refers to this object.
  Subject subject();
  /// After the problem's buffers were moved.
  void rebind();
  OwnMemory& own_workspace();
  /// What is damaged of the problem's buffers, or else of its own. By this kernel, where no other was
  /// launched since they were whole.
  std::optional<Finding> check_surroundings();
  /// What became of its timed launches.
  const LaunchTally& tally() const { return *tally_; }
  /// Drops the results of the checks that were read so far.
  void drop_checks() { tally_->drop_checks(); }

 private:
  int blocks_per_multiprocessor(std::size_t kernel) const;
  std::size_t narrowest() const;
  void fill_constants();
  void launch_one(std::size_t kernel, std::size_t copy, bool programmatic);
  std::size_t bind_copies();
  void bind(std::size_t copy);

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  const MeasureRequest& request_;
  std::shared_ptr<const Module> module_;
  std::vector<Kernel> kernels_;         ///< by call
  KernelWorkspace own_;                 ///< nothing on several GPUs
  std::unique_ptr<GroupKernel> group_;  ///< on several GPUs
  std::shared_ptr<LaunchTally> tally_;
  std::vector<std::vector<ArgumentPack>> arguments_;  ///< by copy and call
};

}  // namespace tiletune
