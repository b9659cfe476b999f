#pragma once

#include <fmt/format.h>

#include <array>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "base/cbor.h"
#include "base/frame.h"

/// How members of messages are read, for messages.cpp and message_parts.cpp: whatever is missing, of another
/// type or out of range is a ProtocolError.
namespace tiletune::message {

using Json = nlohmann::ordered_json;

/// Runs a reader over a message and turns the JSON library's complaints into a ProtocolError.
template <typename Message>
Message read(const Json& json, const char* type, const std::function<void(Message&)>& fill) {
  try {
    if (json.at("type").get<std::string>() != type) {
      throw ProtocolError(
          fmt::format("expected a message '{}', got '{}'", type, json["type"].get<std::string>()));
    }
    Message message;
    fill(message);
    return message;
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(fmt::format("a message '{}' is malformed: {}", type, error.what()));
  }
}

template <typename T>
T as(const Json& json) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return message_unsigned(json);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(
        message_integer(json, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else {
    return json.get<T>();
  }
}

template <typename T>
void get(const Json& json, const char* key, T& out) {
  out = as<T>(json.at(key));
}

template <typename T, std::size_t N>
std::array<T, N> integers(const Json& json) {
  if (json.size() != N) throw ProtocolError(fmt::format("a list of {} integers has {}", N, json.size()));
  std::array<T, N> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = as<T>(json.at(i));
  return out;
}

template <typename T>
void get(const Json& json, const char* key, std::optional<T>& out) {
  if (!json.at(key).is_null()) out = as<T>(json.at(key));
}

template <typename T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

inline Json binary(const std::string& bytes) { return Json::binary({bytes.begin(), bytes.end()}); }

inline std::string binary_text(const Json& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

template <typename Enum>
Enum get_enum(const Json& json, const char* key, int last) {
  return static_cast<Enum>(message_integer(json.at(key), 0, last));
}
template <typename T>
Json optional_json(const std::optional<T>& value, Json (*convert)(const T&)) {
  return value ? convert(*value) : Json(nullptr);
}

template <typename T>
void get_optional(const Json& json, const char* key, std::optional<T>& out, T (*convert)(const Json&)) {
  if (const Json& value = json.at(key); !value.is_null()) out = convert(value);
}

}  // namespace tiletune::message
