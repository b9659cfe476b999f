#include "space/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/identifier.h"
#include "base/text.h"

namespace tiletune::space {
namespace {

constexpr int kMaxNesting = 64;
/// Recursive descent, one function per level of precedence.
class Parser {
 public:
  Parser(const ExprText& text, const SymbolTable& symbols)
      : text_(text), symbols_(symbols), tokens_(tokenize(text)) {}

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
    const Function* function = find_function(token.text);
    if (function != nullptr && (tokens_[next_ + 1].text == "(" || !symbols_.find(token.text)))
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
    if ((function.op == Op::min || function.op == Op::max) && accept("[")) return of_list(std::move(whole));
    list(whole, ")");
    const std::size_t count = whole.operands.size();
    if (count < function.fewest || count > function.most)
      syntax_error(text_, whole.position, fmt::format("{} with {} arguments", function.name, count),
                   fmt::format("give it {}{}", function.most == kAny ? "at least " : "", function.fewest));
    return whole;
  }

  /// The rest of max([a, b]), whose list may have one element.
  SyntaxNode of_list(SyntaxNode whole) {
    list(whole, "]");
    expect(")");
    whole.span.end = tokens_[next_ - 1].span.end;
    if (whole.operands.size() > 1) return whole;
    SyntaxNode only = std::move(whole.operands.front());
    return only;
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

SyntaxNode parse(const ExprText& text, const SymbolTable& symbols) { return Parser(text, symbols).run(); }

}  // namespace tiletune::space
