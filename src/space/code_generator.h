#pragma once

#include "space/parser.h"
#include "space/program.h"

namespace tiletune::space {

/// Values a running program may hold at once.
inline constexpr int kMaxStack = 256;

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

}  // namespace tiletune::space
