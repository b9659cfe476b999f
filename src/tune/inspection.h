#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.h"
#include "compile/pool.h"
#include "inspect/kernel_code.h"
#include "inspect/occupancy.h"
#include "inspect/resources.h"
#include "inspect/static_model.h"
#include "tune/task.h"

namespace tiletune {

/// What the machine code of a configuration tells: of several launches, that of the one with the lowest
/// occupancy, and the prediction of all.
struct MachineCode {
  InstructionMix loop, kernel;
  Prediction prediction;  ///< for the configuration's problem
};

/// One configuration on one GPU, compiled and inspected but not run.
struct InspectedOnGpu {
  Instance instance;
  Outcome outcome = Outcome::ok;  ///< ok, refused or a compile failure
  std::string reason;
  std::vector<Resources> resources;    ///< by launch; none when it was refused before compiling or failed to
  std::vector<Occupancy> occupancies;  ///< by launch; none when it was refused before compiling or failed to
  std::vector<std::string> warnings;
  std::optional<MachineCode> code;  ///< when it was asked for and the configuration can run
};

/// One configuration on all GPUs asked for, in their order.
struct InspectedConfiguration {
  std::string template_name;
  std::string variant;  ///< TemplateSpec::variant
  std::string problem;
  NamedValues parameters;
  std::vector<InspectedOnGpu> gpus;

  /// TemplateSpec::label()
  std::string label() const { return variant.empty() ? template_name : template_name + " " + variant; }
};

/// Who hears of an inspection.
struct InspectionObserver {
  std::function<void(const InspectedConfiguration&)> row;  ///< in the order of the tasks' strategies
  std::function<void(std::size_t done, std::size_t total)> progress;  ///< compilations
  Stop interrupted;                                                   ///< whether to stop early
};

/// Compiles every configuration of the tasks for every target, on all cores, and reads its resources, with
/// `sass` its machine code as well. A row
/// is handed over as soon as it and all before it are complete, and not kept; when interrupted, so are those
/// behind one that is not.
void inspect_tasks(const TuneSpec& spec, const std::vector<Task>& tasks, const std::vector<Target>& targets,
                   const CompilePoolOptions& compile, bool sass, const InspectionObserver& observer);

}  // namespace tiletune
