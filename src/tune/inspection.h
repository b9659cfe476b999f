#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compile/pool.h"
#include "inspect/occupancy.h"
#include "inspect/resources.h"
#include "tune/stage.h"
#include "tune/target.h"

namespace tiletune {

/// One configuration on one GPU, compiled and inspected but not run.
struct InspectedOnGpu {
  Instance instance;
  Outcome outcome = Outcome::ok;  ///< ok, refused or a compile failure
  std::string reason;
  std::optional<Resources> resources;  ///< absent when it was refused before compiling or did not compile
  std::optional<Occupancy> occupancy;
  std::vector<std::string> warnings;
};

/// One configuration on all GPUs asked for, in their order.
struct InspectedConfiguration {
  std::string template_name;
  std::string problem;
  NamedValues parameters;
  std::vector<InspectedOnGpu> gpus;
};

/// Compiles every configuration of the stages for every target, on all cores, and reads its resources.
/// `progress` gets done and total compilations. Stops early, with what is complete, when `interrupted` says
/// so.
std::vector<InspectedConfiguration> inspect_stages(
    const TuneSpec& spec, std::vector<Stage>& stages, const std::vector<Target>& targets,
    const CompilePoolOptions& compile, const std::function<void(std::size_t, std::size_t)>& progress,
    const std::function<bool()>& interrupted);

}  // namespace tiletune
