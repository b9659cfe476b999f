#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/tokens.h"

namespace tiletune {

/// How an element enters the index of another array's element.
enum class IndexForm {
  whole,   ///< it is the index: x[idx[i]]
  sum,     ///< something is added to it: x[begin[i] + j]
  scaled,  ///< it is multiplied by one name, and something may be added: x[idx[i] * n + j]
  other,
};

/// Elements of an array choose elements of another one.
struct IndexUse {
  std::string array;    ///< that holds the indices
  std::string indexed;  ///< whose elements they choose
  IndexForm form = IndexForm::whole;
  std::string factor = {};  ///< of a scaled one
  int line = 0;
};

/// What a function's text does with elements of what its parameters point to, as far as one can tell from
/// single statements: through variables of one name, without regard to scopes and branches.
struct IndexFacts {
  std::vector<IndexUse> uses;  ///< in the order of the source, each once
  /// Arrays of which an element and the next one are read, as starts of rows are: x[i] and x[i + 1]; with
  /// what `i` is compared to, or "".
  std::map<std::string, std::string> neighbours;
};

/// Reads the body of a function with these parameters that are pointers. Takes any text, and time in
/// proportion to it.
IndexFacts read_index_uses(const TokenRange& body, const std::vector<std::string>& pointers);

/// A parameter of a C++ template.
struct TemplateParameter {
  std::string name;
  std::string type;                           ///< "int", "bool", "typename"
  std::string default_text;                   ///< its own, else that of an explicit instantiation; or ""
  std::optional<std::int64_t> default_value;  ///< where that is a number
  int line = 0;

  bool is_type() const { return type == "typename" || type == "class"; }
};

/// How a kernel's text uses blockIdx of an axis.
struct BlockUse {
  bool seen = false;
  bool other = false;             ///< in another way than alone, or multiplied by a name
  std::set<std::string> factors;  ///< names and numbers that it is multiplied by
  std::string bound;              ///< what it is compared with, or ""
};

/// A __global__ function as it is written.
struct KernelText {
  std::string name;
  std::string scope;  ///< the namespace that it stands in; "": none
  int line = 0;
  std::vector<TemplateParameter> template_parameters;
  std::vector<std::string> parameter_names;  ///< "" of one without a name
  std::string launch_bounds;                 ///< threads in __launch_bounds__, or ""
  std::size_t block_axes = 1;                ///< 3: threadIdx.z is used
  std::size_t grid_axes = 1;
  int dynamic_shared_line = 0;  ///< of extern __shared__; 0: there is none
  /// NAME in blockIdx.x * NAME + threadIdx.x, by axis; "" where there is no such expression.
  std::array<std::string, 3> covered;
  /// What that index is compared with, or ""
  std::array<std::string, 3> bounds;
  std::array<BlockUse, 3> block_uses;
  IndexFacts indices;  ///< what elements of its parameters are indices of
};

/// A macro or a constant variable with an integer for its value, or a macro that the source tests and does
/// not define.
struct MacroText {
  std::string name;
  int line = 0;
  std::optional<std::int64_t> value;   ///< none: the source does not define it
  bool guarded = false;                ///< an #ifndef lets -D replace it
  std::set<std::int64_t> compared_to;  ///< numbers in its tests NAME == number
  bool is_variable = false;            ///< const int NAME = 16;
};

/// A __constant__ array of the source.
struct ConstantArray {
  std::string name;
  int line = 0;
};

/// What a source says to its reader; types and what macros expand to are left to the compiler.
struct SourceFacts {
  std::vector<KernelText> kernels;
  std::vector<MacroText> macros;
  std::map<std::string, int> value_names;  ///< lines of the names that stand where values do
  std::vector<ConstantArray> constants;
};

/// Whether squashed(name) contains one of the words.
bool has_one_of(std::string_view name, std::initializer_list<std::string_view> words);

/// Throws UserError, with `file` for its place, for a text of more than 256 KiB or 256 kernels, and for a
/// kernel whose parameter list is not closed. Takes any other text.
SourceFacts read_source_facts(std::string_view text, const std::string& file);

/// That kernel, or the only one where `name` is empty. Throws UserError that lists the kernels.
const KernelText& choose_kernel(const SourceFacts& facts, const std::string& name, const std::string& file);

}  // namespace tiletune
