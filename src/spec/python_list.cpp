#include "spec/python_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "spec/python_integers.h"
#include "spec/values.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

class PythonList {
 public:
  PythonList(const std::string& text, const Where& where) : text_(text), rest_(text), where_(where) {}

  Json run() {
    Json list = value_list();
    if (!peek_is_end()) fail("the end of the list");
    return list;
  }

 private:
  /// Lists joined by +. list() changes nothing, so that its parentheses need only be counted: the text may
  /// hold any number of them.
  Json value_list() {
    Json list = Json::array();
    std::size_t calls = 0;
    do {
      while (accept("list(")) ++calls;
      for (Json& value : plain_list()) append(list, std::move(value));
      while (calls > 0 && accept(")")) --calls;
    } while (accept("+"));
    if (calls > 0) expect(")");
    return list;
  }

  Json plain_list() {
    if (accept("range(")) return range();
    if (accept("[")) return is_comprehension() ? comprehension() : elements("]");
    if (accept("(")) return elements(")");
    fail("a list such as [16, 32, 64] or range(1, 9)");
  }

  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  /// Where the first word "for" is.
  static std::size_t find_for(std::string_view body) {
    constexpr std::string_view kFor = "for";
    std::size_t at = body.find(kFor);
    const auto is_part = [&](std::size_t place) { return place < body.size() && is_word(body[place]); };
    while (at != std::string_view::npos && (is_part(at - 1) || is_part(at + kFor.size())))
      at = body.find(kFor, at + 1);
    return at;
  }

  /// Whether a "for" follows before the bracket closes.
  bool is_comprehension() const {
    return find_for(rest_.substr(0, rest_.find_first_of("]'\""))) != std::string_view::npos;
  }

  /// "[2**i for i in range(6)]", after its bracket: the expression is read again for every value.
  Json comprehension() {
    constexpr std::size_t kLongest = 200;
    const std::string_view body = rest_;
    const std::size_t length = find_for(body);
    if (length > kLongest) fail(fmt::format("an expression of at most {} characters", kLongest));
    rest_.remove_prefix(length);
    expect("for");
    const std::string_view variable = word();
    if (variable.empty() || variable == "in") fail("a name");
    expect("in");
    if (nesting_ > 0) fail("a list or range() without a 'for' of its own");
    ++nesting_;
    const Json values = value_list();
    --nesting_;
    expect("]");
    const std::string_view end = std::exchange(rest_, body);
    Json list = Json::array();
    for (const Json& value : values) {
      rest_ = body;
      variable_ = {variable, value};
      append(list, sum());
      expect("for");
    }
    variable_ = {};
    rest_ = end;
    return list;
  }

  void append(Json& list, Json value) const {
    if (list.size() == kMostValues) fail(fmt::format("at most {} values", kMostValues));
    list.push_back(std::move(value));
  }

  Json elements(std::string_view end) {
    Json list = Json::array();
    while (!accept(end)) {
      append(list, element());
      if (accept(",")) continue;
      expect(end);
      break;
    }
    return list;
  }

