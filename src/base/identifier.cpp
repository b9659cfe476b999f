#include "base/identifier.h"

#include <charconv>

namespace tiletune {

namespace {

constexpr std::string_view kBetween = "::";
constexpr std::string_view kNested = "_ZN";

}  // namespace

std::string_view unqualified(std::string_view name) {
  const std::size_t last = name.rfind(kBetween);
  return last == std::string_view::npos ? name : name.substr(last + kBetween.size());
}

bool is_qualified_name(std::string_view text) {
  while (true) {
    const std::size_t end = text.find(kBetween);
    if (!is_identifier(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + kBetween.size());
  }
}

std::string symbol_of_variable(std::string_view name) {
  if (name.find(kBetween) == std::string_view::npos) return std::string(name);
  std::string symbol(kNested);
  while (true) {
    const std::size_t end = name.find(kBetween);
    const std::string_view part = name.substr(0, end);
    symbol += std::to_string(part.size());
    symbol += part;
    if (end == std::string_view::npos) return symbol + "E";
    name.remove_prefix(end + kBetween.size());
  }
}

std::string variable_of_symbol(std::string_view symbol) {
  if (!symbol.starts_with(kNested) || !symbol.ends_with("E")) return std::string(symbol);
  std::string name;
  std::string_view rest = symbol.substr(kNested.size(), symbol.size() - kNested.size() - 1);
  while (!rest.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (error != std::errc() || length == 0 || length > rest.size()) return std::string(symbol);
    if (!name.empty()) name += kBetween;
    name += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return name.empty() ? std::string(symbol) : name;
}

}  // namespace tiletune
