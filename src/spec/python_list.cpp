#include "spec/python_list.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

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
  Json value_list() {
    std::size_t calls = 0;  // not by recursion: the text may hold any number of them
    while (accept("list(")) ++calls;
    Json list = plain_list();
    for (; calls > 0; --calls) expect(")");
    return list;
  }

  Json plain_list() {
    if (accept("range(")) return range();
    if (accept("[")) return elements("]");
    if (accept("(")) return elements(")");
    fail("a list such as [16, 32, 64] or range(1, 9)");
  }

  Json elements(std::string_view end) {
    Json list = Json::array();
    while (!accept(end)) {
      list.push_back(element());
      if (list.size() > kMostValues) fail(fmt::format("at most {} values", kMostValues));
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
    return number();
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
    const std::size_t sign = !rest_.empty() && rest_.front() == '+' ? 1 : 0;
    const std::string_view digits = rest_.substr(sign);
    std::int64_t integer = 0;
    const auto whole = std::from_chars(digits.data(), digits.data() + digits.size(), integer);
    double real = 0;
    const auto any = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    const auto is_letter = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    if (any.ec != std::errc{} ||
        !std::isdigit(static_cast<unsigned char>(any.ptr[-1] == '.' ? '0' : any.ptr[-1])) ||
        (any.ptr != digits.data() + digits.size() && is_letter(*any.ptr))) {
      fail("a number, a string in quotes, True or False");
    }
    rest_.remove_prefix(static_cast<std::size_t>(any.ptr - rest_.data()));
    if (whole.ec == std::errc{} && whole.ptr == any.ptr) return integer;
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
        where_, "Write the values out, as a list of Python.");
  }

  const std::string& text_;
  std::string_view rest_;
  const Where& where_;
};

}  // namespace

Json parse_python_list(const std::string& text, const Where& where) { return PythonList(text, where).run(); }

}  // namespace tiletune
