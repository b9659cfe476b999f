#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "space/operators.h"
#include "space/parser.h"
#include "space/range.h"

namespace tiletune::space {

class Program;

/// The values a program runs on.
struct Bindings {
  /// By slot. A name that has no value yet is unset.
  std::span<Scalar> slots;
  /// By slot: how an unset value follows from others; null (or beyond the end) where it does not. It is
  /// computed when it is first read and then kept in its slot; whoever changes what it depends on sets it
  /// back to unset.
  std::span<const Program* const> definitions;
};

/// Where an evaluation failed, and why.
struct Fault {
  FaultKind kind = FaultKind::none;
  const Program* program = nullptr;
  std::size_t instruction = 0;
};

/// Values a running program may hold at once.
inline constexpr int kMaxStack = 256;

/// An expression as a flat postfix program: what is tested millions of times while a space is built.
class Program {
 public:
  /// Compiles the expression. Throws UserError like parse().
  Program(const ExprText& text, const SymbolTable& symbols);

  /// The operands of the `and` at the top of an expression, in order, or the whole expression: all of them
  /// are true exactly when it is, and each can be tested as soon as its own names are bound.
  static std::vector<Program> conjuncts(const ExprText& text, const SymbolTable& symbols);

  /// False when it has no result; `fault` then says why. Never throws.
  bool run(const Bindings& bindings, Scalar& result, Fault& fault) const;

  /// What it can give while each name is one of a range of values, by slot. Constraints that no value in them
  /// satisfies are false before all their names are bound.
  Range range(std::span<const Range> slots) const;

  /// Slots it reads, ascending, each once.
  const std::vector<int>& slots() const { return slots_; }
  const ExprText& text() const { return *text_; }
  std::size_t instructions() const { return instructions_.size(); }
  /// The slot it reads when it is nothing but a name.
  std::optional<int> single_name() const;

  /// "division by zero in 'M % (BM - 64)' at column 5 (BM = 64)", as a UserError.
  UserError error(const Fault& fault, const Bindings& bindings) const;
  /// "'BM / 3' is 21.3, not an integer (BM = 64)", as a UserError.
  [[noreturn]] void raise_result(const Scalar& result, const std::string& wanted, const std::string& remedy,
                                 const Bindings& bindings) const;

 private:
  friend class CodeGenerator;

  struct Instruction {
    Op op;
    Op comparison;  ///< of compare_or_jump
    int argument;   ///< constant, slot, or how far to jump from here
  };
  /// Where an instruction comes from, for messages.
  struct Origin {
    Span whole;
    Span right;  ///< its last operand
    std::size_t position;
  };

  Program(std::shared_ptr<const ExprText> text, const SyntaxNode& node);

  /// " (BM = 64, BN = 32)": the names read within a part of the expression, with their values; or nothing.
  std::string values_in(const Span& span, const Bindings& bindings) const;

  std::shared_ptr<const ExprText> text_;
  std::vector<Instruction> instructions_;
  std::vector<Origin> origins_;  ///< of each instruction
  std::vector<std::unique_ptr<const Value>> literals_;
  std::vector<Scalar> constants_;  ///< the literals
  std::vector<int> slots_;
};

/// Remedy for a float where an integer belongs.
inline constexpr const char* kUseFloorDivision = "use // for integer division";

/// Run a program for a result of the type wanted. Throw UserError.
Scalar evaluate(const Program& program, const Bindings& bindings);
/// A number with an integral value counts.
std::int64_t evaluate_integer(const Program& program, const Bindings& bindings);
double evaluate_number(const Program& program, const Bindings& bindings);
/// An integer from `least` to `most`. `wanted` and `remedy` are for the error message.
std::int64_t evaluate_within(const Program& program, const Bindings& bindings, std::int64_t least,
                             std::int64_t most, const std::string& wanted, const std::string& remedy);
inline constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();
/// Runs the program. `slots` holds the values of all slots that it reads.
Value evaluate(const Program& program, std::span<const Value> slots);

}  // namespace tiletune::space
