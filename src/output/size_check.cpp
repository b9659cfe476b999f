#include "output/size_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/header.h"
#include "space/operators.h"
#include "space/parser.h"
#include "space/program.h"

namespace tiletune {

using space::SymbolTable;

namespace {

using space::Op;
using space::SyntaxNode;

struct NotExpressible {};

struct NamedOp {
  Op op;
  const char* function;  ///< of best_header.h.in
};
constexpr std::array<NamedOp, 27> kNamedOps{{{Op::add, "add"},
                                             {Op::subtract, "subtract"},
                                             {Op::multiply, "multiply"},
                                             {Op::divide, "divide"},
                                             {Op::floor_divide, "floor_divide"},
                                             {Op::modulo, "modulo"},
                                             {Op::ceil_div, "ceil_div"},
                                             {Op::round_up, "round_up"},
                                             {Op::gcd, "gcd"},
                                             {Op::min, "least"},
                                             {Op::max, "greatest"},
                                             {Op::abs, "absolute"},
                                             {Op::to_integer, "to_integer"},
                                             {Op::to_number, "to_number"},
                                             {Op::is_pow2, "is_pow2"},
                                             {Op::negate, "negate"},
                                             {Op::plus, "same"},
                                             {Op::logical_not, "inverse"},
                                             {Op::truth, "truth"},
                                             {Op::equal, "equals"},
                                             {Op::not_equal, "differs"},
                                             {Op::less, "less"},
                                             {Op::less_equal, "less_equal"},
                                             {Op::greater, "greater"},
                                             {Op::greater_equal, "greater_equal"},
                                             {Op::logical_and, "both"},
                                             {Op::logical_or, "either"}}};

std::string function_of(Op op) {
  const auto* const found =
      std::find_if(kNamedOps.begin(), kNamedOps.end(), [&](const NamedOp& named) { return named.op == op; });
  if (found == kNamedOps.end()) throw NotExpressible();
  return found->function;
}

std::string call(const std::string& function, const std::string& left, const std::string& right) {
  return fmt::format("{}({}, {})", function, left, right);
}

std::string literal(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "1LL" : "0LL";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}LL", *integer);
  if (const auto* text = std::get_if<std::string>(&value)) return cpp_literal(*text);
  return space::cpp_text(space::to_scalar(value));
}

std::string text_of(const SyntaxNode& node);

/// "a < b <= c" as both(less(a, b), less_equal(b, c)).
std::string chain(const SyntaxNode& node) {
  std::string whole;
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    const std::string one =
        call(function_of(node.comparisons[i]), text_of(node.operands[i]), text_of(node.operands[i + 1]));
    whole = whole.empty() ? one : call("both", whole, one);
  }
  return whole;
}

std::string membership(const SyntaxNode& node) {
  const std::string element = text_of(node.operands.front());
  std::string whole;
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    const std::string one = call("equals", element, text_of(node.operands[i]));
    whole = whole.empty() ? one : call("either_of_both", whole, one);
  }
  return node.op == Op::in_list ? whole : fmt::format("inverse({})", whole);
}

std::string text_of(const SyntaxNode& node) {
  if (node.op == Op::constant) return literal(node.constant);
  if (node.op == Op::load) return fmt::format("n[{}]", node.slot);
  if (node.op == Op::comparison_chain) return chain(node);
  if (node.op == Op::in_list || node.op == Op::not_in_list) return membership(node);
  if (node.op == Op::conditional)
    return fmt::format("chosen({}, {}, {})", text_of(node.operands[0]), text_of(node.operands[1]),
                       text_of(node.operands[2]));
  const std::string function = function_of(node.op);
  std::string whole = text_of(node.operands.front());
  if (node.operands.size() == 1) return fmt::format("{}({})", function, whole);
  for (std::size_t i = 1; i < node.operands.size(); ++i)
    whole = call(function, whole, text_of(node.operands[i]));
  return whole;
}

