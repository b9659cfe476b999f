#include "foreign/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tiletune {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool belongs_to_number(char c) {
  return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

/// Takes digits off the front; false where there is none.
bool take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  text.remove_prefix(count);
  return count > 0;
}

bool take(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

enum class NumberKind { none, integer, real };

NumberKind number_kind(std::string_view text) {
  NumberKind kind = NumberKind::integer;
  take(text, "-");
  if (!take(text, "0") && !take_digits(text)) return NumberKind::none;
  if (take(text, ".")) {
    kind = NumberKind::real;
    if (!take_digits(text)) return NumberKind::none;
  }
  if (take(text, "eE")) {
    kind = NumberKind::real;
    take(text, "+-");
    if (!take_digits(text)) return NumberKind::none;
  }
  return text.empty() ? kind : NumberKind::none;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

/// Bytes of the character that the text begins with; 0 where it is no UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  std::size_t size = 2;
  if (byte(0) >= 0xE0) size = 3;
  if (byte(0) >= 0xF0) size = 4;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < size) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(size), is_continuation))
    return 0;
  // Neither longer than need be, nor a half of a pair, nor beyond the last character.
  const bool ill = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
                   (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return ill ? 0 : size;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void append_utf8(std::string& text, unsigned code) {
  const auto add = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0U | code >> 6U);
  } else {
    if (code < 0x10000) {
      add(0xE0U | code >> 12U);
    } else {
      add(0xF0U | code >> 18U);
      add(0x80U | (code >> 12U & 0x3FU));
    }
    add(0x80U | (code >> 6U & 0x3FU));
  }
  add(0x80U | (code & 0x3FU));
}

}  // namespace

bool JsonReader::refill() {
  behind_ += static_cast<std::uint64_t>(end_ - begin_);
  const std::string_view more = stream_.next();
  begin_ = at_ = more.data();
  end_ = begin_ + more.size();
  return !more.empty();
}

int JsonReader::skip_space() {
  while (true) {
    const int next = peek();
    if (next != ' ' && next != '\t' && next != '\r' && next != '\n') return next;
    ++at_;
    if (next != '\n') continue;
    ++line_;
    line_begin_ = behind_ + static_cast<std::uint64_t>(at_ - begin_);
  }
}

void JsonReader::skip_byte_order_mark() {
  if (peek() == 0xEF) literal("\xEF\xBB\xBF");
}

void JsonReader::read() {
  skip_byte_order_mark();
  value();
  while (!open_.empty()) behind_value();
  if (skip_space() != -1) unexpected("the end");
}

void JsonReader::value() {
  switch (skip_space()) {
    case '{':
      return open(true);
    case '[':
      return open(false);
    case '"':
      return events_.text(string());
    case 't':
      literal("true");
      return events_.boolean(true);
    case 'f':
      literal("false");
      return events_.boolean(false);
    case 'n':
      literal("null");
      return events_.null();
    default:
      return number();
  }
}

void JsonReader::open(bool object) {
  ++at_;
  events_.open(object);
  open_.push_back(object);
  if (skip_space() == (object ? '}' : ']')) {
    ++at_;
    open_.pop_back();
    return events_.close();
  }
  object ? member() : value();
}

void JsonReader::behind_value() {
  const bool object = open_.back();
  const int next = skip_space();
  if (next == ',') {
    ++at_;
    object ? member() : value();
  } else if (next == (object ? '}' : ']')) {
    ++at_;
    open_.pop_back();
    events_.close();
  } else {
    unexpected(object ? "',' or '}'" : "',' or ']'");
  }
}

void JsonReader::member() {
  if (skip_space() != '"') unexpected("a name");
  events_.key(string());
  if (skip_space() != ':') unexpected("':'");
  ++at_;
  value();
}

