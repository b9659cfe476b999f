#include "base/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/value.h"

namespace tiletune {
namespace text_test {

const std::vector<std::string> kKnown{"templates", "problems", "measure", "strategy"};

TEST(Text, NearestFindsTypingErrorsAndNothingElse) {
  EXPECT_EQ(nearest("templtaes", kKnown), "templates");
  EXPECT_EQ(nearest("Problem", kKnown), "problems");
  EXPECT_EQ(nearest("colour", kKnown), std::nullopt);
  EXPECT_EQ(nearest("", kKnown), std::nullopt);
}

TEST(Text, AnOptionOfOneLetterIsNearToNone) {
  const std::vector<std::string> options{"-j", "-o", "--db"};
  EXPECT_EQ(nearest("-x", options), std::nullopt);
  EXPECT_EQ(nearest("--d", options), "--db");
  EXPECT_EQ(nearest("BN", std::vector<std::string>{"BM"}), "BM");
}

TEST(Text, SuggestionNamesTheNearestOrAll) {
  EXPECT_EQ(suggestion("mesure", kKnown), " Did you mean 'measure'?");
  EXPECT_EQ(suggestion("zzzzzz", kKnown), " Known: templates, problems, measure, strategy.");
  EXPECT_EQ(suggestion("x", {}), "");
  const std::string path(149, 'p');
  EXPECT_EQ(suggestion("x", std::vector{path, path, path}), " Known: " + path + " and 2 more.");
}

TEST(Text, WordsOfANameAreWhole) {
  for (const char* part : {"h100", "H100 80GB", "nvidia-h100", "80gbhbm3", "NVIDIA H100 80GB HBM3", " hbm3"})
    EXPECT_TRUE(has_words("NVIDIA H100 80GB HBM3", part)) << part;
  for (const char* part : {"H10", "100", "H100 8", "0 80GB", "HBM3 NVIDIA", "", " - "})
    EXPECT_FALSE(has_words("NVIDIA H100 80GB HBM3", part)) << part;
  EXPECT_FALSE(has_words("NVIDIA L40S", "L4"));
  EXPECT_FALSE(has_words("NVIDIA L40S", "L40"));
  EXPECT_TRUE(has_words("NVIDIA L4", "L4"));
  EXPECT_TRUE(has_words("NVIDIA A100-SXM4-80GB", "a100"));
  EXPECT_FALSE(has_words("", "H100"));
}

TEST(Text, ThreeDigits) {
  EXPECT_EQ(three_digits(1234.5), "1234");
  EXPECT_EQ(three_digits(12.345), "12.3");
  EXPECT_EQ(three_digits(0.012345), "0.0123");
  EXPECT_EQ(three_digits(999999999), "999999999");
  EXPECT_EQ(three_digits(1e9), "1.00e+09");
  EXPECT_EQ(three_digits(-1.2345e300), "-1.23e+300");
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(-5.5555), "-5.56");
}

TEST(Text, OnlyOneIsSingular) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(2, "row"), "2 rows");
}

TEST(Text, BytesFromText) {
  EXPECT_EQ(bytes_from_text("512MiB"), std::uint64_t{512} << 20);
  EXPECT_EQ(bytes_from_text("1.5 GiB"), std::uint64_t{1536} << 20);
  EXPECT_EQ(bytes_from_text("1KiB"), 1024U);
  EXPECT_EQ(bytes_from_text("1023TiB"), std::uint64_t{1023} << 40);
  for (const char* nonsense : {"", "MiB", "512", "512MB", "512 M", "-1GiB", "0GiB", "nanGiB", "infGiB",
                               "1024TiB", "1e400GiB", "4GiB more", " 4GiB", "0x10MiB"}) {
    EXPECT_EQ(bytes_from_text(nonsense), std::nullopt) << nonsense;
  }
}

TEST(Text, SecondsComeWithAUnit) {
  EXPECT_EQ(seconds_from_text("60s"), 60);
  EXPECT_EQ(seconds_from_text("0.25 s"), 0.25);
  EXPECT_EQ(seconds_from_text("1.5min"), 90);
  EXPECT_EQ(seconds_from_text("2h"), 7200);
  for (const char* nonsense : {"", "s", "60", "60S", "60 sec", "-1s", "0s", "nans", "infs", "1e400s", "1e9h",
                               "2h more", " 2h", "2 h 3 min"}) {
    EXPECT_EQ(seconds_from_text(nonsense), std::nullopt) << nonsense;
  }
}

TEST(Text, HumanSecondsAndBytes) {
  EXPECT_EQ(human_seconds(0.25), "250 ms");
  EXPECT_EQ(human_seconds(245), "4 min 05 s");
  EXPECT_EQ(human_seconds(7380), "2 h 03 min");
  EXPECT_EQ(human_seconds(-1), "?");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(std::uint64_t{80} << 30), "80.0 GiB");
}

TEST(Value, TextReadsBackAsTheSameKind) {
  EXPECT_EQ(to_text(Value{2.0}), "2.0");
  EXPECT_EQ(to_text(Value{std::int64_t{2}}), "2");
  EXPECT_EQ(to_text(Value{true}), "true");
  EXPECT_EQ(to_text(NamedValues{{"BM", std::int64_t{64}}, {"T", std::string("half")}}), "BM=64 T=half");
}

TEST(Value, RefusesWhatIsNoScalarOrTooLarge) {
  Value value;
  EXPECT_FALSE(from_json(nlohmann::ordered_json::parse("9223372036854775808"), value));
  EXPECT_FALSE(from_json(nlohmann::ordered_json::parse("null"), value));
  EXPECT_FALSE(from_json(nlohmann::ordered_json::parse("[1]"), value));
  ASSERT_TRUE(from_json(nlohmann::ordered_json::parse("9223372036854775807"), value));
  EXPECT_EQ(value, Value{INT64_MAX});
}

TEST(Hash, FieldsDoNotRunTogether) {
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_NE(Hasher().add("").add("a").hex(), Hasher().add("a").hex());
  EXPECT_EQ(Hasher().add("a").add(3).hex(), Hasher().add("a").add(3).hex());
  EXPECT_EQ(Hasher().hex().size(), 32U);
}

}  // namespace text_test
}  // namespace tiletune
