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

/// One configuration on the GPU: its loaded kernels, bound to the problem's buffers and to a workspace of its
/// own. Where the problem is that of several GPUs, it is on each of them, bound to the slices there.
class LoadedKernel {
 public:
  /// Throws CudaError, and Unlaunchable when memory does not suffice for its own workspace, the driver
  /// refuses a tensor map, or a step needs NCCL, which the group does not have. All arguments must outlive
  /// it.
  LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  /// By the driver, of the launch with the lowest occupancy.
  KernelAttributes attributes() const { return members_.front()->kernels[narrowest()].attributes(); }
  int blocks_per_multiprocessor() const { return blocks_per_multiprocessor(narrowest()); }

  /// All kernels, or all steps, in their order.
  void launch(std::size_t copy = 0);
  /// Each kernel alone, on the first copy; none on several GPUs, where they depend on each other.
  std::vector<std::function<void()>> parts();
  /// For the timer. Refers to this object.
  Subject subject();
  /// After the problem's buffers were moved.
  void rebind();

  // What it has for itself beside the problem's buffers: see KernelWorkspace.
  void reset();
  void poison(int variant);
  std::optional<Finding> check_own();
  std::optional<Finding> check_own_surroundings();
  /// What is damaged of the problem's buffers, or else of its own. By this kernel, where no other was
  /// launched since they were whole.
  std::optional<Finding> check_surroundings();

  /// What became of its timed launches.
  LaunchTally& tally() { return *tally_; }

 private:
  /// On one GPU.
  struct Member {
    std::shared_ptr<const Module> module;
    std::vector<Kernel> kernels;  ///< by launch
    std::unique_ptr<KernelWorkspace> workspace;
    std::map<std::string, DeviceAddress> addresses;    ///< of slices and workspaces, on several GPUs
    DeviceBuffer lists;                                ///< of addresses on all GPUs
    std::map<std::string, DeviceAddress> peers;        ///< where the list of each array lies
    std::vector<std::vector<ArgumentPack>> arguments;  ///< by copy of the buffers and launch
  };

  /// On no GPU yet. Where loading fails on one of several, the destructor frees the others' parts in their
  /// contexts.
  struct Unloaded {};
  LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request, Unloaded);

  template <typename Body>
  void on_each(const Body& body);
  template <typename Body>
  void on_each_workspace(const Body& body);
  template <typename Check>
  std::optional<Finding> first_finding(const Check& check);

  std::unique_ptr<Member> load(std::size_t gpu);
  void list_peers(std::size_t gpu);
  void bind(std::size_t gpu, std::size_t copy);
  std::size_t bind_copies();
  int blocks_per_multiprocessor(std::size_t kernel) const;
  std::size_t narrowest() const;
  /// The type of an array that steps name.
  ElementType type(const std::string& name) const;
  void check_step(const GpuStep& step) const;
  void run(const GpuStep& step);
  void launch_one(std::size_t number, std::size_t copy, bool programmatic);
  void copy(const GpuStep& step);
  void run_collective(const GpuStep& step);

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  const MeasureRequest& request_;
  Slices* slices_;   ///< of several GPUs, else null
  GpuGroup* group_;  ///< of several GPUs, else null
  std::vector<GpuStep> steps_;
  std::vector<std::unique_ptr<Member>> members_;  ///< by GPU
  std::optional<GroupLaunches> launches_;         ///< on several GPUs
  std::shared_ptr<LaunchTally> tally_ = std::make_shared<LaunchTally>();
};

}  // namespace tiletune
