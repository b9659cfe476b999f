#include "output/table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <sstream>

#include "carries.h"

namespace tiletune {
namespace table_test {

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
  EXPECT_EQ(sample().text(),
            "rank  template        median_us\n"
            "   1  sgemm_warptile       12.5\n"
            "   -  行列 µ                130\n");
}

TEST(TextTable, LinesEndWithoutSpaces) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_column("long header", Align::left);
  table.add_row({"x", "y"});
  EXPECT_EQ(table.text(), "a  long header\nx  y\n");
}

TEST(TextTable, ALongCellDoesNotMultiplyWithTheRows) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_column("b", Align::left);
  table.add_row({std::string(1000000, 'x'), "1"});
  for (int i = 0; i < 100; ++i) table.add_row({"y", "2"});
  EXPECT_LT(table.text().size(), 110000U);
  EXPECT_NE(table.text().find("x…  1\n"), std::string::npos);
}

TEST(TextTable, EmphasisIsColourOnly) {
  TextTable table = sample();
  table.emphasise_last_row();
  EXPECT_EQ(table.text(), sample().text());
  EXPECT_NE(table.text({true}).find("\n\x1b[1m   -  行列 µ                130\x1b[0m\n"), std::string::npos);
  EXPECT_EQ(sample().text({true}), sample().text());
}

TEST(TextTable, MissingCellsAreEmptyAndExtraOnesDropped) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_column("b", Align::right);
  table.add_row({"x"});
  table.add_row({"x", "1", "lost"});
  EXPECT_EQ(table.text(), "a  b\nx\nx  1\n");
}

TEST(TextTable, CellsCannotBreakLinesOrDriveTheTerminal) {
  TextTable table;
  table.add_column("a", Align::left);
  table.add_row({"x\n\x1b[31my"});
  EXPECT_EQ(table.text(), "a\nx ?[31my\n");
}

TEST(TextTable, EmptyColumnsAreHiddenOnRequestButNeverTheFirst) {
  TextTable table;
  table.add_column("rank", Align::right);
  table.add_column("tflops", Align::right, 1);
  table.add_column("template", Align::left);
  table.add_column("limiter", Align::left);
  table.add_row({"-", "-", "softmax", ""});
  EXPECT_EQ(table.text(), "rank  tflops  template  limiter\n   -       -  softmax\n");
  table.hide_empty_columns();
  EXPECT_EQ(table.text(), "rank  template\n   -  softmax\n");
  EXPECT_EQ(table.width(), 14U);
  EXPECT_TRUE(table.left_out(14).empty());
  std::ostringstream out;
  table.write_markdown(out);
  EXPECT_EQ(out.str(), "| rank | template |\n| ---: | --- |\n| - | softmax |\n");
  table.add_row({"1", "2.5", "softmax", "-"});
  EXPECT_EQ(table.left_out(14), std::vector<std::string>{"tflops"});
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
  EXPECT_EQ(sample().text({false, 20}),
            "rank  template\n"
            "   1  sgemm_warptile\n"
            "   -  行列 µ\n"
            "rank  median_us\n"
            "   1       12.5\n"
            "   -        130\n");
  EXPECT_EQ(sample().text({false, sample().width()}), sample().text());
  EXPECT_EQ(sample().text({false, 1}).substr(0, 21), "rank  template\n   1  ") << "one at least";
}

TextTable droppable() {
  TextTable table;
  table.add_column("rank", Align::right);
  table.add_column("parameters", Align::left);
  table.add_column("registers", Align::right, 1);
  table.add_column("median_us", Align::right);
  table.add_column("tflops", Align::right, 2);
  table.add_row({"1", "BM=128 BN=256 WM=128 WN=32 LANE_MAP=row_major", "232", "2603", "52.8"});
  table.emphasise_last_row();
  table.add_row({"-", "-", "-", "2685", "51.2"});
  return table;
}

TEST(TextTable, TextBreaksBetweenWordsBeforeColumnsAreDropped) {
  EXPECT_EQ(droppable().text({false, 64}),
            "rank  parameters                    registers  median_us  tflops\n"
            "   1  BM=128 BN=256 WM=128 WN=32          232       2603    52.8\n"
            "      LANE_MAP=row_major\n"
            "   -  -                                     -       2685    51.2\n");
  EXPECT_TRUE(droppable().left_out(64).empty());
  EXPECT_NE(droppable().text({true, 64}).find("\n\x1b[1m      LANE_MAP=row_major\x1b[0m\n"),
            std::string::npos);
}

TEST(TextTable, ColumnsAreDroppedInTheirOrderUntilLinesFit) {
  using Names = std::vector<std::string>;
  const TextTable table = droppable();
  EXPECT_EQ(table.left_out(table.width()), Names());
  EXPECT_EQ(table.left_out(57), Names{"registers"});
  EXPECT_EQ(table.left_out(44), (Names{"registers", "tflops"}));
  EXPECT_EQ(table.left_out(1), (Names{"registers", "tflops"})) << "the others stay";
  for (std::size_t width = 41; width <= table.width(); ++width) {
    std::istringstream lines(table.text({false, width}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    EXPECT_NE(table.text({false, width}).find("LANE_MAP=row_major"), std::string::npos) << "words stay whole";
  }
}

TEST(TextTable, ALineNamesWhatWasDroppedAndTheRemedy) {
  const auto written = [](bool markdown, std::size_t width) {
    std::ostringstream out;
    write_table(out, droppable(), markdown, {false, width}, "see the remedy");
    return out.str();
  };
  const std::string text = written(false, 44);
  const std::string table = droppable().text({false, 44});
  EXPECT_TRUE(text.starts_with(table)) << text;
  EXPECT_TRUE(carries(text.substr(table.size()), {"44 columns", "registers", "tflops", "(see the remedy)"}));
  EXPECT_EQ(written(false, kAnyWidth), droppable().text());
  EXPECT_EQ(written(true, 44), written(true, kAnyWidth)) << "Markdown is for a page";
}

TEST(LineWidth, ColumnsOverridesTheTerminal) {
  EXPECT_EQ(line_width("90", 200, 120), 90U);
  EXPECT_EQ(line_width(nullptr, 200, 120), 200U);
  EXPECT_EQ(line_width(nullptr, 0, 120), 120U);
  for (const char* none : {"", "0", "x", "80x", "-1", "99999999999999999999"})
    EXPECT_EQ(line_width(none, 200, 120), 200U) << none;
}

TEST(LineWidth, WhatIsNoTerminalGetsWholeTables) {
  setenv("COLUMNS", "40", 1);
  EXPECT_EQ(stdout_style().width, kAnyWidth);
  unsetenv("COLUMNS");
}

}  // namespace table_test
}  // namespace tiletune
