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
  void generate(const Node& node);

 private:
  void constant(const Node& node);
  void logical(const Node& node);
  void conditional(const Node& node);
  void chain(const Node& node);
  void membership(const Node& node);
  void fold(const Node& node);

  void emit(const Node& node, Op op, int argument, int stack_effect);
  void push(const Node& node, const Value& value);
  /// Emits a jump and returns where it is, for land().
  std::size_t jump(const Node& node, Op op, int stack_effect);
  /// Lets the jump at `from` lead to the next instruction.
  void land(std::size_t from);

  Program& program_;
  int depth_ = 0;  ///< values on the stack
};

}  // namespace tiletune::space
