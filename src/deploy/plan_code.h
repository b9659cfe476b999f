#pragma once

#include <string>
#include <vector>

#include "space/space.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What C++ needs to launch one configuration at any sizes.
struct PlanCode {
  /// The body of a function `void plan(const Value* n, Plan& p)` (plan.h.in): it refuses the sizes that the
  /// kernel cannot run, and else describes its launches. n: the operation's sizes, its leading dimensions,
  /// its scalars, and the number of multiprocessors. Conditions are the template's constraints, the limits of
  /// CUDA and of argument types, and whatever was compiled into the kernel; a config's are not among them.
  std::string statements;
  /// Of the template's launches, as NVRTC names kernels; empty for one that these parameters do not compile.
  std::vector<std::string> expressions;
  std::size_t most_arguments = 0;  ///< of a launch
};

/// `problem` is one that the configuration can run. Throws UserError where an expression is nested too deeply
/// for a C++ compiler.
PlanCode plan_code(const TemplateSpec& spec, const Problem& problem, const Configuration& configuration);

/// The same of a kernel that the operation brings, its reference or one that computes an input: without
/// conditions, and with buffers in the place of tensor maps.
PlanCode plan_code(const TemplateSpec& spec, const Problem& problem, const OperationKernel& kernel);

/// The body of a function `void elements(const Value* n, Value* elements)` (pick.h.in): how many elements
/// each buffer of the operation has.
std::string elements_code(const TemplateSpec& spec, const Problem& problem);

/// The body of a function `void describe(const Value* n, TestedProblem& p)` (folder/operations.h.in), which
/// tells the buffers of the operation for given sizes and what errors are allowed.
std::string problem_code(const TemplateSpec& spec, const Problem& problem);

/// Statements that define `double waves[]`, by launch (RecordedKernels::waves()): the thread blocks on a GPU
/// of unlimited multiprocessors over those that the GPU holds at once.
std::string waves_code(const TemplateSpec& spec, const Problem& problem, const Configuration& configuration,
                       const std::vector<std::int64_t>& blocks_at_once);

/// A C++ string literal of the bytes of a text, quotes included: printable ASCII, and octal escapes.
std::string cpp_literal(const std::string& text);
/// A literal of type long long.
std::string cpp_integer(std::int64_t number);
/// The text without what would end a comment.
std::string comment_text(std::string text);
/// The literals of several texts, separated by commas.
std::string cpp_literals(const std::vector<std::string>& texts);

}  // namespace tiletune
