#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "space/instance.h"
#include "space/parser.h"
#include "space/program.h"
#include "space/scope.h"

namespace tiletune::space {

std::vector<Program> parse_all(const std::vector<ExprText>& texts, const SymbolTable& symbols);
/// None for an expression that is left out.
std::optional<Program> parse_optional(const ExprText& text, const SymbolTable& symbols);
/// The expression, or `fallback` where it is left out.
ExprText or_default(const ExprText& text, const std::string& fallback);

/// A number of elements from 0 to 2^56, so that they can be counted in bytes. Throws UserError.
std::int64_t evaluate_elements(const Program& program, const Bindings& bindings);

/// The expressions of a tensor map.
class TensorMapPrograms {
 public:
  TensorMapPrograms(const TensorMap& map, const SymbolTable& symbols);
  /// None where its condition is false. Throws UserError for sizes that are not positive, negative offsets,
  /// and swizzles and promotions that are none.
  std::optional<TensorMapShape> evaluate(const Bindings& bindings) const;

 private:
  ElementType type_;
  std::vector<Program> extents_;
  std::vector<Program> pitches_;
  std::vector<Program> box_;
  Program swizzle_;
  Program promotion_;
  std::optional<Program> offset_;
  std::optional<Program> when_;
};

/// Three expressions for the size of a grid or a block.
class ShapePrograms {
 public:
  /// `unit` is what is counted, for messages: "thread blocks". An empty expression means 1.
  ShapePrograms(const std::array<ExprText, 3>& texts, const SymbolTable& symbols, std::string unit);
  /// Throws UserError when a dimension is not positive and when their product exceeds 64 bits.
  Dim3 evaluate(const Bindings& bindings) const;

 private:
  std::vector<Program> programs_;
  std::string unit_;
};

/// A kernel's arguments.
class ArgumentPrograms {
 public:
  ArgumentPrograms(const std::vector<Argument>& arguments, const SymbolTable& symbols);
  /// Throws UserError when a value does not fit its argument's type.
  std::vector<ArgumentValue> evaluate(const Bindings& bindings) const;

 private:
  std::vector<ArgumentValue> arguments_;  ///< with the values still open
  // With the positions of their arguments.
  std::vector<std::pair<std::size_t, Program>> scalars_;
  std::vector<std::pair<std::size_t, TensorMapPrograms>> maps_;
};

/// The steps of a template on several GPUs.
class StepPrograms {
 public:
  /// `symbols` are those of launches. Throws UserError.
  StepPrograms(const std::vector<StepSpec>& steps, const SymbolTable& symbols);
  /// The steps of one configuration, of which `listed` are the positions of the launches that are not left
  /// out. Throws UserError for numbers that are not those of GPUs, and for elements beyond an array's end.
  std::vector<GpuStep> evaluate(const Bindings& bindings, const Workload& workload,
                                const std::vector<SizedWorkspace>& workspace,
                                const std::vector<std::size_t>& listed) const;

 private:
  /// What copies evaluate, once for every GPU and repetition. Their own names have slots behind those of
  /// launches.
  struct CopyPrograms {
    CopyPrograms(const StepSpec& step, SymbolTable symbols);

    std::size_t rank = 0;                                 ///< slot
    std::size_t peer = 0;                                 ///< slot
    std::vector<std::pair<std::size_t, Program>> repeat;  ///< slots of variables and their last values
    std::optional<Program> peer_number, from, to, elements, word;
  };
  struct Programs {
    StepSpec spec;
    std::optional<Program> when;
    std::optional<Program> elements;  ///< of a collective operation
    std::optional<CopyPrograms> copy;
  };

  static void add_copies(const CopyPrograms& programs, const Bindings& bindings, int gpus, GpuStep& step);

  std::vector<Programs> steps_;
};

/// Evaluates what all configurations share; only dimensions and scalars may be used for it. Throws UserError.
/// Opens the files of inputs and of expected outputs, and checks that they hold what is needed.
Workload make_workload(const TemplateSpec& spec, const Problem& problem, const Scope& scope);
/// Evaluates `values` for a buffer of `elements` elements. Throws UserError.
Workload::Values values_of(const Buffer& buffer, const BufferValues& values, std::int64_t elements,
                           const Scope& scope, const Bindings& bindings);
/// Evaluates the launches of the operation's kernels that compute inputs.
std::vector<KernelLaunch> make_input_launches(const TemplateSpec& spec, const Scope& scope);
/// Its arguments are the template's without those for workspaces, and buffers instead of tensor maps.
std::optional<KernelLaunch> make_reference(const TemplateSpec& spec, const Scope& scope);

}  // namespace tiletune::space
