#include "base/frame.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "TTF1";
constexpr std::size_t kHeaderBytes = 8;

/// What of some CBOR goes beyond the bounds, or has no definite length; empty: nothing. Headers follow one
/// another whatever is nested in what; only the content of strings lies between them. What follows bytes that
/// are no CBOR is never decoded.
std::string excess_of(std::string_view bytes) {
  std::vector<std::uint64_t> open;  // of each list and map around an item: the items that it still has
  for (std::size_t at = 0; at < bytes.size();) {
    const auto initial = static_cast<unsigned char>(bytes[at]);
    const unsigned type = initial >> 5;
    const unsigned info = initial & 0x1f;
    const bool is_text = type == 2 || type == 3;
    const bool is_nest = type == 4 || type == 5;
    if (info == 31 && (is_text || is_nest))
      return fmt::format("the item at byte {} has no definite length", at);
    const std::size_t width = info >= 24 && info <= 27 ? std::size_t{1} << (info - 24) : 0;
    const std::string_view rest = bytes.substr(at + 1);
    if (width > rest.size()) break;
    std::uint64_t argument = width == 0 ? info : 0;
    for (std::size_t i = 0; i < width; ++i) argument = argument << 8 | static_cast<unsigned char>(rest[i]);
    const std::uint64_t content = is_text ? argument : 0;
    if (content > rest.size() - width) break;
    while (!open.empty() && open.back() == 0) open.pop_back();
    constexpr unsigned kTag = 6;  // belongs to the item that follows
    if (!open.empty() && type != kTag) --open.back();
    if (is_nest && open.size() == kDeepestCbor) return fmt::format("it is nested over {} deep", kDeepestCbor);
    if (type == 5 && argument > kMostCborMembers)
      return fmt::format("a map has over {} members", kMostCborMembers);
    if (is_nest) open.push_back(type == 5 ? 2 * argument : argument);
    at += 1 + width + static_cast<std::size_t>(content);
  }
  return "";
}

}  // namespace

std::string encode_frame(const nlohmann::ordered_json& message) {
  std::string payload;
  nlohmann::ordered_json::to_cbor(message, payload);
  if (payload.size() > kMaxFrameBytes) {
    throw ProtocolError(
        fmt::format("a frame of {} bytes is larger than the limit of {}", payload.size(), kMaxFrameBytes));
  }
  std::string frame(kMagic);
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(payload.size() >> shift & 0xffU);
  return frame + payload;
}

void FrameReader::feed(std::string_view bytes) { buffer_.append(bytes); }

std::optional<nlohmann::ordered_json> FrameReader::next() {
  const std::string_view magic = std::string_view(buffer_).substr(0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size()))
    throw ProtocolError("received bytes that do not begin a frame");
  if (buffer_.size() < kHeaderBytes) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = kHeaderBytes; i-- > kMagic.size();)
    length = length << 8 | static_cast<unsigned char>(buffer_[i]);
  if (length > kMaxFrameBytes)
    throw ProtocolError(fmt::format("a frame announces {} bytes; the limit is {}", length, kMaxFrameBytes));
  if (buffer_.size() < kHeaderBytes + length) return std::nullopt;
  Json message = decode_cbor(std::string_view(buffer_).substr(kHeaderBytes, length));
  if (!message.is_object() || !message.contains("type") || !message["type"].is_string())
    throw ProtocolError("the frame's payload is not a map with a string member 'type'");
  buffer_.erase(0, kHeaderBytes + length);
  return message;
}

Json decode_cbor(std::string_view bytes) {
  if (const std::string excess = excess_of(bytes); !excess.empty())
    throw ProtocolError("not readable CBOR: " + excess);
  try {
    return Json::from_cbor(bytes.begin(), bytes.end());
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(std::string("not readable CBOR: ") + error.what());
  }
}

}  // namespace tiletune
