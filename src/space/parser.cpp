#include "space/parser.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace tiletune::space {
namespace {

/// Longest expression; it bounds the depth of what is built from one.
constexpr std::size_t kMaxExpressionBytes = 8192;

/// Words that are not names: operators and constants in both spellings.
constexpr std::array<std::string_view, 10> kKeywords{"and",  "or",   "not",  "in",    "if",
                                                     "else", "true", "True", "false", "False"};

struct Token {
  enum class Kind { end, literal, name, symbol };

  Kind kind = Kind::end;
  Span span;
  std::string_view text;  ///< as written
  Value literal;          ///< of a literal
};

/// Longer ones first: the first that matches is taken.
constexpr std::array<std::string_view, 33> kSymbols{
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">",
    "!",  "~",  "&",  "|",  "^",  "(",  ")",  ",",  "?",  ":",  "[", "]", "=", ".", ";", "$"};

class Lexer {
 public:
  explicit Lexer(const ExprText& text) : text_(text), rest_(text.text) {}

  /// Splits the expression; the last token is the end, and the tokens refer to the text. Throws UserError
  /// for what is not a token.
  std::vector<Token> run() {
    if (rest_.size() > kMaxExpressionBytes)
      throw UserError(fmt::format("an expression of {} bytes", rest_.size()), text_.where,
                      fmt::format("split it: an expression has at most {} bytes", kMaxExpressionBytes));
    std::vector<Token> tokens;
    do {
      skip_space();
      tokens.push_back(next());
    } while (tokens.back().kind != Token::Kind::end);
    return tokens;
  }

 private:
  Token next() {
    if (rest_.empty()) return {Token::Kind::end, {offset(), offset()}, {}, {}};
    const char first = rest_.front();
    if (is_identifier_start(first)) {
      const auto* end = std::find_if_not(rest_.begin(), rest_.end(), is_identifier_part);
      return take(Token::Kind::name, static_cast<std::size_t>(end - rest_.begin()));
    }
    if (is_digit(first) || (first == '.' && rest_.size() > 1 && is_digit(rest_[1]))) return number();
    if (first == '"' || first == '\'') return string(first);
    for (const std::string_view symbol : kSymbols)
      if (rest_.substr(0, symbol.size()) == symbol) return take(Token::Kind::symbol, symbol.size());
    fail("unexpected character", "use names, numbers, strings in quotes and Python's operators");
  }

  Token number() {
    const int base = base_of_number();
    const std::size_t length = base != 10 ? number_length(2, "") : number_length(0, "eE");
    const std::string_view written = rest_.substr(0, length);
    const bool integral = base != 10 || written.find_first_of(".eE") == std::string_view::npos;
    if (base == 10 && integral && written.size() > 1 && written.front() == '0')
      fail(fmt::format("number '{}' with a leading zero", written),
           "write it without leading zeros, or as 0x...");
    Value value = base != 10 ? parsed<std::int64_t>(written.substr(2), base)
                  : integral ? parsed<std::int64_t>(written, 10)
                             : parsed<double>(written, std::chars_format::general);
    Token token = take(Token::Kind::literal, length);
    token.literal = std::move(value);
    return token;
  }

  /// By its prefix: 0x, 0o or 0b, as in Python.
  int base_of_number() const {
    if (rest_.size() < 2 || rest_[0] != '0') return 10;
    const auto is = [letter = rest_[1]](char lower, char upper) {
      return letter == lower || letter == upper;
    };
    return is('x', 'X') ? 16 : is('o', 'O') ? 8 : is('b', 'B') ? 2 : 10;
  }

  /// Everything that can belong to a number, so that "12ab" is one malformed number.
  std::size_t number_length(std::size_t from, std::string_view exponents) const {
    std::size_t end = from;
    while (end < rest_.size()) {
      const char c = rest_[end];
      const bool sign =
          (c == '+' || c == '-') && end > 0 && exponents.find(rest_[end - 1]) != std::string_view::npos;
      if (!is_identifier_part(c) && c != '.' && !sign) break;
      ++end;
    }
    return end;
  }

  template <class Number, class Format>
  Value parsed(std::string_view digits, Format format) const {
    Number number{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, format);
    if (error == std::errc::result_out_of_range)
      fail(fmt::format("number '{}' does not fit 64 bits", digits), "integers go up to 2**63 - 1");
    if (error != std::errc{} || end != digits.data() + digits.size())
      fail(fmt::format("malformed number '{}'", digits),
           "write numbers as 128, 0x80, 0.5 or 1e-3, without a suffix");
    return number;
  }

