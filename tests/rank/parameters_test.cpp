#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rank/rows.h"

namespace tiletune {
namespace parameters_test {

std::string member_names(std::string_view object) {
  std::string names;
  for_each_member(
      object, [&](std::string_view name, std::string_view /*value*/) { names.append(name).append(1, '\n'); });
  return names;
}

TEST(Parameters, NamesAreThoseOfTheOutermostObject) {
  EXPECT_EQ(member_names(R"({"BM":128,"MAP":"paired", "V" : [1,{"inner":2}],"last":true})"),
            "BM\nMAP\nV\nlast\n");
  EXPECT_EQ(member_names(R"({"a\"b":"x\\","c":"d,\"e\":1}"})"), "a\\\"b\nc\n");
  EXPECT_EQ(member_names("{}"), "");
}

TEST(Parameters, BrokenTextEndsSomewhere) {
  for (const char* text : {"", "\"", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":\"\\",
                           "{\"a\":]]]}", "{{{{", "a\"b"}) {
    member_names(text);
    identity_of("t", text);
  }
}

TEST(Parameters, OneConfigurationIsWrittenInManyWays) {
  const Identity identity = identity_of("t", R"({"A":1,"B":0.5,"C":0})");
  for (const char* text : {R"({"C":0,"B":0.5,"A":1})", R"({"A":1.0,"B":5e-1,"C":-0.0})",
                           R"({ "A" : true, "B" : 0.50, "C" : false })"})
    EXPECT_EQ(identity_of("t", text), identity) << text;
  for (const char* text : {R"({"A":"1","B":0.5,"C":0})", R"({"A":1,"B":0.5})", R"({"A":1,"B":0.5,"D":0})",
                           R"({"A":2,"B":0.5,"C":0})", R"({"A":1,"B":0.5,"C":null})"})
    EXPECT_NE(identity_of("t", text), identity) << text;
  EXPECT_NE(identity_of("t", R"({"A":"true"})"), identity_of("t", R"({"A":true})"));
  EXPECT_NE(identity_of("t", "{\"A"), identity_of("t", "{}")) << "text that is no JSON stands for itself";
}

TEST(Parameters, LargeNumbersKeepTheirDigits) {
  const auto of = [](const char* number) { return identity_of("t", fmt::format(R"({{"A":{}}})", number)); };
  EXPECT_NE(of("9007199254740993"), of("9007199254740992"));
  EXPECT_NE(of("18446744073709551616"), of("18446744073709551617"));
  EXPECT_EQ(of("4096.0"), of("4096"));
  EXPECT_EQ(of("1E300"), of("1e+300"));
  EXPECT_NE(of("1e999"), of("2e999")) << "beyond a double";
}

TEST(Parameters, AValueIsFoundHoweverItIsWritten) {
  const std::vector<Value> numbers{0.5, std::int64_t{1}, 2.0};
  EXPECT_EQ(WrittenAs(numbers).find("1.0"), &numbers[1]);
  EXPECT_EQ(WrittenAs(numbers).find("true"), &numbers[1]);
  EXPECT_EQ(WrittenAs(numbers).find("2"), &numbers[2]);
  EXPECT_EQ(WrittenAs(numbers).find("3"), nullptr);
  const std::vector<Value> texts{std::string("1"), std::string("float")};
  EXPECT_EQ(WrittenAs(texts).find(R"("float")"), &texts[1]);
  EXPECT_EQ(WrittenAs(texts).find("1"), nullptr);
}

TEST(Parameters, ValuesAreFoundAgainAndAgain) {
  std::vector<Value> values{true, 0.5, std::string("true")};
  for (std::int64_t i = 2; i < 100; ++i) values.emplace_back(i);
  const WrittenAs written(values);
  for (std::size_t i = 3; i < values.size(); ++i) EXPECT_EQ(written.find(std::to_string(i - 1)), &values[i]);
  EXPECT_EQ(written.find("1"), values.data());
  EXPECT_EQ(written.find("5e-1"), &values[1]);
  EXPECT_EQ(written.find("\"true\""), &values[2]);
  EXPECT_EQ(written.find("100"), nullptr);
}

}  // namespace parameters_test
}  // namespace tiletune
