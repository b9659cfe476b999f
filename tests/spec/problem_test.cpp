#include "fixture.h"

namespace tiletune {
namespace {

const std::vector<std::string> kGemm{"M", "N", "K"};

TEST(Problem, AllThreeSpellingsNameSizes) {
  const Problem problem = parse_problem("4096x77x1", kGemm, {});
  EXPECT_EQ(problem.label(), "4096x77x1");
  EXPECT_EQ(problem.at("N"), 77);
  EXPECT_THROW(problem.at("L"), std::out_of_range);
  EXPECT_EQ(parse_problem("2147483647", kGemm, {}).label(), "2147483647x2147483647x2147483647");
  EXPECT_EQ(parse_problem("8", {"n"}, {}).label(), "8");
}

TEST_F(SpecTest, ProblemsOfAConfigMayBeTextNumbersOrObjects) {
  const auto spec = load_config(R"({"templates": ["tile"], "problems": ["1000x77x513", 512, "64", 32.0,
    {"K": 3, "M": 1, "N": 2}]})");
  ASSERT_EQ(spec.problems.size(), 5U);
  EXPECT_EQ(spec.problems[0].label(), "1000x77x513");
  EXPECT_EQ(spec.problems[1].label(), "512x512x512");
  EXPECT_EQ(spec.problems[2].label(), "64x64x64");
  EXPECT_EQ(spec.problems[3].label(), "32x32x32");
  EXPECT_EQ(spec.problems[4].label(), "1x2x3");
}

TEST(Problem, RefusesWhatIsNoSize) {
  const Where where{"--problem", ""};
  for (const char* text :
       {"", "x", "12x", "x12x3", "1x-2x3", "1x2x3.5", "1x 2x3", "+1x2x3", "0x10x1x", "axbxc"}) {
    const UserError error = error_of([&] { parse_problem(text, kGemm, where); });
    EXPECT_EQ(error.where().text(), "--problem") << text;
    EXPECT_FALSE(error.remedy().empty()) << text;
  }
  const UserError error = error_of([&] { parse_problem("1xtwox3", kGemm, where); });
  EXPECT_EQ(error.message(), "'two' in the problem '1xtwox3' is no size");
  EXPECT_EQ(error.remedy(), "Write sizes as integers with an x between them: 4096x4096x64.");
}

TEST(Problem, RefusesSizesOutOfRange) {
  UserError error = error_of([] { parse_problem("1x0x1", kGemm, {}); });
  EXPECT_EQ(error.message(), "N = 0 is out of range");
  EXPECT_EQ(error.remedy(), "Use sizes from 1 to 2147483647.");
  error = error_of([] { parse_problem("2147483648x1x1", kGemm, {}); });
  EXPECT_EQ(error.message(), "M = 2147483648 is out of range");
  error = error_of([] { parse_problem("1x1x99999999999999999999999", kGemm, {}); });
  EXPECT_EQ(error.message(), "K = 99999999999999999999999 is out of range");
}

TEST(Problem, RefusesTheWrongNumberOfSizes) {
  const UserError error = error_of([] { parse_problem("1x2x3x4", kGemm, {}); });
  EXPECT_EQ(error.message(), "the problem '1x2x3x4' has 4 sizes, expected 3 (MxNxK)");
}

}  // namespace
}  // namespace tiletune
