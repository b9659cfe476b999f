#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/launch_shape.h"
#include "base/stop.h"
#include "base/value.h"
#include "space/space.h"
#include "spec/npy.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// A template's compiler option, or the path of compiled kernels, for one configuration: every "{NAME}" is
/// replaced by the parameter's value. Throws UserError if the result is longer than 8192 characters.
std::string filled(const std::string& option, const NamedValues& parameters, const Where& where);

/// Calls filled() for each option of a list. `where` is the place of the list.
std::vector<std::string> options_with(const std::vector<std::string>& options, const NamedValues& parameters,
                                      const Where& where);

/// Throws UserError for a name in braces that is not a parameter of the template.
void check_names(const TemplateSpec& spec, const std::string& text, const Where& where);

/// What that option of the template can be, for all combinations of its parameters' values. Throws UserError
/// for a name in braces that is not a parameter, and when the texts are too many or too long; Stopped once
/// `stop` says so.
std::vector<std::string> possible_texts(const TemplateSpec& spec, std::size_t option,
                                        const Stop& stop = never_stop);

/// The options that are the same for all configurations.
std::vector<std::string> fixed_options(const TemplateSpec& spec);

/// CUDA C++ Programming Guide, Technical Specifications per Compute Capability: the same for all of them.
inline constexpr Dim3 kLargestGrid = {2147483647, 65535, 65535};

struct ComputeCapability {
  int major = 0, minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
};

/// What the driver encodes as a tensor map, but for the address. Innermost dimension first.
struct TensorMapShape {
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> extents;  ///< elements
  std::vector<std::int64_t> pitches;  ///< elements, of all dimensions but the innermost
  std::vector<std::int64_t> box;      ///< elements
  Swizzle swizzle = Swizzle::none;
  Promotion promotion = Promotion::bytes_128;
  std::int64_t offset = 0;  ///< elements of the buffer before the first

  static constexpr auto fields() {
    using M = TensorMapShape;
    constexpr Bounds<std::int64_t> kElements{.min = 1, .max = std::int64_t{1} << 40};
    return list_of(field("type", &M::type), field("extents", &M::extents, kElements),
                   field("pitches", &M::pitches, kElements), field("box", &M::box, {.min = 1, .max = 256}),
                   field("swizzle", &M::swizzle), field("promotion", &M::promotion),
                   field("offset", &M::offset, {.min = 0, .max = kElements.max}));
  }
  std::string fault() const {
    const std::size_t rank = extents.size();
    if (rank < 1 || rank > TensorMap::kMostDimensions) return "a tensor map has no such rank";
    const bool fits = pitches.size() == rank - 1 && box.size() == rank;
    return fits ? "" : "a tensor map has sizes too many or too few";
  }
};

/// A scalar kernel argument with its value, or the name of a buffer or workspace, which a tensor map may
/// describe.
struct ArgumentValue {
  Argument::Kind kind = Argument::Kind::buffer;
  std::string name;
  ElementType type = ElementType::i32;
  Value value;
  std::optional<TensorMapShape> tensor_map = {};  ///< none of a tensor map: 128 zero bytes
  bool is_rank = false;  ///< a scalar that holds the number of the GPU that runs the kernel

  static constexpr auto fields() {
    using A = ArgumentValue;
    return fields_of<&A::kind, &A::name, &A::type, &A::value, &A::tensor_map, &A::is_rank>();
  }
};

/// Device memory that a configuration has for itself.
struct SizedWorkspace {
  std::string name;
  ElementType type = ElementType::f32;
  std::int64_t elements = 0;  ///< 0: the argument is a null address
  bool zeroed = false;        ///< zero before the first launch and after every one; else undefined

  std::size_t bytes() const { return static_cast<std::size_t>(elements) * size_bytes(type); }

  static constexpr auto fields() {
    using W = SizedWorkspace;
    return list_of(field("name", &W::name), field("type", &W::type),
                   field("elements", &W::elements, {.min = 0, .max = std::int64_t{1} << 56}),
                   field("zeroed", &W::zeroed));
  }
};

/// One kernel launch of a configuration.
struct KernelLaunch : LaunchShape {
  std::string kernel_expression;  ///< "sgemm_warptile<128, 64, true>", or the plain name of a macro kernel
  std::vector<ArgumentValue> arguments;
  bool programmatic = false;  ///< it may begin before the launch before it ends
  std::size_t listed = 0;     ///< its position among the template's launches, some of which may be left out
  std::string symbol = {};    ///< the kernel's name in the cubin; empty until it is compiled

