#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "base/spelling.h"
#include "base/value.h"
#include "spec/element_type.h"
#include "spec/launch_spec.h"
#include "spec/measure_policy.h"

namespace tiletune {

struct Parameter {
  std::string name;
  std::vector<Value>
      values;  ///< at least one, no two equal, all of one type (integers and numbers mix as numbers)
  std::string meaning;
  Where where;
};

/// A value that follows from parameters, earlier derived values and the problem's dimensions.
struct Derived {
  std::string name;
  ExprText value;
  std::string meaning;
};

struct Constraint {
  ExprText require;  ///< true for every configuration that may be tried
  std::string why;
  bool narrows = false;  ///< it is about what is worth trying: what it excludes can run all the same
};

enum class BufferRole { in, out, inout };
template <>
inline constexpr std::array<Named<BufferRole>, 3> kSpellings<BufferRole>{
    {{BufferRole::in, "in"}, {BufferRole::out, "out"}, {BufferRole::inout, "inout"}}};

struct BufferValues {
  Distribution distribution = Distribution::uniform;
  std::vector<ExprText> arguments;
  std::optional<FileName> npy = {};  ///< the file that holds them, instead of a distribution
  Where where = {};
};

/// What each GPU has of a buffer of an operation over several GPUs.
enum class BufferLayout {
  replicated,  ///< all of it
  rows,    ///< an equal share of the rows, or of the elements where it is not a matrix, in the GPUs' order
  columns  ///< an equal share of the columns, in the GPUs' order, as a dense matrix
};
template <>
inline constexpr std::array<Named<BufferLayout>, 3> kSpellings<BufferLayout>{
    {{BufferLayout::replicated, "replicated"},
     {BufferLayout::rows, "rows"},
     {BufferLayout::columns, "columns"}}};

struct Buffer {
  std::string name;
  ElementType type = ElementType::f32;
  ExprText elements;  ///< how many, from the problem's dimensions
  BufferRole role = BufferRole::in;
  ExprText read_when = {};  ///< of an inout buffer: where this is false it is only written; empty: true
  ExprText columns = {};    ///< of a matrix, row-major: elements of a row; empty: the buffer is not a matrix
  ExprText pitch = {};      ///< of a matrix: elements between the starts of neighbouring rows
  std::optional<BufferValues> values = {};  ///< of an input; none: uniform(-1, 1), or small integers
  BufferLayout layout = BufferLayout::replicated;
};

/// How many elements of a row-major matrix lie between the starts of neighbouring rows; by default, and at
/// least, as many as a row has.
struct LeadingDimension {
  std::string name;     ///< "lda"
  std::string matrix;   ///< "A"
  std::string columns;  ///< the dimension of a row: "K"
};

/// A kernel that an operation brings. The reference kernel computes the outputs in FP64, and takes every
/// floating-point buffer as `double*`, also where the kernel takes a tensor map. The others compute the
/// values of an input, and take buffers of their own types.
struct OperationKernel {
  std::filesystem::path folder;  ///< of the file that names it
  std::filesystem::path source;
  Launch launch;  ///< a reference without arguments gets the template's in the same order, without workspaces
  std::string input = {};  ///< whose values it computes; empty: it is the reference
};

/// A function in a file of Python that computes the outputs with NumPy.
struct PythonReference {
  std::filesystem::path folder;  ///< of the file that names it
  std::filesystem::path source;
  std::string function;
  double timeout_s = 60;  ///< limit for one problem
  Where where;
};

/// What an output must hold.
struct ExpectedArray {
  std::string buffer;
  std::optional<FileName> npy;  ///< none: this output is not compared
};

/// A problem that configurations must compute right beside the one that they are timed on.
struct OperationCheck {
  std::string name;  ///< "wide_exponents"
  std::vector<std::vector<ExprText>>
      problems;  ///< by dimension, from those of the timed problem; the first that a configuration can run
  std::vector<std::pair<std::string, BufferValues>> values;  ///< of inputs, in the place of their own
  ExprText scale;  ///< errors relate to it where the outputs are smaller than it; empty: to the outputs
  Where where;
};

/// What the libraries that tiletune calls compute: names in an operation's "reference" and "baselines".
enum class LibraryOperation {
  gemm,  ///< cuBLAS and cuBLASLt: dimensions M, N, K, scalars alpha, beta, row-major buffers A, B, C with
         ///< leading dimensions lda, ldb, ldc
  batched_gemm,  ///< cuBLAS: dimensions batch, M, N, K, scalars alpha, beta, dense row-major A, B, C of a
                 ///< batch behind each other
  // Over several GPUs: dimensions G, M, N, K, dense row-major A, B, C, which together are one product.
  all_gather_gemm,      ///< NCCL, then cuBLAS: rows of A, columns of B and C
  gemm_reduce_scatter,  ///< cuBLAS, then NCCL: columns of A, rows of B and C
  row_split_gemm        ///< cuBLAS: rows of A and C, all of B
};
template <>
inline constexpr std::array<Named<LibraryOperation>, 5> kSpellings<LibraryOperation>{
    {{LibraryOperation::gemm, "gemm"},
     {LibraryOperation::batched_gemm, "batched_gemm"},
     {LibraryOperation::all_gather_gemm, "all_gather_gemm"},
     {LibraryOperation::gemm_reduce_scatter, "gemm_reduce_scatter"},
     {LibraryOperation::row_split_gemm, "row_split_gemm"}}};
/// The names of the libraries' baselines. No other baseline may have one of these names.
inline constexpr std::array kLibraryBaselines{"cublas", "cublaslt", "nccl_cublas", "cublas_one_gpu"};
constexpr bool is_over_gpus(LibraryOperation library) {
  return library != LibraryOperation::gemm && library != LibraryOperation::batched_gemm;
}

/// The measured ceiling that bounds an operation's time from below, next to that of device memory.
enum class Ceiling {
  ffma,  ///< arithmetic: FP32 multiply-adds, or tensor cores by the types of the inputs
  copy   ///< none: device memory alone
};
template <>
inline constexpr std::array<Named<Ceiling>, 2> kSpellings<Ceiling>{
    {{Ceiling::ffma, "ffma"}, {Ceiling::copy, "copy"}}};

/// By how much an element of an output may differ from its reference: absolute + relative x |reference|, as
/// numpy.allclose() has it. Takes the place of the bound that follows from the types.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  static constexpr auto fields() {
    return list_of(field("absolute", &Tolerance::absolute, {.min = 0}),
                   field("relative", &Tolerance::relative, {.min = 0}));
  }
};

