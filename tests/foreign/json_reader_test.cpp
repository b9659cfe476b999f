#include "foreign/json_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "store/temporary_folder.h"

namespace tiletune {
namespace {

/// What was read, as text that tells kinds apart.
class Listing : public JsonEvents {
 public:
  void key(std::string_view name) override { text_ += fmt::format("{}:", name); }
  void null() override { text_ += "null "; }
  void boolean(bool value) override { text_ += value ? "true " : "false "; }
  void integer(std::int64_t value) override { text_ += fmt::format("i{} ", value); }
  void number(double value) override { text_ += fmt::format("d{} ", value); }
  void text(std::string_view value) override { text_ += fmt::format("'{}' ", value); }
  void open(bool object) override { text_ += object ? "{ " : "[ "; }
  void close() override { text_ += "} "; }
  const std::string& all() const { return text_; }

 private:
  std::string text_;
};

class JsonReaderTest : public ::testing::Test {
 protected:
  /// What is read of the text, or what is wrong with it and where.
  std::string read(const std::string& text) const {
    std::ofstream(folder_ / "text", std::ios::binary) << text;
    ByteStream stream(folder_ / "text");
    Listing listing;
    try {
      JsonReader(stream, listing).read();
    } catch (const JsonError& error) {
      return fmt::format("{}: {}{}", error.place, error.why, error.at_end ? " (end)" : "");
    }
    return listing.all();
  }

  TemporaryFolder folder_;
};

TEST_F(JsonReaderTest, TakesWhatIsWrittenInUnusualWays) {
  EXPECT_EQ(read("\xEF\xBB\xBF\r\n\t[ ] \n"), "[ } ");
  EXPECT_EQ(read(R"([-0, 0e0, 9223372036854775807, 9223372036854775808, -1.5E+2, 1e-400])"),
            "[ i0 d0 i9223372036854775807 d9.223372036854776e+18 d-150 d0 } ");
  EXPECT_EQ(read(R"({"":{},"a\"\\\/\b":[true,false,null]})"), "{ :{ } a\"\\/\b:[ true false null } } ");
  EXPECT_EQ(read(R"(["\u00b5\u20AC\ud83d\ude00", "µ€😀"])"), "[ 'µ€😀' 'µ€😀' } ");
}

TEST_F(JsonReaderTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(read(""), "line 1, column 1: it ends where a value is expected (end)");
  EXPECT_EQ(read("[1,\n 2,"), "line 2, column 4: it ends where a value is expected (end)");
  EXPECT_EQ(read("[1 2]"), "line 1, column 4: '2' where ',' or ']' is expected");
  EXPECT_EQ(read("{\"a\" 1}"), "line 1, column 6: '1' where ':' is expected");
  EXPECT_EQ(read("{\"a\": 1,}"), "line 1, column 9: '}' where a name is expected");
  EXPECT_EQ(read("[1]]"), "line 1, column 4: ']' where the end is expected");
  EXPECT_EQ(read("[tru]"), "line 1, column 5: ']' where a value is expected");
  EXPECT_EQ(read("[nul"), "line 1, column 5: a word does not end");
  EXPECT_EQ(read(std::string("[\0]", 3)), "line 1, column 2: byte 0x00 where a value is expected");
  EXPECT_EQ(read("[\"a"), "line 1, column 4: a string does not end");
  EXPECT_EQ(read("[1e999]"), "line 1, column 7: a number is too large");
}

/// Texts that another parser refuses too, or does not.
TEST_F(JsonReaderTest, AgreesWithAnotherParserOnWhatIsJson) {
  for (const char* text : {"01",
                           "-",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "--1",
                           "0x1",
                           "1.e1",
                           "1-1",
                           "-0.0e-0",
                           "[1,]",
                           "{,}",
                           "nulll",
                           "\"\\x\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\t\"",
                           "\"\x7F\"",
                           "\"\xC0\x80\"",
                           "\"\xE0\x9F\xBF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xED\x9F\xBF\"",
                           "\"\xF0\x8F\xBF\xBF\"",
                           "\"\xF4\x8F\xBF\xBF\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\xF5\x80\x80\x80\"",
                           "\"\xE2\x82\"",
                           "\"\x80\"",
                           "\xEF\xBB",
                           "[1]x",
                           "'a'",
                           "{\"a\":1,\"a\":2}",
                           "{\"a\"}",
                           "{1:2}",
                           "//",
                           "NaN",
                           "Infinity"}) {
    EXPECT_EQ(read(text).substr(0, 5) != "line ", nlohmann::json::accept(std::string(text))) << text;
  }
}

/// Every token lies across the end of a piece of the stream once.
TEST_F(JsonReaderTest, PiecesOfTheStreamEndAnywhere) {
  const std::string token = R"({"key":["a\u00b5\n€", -12.5e1, 123, true, null, {}]})";
  std::string expected = read(token);
  ASSERT_EQ(expected, "{ key:[ 'aµ\n€' d-125 i123 true null { } } } ");
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  for (std::size_t before = 0; before <= token.size(); ++before)
    ASSERT_EQ(read(std::string(kPiece - before, ' ') + token), expected) << before;
}

}  // namespace
}  // namespace tiletune
