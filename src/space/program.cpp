#include "space/program.h"

#include <fmt/format.h>

#include "base/text.h"

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

struct Explanation {
  FaultKind kind;
  const char* what;
  const char* remedy;
};
constexpr const char* kExclude = "exclude these values by a constraint listed before this expression";
constexpr std::array<Explanation, 11> kExplanations{
    {{FaultKind::unbound_name, "a name without a value", "give every name a value before evaluating"},
     {FaultKind::division_by_zero, "division by zero", kExclude},
     {FaultKind::integer_overflow, "integer overflow beyond 64 bits",
      "use smaller values, or a float such as 1.0 * x where precision may be lost"},
     {FaultKind::number_overflow, "floating-point overflow", "use smaller values"},
     {FaultKind::needs_number, "a string where a number is needed", "compare strings with ==, != or in"},
     {FaultKind::needs_integer, "a value that is not an integer where one is needed", kUseFloorDivision},
     {FaultKind::not_comparable, "a string compared with a number", "compare values of one kind"},
     {FaultKind::negative_shift, "shift by a negative count", kExclude},
     {FaultKind::no_power_of_two, "log2 of a number that is not a power of two",
      "require is_pow2(...) by a constraint listed before"},
     {FaultKind::fractional_power, "negative number raised to a fractional power",
      "raise abs(...), or use an integer exponent"},
     {FaultKind::no_element_type, "size() of a value that is not an element type",
      "write a type variable of the operation, or a type such as 'f16'"}}};

/// "write 64 without quotes" where a string holds a number, else what is given.
std::string unquoted_or(const Scalar& scalar, const std::string& remedy) {
  const bool holds_number = scalar.is_string() && parsed_number<double>(*scalar.string);
  return holds_number ? fmt::format("write {} without quotes", *scalar.string) : remedy;
}

std::string shown(const Scalar& scalar) {
  return scalar.is_string() ? fmt::format("'{}'", *scalar.string) : to_text(to_value(scalar));
}

}  // namespace

/// Writes a parsed expression as postfix code.
class CodeGenerator {
 public:
  explicit CodeGenerator(Program& program) : program_(program) {}

  /// Throws UserError when the program would need more than kMaxStack values at once.
  void generate(const SyntaxNode& node) {
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

 private:
  void fold(const SyntaxNode& node) {
    generate(node.operands.front());
    if (node.operands.size() == 1) return emit(node, node.op, 0, 0);
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      generate(node.operands[i]);
      emit(node, node.op, 0, -1);
    }
  }

  void logical(const SyntaxNode& node) {
    const Op keep = node.op == Op::logical_or ? Op::keep_if_true : Op::keep_if_false;
    std::vector<std::size_t> decided;
    for (const SyntaxNode& operand : node.operands) {
      generate(operand);
      if (&operand != &node.operands.back()) decided.push_back(jump(node, keep, -1));
    }
    for (const std::size_t from : decided) land(from);
  }

  void conditional(const SyntaxNode& node) {
    generate(node.operands[0]);
    const std::size_t otherwise = jump(node, Op::jump_if_false, -1);
    generate(node.operands[1]);
    const std::size_t end = jump(node, Op::jump, -1);
    land(otherwise);
    generate(node.operands[2]);
    land(end);
  }

  void chain(const SyntaxNode& node) {
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

  void membership(const SyntaxNode& node) {
    generate(node.operands.front());
    push(node, false);
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      generate(node.operands[i]);
      emit(node, Op::equals_any, 0, -1);
    }
    emit(node, Op::drop_below, 0, -1);
    if (node.op == Op::not_in_list) emit(node, Op::logical_not, 0, 0);
  }

  void push(const SyntaxNode& node, const Value& value) {
    program_.literals_.push_back(std::make_unique<const Value>(value));
    program_.constants_.push_back(to_scalar(*program_.literals_.back()));
    emit(node, Op::constant, static_cast<int>(program_.constants_.size()) - 1, 1);
  }

  void emit(const SyntaxNode& node, Op op, int argument, int stack_effect) {
    depth_ += stack_effect;
    if (depth_ > kMaxStack)
      syntax_error(program_.text(), node.position, "more operands at once than can be evaluated",
                   "split it with derived values");
    const Span right = node.operands.empty() ? node.span : node.operands.back().span;
    program_.instructions_.push_back({op, op, argument});
    program_.origins_.push_back({node.span, right, node.position});
  }

  /// Emits a jump and returns where it is, for land().
  std::size_t jump(const SyntaxNode& node, Op op, int stack_effect) {
    emit(node, op, 0, stack_effect);
    return program_.instructions_.size() - 1;
  }

  /// Lets the jump at `from` lead to the next instruction.
  void land(std::size_t from) {
    program_.instructions_[from].argument = static_cast<int>(program_.instructions_.size() - from);
  }

  Program& program_;
  int depth_ = 0;  ///< values on the stack
};

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

