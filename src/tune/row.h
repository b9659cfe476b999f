#pragma once

#include <string>

#include "inspect/occupancy.h"
#include "inspect/resources.h"
#include "measure/messages.h"
#include "store/trial.h"
#include "tune/task.h"

namespace tiletune {

/// The row of one configuration before anything is known of it: what it is and where it runs. It has no key
/// yet.
Trial make_trial(const TuneSpec& spec, const Task& task, const Target& target, const Instance& instance,
                 const CompileRequest& request);

/// What the rows of all configurations of a task have in common.
Trial make_task_trial(const TuneSpec& spec, const Task& task, const Target& target);

/// Whether a row has the types and options of the operation. Those that were imported from other tools state
/// none, and have any.
bool is_of_variant(const Trial& row, const Operation& operation);

/// Trial::operation_hash; of a baseline the tolerance factor is 1.
std::string operation_hash(const Task& task, double tolerance_factor = 1);
/// Makes a row of a workload's task a baseline's.
void make_baseline(Trial& trial, const Task& workload);
/// The row of one of a problem's baselines.
Trial make_baseline_trial(const TuneSpec& spec, const Task& task, const Target& target,
                          const Measured& baseline);

/// Adds the resources of the compiled kernels, and whether the GPU can run them. Of several launches, the row
/// gets the figures of the one with the lowest occupancy.
void add_admission(Trial& trial, const std::vector<Resources>& all, const Admission& admission,
                   const Instance& instance);
void add_timing(Trial& trial, const Timing& timing, const Workload& workload, const Target& target);
/// The energy of one launch, mJ; none where the power is not known.
std::optional<double> energy_mj(const std::optional<double>& power_w, const std::optional<double>& launch_us);
/// Follows from the row's median; leaves out the rates of operations or bytes that the operation does not
/// have.
void add_throughput(Trial& trial, const Workload& workload, const Target& target);
void add_accuracy(Trial& trial, const Accuracy& accuracy);
/// Adds the figures that store/trial_columns.h lists.
void add_figures(Trial& trial, const Figures& figures);
/// Outcome, timing, errors and the driver's own view of the kernel; disagreement with the cubin becomes a
/// warning.
void add_measured(Trial& trial, const Measured& measured, const Workload& workload, const Target& target);
/// Why a row was screened out, if it was.
void add_screening(Trial& trial, double leader_us);
/// The note of a baseline that its row says is not to be compared with.
std::string left_out_as_baseline(const Trial& row);
/// Adds the comparison with the fastest of these baselines, if there are any.
void add_baseline(Trial& trial, const std::vector<Trial>& baselines);
/// What was seen of the GPU during the samples that the row has; warns of what may have disturbed them.
void add_condition(Trial& trial, const GpuCondition& condition);
/// The row of a second copy of a kernel, without its times.
Trial make_twin_trial(const Trial& original);
/// Its key.
std::string twin_key(const std::string& original_key);
/// The row `mine` of a configuration with the times of `measured`, whose measurement is the same.
Trial make_sharing_trial(const Trial& mine, const Trial& measured);
/// How finals are held, and with which baselines: the measure_policy of their second copy.
std::string finals_policy_text(const TuneSpec& spec);
void add_warning(Trial& trial, const std::string& warning);

}  // namespace tiletune