/// A template with a larger tolerance_factor, or whose operation has a larger relative tolerance, is refused
/// unless LoadOptions::allow_loose is set.
inline constexpr double kMostToleranceFactor = 16;
inline constexpr double kMostRelativeTolerance = 0.1;

/// A text for each type variable, or for each option, of an operation, in its order.
using Choices = std::vector<std::pair<std::string, std::string>>;

/// What a template computes with. Its manifest may offer several.
struct Variant {
  Choices types;
  Choices options;
  bool operator==(const Variant&) const = default;
};

/// What a kernel computes: operations/<name>/operation.json, or the object in a manifest.
struct Operation {
  std::string name;  ///< "gemm"
  std::string summary;
  /// Its definition as JSON, without types, options and scalars, which rows record. Two operations with the
  /// same name must have the same definition.
  std::string definition;
  std::vector<std::string> dimensions;                  ///< of the problem: "M", "N", "K"
  std::vector<LeadingDimension> leading_dimensions;     ///< of the buffers that are matrices with a pitch
  std::vector<std::pair<std::string, double>> scalars;  ///< alpha, beta; with the config's values
  Choices stated;  ///< "n", "4096": what a T1 problem states beside its sizes; rows have it with the scalars
  std::vector<std::pair<std::string, ElementType>> types;  ///< type variables, of this variant
  Choices options;                                         ///< of this variant: "layout", "nt"
  Choices own_options;                   ///< options in rows: all but the operation's unstated defaults
  std::vector<Choices> offered_types;    ///< what the template offers, its default first; at least one
  std::vector<Choices> offered_options;  ///< options that the template offers, in the same way
  ExprText gpus;  ///< how many compute it together, from the problem's dimensions; empty: one
  std::vector<Buffer> buffers;
  std::vector<Buffer> absent;  ///< buffers that other options have; a null address is passed for them
  ElementType accumulator = ElementType::f32;  ///< the type variable of that name
  ExprText flops;                              ///< useful floating-point operations of one launch
  ExprText bytes;                              ///< compulsory DRAM traffic of one launch
  ExprText accumulation;  ///< how many terms are added up for one element of an output; sets the error bound
  std::optional<int> accumulation_bits;  ///< significant bits of the sums, where fewer than the accumulator's
  Ceiling bound = Ceiling::ffma;
  std::optional<Tolerance> tolerance;          ///< none: what follows from the types and the accumulation
  std::vector<OperationKernel> input_kernels;  ///< in the order of their buffers; they are launched in it
  std::optional<OperationKernel> reference;  ///< none where a library computes it, and of a T1 tuning problem
  std::optional<LibraryOperation> reference_library;
  std::vector<ExpectedArray> expected;  ///< of each output, where files hold the reference
  std::optional<PythonReference> python;
  std::vector<OperationCheck> checks;  ///< where a kernel or a library computes the reference
  int consensus = 0;           ///< how many configurations must agree to be the reference; 0: not used
  bool is_unverified = false;  ///< it has no reference, and says so: nothing is compared
  std::optional<LibraryOperation> baseline_library;  ///< whose kernels are among the baselines
};

