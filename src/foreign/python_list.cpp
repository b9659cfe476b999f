#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "foreign/t1.h"
#include "space/program.h"
#include "spec/values.h"

namespace tiletune {

namespace {

class PythonList {
 public:
  PythonList(const std::string& text, const Where& where) : text_(text), rest_(text), where_(where) {}

  std::vector<Value> run() {
    std::vector<Value> list = joined();
    skip_space();
    if (!rest_.empty()) fail("the end of the list");
    return list;
  }

 private:
  /// Lists joined by +. list() changes nothing, so that its parentheses need only be counted: the text may
  /// hold any number of them.
  std::vector<Value> joined() {
    std::vector<Value> list;
    std::size_t calls = 0;
    do {
      while (accept("list(")) ++calls;
      for (Value& value : plain_list()) append(list, std::move(value));
      while (calls > 0 && accept(")")) --calls;
    } while (accept("+"));
    if (calls > 0) expect(")");
    return list;
  }

  std::vector<Value> plain_list() {
    if (accept("range(")) return range();
    if (accept("[")) return elements("]");
    if (accept("(")) return elements(")");
    fail("a list such as [16, 32, 64] or range(1, 9)");
  }

  /// What follows a bracket, up to its `end`.
  std::vector<Value> elements(std::string_view end) {
    std::vector<Value> list;
    while (!accept(end)) {
      const ExprText text{std::string(element()), where_};
      if (list.empty() && end == "]" && accept("for")) return comprehension(text);
      append(list, space::evaluate(space::Program(text, {}), std::span<const Value>()));
      if (accept(",")) continue;
      expect(end);
      break;
    }
    return list;
  }

  /// The rest of "[2**i for i in range(6)]", behind "for".
  std::vector<Value> comprehension(const ExprText& text) {
    space::SymbolTable names;
    names.declare(word(), where_);
    expect("in");
    if (std::exchange(in_comprehension_, true)) fail("a list or range() without a 'for' of its own");
    const std::vector<Value> values = joined();
    in_comprehension_ = false;
    expect("]");
    const space::Program expression(text, names);
    std::vector<Value> list;
    for (const Value& value : values) list.push_back(space::evaluate(expression, std::span(&value, 1)));
    return list;
  }

  /// "start, stop, step)" as Python's range takes them.
  std::vector<Value> range() {
    std::vector<std::int64_t> bounds;
    for (const Value& bound : elements(")")) {
      if (!std::holds_alternative<std::int64_t>(bound)) fail("integers in range()");
      bounds.push_back(std::get<std::int64_t>(bound));
    }
    if (bounds.empty() || bounds.size() > 3) fail("one to three integers in range()");
    if (bounds.size() == 1) bounds.insert(bounds.begin(), 0);
    const std::int64_t step = bounds.size() > 2 ? bounds[2] : 1;
    if (step == 0) fail("a step that is not 0");
    std::vector<Value> list;
    for (std::int64_t value = bounds[0]; step > 0 ? value < bounds[1] : value > bounds[1];) {
      append(list, value);
      if (__builtin_add_overflow(value, step, &value)) break;
    }
    return list;
  }

  void append(std::vector<Value>& list, Value value) const {
    if (list.size() == kMostValues) fail(fmt::format("at most {} values", kMostValues));
    list.push_back(std::move(value));
  }

  /// The text before the next comma, closing bracket or "for" that lies in no bracket or string.
  std::string_view element() {
    int depth = 0;
    char quote = '\0';
    const auto ends = [&](std::size_t at) {
      const char c = rest_[at];
      if (quote != '\0' || c == '"' || c == '\'') {
        quote = quote == '\0' ? c : c == quote ? '\0' : quote;
        return false;
      }
      if (depth == 0 && (c == ',' || c == ')' || c == ']' || is_for(at))) return true;
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      return false;
    };
    std::size_t size = 0;
    while (size < rest_.size() && !ends(size)) ++size;
    const std::string_view element = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return element;
  }

  bool is_for(std::size_t at) const {
    constexpr std::string_view kFor = "for";
    const auto is_part = [&](std::size_t place) {
      return place < rest_.size() && is_identifier_part(rest_[place]);
    };
    return rest_.substr(at).starts_with(kFor) && !is_part(at - 1) && !is_part(at + kFor.size());
  }

  std::string word() {
    skip_space();
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_identifier_part);
    std::string word(rest_.begin(), end);
    rest_.remove_prefix(word.size());
    return word;
  }

  void skip_space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
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

  const std::string& text_;
  std::string_view rest_;
  bool in_comprehension_ = false;
  const Where& where_;
};

}  // namespace

std::vector<Value> parse_python_list(const std::string& text, const Where& where) {
  return PythonList(text, where).run();
}

}  // namespace tiletune