  Token string(char quote) {
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("string without an end", fmt::format("close it with {}", quote));
    const std::string_view content = rest_.substr(1, end - 1);
    if (content.find('\\') != std::string_view::npos)
      fail("backslash in a string", "strings are taken as they are and have no escapes");
    Token token = take(Token::Kind::literal, end + 1);
    token.literal = std::string(content);
    return token;
  }

  Token take(Token::Kind kind, std::size_t length) {
    Token token{kind, {offset(), offset() + length}, rest_.substr(0, length), {}};
    rest_.remove_prefix(length);
    return token;
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  std::size_t offset() const { return text_.text.size() - rest_.size(); }

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    syntax_error(text_, offset(), what, remedy);
  }

  const ExprText& text_;
  std::string_view rest_;
};

constexpr int kMaxNesting = 64;

/// Recursive descent, one function per level of precedence.
class Parser {
 public:
  Parser(const ExprText& text, const SymbolTable& symbols)
      : text_(text), symbols_(symbols), tokens_(Lexer(text).run()) {}

  SyntaxNode run() {
    if (at_end()) fail("nothing", "write an expression");
    SyntaxNode node = expression();
    if (at("=")) fail("unexpected '='", "use == to compare");
    if (!at_end()) unexpected("an operator or the end");
    return node;
  }

