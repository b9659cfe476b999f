#include "output/display.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace display_test {

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("µs"), 2U);
  EXPECT_EQ(display_width("e\u0301"), 1U) << "a combining accent takes no column";
  EXPECT_EQ(display_width("行列"), 4U);
  EXPECT_EQ(display_width("🚀"), 2U);
}

TEST(DisplayWidth, BrokenUtf8TakesOneColumnPerByte) {
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
  EXPECT_EQ(display_width("\xc3"), 1U) << "cut off in the middle";
  EXPECT_EQ(display_width("\xc0\x80"), 2U) << "overlong";
  EXPECT_EQ(display_width("\xed\xa0\x80"), 3U) << "a surrogate";
}

TEST(Printable, LeavesTextAndDefusesControlCharacters) {
  EXPECT_EQ(printable("µs 行列"), "µs 行列");
  EXPECT_EQ(printable("a\nb\tc\r"), "a b c ");
  EXPECT_EQ(printable("\x1b[2Jx\x07"), "?[2Jx?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "?2J")
      << "the one-character form of ESC [";
  EXPECT_EQ(printable("a\xff"
                      "b\xc3"),
            "a?b?");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(Shortened, CutsAtColumnsAndMarksTheCut) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 5), "abcd…");
  EXPECT_EQ(shortened("行列行列", 6), "行列…") << "half of a wide character cannot be shown";
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(Fitted, IndentsToTheSecondColumn) {
  EXPECT_EQ(fitted("  --db TEXT    the results of all sweeps\n", 32),
            "  --db TEXT    the results of\n               all sweeps\n");
  EXPECT_EQ(fitted("  one two three", 9), "  one two\n  three");
  EXPECT_EQ(fitted("short\n\nalso", 9), "short\n\nalso");
}

TEST(Wrapped, BreaksBetweenWordsByDisplayWidth) {
  EXPECT_EQ(wrapped("one two three", 13), "one two three");
  EXPECT_EQ(wrapped("one two three four", 12), "one two\n    three\n    four");
  EXPECT_EQ(wrapped("行列行列 ab c", 10), "行列行列\n    ab c");
  EXPECT_EQ(wrapped("a_word_that_is_too_long b", 8), "a_word_that_is_too_long\n    b");
  EXPECT_EQ(wrapped("", 8), "");
}

}  // namespace display_test
}  // namespace tiletune
