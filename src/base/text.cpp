#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

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

namespace {

/// Edit distance with transpositions of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// "1.5 GiB" as the number and the unit behind it; none where it does not begin with a number.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return std::pair(value, trim(text.substr(static_cast<std::size_t>(end - text.data()))));
}

}  // namespace

std::optional<std::string> nearest(std::string_view misspelt, std::span<const std::string> known) {
  constexpr std::size_t kLongestCompared = 200;
  const bool one_letter_option = misspelt.size() == 2 && misspelt.starts_with('-');
  if (one_letter_option || misspelt.size() > kLongestCompared) return std::nullopt;
  const std::size_t allowed = std::clamp<std::size_t>(misspelt.size() / 3, 1, 3);
  std::optional<std::string> best;
  std::size_t best_distance = allowed + 1;
  for (const std::string& name : known) {
    if (name.size() > kLongestCompared) continue;
    const std::size_t distance = edit_distance(lower(misspelt), lower(name));
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view misspelt, std::span<const std::string> known) {
  if (const auto near = nearest(misspelt, known)) return fmt::format(" Did you mean '{}'?", *near);
  constexpr std::size_t kMostListed = 12;
  constexpr std::size_t kMostCharacters = 300;  // a longer line of a message loses its middle
  if (known.empty()) return "";
  std::size_t listed = 0;
  for (std::size_t characters = 0; listed < std::min(known.size(), kMostListed); ++listed) {
    characters += known[listed].size() + 2;
    if (listed > 0 && characters > kMostCharacters) break;
  }
  std::string text = " Known: " + join(known.first(listed), ", ");
  if (known.size() > listed) text += fmt::format(" and {} more", known.size() - listed);
  return text + ".";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string first_of(std::span<const std::string> words) {
  constexpr std::size_t kMostListed = 8;
  const std::size_t listed = std::min(words.size(), kMostListed);
  std::string text = join(words.first(listed), ", ");
  if (words.size() > listed) text += fmt::format(" and {} more", words.size() - listed);
  return text;
}

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string squashed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

bool has_words(std::string_view name, std::string_view part) {
  constexpr std::size_t kLongestName = 1000;
  const std::string wanted = squashed(part);
  if (wanted.empty() || name.size() > kLongestName) return false;
  const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::vector<bool> begins_word;  // of each character of the squashed name, and of its end
  for (std::size_t i = 0; i < name.size(); ++i)
    if (is_of_word(name[i])) begins_word.push_back(i == 0 || !is_of_word(name[i - 1]));
  begins_word.push_back(true);
  const std::string plain = squashed(name);
  for (std::size_t at = plain.find(wanted); at != std::string::npos; at = plain.find(wanted, at + 1))
    if (begins_word[at] && begins_word[at + wanted.size()]) return true;
  return false;
}

std::string counted(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string replaced(std::string_view text, std::span<const Replacement> replacements) {
  std::string whole;
  while (true) {
    std::size_t first = text.size();
    const Replacement* found = nullptr;
    for (const Replacement& replacement : replacements) {
      const std::size_t at = text.find(replacement.mark);
      if (at < first) {
        first = at;
        found = &replacement;
      }
    }
    whole += text.substr(0, first);
    if (found == nullptr) return whole;
    whole += found->text;
    text.remove_prefix(first + found->mark.size());
  }
}

std::string shell_quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<std::uint64_t> bytes_from_text(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  const auto number = number_and_unit(text);
  const auto unit = std::ranges::find(kUnits, number ? number->second : "");
  if (unit == kUnits.end()) return std::nullopt;
  const double bytes = std::ldexp(number->first, 10 * static_cast<int>(unit - kUnits.begin() + 1));
  if (!(bytes >= 1) || bytes >= 0x1p50) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<double> seconds_from_text(std::string_view text) {
  constexpr double kYear = 366 * 24 * 3600.0;
  const auto [value, unit] = number_and_unit(text).value_or(std::pair(0.0, std::string_view()));
  const double seconds = value * (unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0);
  if (!(seconds > 0) || seconds > kYear) return std::nullopt;
  return seconds;
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e15));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string three_digits(double value) {
  constexpr double kReadable = 1e9;
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const double magnitude = std::floor(std::log10(std::abs(value)));
  if (std::abs(value) >= kReadable) return fmt::format("{:.2e}", value);
  const int decimals = std::clamp(2 - static_cast<int>(magnitude), 0, 12);
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace tiletune