 private:
  /// Counts one level of nesting for as long as it lives.
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting)
        parser_.fail(fmt::format("nested deeper than {} levels", kMaxNesting),
                     "split it with derived values");
    }
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  SyntaxNode expression() {
    const Nested nested(*this);
    SyntaxNode first = disjunction();
    const std::size_t position = here();
    if (accept("if")) {
      SyntaxNode condition = disjunction();
      expect("else");
      return node(Op::conditional, position, std::move(condition), std::move(first), expression());
    }
    if (!accept("?")) return first;
    SyntaxNode when_true = expression();
    expect(":");
    return node(Op::conditional, position, std::move(first), std::move(when_true), expression());
  }

  SyntaxNode disjunction() { return logical(Op::logical_or, "or", "||", &Parser::conjunction); }
  SyntaxNode conjunction() { return logical(Op::logical_and, "and", "&&", &Parser::inversion); }

  SyntaxNode logical(Op op, std::string_view python, std::string_view c, SyntaxNode (Parser::*operand)()) {
    SyntaxNode first = (this->*operand)();
    if (!at(python) && !at(c)) return first;
    const std::size_t position = here();
    SyntaxNode whole = node(op, position, std::move(first));
    bool of_c = false;
    while (at(python) || at(c)) {
      of_c = of_c || at(c);
      advance();
      append(whole, (this->*operand)());
    }
    return of_c ? node(Op::truth, position, std::move(whole)) : whole;
  }

  SyntaxNode inversion() {
    const std::size_t position = here();
    if (!accept("not")) return comparison();
    const Nested nested(*this);
    return prefix(Op::logical_not, position, inversion());
  }

  SyntaxNode comparison() {
    SyntaxNode first = infix(0);
    if (at("in") || at("not")) return membership(std::move(first));
    if (at("is")) fail("'is' compares objects, not values", "compare values with == or !=");
    const Spelling* spelling = accept_any(kComparisons);
    if (spelling == nullptr) return first;
    SyntaxNode chain = node(Op::comparison_chain, previous(), std::move(first));
    for (; spelling != nullptr; spelling = accept_any(kComparisons)) {
      chain.comparisons.push_back(spelling->op);
      append(chain, infix(0));
    }
    if (at("in") || at("not")) fail("'in' after another comparison", "put one of the two into parentheses");
    return chain;
  }

  SyntaxNode membership(SyntaxNode element) {
    const std::size_t position = here();
    const bool negated = accept("not");
    expect("in");
    SyntaxNode whole = node(negated ? Op::not_in_list : Op::in_list, position, std::move(element));
    const bool brackets = at("[");
    if (!brackets && !at("(")) unexpected("a list such as (1, 2, 4)");
    advance();
    list(whole, brackets ? "]" : ")");
    if (accept_any(kComparisons) != nullptr || at("in"))
      fail("a comparison after 'in'", "put one of the two into parentheses");
    return whole;
  }

  SyntaxNode infix(int level) {
    if (level > kTightest) return unary();
    SyntaxNode left = infix(level + 1);
    while (const Infix* found = accept_infix(level)) {
      const std::size_t position = previous();
      left = node(found->op, position, std::move(left), infix(level + 1));
    }
    return left;
  }

  SyntaxNode unary() {
    const std::size_t position = here();
    const Spelling* spelling = accept_any(kPrefix);
    if (spelling == nullptr) return power();
    const Nested nested(*this);
    return prefix(spelling->op, position, unary());
  }

  SyntaxNode power() {
    SyntaxNode base = primary();
    const std::size_t position = here();
    if (!accept("**")) return base;
    const Nested nested(*this);
    return node(Op::power, position, std::move(base), unary());
  }

  SyntaxNode primary() {
    const Token& token = tokens_[next_];
    if (accept("(")) {
      SyntaxNode inner = expression();
      expect(")");
      inner.span = {token.span.begin, tokens_[next_ - 1].span.end};
      return inner;
    }
    if (token.kind == Token::Kind::literal) return constant(token.literal);
    if (token.kind != Token::Kind::name) unexpected("a value");
    if (token.text == "true" || token.text == "True") return constant(true);
    if (token.text == "false" || token.text == "False") return constant(false);
    const auto* const function = std::ranges::find(kFunctions, token.text, &Function::name);
    if (function != kFunctions.end() && (tokens_[next_ + 1].text == "(" || !symbols_.find(token.text)))
      return call(*function);
    return name(token);
  }

  SyntaxNode constant(Value value) {
    SyntaxNode leaf{Op::constant, std::move(value), -1, {}, {}, tokens_[next_].span, here()};
    advance();
    return leaf;
  }

  /// What is called, but is not a function of the language: "len", "math.ceil".
  [[noreturn]] void no_function() const {
    std::size_t end = next_ + 1;
    while (tokens_[end].text == "." && tokens_[end + 1].kind == Token::Kind::name) end += 2;
    const std::size_t begin = here();
    std::vector<std::string> known;
    for (const Function& function : kFunctions) known.emplace_back(function.name);
    fail(fmt::format("no function '{}'", text_.text.substr(begin, tokens_[end - 1].span.end - begin)),
         fmt::format("the functions are {}", join(known, ", ")));
  }

  /// The name here where it is one of C++: qualified, or a type of the language or CUDA; else empty.
  std::string cpp_type() const {
    static const std::set<std::string_view> kTypes{"char",     "short",  "int",          "long",
                                                   "unsigned", "signed", "float",        "double",
                                                   "bool",     "__half", "__nv_bfloat16"};
    const std::string_view rest = std::string_view(text_.text).substr(here());
    const auto* end =
        std::find_if_not(rest.begin(), rest.end(), [](char c) { return is_identifier_part(c) || c == ':'; });
    const std::string_view name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    const bool is_type = name.find("::") != std::string_view::npos || kTypes.contains(name);
    return is_type ? std::string(name) : "";
  }

  SyntaxNode name(const Token& token) {
    const std::string written(token.text);
    if (const std::string_view next = tokens_[next_ + 1].text;
        (next == "(" || next == ".") && !is_reserved(written))
      no_function();
    const auto slot = symbols_.find(written);
    if (!slot && is_reserved(written)) unexpected("a value");
    if (const auto remedy = symbols_.withheld(written); !slot && remedy)
      fail(fmt::format("'{}' cannot be used", written), *remedy);
    if (!slot) {
      const std::string type = cpp_type();
      fail(fmt::format("unknown name '{}'", written),
           type.empty() ? std::string(trim(suggestion(written, symbols_.names())))
                        : fmt::format("write a C++ type in quotes: \"'{}'\"", type));
    }
    SyntaxNode leaf{Op::load, {}, *slot, {}, {}, token.span, here()};
    advance();
    return leaf;
  }

  SyntaxNode call(const Function& function) {
    SyntaxNode whole{function.op, {}, -1, {}, {}, tokens_[next_].span, here()};
    advance();
    expect("(");
    if ((function.op == Op::min || function.op == Op::max) && accept("[")) {
      list(whole, "]");
      expect(")");
      whole.span.end = tokens_[next_ - 1].span.end;
      if (whole.operands.size() > 1) return whole;
      SyntaxNode only = std::move(whole.operands.front());  // such a list may have one element
      return only;
    }
    list(whole, ")");
    const std::size_t count = whole.operands.size();
    if (count < function.fewest || count > function.most)
      syntax_error(text_, whole.position, fmt::format("{} with {} arguments", function.name, count),
                   fmt::format("give it {}{}", function.most == kAny ? "at least " : "", function.fewest));
    return whole;
  }

  /// Appends "a, b, c)" to the operands; a comma before the end is allowed, as in Python.
  void list(SyntaxNode& whole, std::string_view end) {
    append(whole, expression());
    while (accept(",") && !at(end)) append(whole, expression());
    expect(end);
    whole.span.end = tokens_[next_ - 1].span.end;
  }

  template <class... Nodes>
  static SyntaxNode node(Op op, std::size_t position, Nodes... operands) {
    SyntaxNode whole;
    whole.op = op;
    whole.position = position;
    whole.operands.reserve(sizeof...(operands));
    (whole.operands.push_back(std::move(operands)), ...);
    whole.span = whole.operands.front().span;
    for (const SyntaxNode& operand : whole.operands)
      whole.span = {std::min(whole.span.begin, operand.span.begin),
                    std::max(whole.span.end, operand.span.end)};
    return whole;
  }

  static SyntaxNode prefix(Op op, std::size_t position, SyntaxNode operand) {
    SyntaxNode whole = node(op, position, std::move(operand));
    whole.span.begin = position;
    return whole;
  }

  static void append(SyntaxNode& whole, SyntaxNode operand) {
    whole.span.end = operand.span.end;
    whole.operands.push_back(std::move(operand));
  }

  template <std::size_t kCount>
  const Spelling* accept_any(const std::array<Spelling, kCount>& spellings) {
    for (const Spelling& spelling : spellings)
      if (accept(spelling.text)) return &spelling;
    return nullptr;
  }

  const Infix* accept_infix(int level) {
    for (const Infix& candidate : kInfix)
      if (candidate.level == level && accept(candidate.text)) return &candidate;
    return nullptr;
  }

  bool at(std::string_view text) const {
    return tokens_[next_].kind != Token::Kind::literal && tokens_[next_].text == text;
  }
  bool at_end() const { return tokens_[next_].kind == Token::Kind::end; }
  void advance() { ++next_; }
  bool accept(std::string_view text) {
    if (!at(text)) return false;
    advance();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) unexpected(fmt::format("'{}'", text));
  }
  std::size_t here() const { return tokens_[next_].span.begin; }
  std::size_t previous() const { return tokens_[next_ - 1].span.begin; }

  [[noreturn]] void unexpected(const std::string& wanted) const {
    const std::string found = at_end() ? "end" : fmt::format("'{}'", tokens_[next_].text);
    fail("unexpected " + found, fmt::format("expected {} here", wanted));
  }
  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    syntax_error(text_, here(), what, remedy);
  }

  const ExprText& text_;
  const SymbolTable& symbols_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int nesting_ = 0;
};

}  // namespace