bool is_tautology(const SyntaxNode& node) {
  if (node.op == Op::constant) return node.constant == Value(true);
  if (node.op == Op::logical_and)
    return std::all_of(node.operands.begin(), node.operands.end(), is_tautology);
  if (node.op != Op::comparison_chain) return false;
  const SyntaxNode& first = node.operands.front();
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](const SyntaxNode& one) { return one.op == Op::load && one.slot == first.slot; }) &&
         std::all_of(node.comparisons.begin(), node.comparisons.end(), [](Op op) {
           return op == Op::equal || op == Op::less_equal || op == Op::greater_equal;
         });
}

/// How deep brackets lie within each other.
int depth_of(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

}  // namespace

bool holds_always(const std::string& condition, const std::vector<std::string>& dimensions) {
  try {
    SymbolTable symbols;
    for (const std::string& dimension : dimensions) symbols.declare(dimension, {});
    return is_tautology(space::parse({condition, {}}, symbols));
  } catch (const UserError&) {  // an untrusted database may hold anything
    return false;
  }
}

std::optional<std::string> cpp_number(const std::string& expression,
                                      const std::vector<std::string>& dimensions) {
  constexpr std::size_t kLongest = 32768;
  constexpr int kDeepest = 200;  // clang gives up at 256 brackets
  try {
    SymbolTable symbols;
    for (const std::string& dimension : dimensions) symbols.declare(dimension, {});
    std::string text = text_of(space::parse({expression, {}}, symbols));
    if (text.size() <= kLongest && depth_of(text) <= kDeepest) return text;
  } catch (const UserError&) {  // an untrusted database may hold anything
  } catch (const NotExpressible&) {
  }
  return std::nullopt;
}

std::optional<std::string> cpp_condition(const std::string& condition,
                                         const std::vector<std::string>& dimensions) {
  const std::optional<std::string> number = cpp_number(condition, dimensions);
  return number ? std::optional(fmt::format("holds({})", *number)) : std::nullopt;
}

namespace {

/// None where it has no value.
std::optional<Value> value_of(const std::string& expression, const SymbolTable& symbols,
                              const std::vector<Value>& sizes) {
  try {
    return space::evaluate(space::Program({expression, Where{}}, symbols), sizes);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool holds(const std::string& condition, const SymbolTable& symbols, const std::vector<Value>& sizes) {
  const std::optional<Value> value = value_of(condition, symbols, sizes);
  return value && space::is_true(space::to_scalar(*value));
}

/// None where an untrusted database has names that are not valid.
std::optional<SymbolTable> symbols_of(const std::vector<std::string>& dimensions) {
  try {
    SymbolTable symbols;
    for (const std::string& dimension : dimensions) symbols.declare(dimension, Where{});
    return symbols;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<bool> satisfy(const std::vector<std::int64_t>& sizes, const std::string& size_conditions,
                            const std::vector<std::string>& dimensions) {
  const nlohmann::ordered_json list = parsed_cell(size_conditions);
  const std::optional<SymbolTable> symbols = symbols_of(dimensions);
  if (!list.is_array() || !symbols) return std::nullopt;
  const std::vector<Value> values(sizes.begin(), sizes.end());
  bool is_known = true;
  for (const nlohmann::ordered_json& condition : list) {
    if (!condition.is_string())
      is_known = false;
    else if (!holds(condition.get<std::string>(), *symbols, values))
      return false;
  }
  return is_known ? std::optional(true) : std::nullopt;
}

std::vector<double> waves_at(const std::vector<std::int64_t>& sizes, const std::string& waves,
                             const std::vector<std::string>& dimensions) {
  const nlohmann::ordered_json list = parsed_cell(waves);
  const std::optional<SymbolTable> symbols = symbols_of(dimensions);
  if (!list.is_array() || !symbols) return {};
  const std::vector<Value> values(sizes.begin(), sizes.end());
  std::vector<double> all;
  for (const nlohmann::ordered_json& expression : list) {
    const std::optional<Value> value =
        expression.is_string() ? value_of(expression.get<std::string>(), *symbols, values) : std::nullopt;
    const auto* const number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (number == nullptr || *number < 0) return {};
    all.push_back(static_cast<double>(*number));
  }
  return all;
}

}  // namespace tiletune
