#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/stop.h"
#include "inspect/static_model.h"
#include "measure/client.h"
#include "spec/tune_spec.h"
#include "tune/evaluator.h"

namespace tiletune {

/// Which GPUs a sweep is for, as the command line says.
struct GpuChoice {
  std::string model;                 ///< to predict for; empty: measure
  std::string indices;               ///< "0", "0,2" or "all": the driver's numbers of the GPUs to measure on
  bool asked = false;                ///< the person named them: no prediction takes their place
  std::vector<std::string> worker;   ///< in place of this executable's GPU worker; "{gpu}" is its GPU's
                                     ///< number, "{files}" what it may read
  bool confined = false;             ///< a worker that the system cannot confine measures nothing
  std::string outputs = {};          ///< the folder that workers write outputs to; empty: none
  std::set<std::string> files = {};  ///< what workers read besides the system's own
  double open_timeout_s = GpuClientOptions{}.open_timeout_s;
};

/// What to do about a GPU that fails.
inline constexpr const char* kGpuRemedy =
    "Run 'tiletune doctor' to see what is wrong with the GPUs of this machine.";

/// The GPU that is predicted or checked for when nobody names a model.
std::string model_or_default(const std::string& model);

inline constexpr const char* kAllGpus = "all";
/// The numbers in "0,2". Throws UserError when the text is not such a list.
std::vector<int> parse_gpu_indices(const std::string& text);
/// A worker for each of these GPUs, all started: their drivers start side by side.
std::vector<std::unique_ptr<GpuClient>> start_gpu_clients(const GpuChoice& choice,
                                                          const std::vector<int>& indices);

/// What to compile for and predict with, for each of these models. Throws UserError for none, and for one
/// that is not known.
std::vector<Target> targets_for(const std::vector<std::string>& names, const StaticModel& static_model);

/// GPUs to sweep for, and what to tell the person.
struct ChosenGpus {
  std::vector<GpuSet> gpu_sets;
  std::string why_predicted;       ///< empty when times are measured
  std::vector<std::string> notes;  ///< GPUs of "all" that cannot be used
};

/// The name of the first of these GPUs as rows record it; on a machine without a GPU, the name of the default
/// model. Throws like choose_gpus().
std::string gpu_name(const GpuChoice& choice);

/// Opens the GPUs, one worker each, or one for as many as compute each problem together, and groups them by
/// model; where the machine has none, or a model is named, the only set of GPUs predicts. `tasks` are the
/// spec's, as planned; for each further model they are planned again. Throws UserError for a malformed choice
/// or an unknown model, GpuError when a GPU that was asked for cannot be used, PlanningStopped once `stop`
/// says so, and what plan_tasks() throws.
ChosenGpus choose_gpus(const GpuChoice& choice, const TuneSpec& spec, std::vector<Task> tasks,
                       const Stop& stop);

}  // namespace tiletune
