#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "base/spelling.h"
#include "spec/element_type.h"

namespace tiletune {

/// An expression as written, with its place for messages. It is parsed where its names are known (space/).
struct ExprText {
  std::string text;
  Where where;
};

/// A file that a manifest names.
struct FileName {
  std::string
      text;  ///< with "{M}" for the value of a dimension, where the file is not the same for all problems
  std::filesystem::path folder;  ///< of the manifest, canonical
  bool may_leave = false;        ///< the file may lie outside the folder
  Where where;
};

/// Device memory that a configuration has for itself. It is passed like a buffer.
struct WorkspaceArray {
  std::string name;
  ElementType type = ElementType::f32;
  ExprText elements;    ///< how many, of a configuration on one GPU; 0: the argument is a null address
  bool zeroed = false;  ///< zero before the first launch, and every launch leaves it so; else undefined
  std::string meaning;
};

/// How rows of a tensor map's box are permuted in shared memory: 16-byte pieces within this number of bytes.
enum class Swizzle { none, bytes_32, bytes_64, bytes_128 };
template <>
inline constexpr std::array<Named<Swizzle>, 4> kSpellings<Swizzle>{{{Swizzle::none, "none"},
                                                                    {Swizzle::bytes_32, "32B"},
                                                                    {Swizzle::bytes_64, "64B"},
                                                                    {Swizzle::bytes_128, "128B"}}};

/// How many bytes the L2 cache reads around what a tensor map's copies ask for.
enum class Promotion { none, bytes_64, bytes_128, bytes_256 };
template <>
inline constexpr std::array<Named<Promotion>, 4> kSpellings<Promotion>{{{Promotion::none, "none"},
                                                                        {Promotion::bytes_64, "64B"},
                                                                        {Promotion::bytes_128, "128B"},
                                                                        {Promotion::bytes_256, "256B"}}};

/// How the Tensor Memory Accelerator of sm_90 sees a buffer or workspace. Innermost dimension first.
struct TensorMap {
  static constexpr std::size_t kMostDimensions = 5;

  ElementType type = ElementType::f32;
  std::vector<ExprText> extents;  ///< elements in each dimension
  std::vector<ExprText> pitches;  ///< elements between neighbours, in each dimension but the innermost
  std::vector<ExprText> box;      ///< elements that one copy moves, in each dimension
  ExprText swizzle;               ///< the name of one
  ExprText promotion;             ///< the name of one
  ExprText offset;                ///< elements of the buffer before the first; empty: none
  ExprText when;                  ///< the argument is 128 zero bytes where this is false; empty: never
};

/// One kernel argument, in the kernel's order: the address of a buffer or workspace, a scalar's value, a
/// tensor map by value, or the address of a list with the addresses of a buffer or workspace on all GPUs.
struct Argument {
  enum class Kind { buffer, scalar, tensor_map, peers };
  Kind kind = Kind::buffer;
  std::string name;                     ///< the buffer or workspace, or the scalar's own name
  ElementType type = ElementType::i32;  ///< scalars only
  ExprText value;  ///< scalars only; default: the dimension, scalar, parameter of that name
  std::optional<TensorMap> tensor_map = {};  ///< tensor maps only
  bool is_rank = false;  ///< scalars only: the value is the number of the GPU that runs the kernel, from 0
};
template <>
inline constexpr std::array<Named<Argument::Kind>, 4> kSpellings<Argument::Kind>{
    {{Argument::Kind::buffer, "buffer"},
     {Argument::Kind::scalar, "scalar"},
     {Argument::Kind::tensor_map, "tensor_map"},
     {Argument::Kind::peers, "peers"}}};

/// One kernel of a configuration, and how it is launched.
struct Launch {
  std::string kernel;                        ///< function name
  std::vector<ExprText> template_arguments;  ///< C++ instantiation; empty for macro kernels
  std::array<ExprText, 3> grid;              ///< in thread blocks; missing entries are "1"
  std::array<ExprText, 3> block;             ///< in threads
  ExprText dynamic_shared_bytes;             ///< "0" when absent
  std::vector<Argument> arguments;
  ExprText programmatic = {};  ///< whether it may begin before the launch before it ends; empty: never
  ExprText when = {};          ///< it is left out where this is false; empty: nowhere
  Where where = {};            ///< of the object that holds it
};

/// What NCCL does with all GPUs together.
enum class Collective { all_gather, reduce_scatter };
template <>
inline constexpr std::array<Named<Collective>, 2> kSpellings<Collective>{
    {{Collective::all_gather, "all_gather"}, {Collective::reduce_scatter, "reduce_scatter"}}};

enum class StepKind { kernel, copy, barrier, collective };
template <>
inline constexpr std::array<Named<StepKind>, 4> kSpellings<StepKind>{{{StepKind::kernel, "kernel"},
                                                                      {StepKind::copy, "copy"},
                                                                      {StepKind::barrier, "barrier"},
                                                                      {StepKind::collective, "collective"}}};

/// What every GPU of an operation over several GPUs does in its turn: a launch, copies from the memory of
/// other GPUs by copy engines, waiting for all GPUs, or a collective operation.
struct StepSpec {
  StepKind kind = StepKind::kernel;
  std::size_t launch = 0;  ///< kernels only: its position among the launches
  std::string from = {};   ///< copies and collectives only: a buffer or workspace; of a copy, the peer's
  std::string to = {};     ///< copies and collectives only: a buffer or workspace; of a copy, this GPU's
  ExprText elements = {};  ///< copies: of each; collectives: one GPU's part