Range Program::range(std::span<const Range> slots) const {
  /// The result of a branch, or what decides without it, that waits for the result of another.
  struct Open {
    std::size_t end;   ///< the instruction before which both are known
    bool is_for_true;  ///< which one is awaited
    Range condition;
    Range other;
  };
  std::array<Range, kMaxStack> stack;
  Range* top = stack.data();
  std::vector<Open> open, first_branches;
  const Range zero = range_of(integer_scalar(0));
  for (std::size_t at = 0;; ++at) {
    for (; !open.empty() && open.back().end == at; open.pop_back()) {
      const auto& [end, is_for_true, condition, other] = open.back();
      top[-1] = is_for_true ? selected(condition, top[-1], other) : selected(condition, other, top[-1]);
    }
    if (at == instructions_.size()) return top[-1];
    const Instruction instruction = instructions_[at];
    const auto argument = static_cast<std::size_t>(instruction.argument);
    switch (instruction.op) {
      case Op::constant:
        *top++ = range_of(constants_[argument]);
        break;
      case Op::load:
        *top++ = slots[argument];
        break;
      case Op::jump_if_false:
        --top;
        first_branches.push_back({at + argument - 1, false, *top, zero});
        break;
      case Op::jump:  // behind the first branch of a conditional, or a chain of comparisons
        if (first_branches.empty() || first_branches.back().end != at) {
          at += argument - 1;
          break;
        }
        --top;
        open.push_back({at + argument, false, first_branches.back().condition, *top});
        first_branches.pop_back();
        break;
      case Op::keep_if_false:
      case Op::keep_if_true:
        --top;
        if (instruction.op == Op::keep_if_true)
          open.push_back({at + argument, false, *top, *top});
        else
          open.push_back({at + argument, true, *top, top->kind == Range::Kind::numbers ? zero : *top});
        break;
      case Op::compare_or_jump:
        --top;
        open.push_back({at + argument + 1, true, apply(instruction.comparison, top[-1], *top), zero});
        top[-1] = *top;
        break;
      case Op::equals_any:
        --top;
        top[-1] = selected(top[-1], top[-1], apply(Op::equal, top[-2], *top));
        break;
      case Op::drop_below:
        --top;
        top[-1] = *top;
        break;
      default:
        if (is_unary(instruction.op)) {
          top[-1] = apply(instruction.op, top[-1]);
        } else {
          --top;
          top[-1] = apply(instruction.op, top[-1], *top);
        }
    }
  }
}

std::string Program::values_in(const Span& span, const Bindings& bindings) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const Span& own = origins_[i].whole;
    if (instructions_[i].op != Op::load || own.begin < span.begin || own.end > span.end) continue;
    const Scalar& value = bindings.slots[static_cast<std::size_t>(instructions_[i].argument)];
    if (value.kind == Scalar::Kind::unset) continue;
    const auto rest = std::string_view(text_->text).substr(origins_[i].position);
    const auto* end = std::find_if_not(rest.begin(), rest.end(), is_identifier_part);
    const auto name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    std::string part = fmt::format("{} = {}", name, shown(value));
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  }
  return parts.empty() ? "" : fmt::format(" ({})", join(parts, ", "));
}

UserError Program::error(const Fault& fault, const Bindings& bindings) const {
  if (fault.program != this) return fault.program->error(fault, bindings);
  const Origin& origin = origins_[fault.instruction];
  const bool right = instructions_[fault.instruction].op != Op::power &&
                     (fault.kind == FaultKind::division_by_zero || fault.kind == FaultKind::negative_shift);
  const std::size_t position = right ? origin.right.begin : origin.position;
  const std::string values = values_in(right ? origin.right : origin.whole, bindings);
  const Explanation& explanation = *std::ranges::find(kExplanations, fault.kind, &Explanation::kind);
  std::string remedy = explanation.remedy;
  if (fault.kind == FaultKind::needs_number || fault.kind == FaultKind::needs_integer ||
      fault.kind == FaultKind::not_comparable)
    for (const int slot : slots_)
      remedy = unquoted_or(bindings.slots[static_cast<std::size_t>(slot)], remedy);
  return {fmt::format("{} in {}{}", explanation.what, quoted_at(text(), position), values), text().where,
          remedy};
}

void Program::raise_result(const Scalar& result, const std::string& wanted, const std::string& remedy,
                           const Bindings& bindings) const {
  const std::string values = single_name() ? "" : values_in({0, text().text.size()}, bindings);
  throw UserError(fmt::format("'{}' is {}, not {}{}", text().text, shown(result), wanted, values),
                  text().where, unquoted_or(result, remedy));
}

Scalar evaluate(const Program& program, const Bindings& bindings) {
  Scalar result = unset_scalar();
  Fault fault;
  if (!program.run(bindings, result, fault)) throw program.error(fault, bindings);
  return result;
}

std::int64_t evaluate_integer(const Program& program, const Bindings& bindings) {
  const Scalar result = evaluate(program, bindings);
  if (result.is_integral()) return result.integer;
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const bool fits = result.kind == Scalar::Kind::number && result.number == std::floor(result.number) &&
                    result.number >= -kLimit && result.number < kLimit;
  if (!fits)
    program.raise_result(result, "an integer", result.is_string() ? "" : kUseFloorDivision, bindings);
  return static_cast<std::int64_t>(result.number);
}

std::int64_t evaluate_within(const Program& program, const Bindings& bindings, std::int64_t least,
                             std::int64_t most, const std::string& wanted, const std::string& remedy) {
  const std::int64_t value = evaluate_integer(program, bindings);
  if (value < least || value > most) program.raise_result(integer_scalar(value), wanted, remedy, bindings);
  return value;
}

double evaluate_number(const Program& program, const Bindings& bindings) {
  const Scalar result = evaluate(program, bindings);
  if (!result.is_numeric()) program.raise_result(result, "a number", "", bindings);
  return result.as_number();
}

Value evaluate(const Program& program, std::span<const Value> slots) {
  const std::size_t count =
      program.slots().empty() ? 0 : static_cast<std::size_t>(program.slots().back()) + 1;
  std::vector<Scalar> scalars(count, unset_scalar());
  for (std::size_t slot = 0; slot < std::min(count, slots.size()); ++slot)
    scalars[slot] = to_scalar(slots[slot]);
  return to_value(evaluate(program, Bindings{scalars, {}}));
}

}  // namespace tiletune::space
