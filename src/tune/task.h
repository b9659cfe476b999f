#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "base/outcome.h"
#include "base/stop.h"
#include "compile/binary.h"
#include "compile/pool.h"
#include "inspect/gpu_model.h"
#include "inspect/static_model.h"
#include "measure/messages.h"
#include "space/instance.h"
#include "space/space.h"
#include "store/trial.h"
#include "tune/provenance.h"

namespace tiletune {

/// The GPU a sweep is for: one that is here, or a model to predict for.
struct Target {
  GpuModel model;            ///< figures for admission and prediction
  std::string name;          ///< as rows carry it: the driver's name, or the model's
  std::string uuid;          ///< empty for a model
  std::string architecture;  ///< "sm_90a"
  std::string driver_version;
  std::string cuda_version;
  Source source = Source::measured;
  StaticModel static_model;  ///< that times are predicted with
};

/// A GPU that is here: the driver's figures, completed (bandwidth, FP32 lanes) from the model file of the
/// same name when there is one, else from the compute capability.
Target target_from_device(const GpuOpened& opened, const std::vector<GpuModel>& models);
/// The GPU that `row` was recorded on, for replaying; figures from the model file of the same name, if there
/// is one.
Target target_from_row(const Trial& row, const std::vector<GpuModel>& models);
Target target_from_model(const GpuModel& model, const StaticModel& static_model = {});

/// A kernel of a task's operation.
struct TaskKernel {
  const OperationKernel* spec = nullptr;
  const KernelLaunch* launch = nullptr;
  std::shared_ptr<const KernelSource> source = {};
  std::string hash = {};  ///< kernel_hash(), once it was compiled

  bool is_reference() const { return spec->input.empty(); }
  /// "the reference kernel", "the kernel of fill.cu that computes the input 'keys'"
  std::string label() const;
};

/// A problem of one of the operation's checks.
struct TaskCheck {
  const OperationCheck* spec = nullptr;
  Problem problem;
  Instantiator instantiator;
  Workload workload = {};  ///< with the check's values
  double scale = 0;        ///< of the outputs; 0: none is stated
};

/// One variant of a template on one problem, and its space.
struct Task {
  const TemplateSpec* spec = nullptr;
  Problem problem;
  Space space;
  Instantiator instantiator;
  std::shared_ptr<const KernelSource> source = {};
  std::vector<TaskCheck> checks = {};    ///< all problems of the first check, then those of the next
  std::vector<TaskKernel> kernels = {};  ///< the reference kernel, then those that compute inputs
  std::string arrays = {};  ///< hash of the files of inputs and expected outputs; empty: there are none
  /// What stands for the reference in rows' keys where it is not a kernel of the operation: of a
  /// configuration result_identity(), once it was compiled; of a function of Python hash_of_python().
  std::string reference_hash = {};
  std::shared_ptr<ScratchFolder> scratch = {};  ///< for what Python reads and writes; else null
  std::size_t gpu_set = 0;                      ///< of those that share the folder
  std::vector<Task> reference = {};             ///< one configuration that computes it; or none
  std::vector<Task> baselines =
      {};                    ///< of its workload, in the workload's first task; one configuration each
  std::size_t workload = 0;  ///< tasks of one workload share buffers, reference and baseline

  std::string label() const;  ///< "sgemm_warptile 4096x4096x4096"
  /// What stands for the reference and the kernels of inputs in rows' keys; none while one of them is not
  /// compiled.
  std::optional<std::string> operation_hash() const;
};

/// Thrown when a Stop ends the planning of a sweep.
class PlanningStopped : public UserError {
 public:
  using UserError::UserError;
};

/// How much of a sweep's spaces is built before it is refused.
struct PlanLimits {
  std::uint64_t tasks = 100000;
  std::uint64_t rows = std::uint64_t{1} << 28;  ///< Space::rows() of all tasks
};

/// All tasks in the order they run: problem by problem, and within a problem those that share buffers
/// together. Throws UserError for bad expressions and missing sources, and beyond the limits; PlanningStopped
/// when `stop` says so before it is done; NothingToDo when every space is empty. Files that `arrays` knows
/// are not hashed again.
std::vector<Task> plan_tasks(const TuneSpec& spec, const Stop& stop = never_stop,
                             const PlanLimits& limits = {}, ArrayHashes* arrays = nullptr);
/// Plans the tasks of a spec whose kernels leave_out_kernels() has taken: nothing can be compiled.
std::vector<Task> plan_tasks_without_sources(const TuneSpec& spec, const Stop& stop = never_stop);

/// The options of a pool that compiles these tasks' kernels, too: its workers read their folders besides
/// those that they read already.
CompilePoolOptions with_folders(CompilePoolOptions options, const TuneSpec& spec,
                                const std::vector<Task>& tasks);

/// How a kernel of a task's operation is compiled.
CompileRequest kernel_request(const TuneSpec& spec, const Task& task, const TaskKernel& kernel,
                              const std::string& architecture);
/// Why a workload with this number of configurations cannot get its reference from configurations that agree;
/// none: it can, or something else computes the reference.
std::optional<UserError> consensus_fault(const Task& task, std::uint64_t configurations);
/// Why nothing of a template can be measured: it has nothing to be compared with and does not say so, as T1
/// tuning problems that leave something out. None: it can.
std::optional<UserError> reference_fault(const TemplateSpec& kernel);
/// Why what it was compiled into cannot be launched; none: it can.
std::optional<std::string> kernel_fault(const TaskKernel& kernel, const Compiled& compiled);

/// The kernels that make a workload's inputs and reference, where kernels do.
struct WorkloadKernels {
  std::vector<std::shared_ptr<const Binary>> operation;  ///< of Task::kernels; or none of them
  std::vector<MeasureRequest> candidates;                ///< configurations of which some must agree
  int agreeing = 0;                                      ///< how many of them
};

/// What a worker must set up for a task's workload.
PrepareRequest prepare_request(const TuneSpec& spec, const Task& task, const WorkloadKernels& kernels);

/// Fills in the instance of a configuration for a GPU. One whose launch or arguments cannot be evaluated
/// keeps its parameters alone; then the reason is returned.
std::string instantiate(const Task& task, std::uint64_t index, const GpuModel& gpu, Instance& instance);
/// Like instantiate(), and returns why the configuration cannot be launched; empty if it can.
std::string launch_fault(const Task& task, std::uint64_t index, const GpuModel& gpu, Instance& instance);

/// Why the binary of a configuration cannot be used, with the file that a person has compiled.
std::string unusable_reason(const Instance& instance, const UserError& error);

/// What a configuration launches on the problems of its operation's checks: of each check on the first
/// problem that its constraints and the GPU allow, if the kernel is the same there.
std::vector<CheckLaunches> check_launches(const Task& task, const Instance& instance, const Binary& binary,
                                          const GpuModel& gpu);

/// How a worker is asked to measure a task's configuration.
MeasureRequest measure_request(const Task& task, const Instance& instance, const Binary& binary);

}  // namespace tiletune
