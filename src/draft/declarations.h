#pragma once

#include <string_view>
#include <vector>

#include "draft/tokens.h"

namespace tiletune {

/// A declaration of a source, outside of functions and classes.
struct Declaration {
  std::size_t begin = 0, end = 0;  ///< its tokens
  bool is_function = false;        ///< with a body
  bool is_device = false;          ///< marked as such: a function itself, or anything in another declaration
  std::string_view name = {};      ///< of a function
  std::string_view scope = {};     ///< the innermost namespace with a name that it stands in
};

/// All of them, in order. Takes any text, and time in proportion to it.
std::vector<Declaration> read_declarations(const SourceTokens& code);

}  // namespace tiletune
