#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"

namespace tiletune {

/// Terminal columns that the UTF-8 text takes: 2 for East Asian wide characters and emoji, 0 for combining
/// marks.
std::size_t display_width(std::string_view text);

/// A message of several lines for a terminal: each as printable() makes it; what is longer than about 400
/// columns loses its middle, and what follows line 200 is left out.
std::string printable_message(std::string_view text);

/// At most `width` columns of it, the last one an ellipsis where something was cut off.
std::string shortened(std::string_view text, std::size_t width);

/// The text in lines of at most `width` columns, broken between words; the first line has `indent` columns
/// more. A longer word keeps its length.
std::vector<std::string> in_lines(std::string_view text, std::size_t width, std::size_t indent = 0);

/// in_lines() as one text, in which lines after the first are indented.
std::string wrapped(std::string_view text, std::size_t width);

/// Lines of text, such as help, in at most `width` columns. What a broken line goes on with is indented to
/// its second column (behind the first two spaces between words), or as far as the line itself.
std::string fitted(std::string_view text, std::size_t width);

}  // namespace tiletune