/// Whether a file of kernels is compiled already, to machine code (.cubin) or to PTX (.ptx).
inline bool is_cubin(const std::filesystem::path& source) { return source.extension() == ".cubin"; }
inline bool is_ptx(const std::filesystem::path& source) { return source.extension() == ".ptx"; }
inline bool is_compiled(const std::filesystem::path& source) { return is_cubin(source) || is_ptx(source); }

/// Sizes of one problem, in the order of the operation's dimensions.
struct Problem {
  std::vector<std::pair<std::string, std::int64_t>> dimensions;
  /// Leading dimensions that are larger than a row, in the operation's order.
  std::vector<std::pair<std::string, std::int64_t>> leading = {};

  /// "4096x4096x4096", "1000x77x513 lda=520"
  std::string label() const;
  std::int64_t at(std::string_view dimension) const;
  std::int64_t at(const LeadingDimension& leading_dimension) const;
  bool operator==(const Problem&) const = default;
};

/// How FP32 products come from tensor cores: of so many parts of a type, so many products are added up.
enum class Emulation { tf32x3, f16x3, bf16x3, bf16x6, bf16x9 };
template <>
inline constexpr std::array<Named<Emulation>, 5> kSpellings<Emulation>{{{Emulation::tf32x3, "tf32x3"},
                                                                        {Emulation::f16x3, "f16x3"},
                                                                        {Emulation::bf16x3, "bf16x3"},
                                                                        {Emulation::bf16x6, "bf16x6"},
                                                                        {Emulation::bf16x9, "bf16x9"}}};

/// A kernel template: what kernel_templates/<name>/template.json says, with a config's narrowing applied.
struct TemplateSpec {
  std::string name;
  /// That a config's entry or problems chose: "T=f16 causal=no"; empty: the manifest's default.
  std::string variant;
  std::string summary;
  std::string teaches;
  Operation operation;
  std::vector<WorkspaceArray> workspace;
  std::vector<ConstantMemory> constants;
  std::vector<Parameter> parameters;
  std::vector<Derived> derived;
  /// The configurations that a config lists, in the place of all combinations: row after row, for each
  /// parameter the position of its value. None: all combinations.
  std::optional<std::vector<std::uint32_t>> listed;
  std::vector<Constraint> constraints;  ///< the manifest's, what the operation implies, then the config's
  std::vector<Launch> launches;         ///< at least one; they run in this order
  std::vector<StepSpec> steps;          ///< of an operation over several GPUs: the launches and what else
                                        ///< its GPUs do, in this order; else empty
  std::filesystem::path folder;         ///< of template.json
  /// The file of the kernels, absolute. That of compiled kernels is relative to the folder, and "{NAME}" in
  /// it stands for the value of a parameter.
  std::filesystem::path source;
  std::string language;  ///< the source's, as a T1 tuning problem names it; empty: CUDA C++
  /// Searched for #include behind the template's own folders and before the CUDA toolkit's; absolute, with
  /// symbolic links resolved.
  std::vector<std::filesystem::path> include_folders;
  std::vector<std::pair<std::string, ExprText>> macros;  ///< -DNAME=value, foreign kernels
  std::vector<std::string> compile_options;  ///< NVRTC options, e.g. "--use_fast_math"; "{NAME}" stands for
                                             ///< the value of a parameter; empty ones are left out
  std::vector<std::string> nvcc_options;     ///< that were among them, and are left out
  ExprText min_compute_capability;           ///< the lowest that supports a configuration: "7.0"; empty: any
  ExprText max_compute_capability;           ///< the highest that supports it
  std::optional<Emulation> pipe;             ///< what does the arithmetic in the place of FP32 instructions
  double tolerance_factor = 1.0;             ///< multiplies the error bound of the types
  std::vector<TemplateSpec> reference;       ///< one configuration whose result is the reference; or none
  std::vector<TemplateSpec> baselines;       ///< kernels that are the operation's baselines: of this one's
                                             ///< types and options, with one value for each parameter
  std::set<std::string> problems;            ///< labels of the config's problems that it runs; empty: all
  Where where;

