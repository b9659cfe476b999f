#include "foreign/json_reader.h"

#include <fmt/format.h>

// Its stack adds to a null pointer as long as it is empty, which is harmless and a finding all the same.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace tiletune {

namespace {

/// The pieces of a stream as RapidJSON reads bytes. It knows the line of where it is.
class PieceReader {
 public:
  using Ch = char;

  explicit PieceReader(ByteStream& stream) : stream_(stream) {
    refill();
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (std::string_view(begin_, static_cast<std::size_t>(end_ - begin_)).starts_with(kByteOrderMark))
      at_ += kByteOrderMark.size();
    if (at_ == end_) refill();
  }

  Ch Peek() const { return at_ == end_ ? '\0' : *at_; }
  /// At the end, too: what validates UTF-8 takes the bytes that a character should have.
  Ch Take() {
    if (at_ == end_) return '\0';
    const Ch byte = *at_;
    if (++at_ == end_) refill();
    return byte;
  }
  std::size_t Tell() const { return behind_ + static_cast<std::size_t>(at_ - begin_); }

  // Only for reading in place.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch /*byte*/) {}
  std::size_t PutEnd(Ch* /*begin*/) { return 0; }

  bool at_end() const { return at_ == end_; }
  /// Whether a number that ends here is written as an integer.
  bool is_behind_integer() const {
    const char* const begin = number_before(at_);
    const std::string_view cut = begin == begin_ ? std::string_view(cut_number_) : std::string_view();
    constexpr std::string_view kInteger = "-0123456789";
    const std::string_view rest(begin, static_cast<std::size_t>(at_ - begin));
    return cut.size() + rest.size() > 0 && cut.find_first_not_of(kInteger) == std::string_view::npos &&
           rest.find_first_not_of(kInteger) == std::string_view::npos;
  }
  /// "line 3, column 14"
  std::string place() const {
    const auto lines = std::count(begin_, at_, '\n');
    const char* line = std::find(std::reverse_iterator(at_), std::reverse_iterator(begin_), '\n').base();
    const std::size_t before = lines == 0 ? behind_ - line_begin_ : 0;
    return fmt::format("line {}, column {}", lines_ + static_cast<std::size_t>(lines) + 1,
                       before + static_cast<std::size_t>(at_ - line) + 1);
  }

 private:
  /// Where the number before `end` begins, as far as the piece shows; `end` where there is none.
  const char* number_before(const char* end) const {
    constexpr std::string_view kNumber = "+-.0123456789eE";
    const char* begin = end;
    while (begin != begin_ && kNumber.find(begin[-1]) != std::string_view::npos) --begin;
    return begin;
  }

  void keep_cut_number() {
    const char* const begin = number_before(end_);
    if (begin != begin_) cut_number_.clear();
    cut_number_.append(begin, end_);
  }

  void refill() {
    const auto size = static_cast<std::size_t>(end_ - begin_);
    const auto last = std::find(std::reverse_iterator(end_), std::reverse_iterator(begin_), '\n');
    if (last.base() != begin_) line_begin_ = behind_ + static_cast<std::size_t>(last.base() - begin_);
    lines_ += static_cast<std::size_t>(std::count(begin_, end_, '\n'));
    behind_ += size;
    keep_cut_number();
    const std::string_view piece = stream_.next();
    begin_ = at_ = piece.data();
    end_ = begin_ + piece.size();
  }

  ByteStream& stream_;
  const char* begin_ = nullptr;  ///< of the piece
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t behind_ = 0;      ///< bytes of the pieces before
  std::size_t lines_ = 0;       ///< in these
  std::size_t line_begin_ = 0;  ///< bytes before the last line that begins in these
  std::string cut_number_;      ///< what of a number stands at the end of these
};

/// RapidJSON's names for events.
class Handler {
 public:
  Handler(const PieceReader& source, JsonEvents& events) : source_(source), events_(events) {}

  bool Null() { return events_.null(), true; }
  bool Bool(bool value) { return events_.boolean(value), true; }
  bool Int(int value) { return events_.integer(value), true; }
  bool Uint(unsigned value) { return events_.integer(value), true; }
  bool Int64(std::int64_t value) { return events_.integer(value), true; }
  bool Uint64(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      events_.integer(static_cast<std::int64_t>(value));
    } else {
      events_.rounded_integer(static_cast<double>(value));
    }
    return true;
  }
  /// Also what an integer of more digits comes as.
  bool Double(double value) {
    constexpr double kBeyondIntegers = 9223372036854775808.0;
    if (std::abs(value) >= kBeyondIntegers && source_.is_behind_integer()) {
      events_.rounded_integer(value);
    } else {
      events_.number(value);
    }
    return true;
  }
  bool RawNumber(const char* /*text*/, std::size_t /*size*/, bool /*copy*/) { return false; }
  bool String(const char* text, std::size_t size, bool /*copy*/) { return events_.text({text, size}), true; }
  bool StartObject() { return events_.open(true), true; }
  bool Key(const char* text, std::size_t size, bool /*copy*/) { return events_.key({text, size}), true; }
  bool EndObject(std::size_t /*members*/) { return events_.close(), true; }
  bool StartArray() { return events_.open(false), true; }
  bool EndArray(std::size_t /*elements*/) { return events_.close(), true; }

 private:
  const PieceReader& source_;
  JsonEvents& events_;
};

bool is_within_a_string(rapidjson::ParseErrorCode code) {
  return code == rapidjson::kParseErrorStringMissQuotationMark ||
         code == rapidjson::kParseErrorStringInvalidEncoding ||
         code == rapidjson::kParseErrorStringEscapeInvalid ||
         code == rapidjson::kParseErrorStringUnicodeEscapeInvalidHex ||
         code == rapidjson::kParseErrorStringUnicodeSurrogateInvalid;
}

}  // namespace

void read_json(ByteStream& stream, JsonEvents& events) {
  using namespace rapidjson;
  constexpr unsigned kFlags =
      kParseIterativeFlag | kParseFullPrecisionFlag | kParseValidateEncodingFlag | kParseNanAndInfFlag;
  PieceReader source(stream);
  Handler handler(source, events);
  Reader reader;
  const ParseResult result = reader.Parse<kFlags>(source, handler);
  if (!result) {
    std::string why = GetParseError_En(result.Code());
    if (why.ends_with('.')) why.pop_back();
    throw JsonError{why, source.place(), source.at_end() && !is_within_a_string(result.Code())};
  }
}

}  // namespace tiletune
