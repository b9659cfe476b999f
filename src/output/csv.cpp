#include "output/csv.h"

#include <cstdlib>

#include "base/text.h"
#include "output/display.h"

namespace tiletune {

namespace {

/// Text of other people may carry what a terminal obeys; only line breaks stay.
std::string harmless(const std::string& value) {
  std::vector<std::string> lines = split(value, '\n');
  for (std::string& line : lines) line = printable(line);
  return join(lines, "\n");
}

bool is_number(const std::string& value) {
  char* end = nullptr;
  std::strtod(value.c_str(), &end);
  return end == value.c_str() + value.size();
}

/// A spreadsheet runs what begins so as a formula; an apostrophe makes it text.
bool begins_formula(const std::string& value) {
  return std::string("=+-@").find(value.front()) != std::string::npos && !is_number(value);
}

std::string field(const std::string& value) {
  const std::string text = harmless(value);
  return !text.empty() && begins_formula(text) ? "'" + text : text;
}

std::string quoted(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void write_csv_record(std::ostream& out, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) out << (i == 0 ? "" : ",") << quoted(field(values[i]));
  out << "\r\n";
}

}  // namespace tiletune
