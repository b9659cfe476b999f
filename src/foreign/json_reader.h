#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  /// Of an integer that does not fit: the nearest double.
  virtual void rounded_integer(double value) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void open(bool object) = 0;
  virtual void close() = 0;
};

/// Where a text stops to be JSON.
struct JsonError {
  std::string why;    ///< RapidJSON's words
  std::string place;  ///< "line 3, column 14", the column in bytes
  bool at_end;        ///< the text ends here, but not in the middle of a string
};

/// Reads JSON in UTF-8 in one pass, as well as NaN and Infinity, which Python writes. Throws JsonError, and
/// what the events throw. The nesting is limited by nothing but them.
void read_json(ByteStream& stream, JsonEvents& events);

}  // namespace tiletune
