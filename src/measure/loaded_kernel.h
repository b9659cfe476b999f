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

/// Looks up the launches' kernels, in order, and sets their dynamic shared memory. Throws CudaError.
std::vector<Kernel> kernels_of(const std::shared_ptr<const Module>& module,
                               const std::vector<KernelLaunch>& launches);
/// What each GPU of a group does for a request, in this order: without steps its kernels follow each other.
std::vector<GpuStep> steps_of(const MeasureRequest& request);

/// One configuration on the GPU: its loaded kernels, bound to the problem's buffers and to a workspace of its
/// own. For a problem over several GPUs, it is loaded on each GPU and bound to the slices there.
class LoadedKernel {
 public:
  /// Throws CudaError. Throws Unlaunchable if memory does not suffice for its workspace, the driver refuses a
  /// tensor map, or a step needs NCCL and the group has none. All arguments must outlive it.
  LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  /// By the driver, of the launch with the lowest occupancy.
  KernelAttributes attributes() const { return members_.front()->kernels[narrowest()].attributes(); }
  int blocks_per_multiprocessor() const { return blocks_per_multiprocessor(narrowest()); }

  /// Queues all kernels, or all steps, in order.
  void launch(std::size_t copy = 0);
  /// Functions that launch each kernel alone, on the first copy. None on several GPUs, where steps depend on
  /// each other.
  std::vector<std::function<void()>> parts();
  /// For the timer. Refers to this object. Its launches find workspaces invalid, and variables as they were
  /// when the kernel was loaded; with `remembers` they find both as the launch before left them.
  Subject subject(bool remembers = false);
  /// Whether a launch may find what another left: it has workspaces, or has changed variables.
  bool can_remember();
  /// After the problem's buffers were moved.
  void rebind();

  /// The configuration's own workspace as before the first launch.
  void reset();
  /// Queues what precedes every launch: workspaces are filled (KernelWorkspace::poison), variables become
  /// what they were when the kernel was loaded, and constants get what the copy of the buffers holds.
  void prepare(std::uint32_t word, std::size_t copy = 0);
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
    std::vector<Module::Variable> variables;
    DeviceBuffer
        initial;  ///< what these hold before each launch, one behind the other; then space for as much
    std::map<std::string, DeviceAddress> addresses;    ///< slices and workspaces, on several GPUs
    DeviceBuffer lists;                                ///< of addresses on all GPUs
    std::map<std::string, DeviceAddress> peers;        ///< where the list of each array lies
    std::vector<std::vector<ArgumentPack>> arguments;  ///< by copy of the buffers and launch
  };

  /// Loads on no GPU yet: the other constructor delegates to it. So, if loading fails on one of several GPUs,
  /// the destructor frees the others' parts in their contexts.
  struct Unloaded {};
  LoadedKernel(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& request, Unloaded);

  template <typename Body>
  void on_each(const Body& body);
  template <typename Body>
  static void for_each_variable(const Member& member, const Body& body);
  void forget();
  void copy_constants(std::size_t copy);
  template <typename Body>
  void on_each_member(const Body& body);
  template <typename Check>
  std::optional<Finding> first_finding(const Check& check);

  std::unique_ptr<Member> load(std::size_t gpu);
  DeviceKernels& device_kernels(std::size_t number) {
    return group_ != nullptr ? group_->kernels(number) : buffers_.kernels();
  }
  Gpu& gpu_of(std::size_t number) { return group_ != nullptr ? group_->gpu(number) : gpu_; }
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
  Slices* slices_;   ///< null on one GPU
  GpuGroup* group_;  ///< null on one GPU
  std::vector<GpuStep> steps_;
  std::vector<std::unique_ptr<Member>> members_;  ///< by GPU
  std::optional<GroupLaunches> launches_;         ///< on several GPUs
  std::shared_ptr<LaunchTally> tally_ = std::make_shared<LaunchTally>();
};

}  // namespace tiletune
