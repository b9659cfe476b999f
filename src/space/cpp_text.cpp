#include "space/cpp_text.h"

#include <fmt/format.h>

#include "base/identifier.h"

namespace tiletune::space {

bool is_type_or_name(std::string_view text) {
  while (true) {
    const std::size_t end = text.find_first_of(": ");
    if (!is_identifier(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    const std::size_t separator = text[end] == ' ' ? 1 : 2;
    if (separator == 2 && text.substr(end, 2) != "::") return false;
    text.remove_prefix(end + separator);
  }
}

std::string cpp_text(const Scalar& scalar) {
  if (scalar.is_string()) return *scalar.string;
  if (scalar.kind == Scalar::Kind::boolean) return scalar.integer != 0 ? "true" : "false";
  if (scalar.kind == Scalar::Kind::integer) return fmt::format("{}", scalar.integer);
  std::string text = fmt::format("{}", scalar.number);  // the shortest that reads back as the same number
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace tiletune::space