  bool runs(const Problem& problem) const { return problems.empty() || problems.contains(problem.label()); }
  bool has_baselines() const { return operation.baseline_library || !baselines.empty(); }
  /// "attention_mma", or "attention_mma T=f16 causal=no" where a config chose the variant.
  std::string label() const { return variant.empty() ? name : name + " " + variant; }
};

struct StrategySpec {
  std::string name = "auto";  ///< one of search/strategies.h
  Where where = {};           ///< of the name
  std::uint64_t seed = 1;
};

/// One of several parts that a space is divided into, for several machines: each configuration is in one.
struct Shard {
  std::uint64_t number = 1;  ///< from 1
  std::uint64_t count = 1;   ///< 1: all of the space

  bool is_all() const { return count == 1; }
  /// "3/16"; empty: all of the space.
  std::string label() const { return is_all() ? "" : std::to_string(number) + "/" + std::to_string(count); }
};

/// Zero means without limit.
struct Budget {
  std::uint64_t evaluations = 0;  ///< configurations of the whole sweep; its problems share them
  double seconds = 0;             ///< wall time of the whole sweep; its problems share it
  double until_percent = 0;       ///< a problem ends when its strategy expects no larger gain

  bool is_bounded() const { return evaluations > 0 || seconds > 0 || until_percent > 0; }

  static constexpr auto fields() {
    constexpr double kYear = 366 * 24 * 3600.0;
    return list_of(field("evaluations", &Budget::evaluations),
                   field("seconds", &Budget::seconds, {.min = 0, .max = kYear}),
                   field("until_percent", &Budget::until_percent, {.min = 0, .max = 100}));
  }
};

struct CompilePolicy {
  std::vector<std::string> options;  ///< extra NVRTC options for every template
  double timeout_s = 60;

  static constexpr auto fields() {
    return list_of(field("options", &CompilePolicy::options),
                   field("timeout_s", &CompilePolicy::timeout_s, kTimeout));
  }
};

/// Limits a config sets on what is admitted; absent: warn only.
struct AdmissionLimits {
  std::optional<std::int64_t> max_spill_bytes;
  std::optional<double> min_occupancy;        ///< 0 to 1
  std::optional<std::int64_t> max_registers;  ///< per thread

  static constexpr auto fields() {
    using L = AdmissionLimits;
    constexpr std::int64_t kMostRegisters = 255;  // on every architecture since compute capability 3.5
    return list_of(field("max_spill_bytes", &L::max_spill_bytes, {.min = 0}),
                   field("min_occupancy", &L::min_occupancy, {.min = 0, .max = 1}),
                   field("max_registers", &L::max_registers, {.min = 1, .max = kMostRegisters}));
  }
};

/// What kernels are compared with.
enum class Baseline {
  none,
  cublas,  ///< cuBLAS as it comes
  lt       ///< that, and the fastest of cuBLASLt's heuristics
};
template <>
inline constexpr std::array<Named<Baseline>, 3> kSpellings<Baseline>{
    {{Baseline::none, "none"}, {Baseline::cublas, "cublas"}, {Baseline::lt, "lt"}}};

enum class View { ranking, ladder };
template <>
inline constexpr std::array<Named<View>, 2> kSpellings<View>{
    {{View::ranking, "ranking"}, {View::ladder, "ladder"}}};

/// Everything a sweep needs to know, from a config and the manifests it names.
struct TuneSpec {
  std::string name;
  std::filesystem::path file;
  std::filesystem::path folder;  ///< of the file, absolute, with symbolic links resolved
  std::vector<TemplateSpec> templates;
  std::vector<Problem> problems;
  Shard shard;
  StrategySpec strategy;
  Budget budget;
  MeasurePolicy measure;
  std::uint64_t drawn_seed = 1;  ///< of the random inputs, where `measure` has none
  CompilePolicy compile;
  AdmissionLimits limits;
  Baseline baseline = Baseline::lt;
  std::string gpu;  ///< model for prediction when no GPU is there; empty: H100
  View view = View::ranking;
  std::string config_json;           ///< the config's text, without comments, kept as provenance
  bool allow_outside_paths = false;  ///< includes may leave the folders of config and templates too

  std::uint64_t input_seed() const { return measure.seed != 0 ? measure.seed : drawn_seed; }
};

/// A parameter's values: a list, or a text of lists and ranges, "[1, 2] + range(4, 65, 4)", where ranges are
/// as Python's. Throws UserError when there are none or too many, when two are equal (1 and 1.0 are), when
/// they are not all booleans, all numbers or all strings, or when a string is longer than kLongestName.
std::vector<Value> read_values(const JsonNode& node);

