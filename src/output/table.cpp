#include "output/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string_view>

#include "output/display.h"

namespace tiletune {

namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kGap = "  ";
/// No cell contains it, because cells are printable.
constexpr char kEndOfCell = '\x1f';

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(cell)), ' ');
  return align == Align::left ? cell + space : space + cell;
}

std::string bold(const std::string& line) { return std::string(kBold) + line + std::string(kReset); }

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    line += markdown_text(cell);
    line += " |";
  }
  return line + "\n";
}

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<' || c == '&') {
      out += c == '<' ? "&lt;" : "&amp;";
      continue;
    }
    if (std::string_view("|\\`*[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void TextTable::add_column(std::string header, Align align) {
  widths_.push_back(display_width(header));
  headers_.push_back(std::move(header));
  aligns_.push_back(align);
}

/// Every row is padded to the widest cell of a column: one long text must not multiply with the rows.
constexpr std::size_t kWidestCell = 1000;

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(headers_.size());
  Row row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = shortened(printable(cells[i]), kWidestCell);
    widths_[i] = std::max(widths_[i], display_width(cell));
    row.joined.append(cell).append(1, kEndOfCell);
  }
  row.joined.shrink_to_fit();
  rows_.push_back(std::move(row));
}

void TextTable::emphasise_last_row() {
  if (!rows_.empty()) rows_.back().emphasised = true;
}

std::vector<std::string> TextTable::Row::cells() const {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin < joined.size();) {
    const std::size_t end = joined.find(kEndOfCell, begin);
    cells.push_back(joined.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

std::vector<TextTable::Places> TextTable::blocks(std::size_t width) const {
  std::vector<Places> blocks{{0}};
  std::size_t used = widths_.front();
  for (std::size_t column = 1; column < widths_.size(); ++column) {
    const std::size_t more = kGap.size() + widths_[column];
    if (used + more > width && blocks.back().size() > 1) {
      blocks.push_back({0});
      used = widths_.front();
    }
    blocks.back().push_back(column);
    used += more;
  }
  return blocks;
}

std::string TextTable::line(const std::vector<std::string>& cells, const Places& columns) const {
  std::string line;
  for (const std::size_t column : columns) {
    if (column != 0) line += kGap;
    line += padded(cells[column], widths_[column], aligns_[column]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void TextTable::write_text(std::ostream& out, bool colour, std::size_t width) const {
  for (const Places& columns : blocks(width)) {
    out << line(headers_, columns) << '\n';
    for (const Row& row : rows_) {
      const std::string text = line(row.cells(), columns);
      out << (row.emphasised && colour ? bold(text) : text) << '\n';
    }
  }
}

std::size_t TextTable::width() const {
  return std::accumulate(widths_.begin(), widths_.end(), kGap.size() * (widths_.size() - 1));
}

void TextTable::write_markdown(std::ostream& out) const {
  out << markdown_line(headers_) << '|';
  for (const Align align : aligns_) out << (align == Align::left ? " --- |" : " ---: |");
  out << '\n';
  for (const Row& row : rows_) out << markdown_line(row.cells());
}

void TextTable::write(std::ostream& out, bool markdown, bool colour, std::size_t width) const {
  if (markdown) return write_markdown(out);
  write_text(out, colour, width);
}

std::string TextTable::text(bool colour) const {
  std::ostringstream out;
  write_text(out, colour);
  return out.str();
}

std::size_t stdout_width() {
  constexpr std::size_t kLeast = 60, kMost = 200;
  winsize size{};
  std::size_t width = kUsualWidth;
  const char* columns = std::getenv("COLUMNS");
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else if (columns != nullptr) {
    const std::string_view text(columns);
    std::size_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && rest == text.data() + text.size()) width = number;
  }
  return std::clamp(width, kLeast, kMost);
}

bool stdout_wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace tiletune
