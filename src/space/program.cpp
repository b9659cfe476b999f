#include "space/program.h"

#include <algorithm>
#include <array>

#include "space/code_generator.h"
#include "space/parser.h"

namespace tiletune::space {
namespace {

/// What nearly every constraint consists of, without a call; false where the general way has to decide.
inline bool apply_common(Op op, std::int64_t left, std::int64_t right, Scalar& result) {
  std::int64_t value = 0;
  switch (op) {
    case Op::add:
      if (__builtin_add_overflow(left, right, &value)) return false;
      break;
    case Op::subtract:
      if (__builtin_sub_overflow(left, right, &value)) return false;
      break;
    case Op::multiply:
      if (__builtin_mul_overflow(left, right, &value)) return false;
      break;
    case Op::floor_divide:
      if (left < 0 || right <= 0) return false;
      value = left / right;
      break;
    case Op::modulo:
      if (left < 0 || right <= 0) return false;
      value = left % right;
      break;
    case Op::equal:
      result = boolean_scalar(left == right);
      return true;
    case Op::not_equal:
      result = boolean_scalar(left != right);
      return true;
    case Op::less:
      result = boolean_scalar(left < right);
      return true;
    case Op::less_equal:
      result = boolean_scalar(left <= right);
      return true;
    case Op::greater:
      result = boolean_scalar(left > right);
      return true;
    case Op::greater_equal:
      result = boolean_scalar(left >= right);
      return true;
    default:
      return false;
  }
  result = integer_scalar(value);
  return true;
}

inline FaultKind apply_binary(Op op, const Scalar& left, const Scalar& right, Scalar& result) {
  if (left.is_integral() && right.is_integral() && apply_common(op, left.integer, right.integer, result))
    return FaultKind::none;
  return apply(op, left, right, result);
}

bool is_unary(Op op) { return op >= Op::negate && op <= Op::truth; }

/// Gives an unset slot the value that its definition yields.
FaultKind define(const Bindings& bindings, std::size_t slot, Fault& fault) {
  const Program* definition = slot < bindings.definitions.size() ? bindings.definitions[slot] : nullptr;
  if (definition == nullptr) return FaultKind::unbound_name;
  return definition->run(bindings, bindings.slots[slot], fault) ? FaultKind::none : fault.kind;
}

/// One comparison of a chain: when it holds, its right operand becomes the left one of the next.
FaultKind compare_next(Op comparison, Scalar*& top, bool& holds) {
  top -= 2;
  Scalar result = unset_scalar();
  const FaultKind kind = apply_binary(comparison, top[0], top[1], result);
  holds = kind == FaultKind::none && is_true(result);
  if (holds) {
    top[0] = top[1];
    ++top;
  }
  return kind;
}

}  // namespace

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

std::optional<int> Program::single_name() const {
  if (instructions_.size() != 1 || instructions_.front().op != Op::load) return std::nullopt;
  return instructions_.front().argument;
}

bool Program::run(const Bindings& bindings, Scalar& result, Fault& fault) const {
  std::array<Scalar, kMaxStack> stack;
  Scalar* top = stack.data();  // one past the last value
  FaultKind kind = FaultKind::none;
  fault.program = nullptr;
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    const Instruction instruction = instructions_[at];
    const auto argument = static_cast<std::size_t>(instruction.argument);
    bool jumps = false;
    switch (instruction.op) {
      case Op::constant:
        *top++ = constants_[argument];
        break;
      case Op::load:
        if (bindings.slots[argument].kind == Scalar::Kind::unset) kind = define(bindings, argument, fault);
        *top++ = bindings.slots[argument];
        break;
      case Op::jump:
        jumps = true;
        break;
      case Op::jump_if_false:
        jumps = !is_true(*--top);
        break;
      case Op::keep_if_false:
      case Op::keep_if_true:
        jumps = is_true(top[-1]) == (instruction.op == Op::keep_if_true);
        if (!jumps) --top;
        break;
      case Op::compare_or_jump:
        kind = compare_next(instruction.comparison, top, jumps);
        jumps = !jumps;
        break;
      case Op::equals_any:
        --top;
        if (equals(top[-2], *top)) top[-1] = boolean_scalar(true);
        break;
      case Op::drop_below:
        --top;
        top[-1] = *top;
        break;
      default:
        if (is_unary(instruction.op)) {
          kind = apply(instruction.op, top[-1], top[-1]);
        } else {
          --top;
          kind = apply_binary(instruction.op, top[-1], *top, top[-1]);
        }
    }
    if (kind != FaultKind::none) {
      if (fault.program == nullptr) fault = {kind, this, at};  // else a definition failed
      return false;
    }
    if (jumps) at += argument - 1;
  }
  result = top[-1];
  return true;
}

}  // namespace tiletune::space