std::string_view JsonReader::string() {
  const char* const begin = ++at_;
  scratch_.clear();
  bool plain = true;  // all of it lies between begin and at_
  bool ascii = true;
  const char* run = begin;
  while (true) {
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) {
      ascii = ascii && static_cast<unsigned char>(*at_) < 0x80;
      ++at_;
    }
    if (at_ != end_ && *at_ == '"' && plain) break;
    scratch_.append(run, at_);
    plain = false;
    if (peek() == -1) fail("a string does not end");
    run = at_;
    if (*at_ == '"') break;
    if (*at_ == '\\') {
      escape();
      run = at_;
    } else if (static_cast<unsigned char>(*at_) < 0x20) {
      fail("a control character in a string");
    }
  }
  const std::string_view text =
      plain ? std::string_view(begin, static_cast<std::size_t>(at_ - begin)) : scratch_;
  if (!ascii && !is_utf8(text)) fail("a string is no UTF-8");
  ++at_;
  return text;
}

void JsonReader::escape() {
  ++at_;
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const int next = peek();
  if (next == -1) fail("a string does not end");
  const std::size_t place = kLetters.find(static_cast<char>(next));
  if (place != std::string_view::npos) {
    ++at_;
    scratch_ += kMeant[place];
    return;
  }
  if (next != 'u') fail("a backslash in a string, and behind it nothing that it could stand for");
  ++at_;
  unsigned code = hexadecimal();
  constexpr const char* kHalf = "half of a pair of \\u in a string";
  if (code >= 0xDC00 && code < 0xE000) fail(kHalf);
  if (code >= 0xD800 && code < 0xDC00) {
    if (peek() != '\\') fail(kHalf);
    ++at_;
    if (peek() != 'u') fail(kHalf);
    ++at_;
    const unsigned low = hexadecimal();
    if (low < 0xDC00 || low >= 0xE000) fail(kHalf);
    code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
  }
  append_utf8(scratch_, code);
}

unsigned JsonReader::hexadecimal() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    const int next = peek();
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::size_t digit =
        next == -1 ? std::string_view::npos : kDigits.find(static_cast<char>(next | 0x20));
    if (digit == std::string_view::npos) fail("\\u in a string without four hexadecimal digits");
    code = code * 16 + static_cast<unsigned>(digit);
    ++at_;
  }
  return code;
}

std::string_view JsonReader::number_text() {
  const char* const begin = at_;
  at_ = std::find_if_not(at_, end_, belongs_to_number);
  if (at_ != end_) return {begin, static_cast<std::size_t>(at_ - begin)};
  scratch_.assign(begin, end_);
  while (peek() != -1 && belongs_to_number(*at_)) scratch_ += *at_++;
  return scratch_;
}

void JsonReader::number() {
  const int next = peek();
  if (next != '-' && (next < '0' || next > '9')) unexpected("a value");
  const std::string_view text = number_text();
  const NumberKind kind = number_kind(text);
  if (kind == NumberKind::none) fail("this is no number");
  std::int64_t integer = 0;
  const char* const end = text.data() + text.size();
  if (kind == NumberKind::integer && std::from_chars(text.data(), end, integer).ec == std::errc{})
    return events_.integer(integer);
  double real = 0;
  // Too small a number is 0; too large a one is none.
  if (std::from_chars(text.data(), end, real).ec != std::errc{})
    real = std::strtod(std::string(text).c_str(), nullptr);
  if (!std::isfinite(real)) fail("a number is too large");
  events_.number(real);
}

void JsonReader::literal(std::string_view word) {
  for (const char c : word) {
    const int next = peek();
    if (next == -1) fail("a word does not end");
    if (static_cast<char>(next) != c) unexpected("a value");
    ++at_;
  }
}

void JsonReader::unexpected(const char* expected) {
  const int next = peek();
  if (next == -1) fail(fmt::format("it ends where {} is expected", expected), true);
  const auto character = static_cast<char>(next);
  const bool printable = character > 0x20 && character < 0x7F;
  fail(printable ? fmt::format("'{}' where {} is expected", character, expected)
                 : fmt::format("byte 0x{:02X} where {} is expected", next, expected));
}

void JsonReader::fail(std::string why, bool at_end) {
  const std::uint64_t column = behind_ + static_cast<std::uint64_t>(at_ - begin_) - line_begin_ + 1;
  throw JsonError{std::move(why), fmt::format("line {}, column {}", line_, column), at_end};
}

}  // namespace tiletune
