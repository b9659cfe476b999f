#include "output/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "output/display.h"

namespace tiletune {

namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kGap = "  ";

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
  headers_.push_back(std::move(header));
  aligns_.push_back(align);
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(headers_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back({std::move(cells), false});
}

void TextTable::emphasise_last_row() {
  if (!rows_.empty()) rows_.back().emphasised = true;
}

std::string TextTable::text(bool colour) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    std::size_t width = display_width(headers_[i]);
    for (const Row& row : rows_) width = std::max(width, display_width(row.cells[i]));
    widths.push_back(width);
  }
  std::string out = line_of(headers_, widths, aligns_) + "\n";
  for (const Row& row : rows_) {
    const std::string line = line_of(row.cells, widths, aligns_);
    out += row.emphasised && colour ? bold(line) : line;
    out += '\n';
  }
  return out;
}

std::string TextTable::markdown() const {
  std::string out = markdown_line(headers_) + "|";
  for (const Align align : aligns_) out += align == Align::left ? " --- |" : " ---: |";
  out += '\n';
  for (const Row& row : rows_) out += markdown_line(row.cells);
  return out;
}

bool stdout_wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace tiletune
