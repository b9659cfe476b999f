#include "base/printable.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace printable_test {

TEST(PrintedText, KeepsLinesAndMakesEachPrintable) {
  EXPECT_EQ(printed_text("\033[2Jwarp 0\r\nwarp 1\xff\n"), "?[2Jwarp 0 \nwarp 1?");
  EXPECT_EQ(printed_text(" \n"), "");
}

TEST(PrintedText, IsCutAt4KiB) {
  EXPECT_EQ(printed_text(std::string(4096, 'x')), std::string(4096, 'x'));
  EXPECT_EQ(printed_text(std::string(4097, 'x')), std::string(4093, 'x') + "...");
}

}  // namespace printable_test
}  // namespace tiletune
