#pragma once

#include <fmt/format.h>

#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/frame.h"
#include "base/spelling.h"
#include "base/value.h"

/// Structs with a list of fields as JSON, and strictly back: a ProtocolError names what is missing, of
/// another type or out of bounds. The JSON library would cut integers off, and turn floats into integers.
///
/// A struct may have two members for what a list of fields cannot say: `std::string fault() const`, what is
/// wrong with it, or nothing; and `void complete()`, which computes what follows from the fields.
namespace tiletune {

namespace fields {

using Json = nlohmann::ordered_json;

// What JSON holds, as one of its types. Each throws ProtocolError.
bool read_bool(const Json& json);
std::int64_t read_integer(const Json& json, std::int64_t min, std::int64_t max);
std::uint64_t read_unsigned(const Json& json);
double read_number(const Json& json);
std::string read_text(const Json& json);
std::string read_binary(const Json& json);
const Json& read_member(const Json& json, std::string_view name);
const Json& read_list(const Json& json);

template <typename T, template <typename...> typename Of>
inline constexpr bool kIs = false;
template <template <typename...> typename Of, typename... Of_what>
inline constexpr bool kIs<Of<Of_what...>, Of> = true;
/// Maps are lists of pairs: an object of a message has few members.
template <typename T>
inline constexpr bool kIsList = kIs<T, std::vector> || kIs<T, std::map>;

template <HasFields Struct>
void write_fields(Json& json, const Struct& value);

template <typename T>
Json write(const T& value) {
  if constexpr (HasFields<T>) {
    Json json = Json::object();
    write_fields(json, value);
    return json;
  } else if constexpr (kIs<T, std::optional>) {
    return value ? write(*value) : Json(nullptr);
  } else if constexpr (kIsList<T>) {
    Json json = Json::array();
    for (const auto& element : value) json.push_back(write(element));
    return json;
  } else if constexpr (kIs<T, std::pair>) {
    return Json::array({write(value.first), write(value.second)});
  } else if constexpr (Spelled<T>) {
    return name(value);
  } else if constexpr (std::is_same_v<T, Value>) {
    return to_json(value);
  } else {
    return value;
  }
}

template <HasFields Struct>
void write_fields(Json& json, const Struct& value) {
  for_each_field<Struct>([&](const auto& field) {
    const auto& member = value.*field.member;
    Json& out = json[std::string(field.name)];
    if constexpr (std::is_same_v<decltype(member), const std::string&>)
      out = field.is_binary ? Json::binary({member.begin(), member.end()}) : Json(member);
    else
      out = write(member);
  });
}

template <typename Number>
Number read_bounded(const Json& json, const Bounds<Number>& bounds) {
  Number number{};
  if constexpr (std::is_floating_point_v<Number>)
    number = read_number(json);
  else if constexpr (std::is_same_v<Number, std::uint64_t>)
    number = read_unsigned(json);
  else
    number = static_cast<Number>(
        read_integer(json, std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()));
  if (bounds.contain(number)) return number;
  throw ProtocolError(fmt::format("{} is not {}{}{} to {}", number, bounds.or_zero ? "0 or " : "",
                                  bounds.above ? "above " : "from ", bounds.min, bounds.max));
}

template <HasFields Struct>
void read_fields(const Json& json, Struct& out);

template <typename T>
T read(const Json& json, const typename BoundsOf<T>::type& bounds = {}) {
  if constexpr (HasFields<T>) {
    T value{};
    read_fields(json, value);
    return value;
  } else if constexpr (kIs<T, std::optional>) {
    if (json.is_null()) return std::nullopt;
    return read<typename T::value_type>(json, bounds);
  } else if constexpr (kIs<T, std::vector>) {
    T list;
    for (const Json& element : read_list(json)) list.push_back(read<typename T::value_type>(element, bounds));
    return list;
  } else if constexpr (kIs<T, std::map>) {
    T map;
    for (const Json& element : read_list(json))
      map.insert(read<std::pair<typename T::key_type, typename T::mapped_type>>(element));
    return map;
  } else if constexpr (kIs<T, std::pair>) {
    if (read_list(json).size() != 2) throw ProtocolError("it is not a pair");
    return {read<typename T::first_type>(json[0]), read<typename T::second_type>(json[1])};
  } else if constexpr (Spelled<T>) {
    const std::string text = read_text(json);
    if (const std::optional<T> value = from_name<T>(text)) return *value;
    throw ProtocolError(fmt::format("'{}' is not one of its names", text));
  } else if constexpr (std::is_same_v<T, Value>) {
    Value value;
    if (!from_json(json, value)) throw ProtocolError("it is not a scalar");
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return read_bool(json);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return read_text(json);
  } else {
    return read_bounded(json, bounds);
  }
}

template <HasFields Struct>
void read_fields(const Json& json, Struct& out) {
  for_each_field<Struct>([&](const auto& field) {
    auto& member = out.*field.member;
    using Member = std::remove_reference_t<decltype(member)>;
    const Json& value = read_member(json, field.name);
    try {
      if constexpr (std::is_same_v<Member, std::string>)
        member = field.is_binary ? read_binary(value) : read_text(value);
      else
        member = read<Member>(value, field.bounds);
    } catch (const ProtocolError& error) {
      throw ProtocolError(fmt::format("{}: {}", field.name, error.what()));
    }
  });
  if constexpr (requires { out.fault(); }) {
    if (const std::string fault = out.fault(); !fault.empty()) throw ProtocolError(fault);
  }
  if constexpr (requires { out.complete(); }) out.complete();
}

}  // namespace fields

/// A message is a struct with a `kMessage`, which is the "type" of its JSON.
template <typename T>
concept IsMessage = HasFields<T> && requires {
  { T::kMessage } -> std::convertible_to<std::string_view>;
};

template <HasFields Struct>
nlohmann::ordered_json to_json(const Struct& value) {
  auto json = nlohmann::ordered_json::object();
  if constexpr (IsMessage<Struct>) json["type"] = Struct::kMessage;
  fields::write_fields(json, value);
  return json;
}

/// Throws ProtocolError; members that are no field are let be.
template <HasFields Struct>
Struct from_json(const nlohmann::ordered_json& json) {
  Struct value;
  if constexpr (IsMessage<Struct>) {
    try {
      const std::string type = fields::read_text(fields::read_member(json, "type"));
      if (type != Struct::kMessage) throw ProtocolError(fmt::format("it is a message '{}'", type));
      fields::read_fields(json, value);
    } catch (const ProtocolError& error) {
      throw ProtocolError(fmt::format("a message '{}' is malformed: {}", Struct::kMessage, error.what()));
    }
  } else {
    fields::read_fields(json, value);
  }
  return value;
}

}  // namespace tiletune