/// The keys of all other objects in configs, manifests and operations, listed like those of launches
/// (spec/launch_spec.h). Policies list theirs in fields(), beside their members.
namespace keys {

// Operations, in a file of their own or in a manifest.
inline constexpr auto kOperation = list_of(
    "$schema", "name", "summary", "dimensions", "scalars", "types", "options", "unstated_defaults", "buffers",
    need("flops", &Operation::flops, "an expression for the operations of one launch"),
    need("bytes", &Operation::bytes, "an expression for the bytes one launch must move"),
    need("accumulation", &Operation::accumulation,
         "an expression for the terms that are added up for one element of an output"),
    "accumulation_bits", need("bound", &Operation::bound, R"(the ceiling of its time, "ffma" or "copy")"),
    may("tolerance", &Operation::tolerance), "reference", "checks", "baselines", "gpus");

inline constexpr auto kOperationCheck =
    list_of(need("name", &OperationCheck::name, "the check's name", read_identifier), "problems", "values",
            may("scale", &OperationCheck::scale));

inline constexpr auto kOperationBuffer = list_of(
    need("name", &Buffer::name, "the buffer's name", read_identifier),
    need("type", &Buffer::type, R"(an element type such as "f32")", read_element_type), "elements", "rows",
    "columns", "pitch", "transposed", need("role", &Buffer::role, R"("in", "out" or "inout")"), "read_when",
    "values", "only", "layout");

/// A kernel that computes a reference or an input.
inline constexpr auto kOwnKernel = list_of("source", kKernel, kGrid, kBlock, "arguments");
inline constexpr auto kValues = joined(list_of("npy"), kOwnKernel);
inline constexpr auto kPython = list_of(
    "python",
    need("function", &PythonReference::function, "the name of a function in the file", read_identifier),
    field("timeout_s", &PythonReference::timeout_s, kTimeout));
inline constexpr auto kOperationReference = joined(list_of("template", "parameters", "library"), kOwnKernel,
                                                   list_of("npy"), kPython, list_of("consensus"));

inline constexpr auto kLibrary = list_of("library");
inline constexpr auto kKernelBaseline = list_of("name", "source", kKernel, kTemplateArguments, "macros",
                                                kGrid, kBlock, kArguments, kShared, "launches", "constants");
inline constexpr auto kTemplateBaseline = list_of("name", "template", "parameters");

// Manifests.
inline constexpr auto kParameter = list_of(
    need("name", &Parameter::name, "the parameter's name", read_identifier),
    need("values", &Parameter::values, R"--(a list of values, or "range(16, 129, 16)")--", read_values),
    may("meaning", &Parameter::meaning));
inline constexpr auto kDerived =
    list_of(need("name", &Derived::name, "the derived value's name", read_identifier),
            need("value", &Derived::value, "an expression"), may("meaning", &Derived::meaning));
inline constexpr auto kConstraint =
    list_of(need("require", &Constraint::require, "an expression that must be true"),
            may("why", &Constraint::why), may("narrows", &Constraint::narrows));
inline constexpr auto kTexts =
    list_of(need("summary", &TemplateSpec::summary, "one line on what the kernel is"),
            may("teaches", &TemplateSpec::teaches));
inline constexpr auto kCompilation =
    list_of(may("compile_options", &TemplateSpec::compile_options),
            may("min_compute_capability", &TemplateSpec::min_compute_capability, read_compute_capability),
            may("max_compute_capability", &TemplateSpec::max_compute_capability, read_compute_capability),
            field("pipe", &TemplateSpec::pipe),
            field("tolerance_factor", &TemplateSpec::tolerance_factor, {.min = 0, .above = true}));
inline constexpr auto kTemplate =
    joined(list_of("$schema", "name"), kTexts,
           list_of("operation", "types", "options", "source", "include_folders", "macros", "parameters",
                   "derived", "constraints"),
           kOnlyLaunch, list_of("launches", "constants", "workspace"), kCompilation);

// Configs.
inline constexpr auto kStrategy = list_of("name", field("seed", &StrategySpec::seed));
inline constexpr auto kPolicies =
    list_of("strategy", field("budget", &TuneSpec::budget), field("measure", &TuneSpec::measure),
            field("compile", &TuneSpec::compile), field("limits", &TuneSpec::limits), "baseline", "gpu",
            field("view", &TuneSpec::view));
inline constexpr auto kConfig =
    joined(list_of("$schema", "name", "templates", "configurations", "problems", "scalars"), kPolicies,
           list_of("steps"));
inline constexpr auto kStep = list_of("name", "template", "parameters");
inline constexpr auto kNarrowing =
    list_of("template", "types", "options", "parameters", "constraints", "extend");

}  // namespace keys

}  // namespace tiletune
