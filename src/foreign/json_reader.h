#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foreign/byte_stream.h"

namespace tiletune {

/// What a JSON text holds, in its order. A text ends with the call.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void key(std::string_view name) = 0;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  /// Of a number that is written as an integer and fits.
  virtual void integer(std::int64_t value) = 0;
  virtual void number(double value) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void open(bool object) = 0;
  virtual void close() = 0;
};

/// Where a text stops to be JSON.
struct JsonError {
  std::string why;    ///< "unexpected 'r'"
  std::string place;  ///< "line 3, column 14", the column in bytes
  bool at_end;        ///< the text ends here, but not in the middle of a string, number or word
};

/// Reads JSON (RFC 8259, in UTF-8) in one pass. Recordings are gigabytes of short numbers and strings, which
/// are handed on from where they lie in the stream's buffer.
class JsonReader {
 public:
  JsonReader(ByteStream& stream, JsonEvents& events) : stream_(stream), events_(events) {}

  /// Throws JsonError, and what the events throw. The nesting is limited by nothing but them.
  void read();

 private:
  /// The next byte, which stays the next; -1 at the end.
  int peek() {
    if (at_ == end_ && !refill()) return -1;
    return static_cast<unsigned char>(*at_);
  }
  bool refill();
  int skip_space();
  void skip_byte_order_mark();
  /// A value, or the beginning of one.
  void value();
  void open(bool object);
  void behind_value();
  void member();
  std::string_view string();
  void escape();
  unsigned hexadecimal();
  void number();
  std::string_view number_text();
  void literal(std::string_view word);
  /// `expected` is what would have been right.
  [[noreturn]] void unexpected(const char* expected);
  [[noreturn]] void fail(std::string why, bool at_end = false);

  ByteStream& stream_;
  JsonEvents& events_;
  const char* begin_ = nullptr;  ///< of the buffer
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t behind_ = 0;  ///< bytes of the buffers before
  std::uint64_t line_ = 1;
  std::uint64_t line_begin_ = 0;  ///< bytes before the line
  std::vector<bool> open_;        ///< containers; whether they are objects
  std::string scratch_;           ///< what does not lie in the buffer as it is
};

}  // namespace tiletune
