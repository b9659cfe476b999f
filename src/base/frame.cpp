#include "base/frame.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/cbor.h"
#include "base/hash.h"

namespace tiletune {

namespace {

constexpr std::string_view kMagic = "TTF1";
constexpr std::size_t kHeaderBytes = 12;

std::uint32_t low_half(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>((value >> shift) & 0xffU);
}

std::uint32_t read_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = (value << 8) | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

nlohmann::ordered_json decode(std::string_view payload) {
  nlohmann::ordered_json message = decode_cbor(payload);
  if (!message.is_object() || !message.contains("type") || !message["type"].is_string()) {
    throw ProtocolError("the frame's payload is not a map with a string member 'type'");
  }
  return message;
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
  append_u32(frame, static_cast<std::uint32_t>(payload.size()));
  append_u32(frame, low_half(checksum64(payload)));
  return frame + payload;
}

void FrameReader::feed(std::string_view bytes) { buffer_.append(bytes); }

std::optional<nlohmann::ordered_json> FrameReader::next() {
  const std::string_view magic = std::string_view(buffer_).substr(0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size()))
    throw ProtocolError("received bytes that do not begin a frame");
  if (buffer_.size() < kHeaderBytes) return std::nullopt;
  const std::size_t length = read_u32(std::string_view(buffer_).substr(4));
  if (length > kMaxFrameBytes) {
    throw ProtocolError(fmt::format("a frame announces {} bytes; the limit is {}", length, kMaxFrameBytes));
  }
  if (buffer_.size() < kHeaderBytes + length) return std::nullopt;
  const std::string_view payload = std::string_view(buffer_).substr(kHeaderBytes, length);
  if (read_u32(std::string_view(buffer_).substr(8)) != low_half(checksum64(payload))) {
    throw ProtocolError("a frame's checksum does not match its payload");
  }
  auto message = decode(payload);
  buffer_.erase(0, kHeaderBytes + length);
  return message;
}

}  // namespace tiletune
