#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tiletune {

/// The peer of a channel sent bytes that are not a frame, or went away in the middle of one.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Largest payload of a frame; a longer announced length is a ProtocolError, before anything is allocated for
/// it.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{64} << 20;

/// A frame is the magic "TTF1", the payload's length (uint32, little-endian) and the payload: one CBOR map
/// with a string member "type".
std::string encode_frame(const nlohmann::ordered_json& message);

/// Turns a byte stream into messages. Feed it whatever arrived; take messages until none is whole.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  /// The next whole message, or none yet. Throws ProtocolError on anything that is not a frame.
  std::optional<nlohmann::ordered_json> next();
  /// True when part of a frame has arrived and the rest has not.
  bool in_the_middle() const { return !buffer_.empty(); }

 private:
  std::string buffer_;
};

/// How deep lists and maps of a CBOR value may be nested, and how many members one map may have.
inline constexpr int kDeepestCbor = 64;
inline constexpr int kMostCborMembers = 4096;

/// The CBOR value that `bytes` are. Throws ProtocolError when they are none, when it goes beyond these
/// bounds, and when an item has no definite length: the library decodes by recursion, strings in pieces too,
/// and looks through a map's members for each new one.
nlohmann::ordered_json decode_cbor(std::string_view bytes);

}  // namespace tiletune
