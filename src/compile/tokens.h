#pragma once

#include <cstddef>
#include <initializer_list>
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

/// The tokens [begin, end) of a source by their places in all of it. Beyond both ends stand tokens without
/// text, so that a reader looks around itself without counting.
class TokenRange {
 public:
  TokenRange(const SourceTokens& all, std::size_t begin, std::size_t end)
      : all_(&all), begin_(begin), end_(end) {}
  explicit TokenRange(const SourceTokens& all) : TokenRange(all, 0, all.size()) {}

  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  std::size_t size() const { return end_ - begin_; }
  const SourceToken& operator[](std::size_t at) const {
    static constexpr SourceToken kNothing;
    return at >= begin_ && at < end_ ? (*all_)[at] : kNothing;
  }
  std::string_view text(std::size_t at) const { return (*this)[at].text; }
  /// Whether the token at `at` is one of `texts`, which are separated by spaces: "< >=".
  bool is(std::size_t at, std::string_view texts) const;
  /// Whether the tokens from `at` on match the pattern {"< >=", "$", ")"}: each element lists texts as for
  /// is(), or is "$" for a name or "#" for a word.
  bool fits(std::size_t at, std::initializer_list<std::string_view> pattern) const;
  bool is_name(std::size_t at) const { return (*this)[at].is_name(); }
  /// A name or a number.
  bool is_word(std::size_t at) const { return (*this)[at].kind != SourceToken::Kind::symbol; }
  bool is_member(std::size_t at) const { return is(at - 1, ". ->"); }

  TokenRange part(std::size_t begin, std::size_t end) const { return {*all_, begin, end}; }
  /// The first place from `from` on with one of `texts` (see is()), or the end.
  std::size_t find(std::string_view texts, std::size_t from) const;
  bool has(std::string_view texts) const { return find(texts, begin_) < end_; }
  /// All of it: "const float * x".
  std::string spaced_text() const;
  /// The place behind the bracket that closes the one at `open`, one of ( [ { <, before `limit` or the end;
  /// whichever comes first where nothing does.
  std::size_t behind_bracket(std::size_t open, std::size_t limit = std::string_view::npos) const;
  /// The place behind all subscripts of the name at `at`. One that is not closed within `most` tokens is the
  /// last.
  std::size_t behind_subscripts(std::size_t at, std::size_t most) const;
  /// The first place from `at` on that is no closing parenthesis.
  std::size_t behind_closing(std::size_t at) const;
  /// The first of the opening parentheses that stand before `at`; `at` where none does.
  std::size_t before_opening(std::size_t at) const;
  /// What the name at `at` is compared with by < or >=, where that ends a condition: "n" in (i < n); else "".
  std::string_view bound_of(std::size_t at) const;
  /// Parts between commas that stand in no brackets.
  std::vector<TokenRange> list() const;

 private:
  const SourceTokens* all_;
  std::size_t begin_, end_;
};

/// How a token changes how deep in brackets one is: 1, -1 or 0. `angled`: < and > are brackets, too.
int depth_change(std::string_view text, bool angled);

/// A declaration of a source, outside of functions and classes.
struct Declaration {
  std::size_t begin = 0, end = 0;  ///< its tokens
  bool is_function = false;        ///< with a body
  bool is_device = false;          ///< marked as such: a function itself, or anything in another declaration
  std::string_view name = {};      ///< of a function
  std::string_view scope = {};     ///< the innermost namespace with a name that it stands in
};

/// All of them, in order. Takes any text, and time in proportion to it.
std::vector<Declaration> read_declarations(const SourceTokens& tokens);

}  // namespace tiletune
