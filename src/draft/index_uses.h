#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "draft/tokens.h"

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

/// Of the tokens [begin, end), which are the body of a function with these parameters that are pointers.
/// Takes any text, and time in proportion to it.
IndexFacts read_index_uses(const SourceTokens& code, std::size_t begin, std::size_t end,
                           const std::vector<std::string>& pointers);

}  // namespace tiletune
