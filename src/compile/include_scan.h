#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tiletune {

/// A file that a source text asks the preprocessor for.
struct Include {
  enum class Form { quoted, angled };
  std::string name;
  Form form = Form::quoted;
  std::size_t line = 0;     ///< from 1
  bool only_asked = false;  ///< by __has_include: a missing file is no mistake

  /// `#include <mma.h>` or `__has_include("a.cuh")`.
  std::string text() const;
};

/// Every file that a source text can make the preprocessor open, whether or not a conditional disables it.
/// Throws UserError (file and line) for what names a file that cannot be read off the text: computed
/// includes, #include_next, #import, #embed, modules, __has_include in a macro, and text that compilers may
/// split into tokens in different ways.
std::vector<Include> scan_includes(std::string_view text, const std::string& file);

}  // namespace tiletune
