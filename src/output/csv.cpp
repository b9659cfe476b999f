#include "output/csv.h"

namespace tiletune {

namespace {

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
  for (std::size_t i = 0; i < values.size(); ++i) out << (i == 0 ? "" : ",") << quoted(values[i]);
  out << "\r\n";
}

}  // namespace tiletune
