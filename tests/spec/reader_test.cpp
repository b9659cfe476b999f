#include "spec/reader.h"

#include <limits>

#include "fixture.h"

namespace tiletune {
namespace reader_test {

constexpr std::array<std::string_view, 2> kKeys{"alpha", "beta"};

JsonNode root(const Json& json) { return {json, {"f.json", ""}}; }

TEST(ObjectReader, AMisspeltKeyIsNamedBeforeAMissingOne) {
  const Json json = Json::parse(R"({"alhpa": 1})");
  const UserError error = user_error_of([&] { ObjectReader(root(json), kKeys).need("alpha", "a number"); });
  EXPECT_TRUE(carries(error.message(), {"'alhpa'"}));
}

TEST(ObjectReader, FinishRefusesWhatWasNotAskedFor) {
  const Json json = Json::parse(R"({"alpha": 1, "beta": 2})");
  ObjectReader reader(root(json), kKeys);
  reader.find("alpha");
  const UserError error = user_error_of([&] { reader.finish("Try alpha."); });
  EXPECT_TRUE(carries(error.message(), {"'beta'", "no effect"}));
  EXPECT_EQ(error.where().text(), "f.json: /beta");
  EXPECT_EQ(error.remedy(), "Try alpha.");
  reader.find("beta");
  EXPECT_NO_THROW(reader.finish());
}

TEST(ObjectReader, AskingForAKeyThatIsNotListedIsAMistakeOfTheProgram) {
  const Json json = Json::object();
  ObjectReader reader(root(json), kKeys);
  EXPECT_THROW(reader.find("gamma"), std::logic_error);
}

TEST(Reader, NonfiniteNumbersAreRefused) {
  const Json nan = std::numeric_limits<double>::quiet_NaN();
  const Json infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(carries(user_error_of([&] { read_number(root(nan)); }).message(), {"nan"}));
  EXPECT_TRUE(carries(user_error_of([&] { read_number(root(infinity), {.min = 0}); }).message(),
                      {"inf", "a number", "0"}));
  EXPECT_TRUE(
      carries(user_error_of([&] { read_value(root(infinity), "a value"); }).message(), {"out of range"}));
  EXPECT_TRUE(carries(user_error_of([&] { read_expression(root(nan)); }).message(), {"out of range"}));
}

TEST(Reader, IntegersMayBeWrittenAsFloatsWhenExact) {
  EXPECT_EQ(read_integer(root(Json(1e3))), 1000);
  EXPECT_EQ(read_integer(root(Json(-4)), -5, 5), -4);
  EXPECT_EQ(read_integer(root(Json(std::uint64_t{INT64_MAX}))), INT64_MAX);
  EXPECT_THROW(read_integer(root(Json(9223372036854775808.0))), UserError);
  EXPECT_THROW(read_integer(root(Json(0.5))), UserError);
}

TEST(Reader, LongTextIsCutInMessages) {
  const Json json = std::string(500, 'x');
  const UserError error = user_error_of([&] { read_list(root(json), "values"); });
  EXPECT_LT(error.remedy().size(), 120U);
}

}  // namespace reader_test
}  // namespace tiletune
