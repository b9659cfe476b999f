#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

/// A piece of C++ text, without comments and string literals.
struct SourceToken {
  enum class Kind { name, number, symbol };

  Kind kind = Kind::symbol;
  std::string_view text;  ///< a name, a number, or an operator of C++
  int line = 0;           ///< from 1

  bool is(std::string_view what) const { return text == what; }
  bool is_name() const { return kind == Kind::name; }
};
using SourceTokens = std::vector<SourceToken>;

/// A source in pieces: its code, and each preprocessor directive from its name on. Both sides of an #if are
/// there.
struct TokenizedSource {
  SourceTokens code;
  std::vector<SourceTokens> directives;  ///< none is empty
};

/// Takes time and memory in proportion to the text, to which the tokens refer. Takes any text.
TokenizedSource tokenize_source(std::string_view text);

/// The place behind the bracket that closes the one at `open`, one of ( [ { <; `end` where nothing before it
/// does.
std::size_t behind_bracket(const SourceTokens& tokens, std::size_t open, std::size_t end);

}  // namespace tiletune
