#include "fixture.h"

namespace tiletune {
namespace problem_test {

TemplateSpec template_of(std::vector<std::string> dimensions, std::vector<LeadingDimension> leading) {
  TemplateSpec spec;
  spec.operation.dimensions = std::move(dimensions);
  spec.operation.leading_dimensions = std::move(leading);
  return spec;
}

const TemplateSpec kGemm =
    template_of({"M", "N", "K"}, {{"lda", "A", "K"}, {"ldb", "B", "N"}, {"ldc", "C", "N"}});
const TemplateSpec kVector = template_of({"n"}, {});

TEST(Problem, AllThreeSpellingsNameSizes) {
  const Problem problem = parse_problem("4096x77x1", kGemm, {});
  EXPECT_EQ(problem.label(), "4096x77x1");
  EXPECT_EQ(problem.at("N"), 77);
  EXPECT_THROW(problem.at("L"), std::out_of_range);
  EXPECT_EQ(parse_problem("9007199254740992x1x3000000000", kGemm, {}).label(),
            "9007199254740992x1x3000000000");
  EXPECT_EQ(parse_problem("8", kVector, {}).label(), "8");
}

TEST_F(SpecTest, ProblemsOfAConfigMayBeTextNumbersOrObjects) {
  const auto spec = load_config(R"({"templates": ["tile"], "problems": ["1000x77x513", 512, "64", 32.0,
    {"K": 3, "M": 1, "N": 2}, 3000000000, {"K": 3000000000, "M": 1, "N": 9007199254740992}]})");
  ASSERT_EQ(spec.problems.size(), 7U);
  EXPECT_EQ(spec.problems[0].label(), "1000x77x513");
  EXPECT_EQ(spec.problems[1].label(), "512x512x512");
  EXPECT_EQ(spec.problems[2].label(), "64x64x64");
  EXPECT_EQ(spec.problems[3].label(), "32x32x32");
  EXPECT_EQ(spec.problems[4].label(), "1x2x3");
  EXPECT_EQ(spec.problems[5].label(), "3000000000x3000000000x3000000000");
  EXPECT_EQ(spec.problems[6].label(), "1x9007199254740992x3000000000");
}

TEST(Problem, RefusesWhatIsNoSize) {
  const Where where{"--problem", ""};
  for (const char* text :
       {"", "x", "12x", "x12x3", "1x-2x3", "1x2x3.5", "1x 2x3", "+1x2x3", "0x10x1x", "axbxc"}) {
    const UserError error = user_error_of([&] { parse_problem(text, kGemm, where); });
    EXPECT_EQ(error.where().text(), "--problem") << text;
    EXPECT_FALSE(error.remedy().empty()) << text;
  }
  const UserError error = user_error_of([&] { parse_problem("1xtwox3", kGemm, where); });
  EXPECT_TRUE(carries(error.message(), {"'two'", "'1xtwox3'", "not a size"}));
  EXPECT_TRUE(carries(error.remedy(), {"4096x4096x64"}));
}

TEST(Problem, RefusesSizesOutOfRange) {
  UserError error = user_error_of([] { parse_problem("1x0x1", kGemm, {}); });
  EXPECT_TRUE(carries(error.message(), {"N = 0", "out of range"}));
  EXPECT_TRUE(carries(error.remedy(), {"1", "9007199254740992"}));
  error = user_error_of([] { parse_problem("9007199254740993x1x1", kGemm, {}); });
  EXPECT_TRUE(carries(error.message(), {"M = 9007199254740993", "out of range"}));
  error = user_error_of([] { parse_problem("1x1x99999999999999999999999", kGemm, {}); });
  EXPECT_TRUE(carries(error.message(), {"K = 99999999999999999999999", "out of range"}));
}

TEST(Problem, RefusesTheWrongNumberOfSizes) {
  const UserError error = user_error_of([] { parse_problem("1x2x3x4", kGemm, {}); });
  EXPECT_TRUE(carries(error.message(), {"'1x2x3x4'", "4", "3"}));
}

