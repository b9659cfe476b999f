#pragma once

#include <tuple>

#include "base/fields.h"
#include "spec/launches.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"
#include "spec/values.h"

/// The keys of every object in configs, manifests and operations, each listed once: the member that it is
/// read into, what reads it, and what belongs there where it may not be left out (spec/reader.h). Policies
/// list theirs as fields() beside their members. schemas/ describes them to people.
namespace tiletune::keys {

// Launches.
inline constexpr auto kKernel =
    need("kernel", &Launch::kernel, "the kernel's function name", read_qualified_name);
inline constexpr auto kTemplateArguments = may("template_arguments", &Launch::template_arguments);
inline constexpr auto kGrid =
    need("grid", &Launch::grid, "a list of one to three expressions, in thread blocks");
inline constexpr auto kBlock =
    need("block", &Launch::block, "a list of one to three expressions, in threads");
inline constexpr auto kArguments =
    need("arguments", &Launch::arguments, "a list of the kernel's arguments", read_arguments);
inline constexpr auto kShared = may("dynamic_shared_bytes", &Launch::dynamic_shared_bytes);

inline constexpr std::tuple kLaunch{kGrid, kBlock, kShared};
/// What belongs to the launch of a manifest that has one.
inline constexpr std::tuple kOnlyLaunch{kKernel, kTemplateArguments, "launch", kArguments};
/// What belongs to the launch of a baseline that has one.
inline constexpr std::tuple kBaselineLaunch{kKernel, kTemplateArguments, kGrid, kBlock, kArguments, kShared};
inline constexpr auto kLaunches =
    std::tuple_cat(kBaselineLaunch, std::tuple{"programmatic", may("when", &Launch::when)});

// What stands among the launches of operations over several GPUs.
inline constexpr std::tuple kCopy{
    need("copy", &StepSpec::from, "the buffer or workspace that is read", read_memory_name),
    need("to", &StepSpec::to, "the buffer or workspace that is written", read_written_name),
    need("peer", &StepSpec::peer, "an expression for the number of the GPU that is read from"),
    may("from", &StepSpec::from_offset),
    may("to_offset", &StepSpec::to_offset),
    need("elements", &StepSpec::elements, "an expression for the number of elements"),
    may("repeat", &StepSpec::repeat, read_repeat),
    may("beside", &StepSpec::beside),
    may("signal", &StepSpec::signal, read_signal),
    may("index", &StepSpec::index),
    may("when", &StepSpec::when)};
inline constexpr std::tuple kBarrier{"barrier", may("when", &StepSpec::when)};
inline constexpr std::tuple kCollective{
    need("collective", &StepSpec::collective, R"("all_gather" or "reduce_scatter")"),
    need("from", &StepSpec::from, "the buffer or workspace that is read", read_memory_name),
    need("to", &StepSpec::to, "the buffer or workspace that is written", read_written_name),
    need("elements", &StepSpec::elements, "an expression for the elements of one GPU"),
    may("when", &StepSpec::when)};

// Arguments.
inline constexpr std::tuple kScalarArgument{
    "scalar", need("type", &Argument::type, R"(the argument's type, such as "i32")", read_element_type),
    "value"};
inline constexpr std::tuple kTensorMap{"tensor_map",
                                       "extents",
                                       "pitches",
                                       "box",
                                       may("swizzle", &TensorMap::swizzle, read_name_of<Swizzle>),
                                       may("promotion", &TensorMap::promotion, read_name_of<Promotion>),
                                       may("offset", &TensorMap::offset),
                                       may("when", &TensorMap::when)};
inline constexpr auto kArgument =
    std::tuple_cat(std::tuple{"buffer"}, kScalarArgument, kTensorMap, std::tuple{"peers"});

inline constexpr std::tuple kWorkspace{
    need("name", &WorkspaceArray::name, "the workspace's name", read_identifier),
    need("type", &WorkspaceArray::type, R"(an element type such as "f32")", read_element_type),
    need("elements", &WorkspaceArray::elements, "an expression for the number of elements"),
    may("zeroed", &WorkspaceArray::zeroed), may("meaning", &WorkspaceArray::meaning)};

// Operations, in a file of their own or in a manifest.
inline constexpr std::tuple kWork{
    need("flops", &Operation::flops, "an expression for the operations of one launch"),
    need("bytes", &Operation::bytes, "an expression for the bytes one launch must move")};
inline constexpr std::tuple kAccuracy{
    need("accumulation", &Operation::accumulation,
         "an expression for the terms that are added up for one element of an output"),
    "accumulation_bits", need("bound", &Operation::bound, R"(the ceiling of its time, "ffma" or "copy")"),
    may("tolerance", &Operation::tolerance)};
inline constexpr auto kOperation =
    std::tuple_cat(std::tuple{"$schema", "name", "summary", "dimensions", "scalars", "types", "options",
                              "unstated_defaults", "buffers"},
                   kWork, kAccuracy, std::tuple{"reference", "baselines", "gpus"});

/// A buffer in version 0.1.
inline constexpr std::tuple kBuffer{"name", "type", "elements", "role"};
inline constexpr std::tuple kOperationBuffer{
    need("name", &Buffer::name, "the buffer's name", read_identifier),
    need("type", &Buffer::type, R"(an element type such as "f32")", read_element_type),
    "elements",
    "rows",
    "columns",
    "pitch",
    "transposed",
    need("role", &Buffer::role, R"("in", "out" or "inout")"),
    "read_when",
    "values",
    "only",
    "layout"};

/// A kernel that computes a reference or an input.
inline constexpr std::tuple kOwnKernel{"source", kKernel, kGrid, kBlock, "arguments"};
inline constexpr auto kValues = std::tuple_cat(std::tuple{"npy"}, kOwnKernel);
/// A reference in version 0.1.
inline constexpr std::tuple kReference{"source", "kernel", "grid", "block"};
inline constexpr std::tuple kPython{
    "python",
    need("function", &PythonReference::function, "the name of a function in the file", read_identifier),
    field("timeout_s", &PythonReference::timeout_s, kTimeout)};
inline constexpr auto kOperationReference =
    std::tuple_cat(std::tuple{"template", "parameters", "library"}, kOwnKernel, std::tuple{"npy"}, kPython,
                   std::tuple{"consensus"});

inline constexpr std::tuple kLibrary{"library"};
inline constexpr std::tuple kKernelBaseline{"name",   "source",   kKernel,    kTemplateArguments,
                                            "macros", kGrid,      kBlock,     kArguments,
                                            kShared,  "launches", "constants"};
inline constexpr std::tuple kTemplateBaseline{"name", "template", "parameters"};

// Manifests.
inline constexpr std::tuple kParameter{
    need("name", &Parameter::name, "the parameter's name", read_identifier),
    need("values", &Parameter::values, R"--(a list of values, or "range(16, 129, 16)")--", read_values),
    may("meaning", &Parameter::meaning)};
inline constexpr std::tuple kDerived{
    need("name", &Derived::name, "the derived value's name", read_identifier),
    need("value", &Derived::value, "an expression"), may("meaning", &Derived::meaning)};
inline constexpr std::tuple kConstraint{
    need("require", &Constraint::require, "an expression that must be true"), may("why", &Constraint::why)};
inline constexpr std::tuple kTexts{need("summary", &TemplateSpec::summary, "one line on what the kernel is"),
                                   may("teaches", &TemplateSpec::teaches)};
inline constexpr std::tuple kCompilation{
    may("compile_options", &TemplateSpec::compile_options),
    may("min_compute_capability", &TemplateSpec::min_compute_capability, read_compute_capability),
    may("max_compute_capability", &TemplateSpec::max_compute_capability, read_compute_capability),
    field("tolerance_factor", &TemplateSpec::tolerance_factor, {.min = 0, .above = true})};
inline constexpr auto kTemplate = std::tuple_cat(
    std::tuple{"$schema", "name"}, kTexts,
    std::tuple{"operation", "types", "options", "dimensions", "buffers", "scalars"}, kWork,
    std::tuple{"reference", "source", "include_folders", "macros", "parameters", "derived", "constraints"},
    kOnlyLaunch, std::tuple{"launches", "constants", "workspace"}, kCompilation);

// Configs.
inline constexpr std::tuple kStrategy{"name", field("seed", &StrategySpec::seed)};
inline constexpr std::tuple kPolicies{"strategy",
                                      field("budget", &TuneSpec::budget),
                                      field("measure", &TuneSpec::measure),
                                      field("compile", &TuneSpec::compile),
                                      field("limits", &TuneSpec::limits),
                                      "baseline",
                                      "gpu",
                                      field("view", &TuneSpec::view)};
inline constexpr auto kConfig =
    std::tuple_cat(std::tuple{"$schema", "name", "templates", "configurations", "problems", "scalars"},
                   kPolicies, std::tuple{"steps"});
inline constexpr std::tuple kStep{"name", "template", "parameters"};
inline constexpr std::tuple kNarrowing{"template", "types", "options", "parameters", "constraints", "extend"};

}  // namespace tiletune::keys
