#include "base/frame.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

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

using Json = nlohmann::ordered_json;

/// Follows a value without building it, and stops where it goes beyond the bounds.
class BoundsChecker : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return enter(); }
  bool key(string_t& /*name*/) override {
    return ++members_.back() <= kMostCborMembers ||
           refuse(fmt::format("a map has over {} members", kMostCborMembers));
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t /*elements*/) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    return refuse(error.what());
  }

  const std::string& reason() const { return reason_; }

 private:
  bool enter() {
    members_.push_back(0);
    return members_.size() <= kDeepestCbor || refuse(fmt::format("it is nested over {} deep", kDeepestCbor));
  }
  bool leave() {
    members_.pop_back();
    return true;
  }
  bool refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  std::vector<int> members_;  ///< of each list and map that is open
  std::string reason_;
};

/// Where the first item of indefinite length begins, as far as `bytes` are CBOR; bytes.size() when there is
/// none. Headers follow one another whatever is nested in what; only the content of strings lies between
/// them.
std::size_t find_indefinite(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const auto initial = static_cast<unsigned char>(bytes[at]);
    const unsigned type = initial >> 5;
    const unsigned info = initial & 0x1f;
    if (info == 31 && type >= 2 && type <= 5) return at;
    const std::size_t width = info >= 24 && info <= 27 ? std::size_t{1} << (info - 24) : 0;
    const std::string_view rest = bytes.substr(at + 1);
    if (width > rest.size()) break;
    std::uint64_t argument = width == 0 ? info : 0;
    for (std::size_t i = 0; i < width; ++i) argument = argument << 8 | static_cast<unsigned char>(rest[i]);
    const std::uint64_t content = type == 2 || type == 3 ? argument : 0;
    if (content > rest.size() - width) break;
    at += 1 + width + static_cast<std::size_t>(content);
  }
  return bytes.size();
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

Json decode_cbor(std::string_view bytes) {
  if (const std::size_t at = find_indefinite(bytes); at < bytes.size()) {
    throw ProtocolError(fmt::format("not readable CBOR: the item at byte {} has no definite length", at));
  }
  BoundsChecker checker;
  if (!Json::sax_parse(bytes.begin(), bytes.end(), &checker, Json::input_format_t::cbor)) {
    throw ProtocolError("not readable CBOR: " + checker.reason());
  }
  try {
    return Json::from_cbor(bytes.begin(), bytes.end());
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(std::string("not readable CBOR: ") + error.what());
  }
}

}  // namespace tiletune
