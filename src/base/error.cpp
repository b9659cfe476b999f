#include "base/error.h"

#include "base/printable.h"
#include "base/text.h"

namespace tiletune {

namespace {

std::string escaped(const std::string& key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

/// Lines after the first, such as those of a compiler's log, are behind "    | ", so that no line break in a
/// name of somebody else's begins a line that reads like tiletune's own.
std::string quoted_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) line = printable(line);
  return join(lines, "\n    | ");
}

std::string full_text(const std::string& what, const Where& where, const std::string& remedy) {
  std::string text = printable(where.text());
  if (!text.empty()) text += ": ";
  text += quoted_lines(what);
  if (!remedy.empty()) text += "\n  " + quoted_lines(remedy);
  return text;
}

}  // namespace

std::string Where::text() const {
  if (file.empty()) return pointer;
  if (pointer.empty()) return file;
  return file + ": " + pointer;
}

Where Where::at(const std::string& key) const { return {file, pointer + "/" + escaped(key)}; }

Where Where::at(size_t index) const { return {file, pointer + "/" + std::to_string(index)}; }

UserError::UserError(std::string what, Where where, std::string remedy)
    : std::runtime_error(full_text(what, where, remedy)),
      message_(std::move(what)),
      where_(std::move(where)),
      remedy_(std::move(remedy)) {}

}  // namespace tiletune
