#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "author/init.h"
#include "base/error.h"
#include "base/stop.h"
#include "compile/pool.h"
#include "inspect/resources.h"
#include "store/database.h"
#include "tune/task.h"

namespace tiletune {

/// Something that a sweep would come upon.
struct CheckFinding {
  bool is_error = true;       ///< something cannot run or be verified; else a part of the space cannot
  std::string template_name;  ///< with its variant; empty: it concerns the whole config
  std::string problem;        ///< empty: it concerns all problems
  UserError what;
  std::size_t more_problems = 0;  ///< other problems with the same finding
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
  std::size_t references_run = 0;  ///< reference kernels compiled, and Python functions run
};

/// Looks for what would fail in a sweep on that GPU: spaces without a configuration, sizes and launches that
/// cannot be evaluated, problems that do not fit into memory, kernels and references that do not compile or
/// take other arguments, Python functions that fail. Goes on behind each finding.
CheckReport check_spec(const TuneSpec& spec, const Target& target, const CompilePoolOptions& compile,
                       const CheckOptions& options);

/// What a person still has to decide in a template's manifest; nothing where that is not a file.
std::vector<Decision> decisions_of(const TemplateSpec& kernel);

/// What plan_tasks() refuses, of each template on each problem by itself. Empty spaces are not among it.
std::vector<UserError> planning_faults(const TuneSpec& spec, const Stop& stop);

/// What a kernel's source shows to be missing in its manifest, or not to be used of it: macros, dynamic
/// shared memory, the order of arguments. `dependencies` are those of one of its configurations.
std::vector<CheckFinding> source_notes(const Task& task, const Dependencies& dependencies);

/// A kernel's name that neither the source nor the files that it includes have, or that several functions
/// have, by the result of a compilation that failed. None: the names are right.
std::optional<UserError> kernel_name_fault(const Task& task, const Compiled& compiled);

/// A symbol of the manifest's "constants" that the compiled kernels do not have. None: they have all.
std::optional<UserError> constant_fault(const Task& task, const std::vector<Resources>& resources);

/// Outputs without elements on the task's problem, and buffers that a kernel writes and that it is passed
/// twice, as an address or a tensor map: what it reads through one may change through the other. A tensor map
/// with a "when" is passed in the place of something else, so that it counts only beside one with the same.
std::vector<CheckFinding> buffer_faults(const Task& task);

/// Inputs that the source shows to be indices of another buffer, and that hold numbers which that does not
/// have on the task's problem. Where an index is computed from several numbers, nothing is said of it.
std::vector<CheckFinding> index_notes(const Task& task);

/// One compilation for a task: one of its configurations, or a kernel of its operation.
struct CheckedBuild {
  const Task* task = nullptr;
  Instance instance;
  CompileRequest request;
  const TaskKernel* kernel = nullptr;  ///< the operation's kernel; null: a configuration
};

/// Returns at most `most` evenly spread configurations of a task that can be launched. Where some cannot, it
/// also tries `tried` others.
std::vector<CheckedBuild> sample_builds(const TuneSpec& spec, const Task& task, const Target& target,
                                        std::size_t most, std::uint64_t tried);

/// Finds arguments whose types differ from those of the kernels' parameters. `compiled` is the result of
/// compiling types_request(build.request). A reference gets FP64 copies of floating-point buffers.
std::vector<CheckFinding> type_faults(const CheckedBuild& build, const Compiled& compiled);

/// For each argument of a task's first launch, whether the kernel provably does not write to it: in none of
/// the configurations that were compiled, which are all, unless it takes a pointer to const. Empty: nothing
/// could be compiled.
std::vector<bool> read_only_arguments(const TuneSpec& spec, const std::vector<Task>& tasks,
                                      const Target& target, const CompilePoolOptions& compile);

/// What check_spec() would call an error and what concerns every configuration of a template: arguments of
/// other types than the kernel takes, outputs that it cannot write, buffers that overlap. Of each template
/// the types of one kernel are compiled, without its code where it is a C++ template, unless the cache has
/// them or the database knows the source. Where they are wrong, those of further configurations decide.
std::vector<UserError> sweep_faults(const TuneSpec& spec, const std::vector<Task>& tasks,
                                    const Target& target, const CompilePoolOptions& compile,
                                    const Database& database, const Stop& stop);

}  // namespace tiletune
