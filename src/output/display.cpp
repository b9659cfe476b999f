#include "output/display.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"

namespace tiletune {

namespace {

using Range = CharacterRange;

// The common blocks of Unicode's EastAsianWidth W and F, and of its zero-width characters.
constexpr std::array kWide{Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},  Range{0x3041, 0xA4CF},
                           Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},  Range{0xFE30, 0xFE6F},
                           Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},  Range{0x1F300, 0x1F6FF},
                           Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};
constexpr std::array kZeroWidth{Range{0x0300, 0x036F}, Range{0x200B, 0x200F}, Range{0x20D0, 0x20FF},
                                Range{0xFE00, 0xFE0F}};

std::size_t width_of(char32_t point) {
  if (is_in(kZeroWidth, point)) return 0;
  return is_in(kWide, point) ? 2 : 1;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const DecodedCharacter next = decode_character(text);
    width += width_of(next.point);
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string printable_message(std::string_view text) {
  constexpr std::size_t kMostLines = 200, kLongest = 400, kKept = 200;
  std::string out;
  for (std::size_t i = 0; i < kMostLines; ++i) {
    const std::size_t end = text.find('\n');
    std::string line = printable(text.substr(0, end));
    if (display_width(line) > kLongest) {
      std::size_t tail = line.size() - kKept;
      while ((static_cast<unsigned char>(line[tail]) & 0xC0U) == 0x80U) ++tail;
      line = shortened(line, kKept) + line.substr(tail);
    }
    out += line;
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out + "…";
}

std::vector<std::string> in_lines(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  std::size_t left = 0;
  for (std::string& word : split(text, ' ')) {
    const std::size_t needed = display_width(word) + 1;
    if (lines.empty() || needed > left) {
      // The space before the first word of a line needs no column.
      left = width + 1 + (lines.empty() ? indent : 0);
      lines.push_back(std::move(word));
    } else {
      lines.back() += ' ' + word;
    }
    left -= std::min(left, needed);
  }
  return lines;
}

std::string wrapped(std::string_view text, std::size_t width) {
  constexpr std::size_t kIndent = 4;
  return join(in_lines(text, width > kIndent ? width - kIndent : 0, kIndent),
              "\n" + std::string(kIndent, ' '));
}

std::string fitted(std::string_view text, std::size_t width) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    if (display_width(line) <= width) continue;
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t gap = line.find("  ", first);
    const std::size_t second = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
    // The second column, if that leaves half of the width.
    const std::size_t indent = second != std::string::npos && second <= width / 2 ? second : first;
    if (indent >= width) continue;
    line = line.substr(0, indent) + join(in_lines(std::string_view(line).substr(indent), width - indent),
                                         "\n" + std::string(indent, ' '));
  }
  return join(lines, "\n");
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t bytes = 0;
  std::size_t used = 0;
  while (true) {
    const DecodedCharacter next = decode_character(text.substr(bytes));
    if (used + width_of(next.point) > width - 1) break;
    used += width_of(next.point);
    bytes += next.bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

}  // namespace tiletune
