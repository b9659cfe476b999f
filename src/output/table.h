#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

enum class Align { left, right };

/// A table of text cells: aligned columns for a terminal, or Markdown.
class TextTable {
 public:
  void add_column(std::string header, Align align);
  void add_row(std::vector<std::string> cells);
  /// Emphasised on a terminal with colour (the baseline, the winner).
  void emphasise_last_row();

  /// Aligned by display width; `colour` adds ANSI codes.
  void write_text(std::ostream& out, bool colour) const;
  void write_markdown(std::ostream& out) const;
  /// One of the two.
  void write(std::ostream& out, bool markdown, bool colour) const;
  std::string text(bool colour) const;

 private:
  /// Kept as one text: there may be a million of them.
  struct Row {
    std::string joined;
    bool emphasised = false;

    std::vector<std::string> cells() const;
  };
  std::vector<std::string> headers_;
  std::vector<Align> aligns_;
  std::vector<std::size_t> widths_;
  std::vector<Row> rows_;
};

/// Text that can contain anything, for a Markdown page, which may allow HTML, and for a cell of its tables.
std::string markdown_text(std::string_view text);

/// Standard output is a terminal, TERM is not dumb and NO_COLOR is unset.
bool stdout_wants_colour();

}  // namespace tiletune
