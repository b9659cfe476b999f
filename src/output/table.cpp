#include "output/table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/text.h"
#include "output/display.h"

namespace tiletune {

namespace {

constexpr std::string_view kGap = "  ";
/// No cell contains it, because cells are printable.
constexpr std::string_view kBetweenCells = "\x1f";

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

void TextTable::add_column(std::string header, Align align, int drop_order) {
  const std::size_t width = display_width(header);
  columns_.push_back({std::move(header), align, drop_order, width, width, columns_.empty()});
}

/// Every row is padded to the widest cell of a column: one long text must not multiply with the rows.
constexpr std::size_t kWidestCell = 1000;

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string& cell = cells[i];
    cell = shortened(printable(cell), kWidestCell);
    Column& column = columns_[i];
    column.widest = std::max(column.widest, display_width(cell));
    for (const std::string& word : split(cell, ' '))
      column.longest_word = std::max(column.longest_word, display_width(word));
    column.has_value = column.has_value || (!cell.empty() && cell != "-");
  }
  rows_.push_back({join(cells, kBetweenCells)});
}

void TextTable::leave_out(const std::vector<std::string>& headers) {
  for (Column& column : columns_)
    column.is_left_out = std::find(headers.begin(), headers.end(), column.header) != headers.end();
}

TextTable::Places TextTable::shown() const {
  Places places;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (!hides_empty_ || columns_[i].has_value) places.push_back(i);
  return places;
}

std::vector<std::string> TextTable::headers(const Places& columns) const {
  std::vector<std::string> headers;
  for (const std::size_t i : columns) headers.push_back(columns_[i].header);
  return headers;
}

TextTable::Layout TextTable::layout(std::size_t width) const {
  Layout layout{shown(), {}};
  for (const Column& column : columns_) layout.widths.push_back(column.widest);
  if (width == kAnyWidth) return layout;
  std::erase_if(layout.columns, [&](std::size_t i) { return columns_[i].is_left_out; });
  constexpr std::size_t kReadable = 24;
  // The columns' width, if those of text take `most` at most, or what their words need.
  const auto fit_text = [&](std::size_t most) {
    std::size_t sum = kGap.size() * (layout.columns.size() - 1);
    for (const std::size_t i : layout.columns) {
      const Column& column = columns_[i];
      const std::size_t narrowest = column.align == Align::right
                                        ? column.widest
                                        : std::max(column.longest_word, std::min(column.widest, kReadable));
      layout.widths[i] = std::clamp(most, narrowest, column.widest);
      sum += layout.widths[i];
    }
    return sum;
  };
  if (fit_text(kAnyWidth) <= width) return layout;
  while (fit_text(0) > width) {
    const auto first = std::min_element(layout.columns.begin(), layout.columns.end(), [&](auto a, auto b) {
      const auto order = [&](std::size_t i) {
        return columns_[i].drop_order == 0 ? std::numeric_limits<int>::max() : columns_[i].drop_order;
      };
      return order(a) < order(b);
    });
    if (columns_[*first].drop_order == 0) return layout;
    layout.columns.erase(first);
  }
  std::size_t most = 0;
  while (most < kWidestCell && fit_text(most + 1) <= width) ++most;
  fit_text(most);
  return layout;
}

std::vector<TextTable::Places> TextTable::blocks(const Layout& layout, std::size_t width) const {
  std::vector<Places> blocks{{layout.columns.front()}};
  std::size_t used = layout.widths[layout.columns.front()];
  for (std::size_t i = 1; i < layout.columns.size(); ++i) {
    const std::size_t more = kGap.size() + layout.widths[layout.columns[i]];
    if (used + more > width && blocks.back().size() > 1) {
      blocks.push_back({layout.columns.front()});
      used = layout.widths[layout.columns.front()];
    }
    blocks.back().push_back(layout.columns[i]);
    used += more;
  }
  return blocks;
}

