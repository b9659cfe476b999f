#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "measure/argument_pack.h"
#include "measure/gpu_group.h"
#include "measure/guards.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// The launches' kernels, in their order, with the shared memory that they ask for. Throws CudaError.
std::vector<Kernel> kernels_of(const std::shared_ptr<const Module>& module,
                               const std::vector<KernelLaunch>& launches);
/// What each GPU of a group does for a request, in this order: without steps its kernels follow each other.
std::vector<GpuStep> steps_of(const MeasureRequest& request);

/// One configuration on all GPUs of a group: on each its loaded kernels, bound to its slices of the problem's
/// buffers and to a workspace of its own.
class GroupKernel : public OwnMemory {
 public:
  /// Throws CudaError, and Unlaunchable when memory does not suffice for the workspaces, or a step needs
  /// NCCL, which the group does not have. `wholes` are the buffers on the first GPU. All arguments must
  /// outlive it.
  GroupKernel(Slices& slices, const MeasureRequest& request,
              const std::map<std::string, DeviceAddress>& wholes);
  ~GroupKernel() override;

  /// All steps, in their order.
  void launch();
  /// See GroupLaunches.
  std::vector<std::vector<double>> times_us(int count) { return launches_.times_us(count); }

  void reset() override;
  void poison(int variant) override;
  std::optional<Finding> check() override;
  std::optional<Finding> check_surroundings() override;

 private:
  /// On one GPU.
  struct Member {
    std::shared_ptr<const Module> module;
    std::vector<Kernel> kernels;  ///< by launch
    std::unique_ptr<KernelWorkspace> workspace;
    std::map<std::string, DeviceAddress> addresses;  ///< of slices and workspaces
    DeviceBuffer lists;                              ///< of addresses on all GPUs
    std::map<std::string, DeviceAddress> peers;      ///< where the list of each array lies
    std::vector<ArgumentPack> arguments;             ///< by launch
  };

  /// On no GPU yet. Where loading fails on one of them, the destructor frees the others' parts in their
  /// contexts.
  GroupKernel(Slices& slices, const MeasureRequest& request);

  std::unique_ptr<Member> load(std::size_t gpu, const std::map<std::string, DeviceAddress>& wholes);
  void list_peers(std::size_t gpu);
  /// The type of an array that steps name.
  ElementType type(const std::string& name) const;
  void check_step(const GpuStep& step) const;
  void run(const GpuStep& step);
  void launch_kernel(std::size_t number);
  void copy(const GpuStep& step);
  void run_collective(const GpuStep& step);
  template <typename Check>
  std::optional<Finding> first_finding(const Check& check);

  GpuGroup& group_;
  Slices& slices_;
  const MeasureRequest& request_;
  std::vector<GpuStep> steps_;
  std::vector<std::unique_ptr<Member>> members_;  ///< by GPU
  GroupLaunches launches_;
};

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
  std::vector<Kernel> kernels_;         ///< by launch
  KernelWorkspace own_;                 ///< nothing on several GPUs
  std::unique_ptr<GroupKernel> group_;  ///< on several GPUs
  std::shared_ptr<LaunchTally> tally_;
  std::vector<std::vector<ArgumentPack>> arguments_;  ///< by copy and launch
};

}  // namespace tiletune
