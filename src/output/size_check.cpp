#include "output/size_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/export.h"
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

std::string literal(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "1LL" : "0LL";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}LL", *integer);
  if (const auto* text = std::get_if<std::string>(&value)) return cpp_literal(*text);
  return space::cpp_text(space::to_scalar(value));
}

std::string text_of(const SyntaxNode& node) {
  if (node.op == Op::constant) return literal(node.constant);
  if (node.op == Op::load) return fmt::format("n[{}]", node.slot);
  std::vector<std::string> operands;
  for (const SyntaxNode& operand : node.operands) operands.push_back(text_of(operand));
  if (node.op == Op::conditional) return fmt::format("chosen({})", join(operands, ", "));
  std::string whole;
  const auto add = [&](const std::string& function, const std::string& one) {
    whole = whole.empty() ? one : fmt::format("{}({}, {})", function, whole, one);
  };
  if (node.op == Op::comparison_chain) {  // "a < b <= c" as both(less(a, b), less_equal(b, c))
    for (std::size_t i = 0; i < node.comparisons.size(); ++i)
      add("both", fmt::format("{}({}, {})", function_of(node.comparisons[i]), operands[i], operands[i + 1]));
    return whole;
  }
  if (node.op == Op::in_list || node.op == Op::not_in_list) {
    for (std::size_t i = 1; i < operands.size(); ++i)
      add("either_of_both", fmt::format("equals({}, {})", operands.front(), operands[i]));
    return node.op == Op::in_list ? whole : fmt::format("inverse({})", whole);
  }
  const std::string function = function_of(node.op);
  if (operands.size() == 1) return fmt::format("{}({})", function, operands.front());
  for (const std::string& operand : operands) add(function, operand);
  return whole;
}

/// Whether it has a value for all sizes.
bool has_a_value(const SyntaxNode& node) {
  const bool is_logical = node.op == Op::logical_and || node.op == Op::logical_or;
  if (is_logical || node.op == Op::comparison_chain)
    return std::all_of(node.operands.begin(), node.operands.end(), has_a_value);
  return node.op == Op::load ||
         (node.op == Op::constant && !std::holds_alternative<std::string>(node.constant));
}

bool is_tautology(const SyntaxNode& node) {
  if (node.op == Op::constant) return node.constant == Value(true);
  if (node.op == Op::logical_and)
    return std::all_of(node.operands.begin(), node.operands.end(), is_tautology);
  if (node.op == Op::logical_or) {
    const auto first = std::find_if_not(node.operands.begin(), node.operands.end(), has_a_value);
    return std::any_of(node.operands.begin(), first, is_tautology);
  }
  if (node.op != Op::comparison_chain) return false;
  const SyntaxNode& first = node.operands.front();
  const auto is = [](const SyntaxNode& constant, std::int64_t number) {
    return constant.op == Op::constant && constant.constant == Value(number);
  };
  if (first.op == Op::modulo && node.comparisons == std::vector{Op::equal})
    return has_a_value(first.operands.front()) && is(first.operands.back(), 1) && is(node.operands.back(), 0);
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

/// None where it is not valid: an untrusted database may hold anything.
std::optional<SyntaxNode> parsed(const std::string& expression, const std::vector<std::string>& dimensions) {
  try {
    SymbolTable symbols;
    for (const std::string& dimension : dimensions) symbols.declare(dimension, {});
    return space::parse({expression, {}}, symbols);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

bool holds_always(const std::string& condition, const std::vector<std::string>& dimensions) {
  const auto node = parsed(condition, dimensions);
  return node && is_tautology(*node);
}

std::optional<std::string> cpp_number(const std::string& expression,
                                      const std::vector<std::string>& dimensions) {
  constexpr std::size_t kLongest = 32768;
  constexpr int kDeepest = 200;  // clang gives up at 256 brackets
  try {
    if (const auto node = parsed(expression, dimensions)) {
      std::string text = text_of(*node);
      if (text.size() <= kLongest && depth_of(text) <= kDeepest) return text;
    }
  } catch (const NotExpressible&) {
  }
  return std::nullopt;
}

namespace {

/// An element of a recorded list of expressions: whether it is text, and its value, if it has one.
using Evaluated = std::pair<bool, std::optional<Value>>;

/// None where the list or the names of dimensions are not valid.
std::optional<std::vector<Evaluated>> evaluate(const std::string& expressions,
                                               const std::vector<std::int64_t>& sizes,
                                               const std::vector<std::string>& dimensions) {
  const nlohmann::ordered_json list = parsed_cell(expressions);
  if (!list.is_array()) return std::nullopt;
  SymbolTable symbols;
  try {
    for (const std::string& dimension : dimensions) symbols.declare(dimension, Where{});
  } catch (const UserError&) {
    return std::nullopt;
  }
  const std::vector<Value> values(sizes.begin(), sizes.end());
  std::vector<Evaluated> all;
  for (const nlohmann::ordered_json& expression : list) {
    Evaluated& one = all.emplace_back(expression.is_string(), std::nullopt);
    try {
      if (one.first)
        one.second =
            space::evaluate(space::Program({expression.get<std::string>(), Where{}}, symbols), values);
    } catch (const UserError&) {
    }
  }
  return all;
}

}  // namespace

std::optional<bool> satisfy(const std::vector<std::int64_t>& sizes, const std::string& size_conditions,
                            const std::vector<std::string>& dimensions) {
  const auto conditions = evaluate(size_conditions, sizes, dimensions);
  if (!conditions) return std::nullopt;
  bool is_known = true;
  for (const auto& [is_expression, value] : *conditions) {
    if (is_expression && !(value && space::is_true(space::to_scalar(*value)))) return false;
    is_known = is_known && is_expression;
  }
  return is_known ? std::optional(true) : std::nullopt;
}

std::vector<double> waves_at(const std::vector<std::int64_t>& sizes, const std::string& waves,
                             const std::vector<std::string>& dimensions) {
  std::vector<double> all;
  for (const auto& [is_expression, value] :
       evaluate(waves, sizes, dimensions).value_or(std::vector<Evaluated>())) {
    const auto* const number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    if (number == nullptr || *number < 0) return {};
    all.push_back(static_cast<double>(*number));
  }
  return all;
}

}  // namespace tiletune
