#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace tiletune {
namespace json_text_test {

using Json = nlohmann::ordered_json;

TEST(JsonText, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(json_text({{"µs", "行列 \x1b[2J"}}), "{\"µs\":\"行列 \\u001b[2J\"}");
  EXPECT_EQ(json_text("\u009b2J \x7f"), "\"\\u009b2J \\u007f\"");
  EXPECT_EQ(json_text({{"a\u202Eb", "\u2028\u200f"}}), "{\"a\\u202eb\":\"\\u2028\\u200f\"}");
  EXPECT_EQ(json_text("\U000E0041"), "\"\\udb40\\udc41\"");
}

TEST(JsonText, IsReadBackAsItWas) {
  const Json json{{"a\u202Eb", {"\U000E0041\u0085", "\\\u202E", 1.5}}, {"c", nullptr}};
  EXPECT_EQ(Json::parse(json_text(json)), json);
  EXPECT_EQ(Json::parse(json_text(json, 2)), json);
}

TEST(JsonText, RepairsWhatIsNotUtf8) { EXPECT_EQ(json_text("a\xff"), "\"a\uFFFD\""); }

TEST(WithEscapedControls, MayShowTheEscape) {
  EXPECT_EQ(with_escaped_controls("{\"µs\": \"a\u202Egnp\"}", "\\\\u"), "{\"µs\": \"a\\\\u202egnp\"}");
  EXPECT_EQ(with_escaped_controls("\"\\\\\u202E\"", "\\\\u"), "\"\\\\\\\\u202e\"")
      << "a backslash before it stays one";
  EXPECT_EQ(with_escaped_controls("\\n 行列 e\u0301", "\\\\u"), "\\n 行列 e\u0301");
}

}  // namespace json_text_test
}  // namespace tiletune
