#include "foreign/json.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <nlohmann/json.hpp>

namespace tiletune {

namespace {

class TextWriter : public rapidjson::Writer<rapidjson::StringBuffer> {
 public:
  using Writer::Writer;
  bool Double(double number) {
    const std::string digits = nlohmann::json(number).dump();
    return RawValue(digits.data(), digits.size(), rapidjson::kNumberType);
  }
};

}  // namespace

const JsonValue* find(const JsonValue& object, std::string_view name) {
  if (!object.IsObject()) return nullptr;
  const auto member = object.FindMember(
      JsonValue(rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size()))));
  return member == object.MemberEnd() ? nullptr : &member->value;
}

std::string_view text(const JsonValue& string) { return {string.GetString(), string.GetStringLength()}; }

std::string_view text_of(const JsonValue& object, std::string_view name) {
  const JsonValue* member = find(object, name);
  return member != nullptr && member->IsString() ? text(*member) : std::string_view();
}

std::optional<double> number_of(const JsonValue& object, std::string_view name) {
  const JsonValue* member = find(object, name);
  return member != nullptr && member->IsNumber() ? std::optional(member->GetDouble()) : std::nullopt;
}

std::string to_json_text(const JsonValue& value) {
  rapidjson::StringBuffer buffer;
  TextWriter writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace tiletune
