#pragma once

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

enum class Align { left, right };

/// Lines may be as long as they are.
constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();

/// How text is written: as to a file, unless it says otherwise.
struct TextStyle {
  bool colour = false;            ///< with ANSI codes
  std::size_t width = kAnyWidth;  ///< of a line, in terminal columns
};

/// A table of text cells: aligned columns for a terminal, or Markdown.
class TextTable {
 public:
  /// `drop_order`: where lines are too short for all columns, those leave in this order, 1 first; 0: never.
  void add_column(std::string header, Align align, int drop_order = 0);
  void add_columns(std::initializer_list<const char*> headers, Align align) {
    for (const char* header : headers) add_column(header, align);
  }
  void add_row(std::vector<std::string> cells);
  /// Leaves out the columns, but the first, in which no row has a value ("-" or nothing is none).
  void hide_empty_columns() { hides_empty_ = true; }
  /// Leaves these columns out wherever lines have a width, as another table of the same output does.
  void leave_out(const std::vector<std::string>& headers);
  /// Emphasised on a terminal with colour (the baseline, the winner).
  void emphasise_last_row() {
    if (!rows_.empty()) rows_.back().emphasised = true;
  }

  /// Aligned by display width. In lines shorter than width(), cells aligned to the left are broken between
  /// words, and columns with a drop order are left out; columns for which that does not suffice follow below
  /// the others, each time behind the first column. Words are never broken.
  void write_text(std::ostream& out, const TextStyle& style) const;
  void write_markdown(std::ostream& out) const;
  /// Headers of the columns that write_text() leaves out, in the table's order.
  std::vector<std::string> left_out(std::size_t width) const;
  /// Columns of the longest line.
  std::size_t width() const;
  std::string text(const TextStyle& style = {}) const;

 private:
  struct Column {
    std::string header;
    Align align;
    int drop_order;
    std::size_t widest;        ///< cell or header
    std::size_t longest_word;  ///< longest word of cells and header
    bool has_value = false;    ///< in some row
    bool is_left_out = false;  ///< where lines have a width
  };
  /// Kept as one text: there may be a million of them.
  struct Row {
    std::string joined;
    bool emphasised = false;
  };
  using Places = std::vector<std::size_t>;
  /// The columns that lines of a width have, and the width of every column.
  struct Layout {
    Places columns;
    std::vector<std::size_t> widths;
  };
  Places shown() const;
  std::vector<std::string> headers(const Places& columns) const;
  Layout layout(std::size_t width) const;
  std::vector<Places> blocks(const Layout& layout, std::size_t width) const;
  std::string lines(const std::vector<std::string>& cells, const Places& columns,
                    const std::vector<std::size_t>& widths, bool bold) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
  bool hides_empty_ = false;
};

inline constexpr std::string_view kShowAll = "pipe into 'less -S' to see all";
/// Writes a table and, where columns were left out, a line that names them and the way to see them.
void write_table(std::ostream& out, const TextTable& table, bool markdown, const TextStyle& style,
                 std::string_view remedy = kShowAll);

/// Text that can contain anything, for a Markdown page, which may allow HTML, and for a cell of its tables.
std::string markdown_text(std::string_view text);

/// How long lines may be where nothing tells.
inline constexpr std::size_t kUsualWidth = 120;
/// The width of the terminal that a file descriptor refers to; 0: not a terminal, or unknown.
std::size_t terminal_columns(int file);
/// A terminal's line width: what COLUMNS says (null or no number: nothing), else what the terminal says (0:
/// nothing), else `otherwise`.
std::size_t line_width(const char* columns, std::size_t terminal, std::size_t otherwise);
/// The width of running text on standard output, a terminal or not: the line_width(), from 60 to 200.
std::size_t stdout_width();

/// Standard output is a terminal, TERM is not dumb and NO_COLOR is unset.
bool stdout_wants_colour();
/// The style of a table on standard output. Anything but a terminal gets whole tables.
TextStyle stdout_style();

}  // namespace tiletune
