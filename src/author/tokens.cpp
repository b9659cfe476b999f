#include "author/tokens.h"

#include <algorithm>
#include <array>

#include "base/identifier.h"

namespace tiletune {
namespace {

/// Operators of more than one character that the reader of sources needs whole. Longer ones first.
constexpr std::array<std::string_view, 21> kOperators{
    "<<=", ">>=", "...", "==", "!=", "<=", ">=", "&&", "||", "++", "--",
    "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "->", "::"};

class SourceTokenizer {
 public:
  explicit SourceTokenizer(std::string_view text) : rest_(text) {}

  TokenizedSource run() {
    while (!rest_.empty()) step();
    std::erase_if(result_.directives, [](const SourceTokens& directive) { return directive.empty(); });
    return std::move(result_);
  }

 private:
  void step() {
    const char first = rest_.front();
    if (rest_.starts_with("//")) return skip_line_comment();
    if (rest_.starts_with("/*")) return skip(end_of("*/", 2));
    if (rest_.starts_with("\\\n") || rest_.starts_with("\\\r\n")) return skip(rest_.find('\n') + 1);
    if (first == '\n') {
      in_directive_ = false;
      starts_line_ = true;
      return skip(1);
    }
    if (first == '#' && starts_line_) {
      in_directive_ = true;
      starts_line_ = false;
      result_.directives.emplace_back();
      return skip(1);
    }
    if (first == ' ' || first == '\t' || first == '\r') return skip(1);
    starts_line_ = false;
    if (rest_.starts_with("R\"")) return skip_raw_string();
    if (first == '"' || first == '\'') return skip_string(first);
    add();
  }

  void add() {
    const bool number =
        is_digit(rest_.front()) || (rest_.front() == '.' && rest_.size() > 1 && is_digit(rest_[1]));
    std::size_t length = 1;
    if (number) {
      const auto* end = std::find_if_not(
          rest_.begin(), rest_.end(), [](char c) { return is_identifier_part(c) || c == '.' || c == '\''; });
      length = static_cast<std::size_t>(end - rest_.begin());
    } else if (is_identifier_start(rest_.front())) {
      const auto* end = std::find_if_not(rest_.begin(), rest_.end(), is_identifier_part);
      length = static_cast<std::size_t>(end - rest_.begin());
    } else {
      for (const std::string_view symbol : kOperators)
        if (length == 1 && rest_.starts_with(symbol)) length = symbol.size();
    }
    const auto kind = number                               ? SourceToken::Kind::number
                      : is_identifier_start(rest_.front()) ? SourceToken::Kind::name
                                                           : SourceToken::Kind::symbol;
    SourceTokens& tokens = in_directive_ ? result_.directives.back() : result_.code;
    tokens.push_back({kind, rest_.substr(0, length), line_});
    skip(length);
  }

  /// A backslash at its end continues it.
  void skip_line_comment() {
    std::size_t end = rest_.find('\n');
    while (end != std::string_view::npos && end > 0 && rest_[end - 1] == '\\')
      end = rest_.find('\n', end + 1);
    skip(std::min(end, rest_.size()));
  }

  /// One that is not closed ends with its line.
  void skip_string(char quote) {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote && rest_[end] != '\n') end += rest_[end] == '\\' ? 2 : 1;
    skip(std::min(end + (end < rest_.size() && rest_[end] == quote ? 1 : 0), rest_.size()));
  }

  void skip_raw_string() {
    const std::size_t open = rest_.find_first_of("(\n");
    if (open == std::string_view::npos || rest_[open] == '\n') return skip(2);
    const std::string close = ")" + std::string(rest_.substr(2, open - 2)) + "\"";
    skip(end_of(close, open));
  }

  std::size_t end_of(std::string_view mark, std::size_t from) const {
    const std::size_t at = rest_.find(mark, from);
    return at == std::string_view::npos ? rest_.size() : at + mark.size();
  }

  void skip(std::size_t length) {
    line_ += static_cast<int>(
        std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
    rest_.remove_prefix(length);
  }

  std::string_view rest_;
  TokenizedSource result_;
  int line_ = 1;
  bool in_directive_ = false;
  bool starts_line_ = true;
};

class DeclarationReader {
 public:
  explicit DeclarationReader(const SourceTokens& code) : code_(code) {}

  std::vector<Declaration> read() {
    std::vector<Declaration> declarations;
    for (std::size_t at = 0; at < code_.end();) {
      if (code_.is_one_of(at, {"}", ";"})) {
        if (code_.is(at, "}") && !scopes_.empty()) scopes_.pop_back();
        ++at;
        continue;
      }
      Declaration one;
      one.begin = one.end = at;
      if (!scopes_.empty()) one.scope = scopes_.back();
      at = read_one(one);
      if (one.end > one.begin) declarations.push_back(one);
    }
    return declarations;
  }

 private:
  /// The place behind it, or behind the brace that opens a namespace.
  std::size_t read_one(Declaration& one) {
    bool assigned = false;
    std::size_t head = one.begin;
    for (std::size_t i = one.begin; i < code_.end(); ++i) {
      const bool in_template = code_.is(i, "template") && code_.is(i + 1, "<");
      if (in_template || code_.is_one_of(i, {"(", "["})) {
        const bool is_named = i > one.begin && code_.is_name(i - 1) && !code_.text(i - 1).starts_with("__");
        if (code_.is(i, "(") && one.name.empty() && is_named) one.name = code_.text(i - 1);
        i = code_.behind_bracket(in_template ? i + 1 : i) - 1;
        if (in_template) head = i + 1;
      } else if (code_.is(i, ";")) {
        return finish(one, i + 1);
      } else if (code_.is(i, "{")) {
        if (opens_scope(head, i)) return i + 1;
        one.is_function = !assigned && !one.name.empty() && !is_class(head, i);
        const std::size_t close = code_.behind_bracket(i);
        if (one.is_function) return finish(one, close);
        i = close - 1;
      } else {
        assigned = assigned || code_.is(i, "=");
      }
    }
    return finish(one, code_.end());
  }

  std::size_t finish(Declaration& one, std::size_t end) const {
    one.end = end;
    const TokenRange whole = code_.part(one.begin, end);
    const std::size_t head = one.is_function ? whole.find({"{"}, one.begin) : end;
    one.is_device = code_.part(one.begin, head)
                        .has({"__global__", "__device__", "__constant__", "__shared__", "__managed__"});
    return end;
  }

  /// namespace a::b {, extern "C" {
  bool opens_scope(std::size_t head, std::size_t brace) {
    const bool is_inline = code_.is(head, "inline") && head + 1 < brace;
    const bool is_namespace = code_.is(head + (is_inline ? 1 : 0), "namespace");
    if (!is_namespace && (!code_.is(head, "extern") || brace != head + 1)) return false;
    const std::string_view outer = scopes_.empty() ? "" : scopes_.back();
    const bool is_named = is_namespace && !code_.is(brace - 1, "namespace");
    scopes_.push_back(is_named ? code_.text(brace - 1) : outer);
    return true;
  }

  bool is_class(std::size_t head, std::size_t brace) const {
    return code_.is_one_of(head, {"class", "struct", "union", "enum"}) && !code_.is(brace - 1, ")");
  }

  TokenRange code_;
  std::vector<std::string_view> scopes_;  ///< the innermost name at each brace
};

}  // namespace

TokenizedSource tokenize_source(std::string_view text) { return SourceTokenizer(text).run(); }

int depth_change(std::string_view text, bool angled) {
  if (text == "(" || text == "[" || text == "{" || (angled && text == "<")) return 1;
  return text == ")" || text == "]" || text == "}" || (angled && text == ">") ? -1 : 0;
}

bool TokenRange::is_one_of(std::size_t at, std::initializer_list<std::string_view> texts) const {
  return std::find(texts.begin(), texts.end(), text(at)) != texts.end();
}

std::size_t TokenRange::find(std::initializer_list<std::string_view> texts, std::size_t from) const {
  while (from < end_ && !is_one_of(from, texts)) ++from;
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
  const bool compares = is_one_of(at + 1, {"<", ">="}) && is_name(at + 2);
  return compares && is_one_of(at + 3, {")", ";", "&&", "||"}) ? text(at + 2) : "";
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

std::vector<Declaration> read_declarations(const SourceTokens& code) {
  return DeclarationReader(code).read();
}

}  // namespace tiletune