TEST(Problem, LeadingDimensionsStandBehindTheSizes) {
  for (const char* text : {"1000x77x513 lda=520 ldb=80", "1000x77x513,lda=520,ldb=80",
                           "1000x77x513, ldb=80, lda=520", "1000x77x513 lda=520,ldb=80 ldc=77"}) {
    const Problem problem = parse_problem(text, kGemm, {});
    EXPECT_EQ(problem.label(), "1000x77x513 lda=520 ldb=80") << text;
    EXPECT_EQ(problem, parse_problem(problem.label(), kGemm, {})) << text;
    const auto& [lda, ldb, ldc] =
        std::tie(kGemm.operation.leading_dimensions[0], kGemm.operation.leading_dimensions[1],
                 kGemm.operation.leading_dimensions[2]);
    EXPECT_EQ(problem.at(lda), 520);
    EXPECT_EQ(problem.at(ldb), 80);
    EXPECT_EQ(problem.at(ldc), 77);
  }
  EXPECT_EQ(parse_problem("512,ldc=600", kGemm, {}).label(), "512x512x512 ldc=600");
}

TEST(Problem, LeadingDimensionsOfADenseProblemAreNotKept) {
  EXPECT_EQ(parse_problem("8x16x32,lda=32,ldb=16,ldc=16", kGemm, {}), parse_problem("8x16x32", kGemm, {}));
}

TEST_F(SpecTest, ObjectsMayNameLeadingDimensions) {
  const auto spec = load_config(R"({"templates": ["tile"], "problems": ["8x16x32 ldb=24",
    {"K": 32, "M": 8, "ldc": 17, "N": 16, "lda": 32.0}]})");
  ASSERT_EQ(spec.problems.size(), 2U);
  EXPECT_EQ(spec.problems[0].label(), "8x16x32 ldb=24");
  EXPECT_EQ(spec.problems[1].label(), "8x16x32 ldc=17");
}

struct Refusal {
  const char* problem;
  std::vector<std::string> parts;
};

TEST(Problem, RefusesLeadingDimensionsThatCannotBe) {
  for (const Refusal& refusal :
       {Refusal{"1000x77x513,lda=512", {"lda = 512", "513", "of A", "K = 513"}},
        Refusal{"1000x77x513 ldc=8", {"ldc = 8", "77", "of C", "N = 77"}},
        Refusal{"8,ldb=9007199254740993", {"ldb = 9007199254740993", "1", "9007199254740992"}},
        Refusal{"8,lda=wide", {"'wide'", "'8,lda=wide'", "4096x4096x64"}},
        Refusal{"8,lda=9,lda=9", {"'8,lda=9,lda=9'", "lda twice"}},
        Refusal{"8,ldd=9", {"'ldd=9'", "'8,ldd=9'", "NAME=VALUE", "'lda'"}},
        Refusal{"8,lda", {"'lda'", "'8,lda'", "NAME=VALUE"}},
        Refusal{"8,", {"''", "'8,'", "NAME=VALUE", "lda, ldb, ldc"}}}) {
    const UserError error = user_error_of([&] { parse_problem(refusal.problem, kGemm, {}); });
    EXPECT_TRUE(carries(error.what(), refusal.parts));
  }
  const UserError error = user_error_of([] { parse_problem("8,lda=9", kVector, {}); });
  EXPECT_TRUE(carries(error.message(), {"'lda=9'", "'8,lda=9'"}));
  EXPECT_FALSE(error.remedy().empty());
}

TEST_F(SpecTest, FaultsOfLeadingDimensionsInAnObjectNameTheirPlace) {
  const auto error_at = [&](const std::string& member) {
    return user_error_of([&] {
      load_config(R"({"templates": ["tile"], "problems": [{"M": 8, "N": 16, "K": 32, )" + member + "}]}");
    });
  };
  UserError error = error_at(R"("lda": 31)");
  EXPECT_TRUE(carries(error.message(), {"lda = 31", "32"}));
  EXPECT_EQ(error.where().pointer, "/problems/0/lda");
  error = error_at(R"("ldA": 40)");
  EXPECT_TRUE(carries(error.message(), {"'ldA'"}));
  EXPECT_EQ(error.where().pointer, "/problems/0/ldA");
  EXPECT_TRUE(carries(error.remedy(), {"'lda'"}));
  error = user_error_of([&] { load_config(R"({"templates": ["axpy"], "problems": [{"n": 8, "lda": 9}]})"); });
  EXPECT_TRUE(carries(error.message(), {"'lda'"}));
}

}  // namespace problem_test
}  // namespace tiletune
