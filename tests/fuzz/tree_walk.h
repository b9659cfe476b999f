#pragma once

#include <span>

#include "space/operators.h"
#include "space/parser.h"

namespace tiletune::fuzz {

struct Walked {
  space::Scalar value = space::unset_scalar();
  space::FaultKind fault = space::FaultKind::none;
};

/// What an expression yields by the meaning of its parse tree, without a program: slow and plain. Operators
/// on values are the evaluator's own. Strings are borrowed from the tree and the slots.
inline Walked walk(const space::SyntaxNode& node, std::span<const space::Scalar> slots);

inline Walked walk_logical(const space::SyntaxNode& node, std::span<const space::Scalar> slots) {
  const bool decisive = node.op == space::Op::logical_or;
  Walked one;
  for (const space::SyntaxNode& operand : node.operands) {
    one = walk(operand, slots);
    if (one.fault != space::FaultKind::none || space::is_true(one.value) == decisive) break;
  }
  return one;
}

inline Walked walk_chain(const space::SyntaxNode& node, std::span<const space::Scalar> slots) {
  Walked left = walk(node.operands[0], slots);
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    if (left.fault != space::FaultKind::none) return left;
    const Walked right = walk(node.operands[i + 1], slots);
    if (right.fault != space::FaultKind::none) return right;
    Walked result;
    result.fault = space::apply(node.comparisons[i], left.value, right.value, result.value);
    if (result.fault != space::FaultKind::none || !space::is_true(result.value)) return result;
    left = right;
  }
  return {space::boolean_scalar(true)};
}

inline Walked walk_membership(const space::SyntaxNode& node, std::span<const space::Scalar> slots) {
  const Walked wanted = walk(node.operands[0], slots);
  if (wanted.fault != space::FaultKind::none) return wanted;
  bool found = false;
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    const Walked element = walk(node.operands[i], slots);
    if (element.fault != space::FaultKind::none) return element;
    found = found || space::equals(wanted.value, element.value);
  }
  return {space::boolean_scalar(found == (node.op == space::Op::in_list))};
}

inline Walked walk_operator(const space::SyntaxNode& node, std::span<const space::Scalar> slots) {
  Walked result = walk(node.operands[0], slots);
  if (result.fault != space::FaultKind::none) return result;
  if (node.operands.size() == 1) {
    result.fault = space::apply(node.op, result.value, result.value);
    return result;
  }
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    const Walked right = walk(node.operands[i], slots);
    if (right.fault != space::FaultKind::none) return right;
    result.fault = space::apply(node.op, result.value, right.value, result.value);
    if (result.fault != space::FaultKind::none) return result;
  }
  return result;
}

inline Walked walk(const space::SyntaxNode& node, std::span<const space::Scalar> slots) {
  using space::Op;
  switch (node.op) {
    case Op::constant:
      return {space::to_scalar(node.constant)};
    case Op::load:
      return {slots[static_cast<std::size_t>(node.slot)]};
    case Op::logical_and:
    case Op::logical_or:
      return walk_logical(node, slots);
    case Op::conditional: {
      const Walked condition = walk(node.operands[0], slots);
      if (condition.fault != space::FaultKind::none) return condition;
      return walk(node.operands[space::is_true(condition.value) ? 1 : 2], slots);
    }
    case Op::comparison_chain:
      return walk_chain(node, slots);
    case Op::in_list:
    case Op::not_in_list:
      return walk_membership(node, slots);
    default:
      return walk_operator(node, slots);
  }
}

}  // namespace tiletune::fuzz
