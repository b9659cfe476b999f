#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "author/source_facts.h"
#include "base/error.h"
#include "compile/pool.h"
#include "inspect/pointer_uses.h"
#include "spec/element_type.h"

namespace tiletune {

/// The type of a kernel's parameter.
struct ParameterType {
  bool pointer = false;
  bool constant = false;               ///< a pointer's elements are const
  std::optional<ElementType> element;  ///< of the pointer, or the type itself; none: another type
  int lanes = 1;                       ///< 4 for float4
  std::size_t bytes = 0;               ///< of an element, or of the type itself; 0: not known

  std::string text() const;  ///< "const float4*"
};

/// What the compiler says of a kernel.
struct Signature {
  std::vector<ParameterType> parameters;
  std::vector<MacroText> undefined;       ///< names that need a value to compile, in the order of the source
  std::string type = {};                  ///< for template parameters that are types and have no default
  std::vector<PointerUse> uses = {};      ///< of the parameters; empty: not known
  bool waits_for_grid = false;            ///< which only a cooperative launch allows
  Dependencies included = {};             ///< files of the source's folders
  std::set<std::string> overridden = {};  ///< macros that these define for good
};

/// The request to compile instead so that the mangled names of its kernels contain their parameter types.
/// Bodies of kernels that are templates are not instantiated. `with_code`: the kernels themselves follow, and
/// the result is PTX.
CompileRequest types_request(CompileRequest request, bool with_code = false);
/// The parameter types in such a mangled name; empty if it contains none.
std::vector<ParameterType> parameter_types(std::string_view symbol);

/// Why a kernel's name does not say which kernel is meant, by the compiler's message; none: it says other
/// things.
std::optional<UserError> overload_fault(const std::string& kernel, const std::string& reason,
                                        const Where& where);

/// Compiles the source with a first value for each name that it leaves undefined, and reads the types of the
/// kernel's parameters from the result. For a template parameter that is a type, it tries several types and
/// takes the first that compiles. Throws UserError with the compiler's message if no attempt compiles.
Signature read_signature(const CompilePoolOptions& options, const KernelSource& source,
                         const std::string& architecture, const SourceFacts& facts, const KernelText& kernel);

}  // namespace tiletune
