#include <gtest/gtest.h>

#include "foreign/format.h"

namespace tiletune {
namespace units_test {

TEST(Units, AllSpellingsOfTheTools) {
  for (const char* unit : {"ms", "milliseconds", "miliseconds", "Milliseconds", "millisecond"})
    EXPECT_EQ(microseconds_of(unit), 1e3) << unit;
  EXPECT_EQ(microseconds_of("us"), 1);
  EXPECT_EQ(microseconds_of("Microseconds"), 1);
  EXPECT_EQ(microseconds_of("ns"), 1e-3);
  EXPECT_EQ(microseconds_of("Seconds"), 1e6);
  EXPECT_EQ(microseconds_of("s"), 1e6);
  for (const char* other : {"", "m", "minutes", "GFLOP/s", "mss"})
    EXPECT_EQ(microseconds_of(other), std::nullopt);
}

TEST(Units, TimesAreBroughtToUtc) {
  EXPECT_EQ(utc_time("2023-12-22 09:54:05.502007+00:00"), "2023-12-22T09:54:05Z");
  EXPECT_EQ(utc_time("2023-12-31T23:30:00-01:30"), "2024-01-01T01:00:00Z");
  EXPECT_EQ(utc_time("2024-03-01T00:10:00+0100"), "2024-02-29T23:10:00Z");
  EXPECT_EQ(utc_time("2024-03-01T00:10:00Z"), "2024-03-01T00:10:00Z");
  EXPECT_EQ(utc_time("2024-03-01 00:10:00"), "2024-03-01T00:10:00Z");
  for (const char* text : {"2022-06-01 13:55:07 UTC", "2022-6-1 13:55:7 UTC", "2022-06-1 13:55:7",
                           "2022-6-1T13:55:7.25Z", "2022-6-1 14:55:7 +01:00"})
    EXPECT_EQ(utc_time(text), "2022-06-01T13:55:07Z") << text;
  for (const char* other :
       {"", "yesterday", "2024-13-01 00:00:00", "2024-02-30 00:00:00", "2024-03-01 24:00:00", "2024-03-01",
        "2024-03-01 00:10:00+1", "2024-03-01 00:10:00 CET", "24-3-1 0:0:0", "2024-003-1 0:0:0",
        "2024--3-1 0:0:0", "2024-3-1 0:0", "9999-12-31T23:30:00-01:00", "0000-01-01T00:00:00+01:00"})
    EXPECT_EQ(utc_time(other), "") << other;
}

}  // namespace units_test
}  // namespace tiletune
