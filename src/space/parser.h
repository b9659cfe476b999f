#pragma once

#include <vector>

#include "space/expression.h"
#include "space/lexer.h"
#include "space/operators.h"

namespace tiletune::space {

/// A parsed expression or part of one.
struct SyntaxNode {
  Op op = Op::constant;
  Value constant;                    ///< of Op::constant
  int slot = -1;                     ///< of Op::load
  std::vector<Op> comparisons;       ///< of Op::comparison_chain: one fewer than operands
  std::vector<SyntaxNode> operands;  ///< of Op::conditional: condition, value if true, value if false
  Span span;                         ///< with the parentheses around it
  std::size_t position = 0;          ///< of the operator
};

/// Parses an expression; the grammar is expression.h's. Throws UserError.
SyntaxNode parse(const ExprText& text, const SymbolTable& symbols);

}  // namespace tiletune::space