  // Copies only. Expressions may use `rank`, the variables of `repeat` and, but for its own, `peer`.
  ExprText peer = {};         ///< number of the GPU that is read from
  ExprText from_offset = {};  ///< elements before the first that is read; empty: none
  ExprText to_offset = {};    ///< elements before the first that is written; empty: none
  std::vector<std::pair<std::string, ExprText>> repeat =
      {};                   ///< variables that count from 1, outermost first
  bool beside = false;      ///< the steps that follow do not wait for it; the end of the launch does
  std::string signal = {};  ///< a zeroed workspace of words, one of which becomes 1 after each copy; or empty
  ExprText index = {};      ///< which word of `signal`; empty: `peer`

  Collective collective = Collective::all_gather;  ///< collectives only
  ExprText when = {};                              ///< it is left out where this is false; empty: nowhere
};

/// Names that belong to the steps of operations over several GPUs.
inline constexpr const char* kRank = "rank";
inline constexpr const char* kPeer = "peer";

/// A variable in constant memory that holds what a buffer holds.
struct ConstantMemory {
  std::string symbol;  ///< its name in the source, which has no namespace
  std::string buffer;  ///< of role in
  Where where;
};

struct JsonNode;

// The keys of an object are listed once, by list_of() beside the structs that hold the values. An entry is
// need() or may(), a key with its member and the function that reads its value; a field(), which may be left
// out; or the bare name of a key whose reading depends on other keys, which is read by code of its own.

/// What is read in the way of its type: read_as().
struct ByType {};

/// A key whose value `read` makes a member of, from the value and, where it takes one, the context.
template <typename Struct, typename T, typename Read>
struct Key {
  std::string_view name;
  T Struct::*member;
  Read read;
  const char* expected;  ///< what belongs there; null: the key may be left out
};

template <typename Struct, typename T, typename Read = ByType>
constexpr Key<Struct, T, Read> need(std::string_view name, T Struct::*member, const char* expected,
                                    Read read = {}) {
  return {name, member, read, expected};
}
template <typename Struct, typename T, typename Read = ByType>
constexpr Key<Struct, T, Read> may(std::string_view name, T Struct::*member, Read read = {}) {
  return {name, member, read, nullptr};
}

constexpr std::string_view name_of_key(std::string_view name) { return name; }
template <typename Entry>
requires requires(const Entry& entry) { entry.name; }
constexpr std::string_view name_of_key(const Entry& entry) { return entry.name; }

/// The names of all keys of some lists, in their order.
template <typename... Lists>
constexpr auto key_names(const Lists&... lists) {
  return joined(lists...)([](const auto&... keys) {
    return std::array<std::string_view, sizeof...(keys)>{name_of_key(keys)...};
  });
}

// Functions that the lists name as readers; see spec/reader.h. They throw UserError.

/// Letters, digits and underscores, not starting with a digit, at most kLongestName of them.
std::string read_identifier(const JsonNode& node);
/// One that may stand in namespaces: "foo::scale".
std::string read_qualified_name(const JsonNode& node);

class DeclaredNames;
struct Operation;
/// What a kernel may be passed the address of, and the types that its scalars may have.
struct Memory {
  const Operation& operation;
  const std::vector<WorkspaceArray>& workspace;
};

// Functions that read the values of the keys below. All throw UserError.

/// A kernel's arguments. Refuses a name that is in neither list of `memory`, and a scalar without "value"
/// whose name is not in `scope`.
std::vector<Argument> read_arguments(const JsonNode& node, const Memory& memory, const DeclaredNames& scope);
/// An element type, or one of the operation's type variables.
ElementType read_element_type(const JsonNode& node, const Operation& operation);
/// The name of a buffer or workspace.
std::string read_memory_name(const JsonNode& node, const Memory& memory);
/// The name of one that is not an input.
std::string read_written_name(const JsonNode& node, const Memory& memory);
/// The name of a workspace of words, which are zero before the first launch, as the kernel leaves them.
std::string read_signal(const JsonNode& node, const Memory& memory);
/// Variables that count, with expressions for their ends.
std::vector<std::pair<std::string, ExprText>> read_repeat(const JsonNode& node);
/// A version, or an expression for one: anything with an operator in it, or a name that is known.
ExprText read_compute_capability(const JsonNode& node, const DeclaredNames& scope);
/// The name of a choice, or an expression for one.
template <typename Choice>
ExprText read_name_of(const JsonNode& node);

/// The keys of launches, each listed once with its member, its reader and, if it is required, the description
/// of its value for errors. schemas/ describes them for users.
namespace keys {

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

inline constexpr auto kLaunch = list_of(kGrid, kBlock, kShared);
/// What belongs to the launch of a manifest that has one.
inline constexpr auto kOnlyLaunch = list_of(kKernel, kTemplateArguments, "launch", kArguments);
/// What belongs to the launch of a baseline that has one.
inline constexpr auto kBaselineLaunch =
    list_of(kKernel, kTemplateArguments, kGrid, kBlock, kArguments, kShared);
inline constexpr auto kLaunches =
    joined(kBaselineLaunch, list_of("programmatic", may("when", &Launch::when)));

// What stands among the launches of operations over several GPUs.
inline constexpr auto kCopy =
    list_of(need("copy", &StepSpec::from, "the buffer or workspace that is read", read_memory_name),
            need("to", &StepSpec::to, "the buffer or workspace that is written", read_written_name),
            need("peer", &StepSpec::peer, "an expression for the number of the GPU that is read from"),
            may("from", &StepSpec::from_offset), may("to_offset", &StepSpec::to_offset),
            need("elements", &StepSpec::elements, "an expression for the number of elements"),
            may("repeat", &StepSpec::repeat, read_repeat), may("beside", &StepSpec::beside),
            may("signal", &StepSpec::signal, read_signal), may("index", &StepSpec::index),
            may("when", &StepSpec::when));
inline constexpr auto kBarrier = list_of("barrier", may("when", &StepSpec::when));
inline constexpr auto kCollective =
    list_of(need("collective", &StepSpec::collective, R"("all_gather" or "reduce_scatter")"),
            need("from", &StepSpec::from, "the buffer or workspace that is read", read_memory_name),
            need("to", &StepSpec::to, "the buffer or workspace that is written", read_written_name),
            need("elements", &StepSpec::elements, "an expression for the elements of one GPU"),
            may("when", &StepSpec::when));

// Arguments.
inline constexpr auto kScalarArgument = list_of(
    "scalar", need("type", &Argument::type, R"(the argument's type, such as "i32")", read_element_type),
    "value");
inline constexpr auto kTensorMap = list_of("tensor_map", "extents", "pitches", "box",
                                           may("swizzle", &TensorMap::swizzle, read_name_of<Swizzle>),
                                           may("promotion", &TensorMap::promotion, read_name_of<Promotion>),
                                           may("offset", &TensorMap::offset), may("when", &TensorMap::when));
inline constexpr auto kArgument = joined(list_of("buffer"), kScalarArgument, kTensorMap, list_of("peers"));

inline constexpr auto kWorkspace =
    list_of(need("name", &WorkspaceArray::name, "the workspace's name", read_identifier),
            need("type", &WorkspaceArray::type, R"(an element type such as "f32")", read_element_type),
            need("elements", &WorkspaceArray::elements, "an expression for the number of elements"),
            may("zeroed", &WorkspaceArray::zeroed), may("meaning", &WorkspaceArray::meaning));

}  // namespace keys

}  // namespace tiletune
