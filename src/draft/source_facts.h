#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "draft/tokens.h"

namespace tiletune {

/// A parameter of a C++ template.
struct TemplateParameter {
  std::string name;
  std::string type;                           ///< "int", "bool", "typename"
  std::optional<std::int64_t> default_value;  ///< where it is a number
  int line = 0;
};

/// How a kernel's text treats a pointer.
struct PointerUse {
  bool read = false;     ///< an element stands in an expression
  bool written = false;  ///< an element is assigned to
  bool passed = false;   ///< the pointer itself stands in an expression
};

/// A __global__ function as it is written.
struct KernelText {
  std::string name;
  int line = 0;
  std::vector<TemplateParameter> template_parameters;
  std::vector<std::string> parameter_names;  ///< "" of one without a name
  std::string launch_bounds;                 ///< threads in __launch_bounds__, or ""
  int block_axes = 1;                        ///< 3: threadIdx.z is used
  int grid_axes = 1;
  std::map<std::string, PointerUse> uses;  ///< of parameters, by name
};

/// A macro with an integer for its value, or one that the source tests and does not define.
struct MacroText {
  std::string name;
  int line = 0;
  std::optional<std::int64_t> value;   ///< none: the source does not define it
  bool guarded = false;                ///< an #ifndef lets -D replace it
  std::set<std::int64_t> compared_to;  ///< numbers in its tests NAME == number
};

/// What a source says to its reader; types and what macros expand to are left to the compiler.
struct SourceFacts {
  std::vector<KernelText> kernels;
  std::vector<MacroText> macros;
  std::map<std::string, int> value_names;  ///< lines of the names that stand where values do
};

/// Throws UserError, with `file` for its place, for a text of more than 256 KiB or 256 kernels, and for a
/// kernel whose parameter list is not closed. Takes any other text.
SourceFacts read_source_facts(std::string_view text, const std::string& file);

/// That kernel, or the only one where `name` is empty. Throws UserError that lists the kernels.
const KernelText& choose_kernel(const SourceFacts& facts, const std::string& name, const std::string& file);

}  // namespace tiletune
