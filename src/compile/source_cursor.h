#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tiletune {

/// Walks C++ source text token by token, as the compiler's first three translation phases do: lines joined by
/// a backslash, comments as white space, literals (raw ones with their line breaks) as one piece.
///
/// What compilers may read in different ways is refused with a UserError, because a text read differently
/// here and there could hide a directive.
class SourceCursor {
 public:
  /// Line breaks are "\n" alone. The text must outlive the cursor.
  SourceCursor(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  std::size_t line() const { return line_; }  ///< from 1
  /// Throws UserError with the file and the line.
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const;
  bool at_end();
  /// The next character of the logical line, '\n' at its end, '\0' at the end of the text.
  char peek();
  /// The character after the next.
  char peek_second();
  char take();
  bool take_if(std::string_view characters);

  /// Blanks and comments, but no line break outside a comment.
  void skip_space();
  /// The identifier that begins here; empty when none does.
  std::string take_identifier();
  /// One token that is no identifier: a literal with its suffix, a number, or one character. True for a
  /// number with apostrophes in it.
  bool skip_token();
  /// The string literal after an identifier, which may make it a raw one; nothing when none follows.
  void skip_prefixed_literal(const std::string& identifier);
  /// Everything up to the end of the logical line or `end`, whichever is first; takes `end` too.
  /// False when it is not on this line.
  bool take_until(char end, std::string& text);

 private:
  void join_lines();
  void skip_block_comment();
  void skip_line_comment();
  void skip_literal(char quote);
  void skip_raw_literal();
  bool skip_number();
  void skip_suffix();

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  char last_ = '\n';  ///< taken last
};

bool begins_identifier(char c);
bool continues_identifier(char c);

}  // namespace tiletune
