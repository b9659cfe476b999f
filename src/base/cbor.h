#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tiletune {

/// Lists and maps of a CBOR value may be nested so deep, and one map may have so many members.
inline constexpr int kDeepestCbor = 64;
inline constexpr int kMostCborMembers = 4096;

/// The CBOR value that `bytes` are. Throws ProtocolError when they are none, when it goes beyond these
/// bounds, and when an item has no definite length: the library decodes by recursion, strings in pieces too,
/// and looks through a map's members for each new one.
nlohmann::ordered_json decode_cbor(std::string_view bytes);

}  // namespace tiletune
