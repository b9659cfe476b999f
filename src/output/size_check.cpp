#include "output/size_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "output/header.h"
#include "space/expression.h"
#include "space/operators.h"
#include "space/parser.h"

namespace tiletune {

namespace {

using space::Op;
using space::SyntaxNode;

struct NotExpressible {};

struct NamedOp {
  Op op;
  const char* function;  ///< of kSizeCheck
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

/// Of brackets within each other.
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
  } catch (const UserError&) {  // a stranger's database may hold anything
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
  } catch (const UserError&) {  // a stranger's database may hold anything
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
    return Expression({expression, Where{}}, symbols).evaluate(sizes);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool holds(const std::string& condition, const SymbolTable& symbols, const std::vector<Value>& sizes) {
  const std::optional<Value> value = value_of(condition, symbols, sizes);
  return value && space::is_true(space::to_scalar(*value));
}

/// None where a stranger's database has names that are none.
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

const char* const kSizeCheck = R"(
namespace detail {

constexpr long long kMost = 0x7fffffffffffffffLL;
constexpr long long kLeast = -kMost - 1;
constexpr double kLargest = 0x1.fffffffffffffp1023;

// What a template's expressions compute with: 64-bit integers, doubles and texts. None: there is no value (a division by
// zero, a number that is too large, a sum of texts), and no condition holds that depends on it.
struct Value {
  enum Kind { none, integer, real, text } kind = none;
  long long whole = 0;
  double number = 0;
  const char* string = "";
  constexpr Value() = default;
  constexpr Value(long long v) : kind(integer), whole(v) {}
  constexpr Value(double v) : kind(v >= -kLargest && v <= kLargest ? real : none), number(v) {}
  constexpr Value(const char* v) : kind(text), string(v) {}
  constexpr double as_real() const { return kind == integer ? static_cast<double>(whole) : number; }
};

constexpr bool holds(Value a) {
  return a.kind == Value::text ? *a.string != '\0' : a.kind == Value::real ? a.number != 0 : a.whole != 0;
}
constexpr bool are_integers(Value a, Value b) { return a.kind == Value::integer && b.kind == Value::integer; }
constexpr bool is_number(Value a) { return a.kind == Value::integer || a.kind == Value::real; }
constexpr bool are_numbers(Value a, Value b) { return is_number(a) && is_number(b); }
constexpr Value whether(bool condition) { return condition ? 1LL : 0LL; }
constexpr Value chosen(Value c, Value a, Value b) { return c.kind == Value::none ? c : holds(c) ? a : b; }
constexpr Value both(Value a, Value b) { return chosen(a, b, a); }
constexpr Value either(Value a, Value b) { return chosen(a, a, b); }
constexpr Value either_of_both(Value a, Value b) { return b.kind == Value::none ? b : either(a, b); }
constexpr Value truth(Value a) { return chosen(a, 1LL, 0LL); }
constexpr Value inverse(Value a) { return chosen(a, 0LL, 1LL); }
constexpr Value same(Value a) { return is_number(a) ? a : Value(); }
constexpr Value to_number(Value a) { return is_number(a) ? Value(a.as_real()) : Value(); }
constexpr Value to_integer(Value a) {
  if (a.kind != Value::real) return same(a);
  return a.number >= -0x1p63 && a.number < 0x1p63 ? Value(static_cast<long long>(a.number)) : Value();
}

// Less than 0, 0 or more than 0. Integers and doubles are compared exactly.
constexpr int order(long long a, double b) {
  if (b >= 0x1p63 || b < -0x1p63) return b < 0 ? 1 : -1;
  const long long whole = static_cast<long long>(b);
  const double rest = b - static_cast<double>(whole);
  return a != whole ? (a < whole ? -1 : 1) : rest > 0 ? -1 : rest < 0 ? 1 : 0;
}
constexpr int order(Value a, Value b) {
  if (a.kind == Value::text) {
    const char *left = a.string, *right = b.string;
    for (; *left != '\0' && *left == *right; ++left) ++right;
    return static_cast<unsigned char>(*left) - static_cast<unsigned char>(*right);
  }
  if (are_integers(a, b)) return a.whole < b.whole ? -1 : a.whole > b.whole ? 1 : 0;
  if (a.kind == Value::integer) return order(a.whole, b.number);
  if (b.kind == Value::integer) return -order(b.whole, a.number);
  return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
}
constexpr bool are_ordered(Value a, Value b) {
  return are_numbers(a, b) || (a.kind == Value::text && b.kind == Value::text);
}
constexpr Value less(Value a, Value b) { return are_ordered(a, b) ? whether(order(a, b) < 0) : Value(); }
constexpr Value greater(Value a, Value b) { return less(b, a); }
constexpr Value less_equal(Value a, Value b) { return inverse(less(b, a)); }
constexpr Value greater_equal(Value a, Value b) { return inverse(less(a, b)); }
constexpr Value equals(Value a, Value b) {
  if (a.kind == Value::none || b.kind == Value::none) return {};
  return whether(are_ordered(a, b) && order(a, b) == 0);
}
constexpr Value differs(Value a, Value b) { return inverse(equals(a, b)); }
constexpr Value least(Value a, Value b) { return same(chosen(less(b, a), b, a)); }
constexpr Value greatest(Value a, Value b) { return same(chosen(less(a, b), b, a)); }

constexpr Value add(Value a, Value b) {
  if (!are_integers(a, b)) return are_numbers(a, b) ? Value(a.as_real() + b.as_real()) : Value();
  return (b.whole > 0 ? a.whole > kMost - b.whole : a.whole < kLeast - b.whole) ? Value() : Value(a.whole + b.whole);
}
constexpr Value subtract(Value a, Value b) {
  if (!are_integers(a, b)) return are_numbers(a, b) ? Value(a.as_real() - b.as_real()) : Value();
  return (b.whole < 0 ? a.whole > kMost + b.whole : a.whole < kLeast + b.whole) ? Value() : Value(a.whole - b.whole);
}
constexpr Value negate(Value a) { return subtract(0LL, a); }
constexpr Value absolute(Value a) { return chosen(less(a, 0LL), negate(a), same(a)); }
constexpr unsigned long long digits(long long a) {
  const unsigned long long bits = static_cast<unsigned long long>(a);
  return a < 0 ? 0 - bits : bits;
}
constexpr Value multiply(Value a, Value b) {
  if (!are_integers(a, b)) return are_numbers(a, b) ? Value(a.as_real() * b.as_real()) : Value();
  const unsigned long long most = digits((a.whole < 0) == (b.whole < 0) ? kMost : kLeast);
  return a.whole != 0 && digits(b.whole) > most / digits(a.whole) ? Value() : Value(a.whole * b.whole);
}
constexpr Value divide(Value a, Value b) {
  return are_numbers(a, b) && b.as_real() != 0 ? Value(a.as_real() / b.as_real()) : Value();
}

// What fmod() computes, which is exact.
constexpr double rest_of(double a, double b) {
  double rest = a < 0 ? -a : a;
  const double divisor = b < 0 ? -b : b;
  while (rest >= divisor) {
    double part = divisor;
    while (part <= rest - part) part *= 2;
    rest -= part;
  }
  return a < 0 ? -rest : rest;
}
constexpr double round_down(double a) {
  if (a >= 0x1p52 || a <= -0x1p52) return a;
  const double whole = static_cast<double>(static_cast<long long>(a));
  return whole > a ? whole - 1 : whole;
}
constexpr bool is_division(Value a, Value b) {
  return are_numbers(a, b) && b.as_real() != 0 && !(are_integers(a, b) && b.whole == -1 && a.whole == kLeast);
}
constexpr Value floor_divide(Value a, Value b) {
  if (!is_division(a, b)) return {};
  if (are_integers(a, b)) return a.whole / b.whole - (a.whole % b.whole != 0 && (a.whole < 0) != (b.whole < 0) ? 1 : 0);
  const double x = a.as_real(), y = b.as_real(), rest = rest_of(x, y);
  const double quotient = (x - rest) / y - (rest != 0 && (rest < 0) != (y < 0) ? 1 : 0), whole = round_down(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}
constexpr Value modulo(Value a, Value b) {
  if (are_integers(a, b) && b.whole == -1) return 0LL;
  if (!is_division(a, b)) return {};
  if (are_integers(a, b)) {
    const long long rest = a.whole % b.whole;
    return rest != 0 && (rest < 0) != (b.whole < 0) ? rest + b.whole : rest;
  }
  const double rest = rest_of(a.as_real(), b.as_real());
  return rest != 0 && (rest < 0) != (b.as_real() < 0) ? rest + b.as_real() : rest;
}
constexpr Value ceil_div(Value a, Value b) {
  if (!are_integers(a, b)) return {};
  const Value quotient = floor_divide(a, b);
  return quotient.kind != Value::none && a.whole % b.whole != 0 ? Value(quotient.whole + 1) : quotient;
}
constexpr Value round_up(Value a, Value b) { return multiply(ceil_div(a, b), b); }
constexpr Value is_pow2(Value a) {
  return a.kind == Value::integer ? whether(a.whole > 0 && (a.whole & (a.whole - 1)) == 0) : Value();
}
constexpr Value gcd(Value a, Value b) {
  if (!are_integers(a, b) || a.whole == kLeast || b.whole == kLeast) return {};
  long long x = a.whole, y = b.whole;
  while (y != 0) {
    const long long rest = x % y;
    x = y;
    y = rest;
  }
  return x < 0 ? -x : x;
}

)";
}  // namespace tiletune
