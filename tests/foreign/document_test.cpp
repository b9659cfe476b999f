#include "foreign/document.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "carries.h"
#include "temporary_folder.h"

namespace tiletune {
namespace document_test {

class ReadDocument : public ::testing::Test {
 protected:
  /// What is handed on of the text, in which the member "rows" holds the rows; a message where it is wrong.
  std::string read(const std::string& text) const {
    std::ofstream(folder_ / "text", std::ios::binary) << text;
    std::string all;
    DocumentEvents events;
    events.holds_rows = [](const std::string& name) { return name == "rows"; };
    events.member = [&](const std::string& name, const JsonValue& value) {
      all += name + "=" + to_json_text(value) + " ";
    };
    events.rows_begin = [&](const std::string& /*name*/) { all += "rows: "; };
    events.row = [&](const std::string& key, const JsonValue& row) { all += key + to_json_text(row) + " "; };
    try {
      const DocumentEnd end = read_document(folder_ / "text", events);
      if (end != DocumentEnd::whole) all += end == DocumentEnd::open ? "(open)" : "(within a row)";
      return all;
    } catch (const UserError& error) {
      return error.where().pointer + ": " + error.message();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(ReadDocument, TakesWhatIsWrittenInUnusualWays) {
  EXPECT_EQ(read("\xEF\xBB\xBF\r\n\t[ ] \n"), "=[] ");
  EXPECT_EQ(read("\xEF\xBB\xBF{}"), "");
  EXPECT_EQ(read(R"([-0, 0e0, 9223372036854775807, 9223372036854775808, -1.5E+2, 1e-400, 1e30])"),
            "=[0,0.0,9223372036854775807,9223372036854775808,-150.0,0.0,1e+30] ");
  EXPECT_EQ(read(R"({"":{}, "a\"\\\/\b":[true,false,null] , "a": {"x": 1, "x": 2}})"),
            "={} a\"\\/\b=[true,false,null] a={\"x\":1,\"x\":2} ");
  EXPECT_EQ(read(R"(["\u00b5\u20AC\ud83d\ude00", "µ€😀"])"), R"(=["µ€😀","µ€😀"] )");
  EXPECT_EQ(read("[NaN, Infinity, -Infinity]"), "=[null,null,null] ");
}

TEST_F(ReadDocument, RowsAreHandedOnOneByOne) {
  EXPECT_EQ(read(R"({"a": 1, "rows": [1, {"x": 2}], "b": 2})"), R"(a=1 rows: 1 {"x":2} b=2 )");
  EXPECT_EQ(read(R"({"rows": {"k": 1, "l": {"x": 2}}})"), R"(rows: k1 l{"x":2} )");
  EXPECT_EQ(read(R"({"rows": 5, "a": {"rows": [1]}})"), R"(rows=5 a={"rows":[1]} )");
  EXPECT_EQ(read(R"({"rows": []})"), "rows: ");
}

TEST_F(ReadDocument, TellsHowFarATextThatIsCutOffGoes) {
  for (const char* end : {"", " ", ", ", "}", "}, "})
    EXPECT_EQ(read(R"({"rows": {"k": 1)" + std::string(end)), "rows: k1 (open)") << end;
  for (const char* end : {", \"l", ", \"l\"", ", \"l\": ", ", \"l\": {\"x\"", ", \"l\": {\"x\": 1"})
    EXPECT_EQ(read(R"({"rows": {"k": {})" + std::string(end)), "rows: k{} (within a row)") << end;
  EXPECT_EQ(read(R"({"rows": [{"x": 1)"), "rows: (within a row)");
  EXPECT_TRUE(carries(read(R"({"rows": [{"x": 1}], "a)"), {"line 1, column 24", "cut off"}));
  EXPECT_TRUE(carries(read(R"({"a": )"), {"line 1, column 7", "cut off"}));
  EXPECT_TRUE(carries(read("[1,\n 2,"), {"line 2, column 4", "cut off"}));
}

TEST_F(ReadDocument, SaysWhereATextStopsToBeJson) {
  const auto expect = [&](const std::string& text, const std::string& place) {
    const std::string why = read(text);
    EXPECT_TRUE(carries(why, {place, "JSON"})) << text;
  };
  expect("", "line 1, column 1");
  expect(" \n ", "line 2, column 2");
  expect("[1 2]", "line 1, column 4");
  expect("{\"a\" 1}", "line 1, column 6");
  expect("{\"a\": 1 \"b\": 2}", "line 1, column 9");
  expect("{\"a\": 1,}", "line 1, column 9");
  expect("{a: 1}", "line 1, column 2");
  expect("{\"rows\": [1, ]}", "line 1, column 14");
  expect("{\"rows\": [1 2]}", "line 1, column 13");
  expect("{\"rows\": [1]]}", "line 1, column 13");
  expect("[1]]", "line 1, column 4");
  expect("{} x", "line 1, column 4");
  expect(std::string("[\0]", 3), "line 1, column 2");
  expect("[1e999]", "line 1, column 7");
  expect("[\"\xC0\x80\"]", "line 1, column 4");
  expect("[" + std::string(300000, '\n') + "  x", "line 300001, column 3");
  EXPECT_TRUE(carries(read("[\"\xE2"), {"line 1, column 4", "cut off"})) << "it ends within a character";
}

/// Every token lies across the end of a piece of the stream once.
TEST_F(ReadDocument, PiecesOfTheStreamEndAnywhere) {
  const std::string token =
      R"({"key":["a\u00b5\n€", -12.5e1, 123, 18446744073709551617, true, null, {}], "rows": [{"x": 1}, 2]})";
  const std::string expected = read(token);
  ASSERT_EQ(expected, R"(key=["aµ\n€",-125.0,123,1.8446744073709552e+19,true,null,{}] rows: {"x":1} 2 )");
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  for (std::size_t before = 0; before <= token.size(); ++before)
    ASSERT_EQ(read(std::string(kPiece - before, ' ') + token), expected) << before;
}

TEST_F(ReadDocument, RefusesWhatIsNestedTooDeepWhereverItIs) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  const auto expect_too_deep = [&](const std::string& text, const std::string& pointer) {
    EXPECT_TRUE(carries(read(text), {pointer + ":", "64 deep"}));
  };
  EXPECT_EQ(read(nested(64)), "=" + nested(64) + " ");
  expect_too_deep(nested(65), "");
  expect_too_deep(nested(1'000'000), "");
  expect_too_deep(R"({"rows": {"k": )" + nested(1'000'000) + "}}", "k");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"x\":";
  expect_too_deep(objects + "1" + std::string(100'000, '}'), "x");
}

}  // namespace document_test
}  // namespace tiletune