  Json element() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    skip_space();
    if (!rest_.empty() && (rest_.front() == '\'' || rest_.front() == '"')) return string();
    return sum();
  }

  Json sum() {
    if (++nesting_ > kMostNesting) fail("fewer parentheses");
    Json left = product();
    while (true) {
      const std::string_view before = rest_;
      const char op = accept("+") ? '+' : accept("-") ? '-' : '\0';
      if (op == '\0') break;
      left = calculate(op, left, product(), before);
    }
    --nesting_;
    return left;
  }

  Json product() {
    Json left = signed_number();
    while (true) {
      const std::string_view before = rest_;
      const char op = accept("*") ? '*' : accept("//") ? 'd' : accept("/") ? '/' : accept("%") ? '%' : '\0';
      if (op == '\0') return left;
      left = calculate(op, left, signed_number(), before);
    }
  }

  Json signed_number() {
    bool negative = false;
    while (true) {
      if (accept("-")) {
        negative = !negative;
      } else if (!accept("+")) {
        break;
      }
    }
    if (negative && accept_smallest()) return std::numeric_limits<std::int64_t>::min();
    const std::string_view before = rest_;
    Json value = power();
    return negative ? calculate('-', 0, value, before) : value;
  }

  /// The digits of the smallest integer, which without its sign is none of 64 bits.
  bool accept_smallest() {
    constexpr std::string_view kDigits = "9223372036854775808";
    skip_space();
    const bool ends =
        rest_.size() <= kDigits.size() || (!is_word(rest_[kDigits.size()]) && rest_[kDigits.size()] != '.');
    return ends && accept(kDigits);
  }

  Json power() {
    Json base = primary();
    const std::string_view before = rest_;
    if (!accept("**")) return base;
    if (++nesting_ > kMostNesting) fail("fewer powers of powers");
    base = calculate('^', base, power(), before);
    --nesting_;
    return base;
  }

  Json primary() {
    if (accept("(")) {
      Json inner = sum();
      expect(")");
      return inner;
    }
    skip_space();
    const std::string_view here = rest_;
    if (!variable_.first.empty() && word() == variable_.first) return variable_.second;
    rest_ = here;
    return number();
  }

  /// As Python calculates, without integers beyond 64 bits; 'd' is //, '^' is **.
  Json calculate(char op, const Json& left, const Json& right, std::string_view at) {
    if (std::string_view("d%/").find(op) != std::string_view::npos && right == 0) {
      rest_ = at;
      fail("a divisor that is not 0");
    }
    if (left.is_number_integer() && right.is_number_integer() && op != '/') {
      if (const auto value = calculate_integers(op, left.get<std::int64_t>(), right.get<std::int64_t>()))
        return *value;
      rest_ = at;
      fail("a calculation with a result of 64 bits");
    }
    if (!left.is_number() || !right.is_number()) fail("a calculation with numbers");
    const double a = left.get<double>();
    const double b = right.get<double>();
    double value = std::numeric_limits<double>::quiet_NaN();
    if (op == '+') value = a + b;
    if (op == '-') value = a - b;
    if (op == '*') value = a * b;
    if (op == '/') value = a / b;
    if (std::isfinite(value)) return value;
    rest_ = at;
    fail("a calculation of + - * / with a finite result, or one of integers");
  }

  /// The name that comes next, or nothing.
  std::string_view word() {
    skip_space();
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_word);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
  }

  Json string() {
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view content = rest_.substr(1, end - 1);
    if (content.find('\\') != std::string_view::npos) fail("a string without backslashes");
    rest_.remove_prefix(end + 1);
    return std::string(content);
  }

  Json number() {
    skip_space();
    const std::string_view digits = rest_;
    std::int64_t integer = 0;
    const auto whole = std::from_chars(digits.data(), digits.data() + digits.size(), integer);
    double real = 0;
    const auto any = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    if (any.ec != std::errc{} || digits.front() == '-' ||
        !std::isdigit(static_cast<unsigned char>(any.ptr[-1] == '.' ? '0' : any.ptr[-1])) ||
        (any.ptr != digits.data() + digits.size() && is_word(*any.ptr))) {
      fail("a number, a string in quotes, True or False");
    }
    rest_.remove_prefix(static_cast<std::size_t>(any.ptr - rest_.data()));
    if (whole.ptr == any.ptr && whole.ec == std::errc{}) return integer;
    if (whole.ptr == any.ptr) {
      rest_ = digits;
      fail("an integer of 64 bits");
    }
    return real;
  }

  /// "start, stop, step)" as Python's range takes them.
  Json range() {
    const Json bounds = elements(")");
    for (const Json& bound : bounds) {
      if (!bound.is_number_integer()) fail("integers in range()");
    }
    if (bounds.empty() || bounds.size() > 3) fail("one to three integers in range()");
    const auto at = [&](std::size_t i) { return bounds[i].get<std::int64_t>(); };
    const std::int64_t start = bounds.size() > 1 ? at(0) : 0;
    const std::int64_t stop = bounds.size() > 1 ? at(1) : at(0);
    const std::int64_t step = bounds.size() > 2 ? at(2) : 1;
    if (step == 0) fail("a step that is not 0");
    Json list = Json::array();
    for (std::int64_t value = start; step > 0 ? value < stop : value > stop;) {
      if (list.size() == kMostValues) fail(fmt::format("at most {} values", kMostValues));
      list.push_back(value);
      if (__builtin_add_overflow(value, step, &value)) break;
    }
    return list;
  }

  void skip_space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
  }
  bool peek_is_end() {
    skip_space();
    return rest_.empty();
  }
  bool accept(std::string_view text) {
    skip_space();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail(fmt::format("'{}'", text));
  }
  [[noreturn]] void fail(const std::string& expected) const {
    constexpr std::size_t kMostShown = 200;
    const std::string shown = text_.size() <= kMostShown ? text_ : text_.substr(0, kMostShown) + "...";
    throw UserError(
        fmt::format("expected {} at column {} of '{}'", expected, text_.size() - rest_.size() + 1, shown),
        where_, "Write the values out, as a Python list.");
  }

  static constexpr int kMostNesting = 64;

  const std::string& text_;
  std::string_view rest_;
  std::pair<std::string_view, Json> variable_;  ///< of a comprehension
  int nesting_ = 0;                             ///< parentheses that are open in a calculation
  const Where& where_;
};

}  // namespace

Json parse_python_list(const std::string& text, const Where& where) { return PythonList(text, where).run(); }

}  // namespace tiletune
