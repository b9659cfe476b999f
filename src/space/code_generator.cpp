#include <algorithm>

#include "space/parser.h"
#include "space/program.h"

namespace tiletune::space {

/// Writes a parsed expression as postfix code.
class CodeGenerator {
 public:
  explicit CodeGenerator(Program& program) : program_(program) {}
  /// Throws UserError when the program would need more than kMaxStack values at once.
  void generate(const SyntaxNode& node);

 private:
  void constant(const SyntaxNode& node);
  void logical(const SyntaxNode& node);
  void conditional(const SyntaxNode& node);
  void chain(const SyntaxNode& node);
  void membership(const SyntaxNode& node);
  void fold(const SyntaxNode& node);

  void emit(const SyntaxNode& node, Op op, int argument, int stack_effect);
  void push(const SyntaxNode& node, const Value& value);
  /// Emits a jump and returns where it is, for land().
  std::size_t jump(const SyntaxNode& node, Op op, int stack_effect);
  /// Lets the jump at `from` lead to the next instruction.
  void land(std::size_t from);

  Program& program_;
  int depth_ = 0;  ///< values on the stack
};

void CodeGenerator::generate(const SyntaxNode& node) {
  switch (node.op) {
    case Op::constant:
      return push(node, node.constant);
    case Op::load:
      program_.slots_.push_back(node.slot);
      return emit(node, Op::load, node.slot, 1);
    case Op::logical_and:
    case Op::logical_or:
      return logical(node);
    case Op::conditional:
      return conditional(node);
    case Op::comparison_chain:
      return chain(node);
    case Op::in_list:
    case Op::not_in_list:
      return membership(node);
    default:
      return fold(node);
  }
}

/// Operators and functions; more than two arguments are taken pairwise from the left.
void CodeGenerator::fold(const SyntaxNode& node) {
  generate(node.operands.front());
  if (node.operands.size() == 1) return emit(node, node.op, 0, 0);
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    generate(node.operands[i]);
    emit(node, node.op, 0, -1);
  }
}

/// The first operand that decides is the result; the others are not evaluated.
void CodeGenerator::logical(const SyntaxNode& node) {
  const Op keep = node.op == Op::logical_or ? Op::keep_if_true : Op::keep_if_false;
  std::vector<std::size_t> decided;
  for (const SyntaxNode& operand : node.operands) {
    generate(operand);
    if (&operand != &node.operands.back()) decided.push_back(jump(node, keep, -1));
  }
  for (const std::size_t from : decided) land(from);
}

void CodeGenerator::conditional(const SyntaxNode& node) {
  generate(node.operands[0]);
  const std::size_t otherwise = jump(node, Op::jump_if_false, -1);
  generate(node.operands[1]);
  const std::size_t end = jump(node, Op::jump, -1);
  land(otherwise);
  generate(node.operands[2]);
  land(end);
}

/// a < b < c evaluates b once, and c only when a < b.
void CodeGenerator::chain(const SyntaxNode& node) {
  generate(node.operands.front());
  std::vector<std::size_t> failed;
  const std::size_t last = node.comparisons.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    generate(node.operands[i + 1]);
    failed.push_back(jump(node, Op::compare_or_jump, -1));
    program_.instructions_.back().comparison = node.comparisons[i];
  }
  generate(node.operands.back());
  emit(node, node.comparisons[last], 0, -1);
  if (failed.empty()) return;
  const std::size_t end = jump(node, Op::jump, -1);
  for (const std::size_t from : failed) land(from);
  push(node, false);
  land(end);
}

void CodeGenerator::membership(const SyntaxNode& node) {
  generate(node.operands.front());
  push(node, false);
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    generate(node.operands[i]);
    emit(node, Op::equals_any, 0, -1);
  }
  emit(node, Op::drop_below, 0, -1);
  if (node.op == Op::not_in_list) emit(node, Op::logical_not, 0, 0);
}

void CodeGenerator::push(const SyntaxNode& node, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    program_.strings_.push_back(std::make_unique<const std::string>(*text));
    Scalar scalar = unset_scalar();
    scalar.kind = Scalar::Kind::string;
    scalar.string = program_.strings_.back().get();
    program_.constants_.push_back(scalar);
  } else {
    program_.constants_.push_back(to_scalar(value));
  }
  emit(node, Op::constant, static_cast<int>(program_.constants_.size()) - 1, 1);
}

void CodeGenerator::emit(const SyntaxNode& node, Op op, int argument, int stack_effect) {
  depth_ += stack_effect;
  if (depth_ > kMaxStack)
    syntax_error(program_.text(), node.position, "more operands at once than can be evaluated",
                 "split it with derived values");
  const Span right = node.operands.empty() ? node.span : node.operands.back().span;
  program_.instructions_.push_back({op, op, argument});
  program_.origins_.push_back({node.span, right, node.position});
}

std::size_t CodeGenerator::jump(const SyntaxNode& node, Op op, int stack_effect) {
  emit(node, op, 0, stack_effect);
  return program_.instructions_.size() - 1;
}

void CodeGenerator::land(std::size_t from) {
  program_.instructions_[from].argument = static_cast<int>(program_.instructions_.size() - from);
}

Program::Program(const ExprText& text, const SymbolTable& symbols)
    : Program(std::make_shared<const ExprText>(text), parse(text, symbols)) {}

Program::Program(std::shared_ptr<const ExprText> text, const SyntaxNode& node) : text_(std::move(text)) {
  CodeGenerator(*this).generate(node);
  std::sort(slots_.begin(), slots_.end());
  slots_.erase(std::unique(slots_.begin(), slots_.end()), slots_.end());
}

std::vector<Program> Program::conjuncts(const ExprText& text, const SymbolTable& symbols) {
  const auto shared = std::make_shared<const ExprText>(text);
  const SyntaxNode root = parse(text, symbols);
  std::vector<Program> programs;
  const auto add = [&](const SyntaxNode& node, const auto& self) -> void {
    if (node.op != Op::logical_and && node.op != Op::truth) return programs.push_back(Program(shared, node));
    for (const SyntaxNode& operand : node.operands) self(operand, self);
  };
  add(root, add);
  return programs;
}

}  // namespace tiletune::space
