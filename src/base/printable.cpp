#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tiletune {

namespace {

using Range = CharacterRange;

// Unicode's controls, its marks, embeddings and isolates of the bidirectional algorithm, line separators, and
// tags: with them a name could be shown as another one.
constexpr std::array kControls{Range{0x00, 0x1F},     Range{0x7F, 0x9F},     Range{0x061C, 0x061C},
                               Range{0x200B, 0x200F}, Range{0x2028, 0x202E}, Range{0x2060, 0x206F},
                               Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB}, Range{0xE0000, 0xE007F}};

std::string escaped(char32_t point, std::string_view escape) {
  if (point < 0x10000) return fmt::format("{}{:04x}", escape, static_cast<std::uint32_t>(point));
  const std::uint32_t above = point - 0x10000;  // a pair of surrogates
  return fmt::format("{0}{1:04x}{0}{2:04x}", escape, 0xD800 + (above >> 10U), 0xDC00 + (above & 0x3FFU));
}

}  // namespace

bool is_in(std::span<const CharacterRange> ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const CharacterRange& range) {
    return point >= range.first && point <= range.last;
  });
}

bool DecodedCharacter::is_control() const { return is_in(kControls, point); }

DecodedCharacter decode_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const auto length = static_cast<std::size_t>(std::countl_one(first));
  if (length < 2 || length > 4 || text.size() < length) return {};
  char32_t point = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80U) return {};
    point = point << 6U | (next & 0x3FU);
  }
  constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < smallest.at(length) || point > 0x10FFFF || surrogate) return {};
  return {point, length};
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const DecodedCharacter next = decode_character(text);
    if (next.point == '\n' || next.point == '\t' || next.point == '\r') {
      out += ' ';
    } else if (next.point == DecodedCharacter::kInvalid || next.is_control()) {
      out += '?';
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

std::string printed_text(std::string_view raw) {
  constexpr std::size_t kMostBytes = 4096;
  constexpr std::string_view kCut = "...";
  const bool is_cut = raw.size() > kMostBytes;
  raw = is_cut ? raw.substr(0, kMostBytes - kCut.size()) : trim(raw);
  std::string text;
  for (const std::string& line : split(raw, '\n')) text += (text.empty() ? "" : "\n") + printable(line);
  return is_cut ? text.append(kCut) : text;
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return with_escaped_controls(
      json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace), "\\u");
}

std::string with_escaped_controls(std::string_view json, std::string_view escape) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const DecodedCharacter next = decode_character(json);
    // Below 0x7F there are only the line breaks of the layout.
    if (next.point >= 0x7F && next.is_control()) {
      out += escaped(next.point, escape);
    } else {
      out += json.substr(0, next.bytes);
    }
    json.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace tiletune
