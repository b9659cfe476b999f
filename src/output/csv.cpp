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
  std::string record;
  for (const std::string& value : values) {
    if (&value != &values.front()) record += ',';
    record += quoted(value);
  }
  out << record << "\r\n";
}

}  // namespace tiletune
