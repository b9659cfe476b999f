#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tiletune {

/// The largest list in CSV that is read.
inline constexpr std::size_t kLargestList = std::size_t{64} << 20;

/// The records of a CSV text, line by line: cells are separated by commas, without the blanks around them but
/// for those between quotation marks.
class CsvLines {
 public:
  /// The text must outlive it. `file` is for messages.
  CsvLines(std::string_view text, std::string file);

  /// False at the end. Throws UserError for a quotation mark that is not closed and for too many cells.
  bool next(std::vector<std::string>& cells);

  std::size_t number() const { return number_; }
  Where place(std::size_t number) const;
  /// Of the record that was read last.
  Where place() const { return place(number_); }

 private:
  std::string next_cell();
  std::string quoted_text();

  std::string_view rest_;
  std::string_view line_;
  std::string file_;
  std::size_t number_ = 0;
  bool more_ = false;
};

}  // namespace tiletune
