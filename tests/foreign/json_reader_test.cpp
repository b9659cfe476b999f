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
  void rounded_integer(double value) override { text_ += fmt::format("r{} ", value); }
  void text(std::string_view value) override { text_ += fmt::format("'{}' ", value); }
  void open(bool object) override { text_ += object ? "{ " : "[ "; }
  void close() override { text_ += "} "; }
  const std::string& all() const { return text_; }

 private:
  std::string text_;
};

class ReadJson : public ::testing::Test {
 protected:
  /// What is read of the text, or where it is wrong.
  std::string read(const std::string& text) const {
    std::ofstream(folder_ / "text", std::ios::binary) << text;
    ByteStream stream(folder_ / "text");
    Listing listing;
    try {
      read_json(stream, listing);
    } catch (const JsonError& error) {
      return error.place + (error.at_end ? " (end)" : "");
    }
    return listing.all();
  }

  TemporaryFolder folder_;
};

TEST_F(ReadJson, TakesWhatIsWrittenInUnusualWays) {
  EXPECT_EQ(read("\xEF\xBB\xBF\r\n\t[ ] \n"), "[ } ");
  EXPECT_EQ(read(R"([-0, 0e0, 9223372036854775807, 9223372036854775808, -1.5E+2, 1e-400])"),
            "[ i0 d0 i9223372036854775807 r9.223372036854776e+18 d-150 d0 } ");
  EXPECT_EQ(read(R"({"":{},"a\"\\\/\b":[true,false,null]})"), "{ :{ } a\"\\/\b:[ true false null } } ");
  EXPECT_EQ(read(R"(["\u00b5\u20AC\ud83d\ude00", "µ€😀"])"), "[ 'µ€😀' 'µ€😀' } ");
}

TEST_F(ReadJson, TellsIntegersThatDoNotFitFromFractions) {
  EXPECT_EQ(read(R"([-9223372036854775808, -9223372036854775809, 18446744073709551616, 1e30, 1.5e19,
                     -9223372036854775808.0])"),
            "[ i-9223372036854775808 r-9.223372036854776e+18 r1.8446744073709552e+19 d1e+30 d1.5e+19 "
            "d-9.223372036854776e+18 } ");
}

TEST_F(ReadJson, TakesWhatPythonWritesWhereItHasNoNumber) {
  EXPECT_EQ(read("[NaN, Infinity, -Infinity]"), "[ dnan dinf d-inf } ");
}

TEST_F(ReadJson, SaysWhereItStopsToBeJson) {
  EXPECT_EQ(read(""), "line 1, column 1 (end)");
  EXPECT_EQ(read("[1,\n 2,"), "line 2, column 4 (end)");
  EXPECT_EQ(read("[1 2]"), "line 1, column 4");
  EXPECT_EQ(read("{\"a\" 1}"), "line 1, column 6");
  EXPECT_EQ(read("[1]]"), "line 1, column 4");
  EXPECT_EQ(read(std::string("[\0]", 3)), "line 1, column 2");
  for (const char* string : {"a", "\\", "\\u12", "\\ud83d"})
    EXPECT_EQ(read(std::string("[\"") + string).find("(end)"), std::string::npos) << string;
  EXPECT_EQ(read("[1e999]"), "line 1, column 7");
  EXPECT_EQ(read("[\"\xE2"), "line 1, column 4") << "it ends within a character";
  EXPECT_EQ(read("[\"\xC0\x80\"]").substr(0, 7), "line 1,") << "this is no UTF-8";
  EXPECT_EQ(read("[" + std::string(300000, '\n') + "  x"), "line 300001, column 3") << "beyond a piece";
}

/// Every token lies across the end of a piece of the stream once.
TEST_F(ReadJson, PiecesOfTheStreamEndAnywhere) {
  const std::string token =
      R"({"key":["a\u00b5\n€", -12.5e1, 123, 18446744073709551617, 2.5e19, true, null, {}]})";
  std::string expected = read(token);
  ASSERT_EQ(expected, "{ key:[ 'aµ\n€' d-125 i123 r1.8446744073709552e+19 d2.5e+19 true null { } } } ");
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  for (std::size_t before = 0; before <= token.size(); ++before)
    ASSERT_EQ(read(std::string(kPiece - before, ' ') + token), expected) << before;
}

}  // namespace
}  // namespace tiletune
