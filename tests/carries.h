#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

/// Whether a message has all parts, in any order, each as whole words and numbers: "1" is not in "12" or
/// "0.1". Tests ask for what a message must carry: the place, the name or value that is wrong, numbers, what
/// to type. Its wording is pinned in cli/wording.txt alone.
inline testing::AssertionResult carries(std::string_view message, const std::vector<std::string>& parts) {
  const auto is = [&](int (*kind)(int), std::size_t at) {
    return at < message.size() && kind(static_cast<unsigned char>(message[at])) != 0;
  };
  const auto in_word = [&](std::size_t at) {
    return is(std::isalnum, at) || (at < message.size() && message[at] == '_');
  };
  const auto is_point = [&](std::size_t at) {
    return at > 0 && is(std::isdigit, at - 1) && message[at] == '.' && is(std::isdigit, at + 1);
  };
  /// Whether a word or a number goes on over this border.
  const auto goes_on = [&](std::size_t border) {
    if (border == 0 || border >= message.size()) return false;
    return (in_word(border - 1) && in_word(border)) || is_point(border - 1) || is_point(border);
  };
  for (const std::string& part : parts) {
    std::size_t at = message.find(part);
    while (at != std::string_view::npos && (goes_on(at) || goes_on(at + part.size())))
      at = message.find(part, at + 1);
    if (at == std::string_view::npos)
      return testing::AssertionFailure() << "'" << part << "' is not in: " << message;
  }
  return testing::AssertionSuccess();
}

/// Whether one line of a text carries all parts.
inline testing::AssertionResult has_line(const std::string& text, const std::vector<std::string>& parts) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (carries(line, parts)) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "no line has " << testing::PrintToString(parts) << ": " << text;
}

}  // namespace tiletune
