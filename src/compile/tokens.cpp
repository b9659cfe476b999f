#include "compile/tokens.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tiletune {
namespace {

/// Operators of more than one character that the reader of sources needs whole. Longer ones first.
constexpr std::array<std::string_view, 21> kOperators{
    "<<=", ">>=", "...", "==", "!=", "<=", ">=", "&&", "||", "++", "--",
    "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "->", "::"};

/// The length up to and with a mark; of the whole text where there is none.
std::size_t length_with(std::string_view mark, std::string_view text, std::size_t from) {
  const std::size_t at = text.find(mark, from);
  return at == std::string_view::npos ? text.size() : at + mark.size();
}

/// Counts the characters of the comment or white space that a text begins with; 0: neither.
std::size_t blank_length(std::string_view text) {
  if (text.starts_with("/*")) return length_with("*/", text, 2);
  if (text.starts_with("\\\n") || text.starts_with("\\\r\n")) return text.find('\n') + 1;
  if (!text.starts_with("//")) return std::string_view(" \t\r\n").find(text.front()) < 4 ? 1 : 0;
  std::size_t end = text.find('\n');
  // A backslash at its end continues it.
  while (end != std::string_view::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return std::min(end, text.size());
}

/// Counts those of the string or character that a text begins with; 0: neither. One that is not closed ends
/// with its line.
std::size_t literal_length(std::string_view text) {
  if (text.starts_with("R\"")) {
    const std::size_t open = text.find_first_of("(\n");
    if (open == std::string_view::npos || text[open] == '\n') return 2;
    return length_with(")" + std::string(text.substr(2, open - 2)) + "\"", text, open);
  }
  const char quote = text.front();
  if (quote != '"' && quote != '\'') return 0;
  std::size_t end = 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(end < text.size() && text[end] == quote ? end + 1 : end, text.size());
}

/// The name, number or operator that a text begins with.
SourceToken first_token(std::string_view text, int line) {
  const bool is_number =
      is_digit(text.front()) || (text.front() == '.' && text.size() > 1 && is_digit(text[1]));
  if (is_number || is_identifier_start(text.front())) {
    const auto* const end = std::find_if_not(text.begin(), text.end(), [&](char c) {
      return is_identifier_part(c) || (is_number && (c == '.' || c == '\''));
    });
    return {is_number ? SourceToken::Kind::number : SourceToken::Kind::name, {text.begin(), end}, line};
  }
  const auto* const known = std::ranges::find_if(kOperators, [&](auto one) { return text.starts_with(one); });
  return {SourceToken::Kind::symbol, text.substr(0, known == kOperators.end() ? 1 : known->size()), line};
}

/// Whether the brace at `brace` opens a namespace or extern "C", whose first token stands at `head`. Its
/// innermost name comes to `scopes` then.
bool opens_scope(const TokenRange& code, std::size_t head, std::size_t brace,
                 std::vector<std::string_view>& scopes) {
  const bool is_inline = code.is(head, "inline") && head + 1 < brace;
  const bool is_namespace = code.is(head + (is_inline ? 1 : 0), "namespace");
  if (!is_namespace && (!code.is(head, "extern") || brace != head + 1)) return false;
  const std::string_view outer = scopes.empty() ? "" : scopes.back();
  const bool is_named = is_namespace && !code.is(brace - 1, "namespace");
  scopes.push_back(is_named ? code.text(brace - 1) : outer);
  return true;
}

/// Reads the declaration that begins at one.begin; returns the place behind it, or behind the brace that
/// opens a scope.
std::size_t read_one(const TokenRange& code, Declaration& one, std::vector<std::string_view>& scopes) {
  bool assigned = false;
  std::size_t head = one.begin;
  for (std::size_t i = one.begin; i < code.end(); ++i) {
    if (code.fits(i, {"template", "<"})) {
      i = code.behind_bracket(i + 1) - 1;
      head = i + 1;
    } else if (code.is(i, "( [")) {
      const bool is_named =
          i > one.begin && code.is_name(i - 1) &&
          !code.is(i - 1,
                   "__launch_bounds__ __align__ __attribute__ __declspec __maxnreg__ __cluster_dims__ "
                   "__block_size__ alignas decltype");
      if (code.is(i, "(") && one.name.empty() && is_named) one.name = code.text(i - 1);
      i = code.behind_bracket(i) - 1;
    } else if (code.is(i, "operator")) {
      one.name = code.text(i);
      i = code.find("( ;", i + 1) - 1;
      if (code.fits(i + 1, {"(", ")", "("})) i += 2;
    } else if (code.is(i, ";")) {
      return one.end = i + 1;
    } else if (code.is(i, "{")) {
      if (opens_scope(code, head, i, scopes)) return i + 1;
      const bool is_class = code.is(head, "class struct union enum") && !code.is(i - 1, ")");
      one.is_function = !assigned && !one.name.empty() && !is_class;
      const std::size_t close = code.behind_bracket(i);
      if (one.is_function) return one.end = close;
      i = close - 1;
    } else {
      assigned = assigned || code.is(i, "=");
    }
  }
  return one.end = code.end();
}

}  // namespace

TokenizedSource tokenize_source(std::string_view text) {
  TokenizedSource source;
  SourceTokens* tokens = &source.code;
  bool starts_line = true;
  int line = 1;
  for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    length = blank_length(text);
    if (text.front() == '\n') {
      tokens = &source.code;
      starts_line = true;
    } else if (length == 0) {
      if (text.front() == '#' && starts_line) {
        tokens = &source.directives.emplace_back();
        length = 1;
      } else if (length = literal_length(text); length == 0) {
        length = tokens->emplace_back(first_token(text, line)).text.size();
      }
      starts_line = false;
    }
    line += static_cast<int>(std::ranges::count(text.substr(0, length), '\n'));
  }
  std::erase_if(source.directives, [](const SourceTokens& directive) { return directive.empty(); });
  return source;
}

int depth_change(std::string_view text, bool angled) {
  if (text == "(" || text == "[" || text == "{" || (angled && text == "<")) return 1;
  return text == ")" || text == "]" || text == "}" || (angled && text == ">") ? -1 : 0;
}

bool TokenRange::is(std::size_t at, std::string_view texts) const {
  const std::string_view token = text(at);
  while (!token.empty()) {
    const std::size_t space = texts.find(' ');
    if (texts.substr(0, space) == token) return true;
    if (space == std::string_view::npos) break;
    texts.remove_prefix(space + 1);
  }
  return false;
}

bool TokenRange::fits(std::size_t at, std::initializer_list<std::string_view> pattern) const {
  for (const std::string_view wanted : pattern) {
    if (!(wanted == "$" ? is_name(at) : wanted == "#" ? is_word(at) : is(at, wanted))) return false;
    ++at;
  }
  return true;
}

std::size_t TokenRange::find(std::string_view texts, std::size_t from) const {
  while (from < end_ && !is(from, texts)) ++from;
  return from;
}

std::string TokenRange::spaced_text() const {
  std::string text;
  for (std::size_t i = begin_; i < end_; ++i) text.append(text.empty() ? "" : " ").append((*all_)[i].text);
  return text;
}

std::size_t TokenRange::behind_bracket(std::size_t open, std::size_t limit) const {
  const bool angled = is(open, "<");
  const std::size_t end = std::min(limit, end_);
  int depth = 0;
  for (std::size_t i = open; i < end; ++i) {
    depth += depth_change(text(i), angled);
    if (depth == 0) return i + 1;
  }
  return end;
}

std::size_t TokenRange::behind_subscripts(std::size_t at, std::size_t most) const {
  std::size_t next = at + 1;
  while (is(next, "[")) {
    next = behind_bracket(next, next + most);
    if (!is(next - 1, "]")) break;
  }
  return next;
}

std::size_t TokenRange::behind_closing(std::size_t at) const {
  while (is(at, ")")) ++at;
  return at;
}

std::size_t TokenRange::before_opening(std::size_t at) const {
  while (is(at - 1, "(")) --at;
  return at;
}

std::string_view TokenRange::bound_of(std::size_t at) const {
  return fits(at + 1, {"< >=", "$", ") ; && ||"}) ? text(at + 2) : "";
}

std::vector<TokenRange> TokenRange::list() const {
  std::vector<TokenRange> parts;
  int depth = 0;
  std::size_t start = begin_;
  for (std::size_t i = begin_; i < end_; ++i) {
    depth += depth_change(text(i), true);
    if (!is(i, ",") || depth != 0) continue;
    parts.push_back(part(start, i));
    start = i + 1;
  }
  if (start < end_) parts.push_back(part(start, end_));
  return parts;
}

std::vector<Declaration> read_declarations(const SourceTokens& tokens) {
  const TokenRange code(tokens);
  std::vector<Declaration> declarations;
  std::vector<std::string_view> scopes;  // the innermost name at each brace
  for (std::size_t at = 0; at < code.end();) {
    if (code.is(at, "} ;")) {
      if (code.is(at, "}") && !scopes.empty()) scopes.pop_back();
      ++at;
      continue;
    }
    Declaration one;
    one.begin = one.end = at;
    if (!scopes.empty()) one.scope = scopes.back();
    at = read_one(code, one, scopes);
    if (one.end == one.begin) continue;
    const std::size_t head = one.is_function ? code.find("{", one.begin) : one.end;
    one.is_device =
        code.part(one.begin, head).has("__global__ __device__ __constant__ __shared__ __managed__");
    declarations.push_back(one);
  }
  return declarations;
}

}  // namespace tiletune
