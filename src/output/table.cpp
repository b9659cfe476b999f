#include "output/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
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

std::string line_of(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                    const std::vector<Align>& aligns) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) line += kGap;
    line += padded(cells[i], widths[i], aligns[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
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

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(headers_.size());
  Row row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = printable(cells[i]);
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

void TextTable::write_text(std::ostream& out, bool colour) const {
  out << line_of(headers_, widths_, aligns_) << '\n';
  for (const Row& row : rows_) {
    const std::string line = line_of(row.cells(), widths_, aligns_);
    out << (row.emphasised && colour ? bold(line) : line) << '\n';
  }
}

void TextTable::write_markdown(std::ostream& out) const {
  out << markdown_line(headers_) << '|';
  for (const Align align : aligns_) out << (align == Align::left ? " --- |" : " ---: |");
  out << '\n';
  for (const Row& row : rows_) out << markdown_line(row.cells());
}

void TextTable::write(std::ostream& out, bool markdown, bool colour) const {
  if (markdown) return write_markdown(out);
  write_text(out, colour);
}

std::string TextTable::text(bool colour) const {
  std::ostringstream out;
  write_text(out, colour);
  return out.str();
}

bool stdout_wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace tiletune
