// An expression: its program must do what a walk over its parse tree does, and its parts what the whole does.

#include <cmath>
#include <limits>

#include "fuzz/fuzz.h"
#include "fuzz/tree_walk.h"
#include "space/parser.h"
#include "space/program.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;
using namespace tiletune::space;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

SymbolTable some_names() {
  SymbolTable symbols;
  for (const char* name : {"BM", "BN", "K", "x", "flag", "type"}) symbols.declare(name, {});
  return symbols;
}

const std::vector<std::vector<Value>>& assignments() {
  static const std::vector<std::vector<Value>> all = {
      {std::int64_t{64}, std::int64_t{32}, std::int64_t{8}, 0.5, true, std::string("float")},
      {std::int64_t{0}, std::int64_t{-1}, kSmallest, -0.0, false, std::string()},
      {kLargest, std::int64_t{1}, std::int64_t{63}, 1e308, true, std::string("BM")},
      {std::int64_t{-7}, std::int64_t{3}, kLargest, -2.5, false, std::string("half")},
  };
  return all;
}

void require_same(const Scalar& a, const Scalar& b, std::string_view what) {
  require(a.kind == b.kind, what);
  if (a.is_string()) return require(*a.string == *b.string, what);
  if (a.kind == Scalar::Kind::number) {
    require(std::isfinite(a.number), "a number is finite");
    return require(a.number == b.number, what);
  }
  require(a.integer == b.integer, what);
}

/// As a condition: whether all parts are true; none when one before the first false one has no result.
std::optional<bool> all_true(const std::vector<Program>& parts, const Bindings& bindings) {
  for (const Program& part : parts) {
    Scalar result = unset_scalar();
    Fault fault;
    if (!part.run(bindings, result, fault)) return std::nullopt;
    if (!is_true(result)) return false;
  }
  return true;
}

void check(const ExprText& text, const SymbolTable& symbols, const std::vector<Value>& values) {
  const SyntaxNode tree = parse(text, symbols);
  const Program program(text, symbols);
  std::vector<Scalar> slots;
  for (const Value& value : values) slots.push_back(to_scalar(value));
  const Bindings bindings{slots, {}};
  Scalar result = unset_scalar();
  Fault fault;
  const bool known = program.run(bindings, result, fault);
  const Walked expected = walk(tree, slots);
  require(known == (expected.fault == FaultKind::none),
          "program and tree agree on whether there is a result");
  if (known) require_same(result, expected.value, "program and tree agree on the result");
  if (!known) require(fault.kind == expected.fault, "program and tree agree on what went wrong");

  const auto parts = all_true(Program::conjuncts(text, symbols), bindings);
  require(parts.has_value() == known, "the whole has a result where its parts do");
  if (known) require(*parts == is_true(result), "the whole is true where its parts are");

  const bool failed =
      refused([&] { require(to_text(evaluate(program, values)) == to_text(to_value(result)), "="); });
  require(failed != known, "it fails with copies of the values as with the values");
  refused([&] { evaluate_integer(program, bindings); });
  refused([&] { require(std::isfinite(evaluate_number(program, bindings)), "a number is finite"); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const SymbolTable symbols = some_names();
  const ExprText text{std::string(text_of(data, size)), {}};
  refused([&] {
    for (const auto& values : assignments()) check(text, symbols, values);
  });
  return 0;
}
