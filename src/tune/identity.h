#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "space/instance.h"
#include "spec/tune_spec.h"
#include "store/trial.h"
#include "tune/task.h"

namespace tiletune {

/// Whether the text of a launch has its arguments. Keys of rows have them only where the kernel has memory of
/// its own, constant memory or tensor maps: other keys are as they ever were.
enum class Arguments { in_keys, always };
/// How a configuration is launched, as JSON: grid, block, shared memory and arguments of one launch, or
/// "launches", a list of them; of several GPUs also "steps". An instance that could not be evaluated has
/// none: empty.
std::string launch_text(const Instance& instance, Arguments arguments = Arguments::in_keys);

/// "partial_sums<256> + reduce": the kernel expressions of its launches, in their order.
std::string kernels_text(const Instance& instance);

/// What makes two things the same: fields with names and values, in the order in which they were added. An
/// empty value leaves its field out, so that a field which is added to this project later changes no key
/// where what it says is not in force.
class IdentityFields {
 public:
  /// `kind` holds a version: "measurement 1". Another version makes every key of that kind another one.
  explicit IdentityFields(std::string kind) : kind_(std::move(kind)) {}

  IdentityFields& add(std::string_view name, std::string value);
  /// "measurement 1\nkernel=...\n", for people.
  std::string text() const;
  /// Hash of kind, names and values.
  std::string hex() const;

 private:
  std::string kind_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// What the operation's checks are, on this task's problem.
std::string checks_text(const Task& task);

/// What buffers, verification and error bound of a task depend on, but for its operation's kernels. Useful
/// operations and traffic are no part of it: they describe the operation, and nothing is measured by them.
IdentityFields workload_identity(const Task& task);

/// What a configuration computes: its compiled kernel, launch and arguments.
IdentityFields result_identity(const std::string& kernel_hash, const Instance& instance);

/// How times are taken, as far as it is in force: options with their neutral value are left out, and so are
/// the finals, which measure rows again.
IdentityFields policy_identity(MeasurePolicy policy, View view);

/// All that the time and the verdict of a configuration depend on: its kernel, launch, arguments and
/// workload, GPU, driver, compiler, limits and the policy in force. Configurations whose measurements have
/// one identity would be measured alike, whatever they are called. `row` says what is known of the kernel:
/// its hash, or else what would be compiled. `reference` is the task's operation_hash(); empty where there
/// is nothing that it stands for, and where nothing is measured.
IdentityFields measurement_identity(const TuneSpec& spec, const Task& task, const Target& target,
                                    const Instance& instance, const Trial& row, const std::string& reference);

/// The key of a kernel's row: template, parameters, compile options and measurement.
IdentityFields row_identity(const Trial& row, const IdentityFields& measurement);

/// What the inputs of a task hold, where its operation says that: distributions, files, and the kernels that
/// compute them, which are compiled. Empty where they hold what inputs hold by default.
std::string inputs_text(const Task& task);

/// The key of the row of a library's kernel, on inputs with that inputs_text().
IdentityFields baseline_identity(const Trial& row, const std::string& library, const std::string& inputs,
                                 const IdentityFields& policy);
/// The key of the row of a baseline that is a kernel.
IdentityFields baseline_identity(const Trial& row, const IdentityFields& measurement);

}  // namespace tiletune
