#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/stop.h"
#include "compile/pool.h"
#include "draft/manifest.h"
#include "tune/target.h"
#include "tune/task.h"

namespace tiletune {

/// Something that a sweep would come upon.
struct CheckFinding {
  bool is_error = true;       ///< something cannot run or be verified; else a part of the space cannot
  std::string template_name;  ///< with its variant; empty: it concerns the whole config
  std::string problem;        ///< empty: it concerns all problems
  UserError what;
  std::size_t more_problems = 0;  ///< of which the same was found
};

struct CheckOptions {
  /// Configurations of each template that are compiled; 0: nothing is compiled or run.
  std::size_t samples = 4;
  Stop interrupted = never_stop;
  std::function<void(const char* doing, std::size_t done, std::size_t total)> progress =
      [](const char*, std::size_t, std::size_t) {};
};

struct CheckReport {
  std::vector<CheckFinding> findings;
  std::size_t compiled = 0;        ///< configurations that were, and kernels that compute inputs
  std::uint64_t valid = 0;         ///< configurations in all spaces
  std::size_t references_run = 0;  ///< reference kernels compiled, and functions of Python run

  bool has_errors() const;
};

/// Looks for what would fail in a sweep on that GPU: spaces without a configuration, sizes and launches that
/// cannot be evaluated, problems that do not fit into memory, kernels and references that do not compile or
/// take other arguments, functions of Python that fail. Goes on behind each finding.
CheckReport check_spec(const TuneSpec& spec, const Target& target, const CompilePoolOptions& compile,
                       const CheckOptions& options);

/// What a person still has to decide in a template's manifest; nothing where that is not a file.
std::vector<Decision> decisions_of(const TemplateSpec& kernel);

/// What plan_tasks() refuses, of each template on each problem by itself. Empty spaces are not among it.
std::vector<UserError> planning_faults(const TuneSpec& spec, const Stop& stop);

}  // namespace tiletune
