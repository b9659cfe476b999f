#pragma once

#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

enum class Align { left, right };

/// Lines may be as long as they are.
constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

/// A table of text cells: aligned columns for a terminal, or Markdown.
class TextTable {
 public:
  void add_column(std::string header, Align align);
  void add_row(std::vector<std::string> cells);
  /// Emphasised on a terminal with colour (the baseline, the winner).
  void emphasise_last_row();

  /// Aligned by display width; `colour` adds ANSI codes.
  void write_text(std::ostream& out, bool colour, std::size_t width = kAnyWidth) const;
  void write_markdown(std::ostream& out) const;
  /// One of the two. Columns of text that do not fit into the width follow below the others, each time behind
  /// the first column.
  void write(std::ostream& out, bool markdown, bool colour, std::size_t width = kAnyWidth) const;
  /// Of its longest line.
  std::size_t width() const;
  std::string text(bool colour) const;

 private:
  /// Kept as one text: there may be a million of them.
  struct Row {
    std::string joined;
    bool emphasised = false;

    std::vector<std::string> cells() const;
  };
  using Places = std::vector<std::size_t>;
  std::vector<Places> blocks(std::size_t width) const;
  std::string line(const std::vector<std::string>& cells, const Places& columns) const;

  std::vector<std::string> headers_;
  std::vector<Align> aligns_;
  std::vector<std::size_t> widths_;
  std::vector<Row> rows_;
};

/// Text that can contain anything, for a Markdown page, which may allow HTML, and for a cell of its tables.
std::string markdown_text(std::string_view text);

/// How long lines may be where nothing tells.
inline constexpr std::size_t kUsualWidth = 120;
/// How long they may be on standard output: as wide as the terminal, or as COLUMNS says where it is none,
/// from 60 to 200.
std::size_t stdout_width();

/// Standard output is a terminal, TERM is not dumb and NO_COLOR is unset.
bool stdout_wants_colour();

}  // namespace tiletune
