#include "base/fields.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/fields_json.h"
#include "carries.h"

namespace tiletune {

namespace fields_test {
enum class Colour { red, green };
}
template <>
inline constexpr std::array<Named<fields_test::Colour>, 2> kSpellings<fields_test::Colour>{
    {{fields_test::Colour::red, "red"}, {fields_test::Colour::green, "green"}}};

namespace fields_test {

using Json = nlohmann::ordered_json;

struct Point {
  int x = 0;
  int y = 0;

  static constexpr auto fields() { return fields_of<&Point::x, &Point::y>(); }
  std::string fault() const { return x > y ? "x is beyond y" : ""; }
  bool operator==(const Point&) const = default;
};

struct Everything {
  bool flag = false;
  int count = 0;
  std::int64_t large = 0;
  std::uint64_t larger = 0;
  unsigned small = 0;
  double any = 0;
  double share = 0;
  double factor = 0;
  std::string text;
  std::string bytes;
  Colour colour = Colour::red;
  Value value;
  std::optional<double> maybe;
  std::optional<Point> maybe_point;
  std::vector<double> list;
  std::vector<Point> points;
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::map<std::string, std::string> map;
  double doubled = 0;  ///< follows from `any`

  static constexpr std::string_view kMessage = "everything";
  static constexpr auto fields() {
    using E = Everything;
    return list_of(field("flag", &E::flag), field("count", &E::count, {.min = 1, .max = 9}),
                   field("large", &E::large), field("larger", &E::larger), field("small", &E::small),
                   field("any", &E::any), field("share", &E::share, {.min = 0, .max = 1, .above = true}),
                   field("factor", &E::factor, {.min = 1, .max = 10, .or_zero = true}),
                   field("text", &E::text), binary_field("bytes", &E::bytes), field("colour", &E::colour),
                   field("value", &E::value), field("maybe", &E::maybe, {.min = 0}),
                   field("maybe_point", &E::maybe_point), field("list", &E::list, {.min = 0, .max = 100}),
                   field("points", &E::points), field("sizes", &E::sizes), field("map", &E::map));
  }
  void complete() { doubled = 2 * any; }
};

Everything sample() {
  Everything all;
  all.flag = true;
  all.count = 9;
  all.large = std::numeric_limits<std::int64_t>::min();
  all.larger = std::numeric_limits<std::uint64_t>::max();
  all.small = std::numeric_limits<unsigned>::max();
  all.any = -0.25;
  all.share = 1;
  all.text = "words";
  all.bytes = std::string("\x7f\0\xff", 3);
  all.colour = Colour::green;
  all.value = 2.0;
  all.maybe = 0;
  all.maybe_point = Point{1, 2};
  all.list = {0, 100};
  all.points = {{3, 4}, {5, 5}};
  all.sizes = {{"M", 3}, {"K", -4}};
  all.map = {{"a", "1"}, {"b", "2"}};
  return all;
}

/// Through a frame, as between two processes.
Json travelled(const Json& json) {
  FrameReader reader;
  reader.feed(encode_frame(json));
  return *reader.next();
}

std::string error_of(const Json& json) {
  try {
    from_json<Everything>(json);
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Fields, EveryKindTravels) {
  const Everything before = sample();
  const auto after = from_json<Everything>(travelled(to_json(before)));
  EXPECT_TRUE(after.flag);
  EXPECT_EQ(after.count, before.count);
  EXPECT_EQ(after.large, before.large);
  EXPECT_EQ(after.larger, before.larger);
  EXPECT_EQ(after.small, before.small);
  EXPECT_EQ(after.any, before.any);
  EXPECT_EQ(after.text, before.text);
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.colour, before.colour);
  EXPECT_EQ(after.value, before.value);
  EXPECT_EQ(after.maybe, before.maybe);
  EXPECT_EQ(after.maybe_point, before.maybe_point);
  EXPECT_EQ(after.list, before.list);
  EXPECT_EQ(after.points, before.points);
  EXPECT_EQ(after.sizes, before.sizes);
  EXPECT_EQ(after.map, before.map);
  EXPECT_EQ(after.doubled, -0.5);
  EXPECT_EQ(to_json(after), to_json(before));
}

TEST(Fields, AreWrittenByNameInTheirOrder) {
  EXPECT_EQ(to_json(Point{1, 2}).dump(), R"({"x":1,"y":2})");
  const Json json = to_json(sample());
  EXPECT_EQ(json.begin().key(), "type");
  EXPECT_EQ(json["type"], "everything");
  EXPECT_EQ(json["colour"], "green");
  EXPECT_EQ(json["maybe_point"], Json::parse(R"({"x": 1, "y": 2})"));
  EXPECT_EQ(json["sizes"], Json::parse(R"([["M", 3], ["K", -4]])"));
  EXPECT_TRUE(json["bytes"].is_binary());
  EXPECT_EQ((field_names<Point>()), (std::array<std::string_view, 2>{"x", "y"}));
}

TEST(Fields, WhatIsAbsentIsNull) {
  Everything all = sample();
  all.maybe.reset();
  all.maybe_point.reset();
  const Json json = travelled(to_json(all));
  EXPECT_TRUE(json["maybe"].is_null());
  EXPECT_FALSE(from_json<Everything>(json).maybe);
  EXPECT_FALSE(from_json<Everything>(json).maybe_point);
}

TEST(Fields, EveryMemberMustBeThereAndOfItsType) {
  const Json good = to_json(sample());
  for (const auto& [name, value] : good.items()) {
    Json missing = good;
    missing.erase(name);
    EXPECT_TRUE(carries(error_of(missing), {"'everything'", "'" + name + "'"}));
    for (const Json& other : {Json{{"another", "type"}}, Json(), Json::array({Json::array()}), Json("other"),
                              Json(-1e300), Json(true)}) {
      if (other.type() == value.type() || (name.starts_with("maybe") && other.is_null())) continue;
      if ((name == "any" && other.is_number()) ||
          (name == "value" && other.is_primitive() && !other.is_null()))
        continue;
      Json mistyped = good;
      mistyped[name] = other;
      EXPECT_NE(error_of(mistyped), "no error") << name << ": " << other;
    }
  }
  EXPECT_NE(error_of(Json::array()), "no error");
  EXPECT_NE(error_of(Json()), "no error");
}

struct Refusal {
  const char* member;
  Json value;
  std::vector<std::string> says;
};

TEST(Fields, WhatDoesNotFitIsRefusedAndNamed) {
  const std::vector<Refusal> refusals{
      {"type", "else", {"'else'"}},
      {"count", 0, {"count", "0", "1", "9"}},
      {"count", 10, {"count", "10", "1", "9"}},
      {"count", 2.0, {"count", "-2147483648", "2147483647"}},
      {"count", std::int64_t{1} << 32, {"count", "-2147483648", "2147483647"}},
      {"small", -1, {"small", "0", "4294967295"}},
      {"large", std::uint64_t{1} << 63U, {"large", "-9223372036854775808", "9223372036854775807"}},
      {"larger", -1, {"larger", "0", "9223372036854775807"}},
      {"share", 0, {"share", "0", "1", "above"}},
      {"share", std::nan(""), {"share", "nan", "0", "1"}},
      {"factor", 0.5, {"factor", "0.5", "0", "1", "10"}},
      {"text", Json::binary({1}), {"text:", "a text"}},
      {"bytes", "text", {"bytes:", "binary"}},
      {"colour", "blue", {"colour", "'blue'"}},
      {"colour", 1, {"colour:", "a text"}},
      {"value", Json::array(), {"value:", "scalar"}},
      {"maybe", -1, {"maybe", "-1", "0", "inf"}},
      {"maybe", HUGE_VAL, {"maybe", "0", "inf"}},
      {"maybe_point", Json::parse(R"({"x": 1})"), {"maybe_point", "'y'"}},
      {"maybe_point", Json::parse(R"({"x": 2, "y": 1})"), {"maybe_point", "x is beyond y"}},
      {"list", Json::array({1, 101}), {"list", "101", "0", "100"}},
      {"list", Json::object(), {"list:", "a list"}},
      {"points",
       Json::array({Json::parse(R"({"x": 1, "y": "2"})")}),
       {"points: y:", "-2147483648", "2147483647"}},
      {"sizes", Json::array({Json::array({"M", 1, 2})}), {"sizes:", "pair"}},
      {"sizes",
       Json::array({Json::array({"M", 1.5})}),
       {"sizes:", "-9223372036854775808", "9223372036854775807"}},
      {"map", Json::object({{"a", "1"}}), {"map:", "a list"}}};
  for (const auto& [member, value, says] : refusals) {
    Json json = to_json(sample());
    json[member] = value;
    EXPECT_TRUE(carries(error_of(json), {"'everything'"}));
    EXPECT_TRUE(carries(error_of(json), says));
  }
}

TEST(Fields, WithoutBoundsANumberMayBeAnything) {
  Everything all = sample();
  for (const double any : {HUGE_VAL, -HUGE_VAL, 1e300}) {
    all.any = any;
    EXPECT_EQ(from_json<Everything>(travelled(to_json(all))).any, any);
  }
  all.any = std::nan("");
  EXPECT_TRUE(std::isnan(from_json<Everything>(travelled(to_json(all))).any));
}

}  // namespace fields_test
}  // namespace tiletune
