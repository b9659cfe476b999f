#include "rank/parameters.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace {

using Names = std::set<std::string, std::less<>>;

std::string member_names(std::string_view object) {
  std::string names;
  append_member_names(object, names);
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
    EXPECT_EQ(identity_by("t", text, {}), identity_by("t", "{}", {})) << text;
  }
}

TEST(Parameters, IdentityIsOfTheNamedValuesAlone) {
  const Names names{"A", "B"};
  const auto identity = identity_by("t", R"({"A":1,"B":"x","C":3})", names);
  EXPECT_EQ(identity_by("t", R"({ "B" : "x" , "A" : 1 })", names), identity);
  EXPECT_NE(identity_by("t", R"({"A":1,"B":"y"})", names), identity);
  EXPECT_NE(identity_by("t", R"({"A":"1","B":"x"})", names), identity) << "text is no number";
  EXPECT_NE(identity_by("u", R"({"A":1,"B":"x"})", names), identity);
}

}  // namespace
}  // namespace tiletune