  /// The members that a GPU worker gets.
  static constexpr auto fields() {
    using L = KernelLaunch;
    return joined(LaunchShape::fields(),
                  list_of(field("symbol", &L::symbol), field("arguments", &L::arguments),
                          field("programmatic", &L::programmatic)));
  }
};

/// Elements that a GPU copies from a peer's memory to its own.
struct PeerCopy {
  std::int64_t gpu = 0;
  std::int64_t peer = 0;
  std::int64_t from = 0;  ///< elements before the first that is read
  std::int64_t to = 0;    ///< elements before the first that is written
  std::int64_t elements = 0;
  std::int64_t word = 0;  ///< that becomes 1 afterwards, of the step's signal

  static constexpr auto fields() {
    using C = PeerCopy;
    constexpr Bounds<std::int64_t> kElements{.min = 0, .max = std::int64_t{1} << 56};
    constexpr Bounds<std::int64_t> kGpu{.min = 0, .max = 63};
    return list_of(field("gpu", &C::gpu, kGpu), field("peer", &C::peer, kGpu),
                   field("from", &C::from, kElements), field("to", &C::to, kElements),
                   field("elements", &C::elements, kElements), field("word", &C::word, kElements));
  }
};

/// A step of a configuration on several GPUs.
struct GpuStep {
  StepKind kind = StepKind::kernel;
  std::int64_t launch = 0;       ///< kernels only: its position among the launches
  std::string from;              ///< copies and collectives only: a buffer or workspace
  std::string to;                ///< copies and collectives only: a buffer or workspace
  std::vector<PeerCopy> copies;  ///< copies only: of all GPUs, those of one GPU in their order
  bool beside = false;           ///< copies only
  std::string signal;            ///< copies only: a workspace of words; empty: none
  Collective collective = Collective::all_gather;  ///< collectives only
  std::int64_t elements = 0;                       ///< collectives only: one GPU's part

  static constexpr auto fields() {
    using S = GpuStep;
    constexpr Bounds<std::int64_t> kCount{.min = 0, .max = std::int64_t{1} << 56};
    return list_of(field("kind", &S::kind), field("launch", &S::launch, kCount), field("from", &S::from),
                   field("to", &S::to), field("copies", &S::copies), field("beside", &S::beside),
                   field("signal", &S::signal), field("collective", &S::collective),
                   field("elements", &S::elements, kCount));
  }
};

/// A variable in constant memory and the input buffer whose contents it gets before the first launch.
struct ConstantCopy {
  std::string symbol;
  std::string buffer;
  std::int64_t bytes = 0;

  static constexpr auto fields() {
    using C = ConstantCopy;
    return list_of(field("symbol", &C::symbol), field("buffer", &C::buffer),
                   field("bytes", &C::bytes, {.min = 0}));
  }
};

/// One configuration for one problem with every expression evaluated.
struct Instance {
  NamedValues parameters;
  NamedValues derived;
  std::string compiled_file;                 ///< "kernels/64x128.cubin"; empty: a source is compiled
  std::vector<std::string> defines;          ///< "-DBM=128", ...
  std::vector<std::string> compile_options;  ///< the template's, with this configuration's values
  std::vector<KernelLaunch> launches;        ///< in this order, timed as one
  std::vector<GpuStep> steps;                ///< on several GPUs: these and the launches, in this order
  std::vector<ConstantCopy> constants;
  std::vector<SizedWorkspace> workspace;
  std::optional<ComputeCapability> min_compute_capability;  ///< none: any
  std::optional<ComputeCapability> max_compute_capability;  ///< none: any
};

/// What all configurations of a template share for one problem.
struct Workload {
  /// Describes a row-major matrix. Elements between rows are padding; there are none behind the last row.
  struct Rows {
    std::int64_t columns = 0;  ///< elements of a row
    std::int64_t pitch = 0;    ///< elements between the starts of neighbouring rows, at least columns

    static constexpr auto fields() {
      return list_of(field("columns", &Rows::columns, {.min = 1}), field("pitch", &Rows::pitch));
    }
  };
  /// What an input holds.
  struct Values {
    Distribution distribution = Distribution::uniform;
    double a = 0;  ///< the distribution's arguments, in order; 0 where it has none
    double b = 0;