bool is_reserved(std::string_view name) { return std::ranges::find(kKeywords, name) != kKeywords.end(); }

int SymbolTable::declare(const std::string& name, const Where& where) {
  if (!is_identifier(name))
    throw UserError(fmt::format("'{}' is not a name", name), where,
                    "use letters, digits and underscores, and no digit first");
  if (is_reserved(name))
    throw UserError(fmt::format("'{}' is a reserved word of expressions", name), where,
                    "choose another name");
  if (find(name))
    throw UserError(
        fmt::format("'{}' is declared twice", name), where,
        "parameters, derived values, dimensions and scalars share one scope: rename one of the two");
  names_.push_back(name);
  return size() - 1;
}

std::optional<int> SymbolTable::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<int>(found - names_.begin());
}

std::optional<std::string> SymbolTable::withheld(std::string_view name) const {
  const auto found = std::ranges::find(withheld_, name, &std::pair<std::string, std::string>::first);
  return found == withheld_.end() ? std::nullopt : std::optional(found->second);
}

std::string quoted_at(const ExprText& text, std::size_t offset) {
  const auto is_character_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto before = std::string_view(text.text).substr(0, offset);
  const auto column = std::count_if(before.begin(), before.end(), is_character_start) + 1;
  return fmt::format("'{}' at column {}", text.text, column);
}

void syntax_error(const ExprText& text, std::size_t offset, const std::string& what,
                  const std::string& remedy) {
  throw UserError(fmt::format("{} in {}", what, quoted_at(text, offset)), text.where, remedy);
}

SyntaxNode parse(const ExprText& text, const SymbolTable& symbols) { return Parser(text, symbols).run(); }

}  // namespace tiletune::space
