#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/load.h"
#include "spec/tune_spec.h"
#include "store/database.h"
#include "store/trial.h"

namespace tiletune {

/// One configuration as a person names it: `tiletune bench TEMPLATE --set BM=128 --problem 4096x4096x4096`.
struct SingleConfiguration {
  std::filesystem::path manifest;
  TemplateSpec kernel;  ///< its parameters have the one value that is set, or all that the template lists
  Problem problem;
  std::map<std::string, double> scalars;  ///< that are set
  bool extend = false;                    ///< values that the template does not list are allowed
  bool allow_outside_paths = false;
};

/// The manifest of a template that is shipped, or that a folder or path names. Throws UserError with the
/// nearest name.
std::filesystem::path manifest_of(const std::string& text, bool allow_outside_paths);

/// Sets parameters and scalars from "NAME=VALUE", each by its type; type variables and options choose the
/// variant, for which the manifest is read again with `load`. Throws UserError for unknown names, for names
/// that come twice, and for values that the template does not list.
void apply_settings(SingleConfiguration& one, const std::vector<std::string>& settings,
                    const LoadOptions& load);

/// Gives the parameters that are not set yet the values of a recorded row. Returns them: "BN=256 BK=8".
/// Throws UserError when the template no longer lists one of them.
std::string fill_from(SingleConfiguration& one, const Trial& row);

/// The parameters for which more than one value is left under the constraints, each with these values; none
/// when all are determined. Throws NothingToDo when no configuration is left, with the constraints that
/// remove them.
std::vector<Parameter> open_parameters(const SingleConfiguration& one);

/// What run_sweep() needs to measure a configuration all of whose parameters are determined: no screening,
/// and finals for it alone.
TuneSpec tune_spec_of(const SingleConfiguration& one);

/// The best row that a database holds for a template, in its variant, on a GPU: of this problem, else of the
/// problem recorded last. Measured rows come before predicted ones.
std::optional<Trial> recorded_best(const Database& database, const TemplateSpec& kernel,
                                   const std::string& gpu, const std::string& problem);

/// `tiletune bench` with all parameters of such a row. `kernel_template` is what is typed for the template.
std::string bench_command_line(const Trial& row, const TemplateSpec& kernel,
                               const std::string& kernel_template, const std::string& problem);

}  // namespace tiletune