    bool operator==(const Values&) const = default;
    static constexpr auto fields() { return fields_of<&Values::distribution, &Values::a, &Values::b>(); }
  };
  struct SizedBuffer {
    std::string name;
    ElementType type;
    std::int64_t elements;  ///< with all padding
    BufferRole role;
    std::optional<Rows> rows = {};                   ///< none: the buffer is not a matrix
    std::optional<Values> input = {};                ///< none: what measure/input_values.h says
    std::optional<ArrayFile> file = {};              ///< an input's values, without padding, instead of that
    std::optional<ArrayFile> expected = {};          ///< what an output must hold, without padding
    bool is_compared = true;                         ///< an output with the reference
    BufferLayout layout = BufferLayout::replicated;  ///< what each of several GPUs has of it

    bool is_padded() const { return rows && rows->pitch > rows->columns && elements > rows->columns; }
    std::int64_t bytes() const { return elements * static_cast<std::int64_t>(size_bytes(type)); }
    /// Elements that are not padding.
    std::int64_t values() const {
      return is_padded() ? ((elements - rows->columns) / rows->pitch + 1) * rows->columns : elements;
    }

    static constexpr auto fields() {
      using B = SizedBuffer;
      return fields_of<&B::name, &B::type, &B::elements, &B::role, &B::rows, &B::input, &B::file,
                       &B::expected, &B::is_compared, &B::layout>();
    }
    std::string fault() const {
      const bool is_whole = !rows || (rows->pitch >= rows->columns && elements >= rows->columns &&
                                      (elements - rows->columns) % rows->pitch == 0);
      if (layout == BufferLayout::columns && !rows) return "a buffer without rows is divided by columns";
      return is_whole ? "" : "the elements are not whole rows";
    }
  };
  std::vector<SizedBuffer> buffers;
  const SizedBuffer& buffer(std::string_view name) const {
    return *std::find_if(buffers.begin(), buffers.end(),
                         [&](const SizedBuffer& one) { return one.name == name; });
  }
  /// What each GPU has of a buffer.
  std::int64_t elements_on_each(const SizedBuffer& buffer) const {
    return buffer.layout == BufferLayout::replicated ? buffer.elements : buffer.elements / gpus;
  }
  double flops = 0;                         ///< of one launch
  double bytes = 0;                         ///< compulsory DRAM traffic
  double accumulation = 0;                  ///< terms that are added up for one element of an output
  std::optional<Tolerance> tolerance = {};  ///< of each element; none: the bound is norm-wise
  int gpus = 1;                             ///< that compute it together

  static constexpr int kMostGpus = 16;
  static constexpr auto fields() {
    using W = Workload;
    return list_of(field("buffers", &W::buffers), field("flops", &W::flops), field("bytes", &W::bytes),
                   field("accumulation", &W::accumulation), field("tolerance", &W::tolerance),
                   field("gpus", &W::gpus, {.min = 1, .max = kMostGpus}));
  }
  std::string fault() const {
    const bool is_even = std::all_of(buffers.begin(), buffers.end(), [&](const SizedBuffer& one) {
      const bool by_columns = one.layout == BufferLayout::columns;
      return one.layout == BufferLayout::replicated ||
             (by_columns ? one.rows->columns : one.elements) % gpus == 0;
    });
    return is_even ? "" : "a buffer cannot be divided evenly among the GPUs";
  }
};

/// The value of an expression of dimensions, and of the operation's scalars, types and options. Throws
/// UserError.
double constant_value(const TemplateSpec& spec, const Problem& problem, const ExprText& text);
/// Evaluates `values` for a buffer of `elements` elements. Throws UserError.
Workload::Values constant_values(const TemplateSpec& spec, const Problem& problem, const Buffer& buffer,
                                 const BufferValues& values, std::int64_t elements);

/// Evaluates a template's expressions. All names are checked on construction.
class Instantiator {
 public:
  /// Throws UserError for expressions that cannot be parsed, and for sizes, flops, bytes and the launches
  /// of the operation's kernels when they cannot be evaluated.
  Instantiator(const TemplateSpec& spec, const Problem& problem);

  /// For a GPU with this number of multiprocessors. Throws UserError for expressions that cannot be
  /// evaluated, negative or zero launch dimensions and values that do not fit an argument's type.
  Instance instantiate(const Configuration& configuration, int multiprocessors) const;
  /// Whether all constraints hold but those that narrow a search. Those without a value do not.
  bool allows(const Configuration& configuration, int multiprocessors) const;
  const Workload& workload() const;
  /// The launches of the operation's kernels that compute inputs, in their order. They depend on dimensions
  /// and scalars only.
  const std::vector<KernelLaunch>& input_launches() const;
  /// The launch of the operation's reference kernel, without workspaces and tensor maps; none for operations
  /// with a library reference. It depends on dimensions and scalars only, too.
  const std::optional<KernelLaunch>& reference() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;  ///< copies share it
};

}  // namespace tiletune
