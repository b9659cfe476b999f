#include "carries.h"

namespace tiletune {
namespace carries_test {

TEST(Carries, AsksForAllPartsInAnyOrder) {
  EXPECT_TRUE(carries("a.json: /x: found 3, expected 'y'", {"'y'", "3", "a.json: /x"}));
  EXPECT_FALSE(carries("a.json: /x: found 3, expected 'y'", {"3", "'z'"}));
}

TEST(Carries, TakesWordsAndNumbersAsAWhole) {
  const char* const message = "12 rows of sgemm_naive take 0.15 us";
  for (const char* part : {"1", "15 us", "0", "naive"}) EXPECT_FALSE(carries(message, {part})) << part;
  for (const char* part : {"12 rows", "0.15 us", "sgemm_naive"}) EXPECT_TRUE(carries(message, {part}));
  EXPECT_TRUE(carries("no row 2: rows 12, 2.", {"row", "2"})) << "behind what only begins or ends so";
}

TEST(Carries, ALineHasThemTogether) {
  EXPECT_TRUE(has_line("a 1\nb 2\n", {"2", "b"}));
  EXPECT_FALSE(has_line("a 1\nb 2\n", {"a", "2"}));
}

}  // namespace carries_test
}  // namespace tiletune
