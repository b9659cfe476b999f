#include "output/table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <sstream>

namespace tiletune {
namespace {

TextTable sample() {
  TextTable table;
  table.add_column("rank", Align::right);
  table.add_column("template", Align::left);
  table.add_column("median_us", Align::right);
  table.add_row({"1", "sgemm_warptile", "12.5"});
  table.add_row({"-", "行列 µ", "130"});
  return table;
}

TEST(TextTable, AlignsByDisplayWidth) {
  EXPECT_EQ(sample().text(false),
            "rank  template        median_us\n"
            "   1  sgemm_warptile       12.5\n"
            "   -  行列 µ                130\n");
}

TEST(TextTable, LinesEndWithoutSpaces) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_column("long header", Align::left);
  table.add_row({"x", "y"});
  EXPECT_EQ(table.text(false), "a  long header\nx  y\n");
}

TEST(TextTable, ALongCellDoesNotMultiplyWithTheRows) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_column("b", Align::left);
  table.add_row({std::string(1000000, 'x'), "1"});
  for (int i = 0; i < 100; ++i) table.add_row({"y", "2"});
  EXPECT_LT(table.text(false).size(), 110000U);
  EXPECT_NE(table.text(false).find("x…  1\n"), std::string::npos);
}

TEST(TextTable, EmphasisIsColourOnly) {
  TextTable table = sample();
  table.emphasise_last_row();
  EXPECT_EQ(table.text(false), sample().text(false));
  EXPECT_NE(table.text(true).find("\n\x1b[1m   -  行列 µ                130\x1b[0m\n"), std::string::npos);
  EXPECT_EQ(sample().text(true), sample().text(false));
}

TEST(TextTable, MissingCellsAreEmptyAndExtraOnesDropped) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_column("b", Align::right);
  table.add_row({"x"});
  table.add_row({"x", "1", "lost"});
  EXPECT_EQ(table.text(false), "a  b\nx\nx  1\n");
}

TEST(TextTable, CellsCannotBreakLinesOrDriveTheTerminal) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_row({"x\n\x1b[31my"});
  EXPECT_EQ(table.text(false), "a\nx ?[31my\n");
}

TEST(TextTable, MarkdownEscapesWhatMarkdownWouldTake) {
  TextTable table;
  table.add_column("kernel", Align::left);
  table.add_column("us", Align::right);
  table.add_row({"k<1, true> | *a* `b` \\", "3"});
  std::ostringstream out;
  table.write_markdown(out);
  EXPECT_EQ(out.str(),
            "| kernel | us |\n"
            "| --- | ---: |\n"
            "| k&lt;1, true> \\| \\*a\\* \\`b\\` \\\\ | 3 |\n");
}

TEST(Colour, NoColorAndDumbTerminalsGetNone) {
  // Standard output of a test is no terminal, so every combination must say no; none may crash without TERM.
  for (const char* terminal : {"xterm", "dumb", ""}) {
    setenv("TERM", terminal, 1);
    setenv("NO_COLOR", "1", 1);
    EXPECT_FALSE(stdout_wants_colour());
    unsetenv("NO_COLOR");
  }
  unsetenv("TERM");
  EXPECT_FALSE(stdout_wants_colour());
}

TEST(TextTable, ColumnsWithoutRoomFollowBehindTheFirst) {
  std::ostringstream out;
  sample().write_text(out, false, sample().width() - 1);
  EXPECT_EQ(out.str(),
            "rank  template\n"
            "   1  sgemm_warptile\n"
            "   -  行列 µ\n"
            "rank  median_us\n"
            "   1       12.5\n"
            "   -        130\n");
  out.str("");
  sample().write_text(out, false, sample().width());
  EXPECT_EQ(out.str(), sample().text(false));
  out.str("");
  sample().write_text(out, false, 1);
  EXPECT_EQ(out.str().substr(0, 21), "rank  template\n   1  ") << "one at least";
}

}  // namespace
}  // namespace tiletune