std::vector<std::string> TextTable::left_out(std::size_t width) const {
  const Places kept = layout(width).columns;
  Places others = shown();
  std::erase_if(others, [&](std::size_t i) { return std::find(kept.begin(), kept.end(), i) != kept.end(); });
  return headers(others);
}

std::string TextTable::lines(const std::vector<std::string>& cells, const Places& columns,
                             const std::vector<std::size_t>& widths, bool is_bold) const {
  std::vector<std::vector<std::string>> parts(columns_.size());
  std::size_t height = 1;
  for (const std::size_t column : columns) {
    parts[column] = display_width(cells[column]) > widths[column] ? in_lines(cells[column], widths[column])
                                                                  : std::vector{cells[column]};
    height = std::max(height, parts[column].size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (const std::size_t column : columns) {
      if (column != columns.front()) line += kGap;
      const std::string part = i < parts[column].size() ? parts[column][i] : "";
      const std::string space(widths[column] - std::min(widths[column], display_width(part)), ' ');
      line += columns_[column].align == Align::left ? part + space : space + part;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (is_bold ? "\x1b[1m" + line + "\x1b[0m" : line) + '\n';
  }
  return text;
}

void TextTable::write_text(std::ostream& out, const TextStyle& style) const {
  const Layout layout = this->layout(style.width);
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.header);
  for (const Places& columns : blocks(layout, style.width)) {
    out << lines(names, columns, layout.widths, false);
    for (const Row& row : rows_)
      out << lines(split(row.joined, kBetweenCells.front()), columns, layout.widths,
                   row.emphasised && style.colour);
  }
}

std::size_t TextTable::width() const {
  const Places places = shown();
  std::size_t sum = kGap.size() * (places.size() - 1);
  for (const std::size_t i : places) sum += columns_[i].widest;
  return sum;
}

void TextTable::write_markdown(std::ostream& out) const {
  const Places places = shown();
  out << markdown_line(headers(places)) << '|';
  for (const std::size_t i : places) out << (columns_[i].align == Align::left ? " --- |" : " ---: |");
  out << '\n';
  for (const Row& row : rows_) {
    const std::vector<std::string> cells = split(row.joined, kBetweenCells.front());
    std::vector<std::string> chosen;
    for (const std::size_t i : places) chosen.push_back(cells[i]);
    out << markdown_line(chosen);
  }
}

std::string TextTable::text(const TextStyle& style) const {
  std::ostringstream out;
  write_text(out, style);
  return out.str();
}

void write_table(std::ostream& out, const TextTable& table, bool markdown, const TextStyle& style,
                 std::string_view remedy) {
  if (markdown) return table.write_markdown(out);
  table.write_text(out, style);
  const std::vector<std::string> left_out = table.left_out(style.width);
  if (left_out.empty()) return;
  const std::string line =
      fmt::format("left out to fit {} columns: {} ({})", style.width, join(left_out, ", "), remedy);
  out << wrapped(line, style.width) << '\n';
}

std::size_t line_width(const char* columns, std::size_t terminal, std::size_t otherwise) {
  const std::string_view text(columns == nullptr ? "" : columns);
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size() && number > 0) return number;
  return terminal > 0 ? terminal : otherwise;
}

std::size_t terminal_columns(int file) {
  winsize size{};
  return ::ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t stdout_width() {
  constexpr std::size_t kLeast = 60, kMost = 200;
  return std::clamp(line_width(std::getenv("COLUMNS"), terminal_columns(STDOUT_FILENO), kUsualWidth), kLeast,
                    kMost);
}

bool stdout_wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

TextStyle stdout_style() {
  if (::isatty(STDOUT_FILENO) != 1) return {};
  return {stdout_wants_colour(),
          line_width(std::getenv("COLUMNS"), terminal_columns(STDOUT_FILENO), kAnyWidth)};
}

}  // namespace tiletune
