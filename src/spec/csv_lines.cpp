#include "spec/csv_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tiletune {

namespace {

/// More than the parameters of the largest template and the column "template".
constexpr std::size_t kMostCells = 512;

}  // namespace

CsvLines::CsvLines(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool CsvLines::next(std::vector<std::string>& cells) {
  if (rest_.empty()) return false;
  ++number_;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  cells.clear();
  do {
    if (cells.size() == kMostCells)
      throw UserError(fmt::format("more than {} cells", kMostCells), place(),
                      "Give each row as many as the header has.");
    cells.push_back(next_cell());
  } while (more_);
  return true;
}

Where CsvLines::place(std::size_t number) const { return {file_, fmt::format("line {}", number)}; }

std::string CsvLines::next_cell() {
  std::string cell;
  line_.remove_prefix(std::min(line_.find_first_not_of(" \t"), line_.size()));
  if (line_.starts_with('"')) {
    line_.remove_prefix(1);
    cell = quoted_text();
  }
  const std::size_t end = line_.find(',');
  cell += trim(line_.substr(0, end));
  more_ = end != std::string_view::npos;
  line_.remove_prefix(more_ ? end + 1 : line_.size());
  return cell;
}

std::string CsvLines::quoted_text() {
  std::string text;
  for (;;) {
    const std::size_t quote = line_.find('"');
    if (quote == std::string_view::npos)
      throw UserError("a quotation mark is not closed", place(), "Close it on the same line.");
    text += line_.substr(0, quote);
    line_.remove_prefix(quote + 1);
    if (!line_.starts_with('"')) return text;
    text += '"';
    line_.remove_prefix(1);
  }
}

}  // namespace tiletune
