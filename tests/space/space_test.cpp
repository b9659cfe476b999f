#include "space/space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "carries.h"
#include "space/component.h"
#include "space/example_spaces.h"

namespace tiletune {
namespace space_test {

using std::int64_t;

double removed(const Space& space) {
  double sum = 0;
  for (const ConstraintReport& report : space.constraints()) sum += report.removed_first;
  return sum;
}

std::vector<double> removed_by_constraint(const Space& space) {
  std::vector<double> counts;
  for (const ConstraintReport& report : space.constraints()) counts.push_back(report.removed_first);
  return counts;
}

std::vector<std::string> all_of(const Space& space, const TemplateSpec& spec) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < space.size(); ++i) texts.push_back(to_text(space.at(i).named(spec)));
  return texts;
}

std::string error(const TemplateSpec& spec) {
  try {
    const Space space(spec, problem());
  } catch (const UserError& caught) {
    return caught.where().text() + ": " + caught.message();
  }
  return "no error";
}

/// The same rules in plain loops.
std::uint64_t count_clblast_gemm() {
  const int tiles[] = {16, 32, 64, 128};
  const int dims[] = {8, 16, 32};
  const int widths[] = {1, 2, 4, 8};
  std::uint64_t count = 0;
  for (const int mwg : tiles)
    for (const int nwg : tiles)
      for (const int kwg : {16, 32})
        for (const int mdimc : dims)
          for (const int ndimc : dims)
            for (const int mdima : dims)
              for (const int ndimb : dims)
                for (const int vwm : widths)
                  for (const int vwn : widths) {
                    const bool valid = mwg % (mdimc * vwm) == 0 && nwg % (ndimc * vwn) == 0 &&
                                       mwg % (mdima * vwm) == 0 && nwg % (ndimb * vwn) == 0 &&
                                       kwg % (mdimc * ndimc / mdima) == 0 &&
                                       kwg % (mdimc * ndimc / ndimb) == 0;
                    count += valid ? 4 : 0;  // SA and SB are free
                  }
  return count;
}

TEST(SpaceTest, CountsTheClblastSpaceAsPlainLoopsDo) {
  const Space space(clblast_gemm(), problem());
  EXPECT_EQ(space.size(), count_clblast_gemm());
  EXPECT_EQ(space.raw_size(), 4.0 * 4 * 2 * 81 * 16 * 4);
  EXPECT_EQ(removed(space), space.raw_size() - static_cast<double>(space.size()));
  EXPECT_EQ(space.constraints().front().removed_first, 0);
  for (std::uint64_t i = 0; i < space.size(); i += 97) EXPECT_EQ(space.index_of(space.at(i)), i);
}

TEST(SpaceTest, CountsALargeConnectedSpace) {
  const Space space(chain_of_ten(), problem());
  EXPECT_EQ(space.raw_size(), 1e10);
  EXPECT_EQ(space.size(), kChainOfTenSize);
  EXPECT_EQ(removed(space), 1e10 - static_cast<double>(kChainOfTenSize));
  for (std::uint64_t i = 0; i < space.size(); i += 99991) EXPECT_EQ(space.index_of(space.at(i)), i);
}

TEST(SpaceTest, FindsAFewAmongMoreThan128BitsCount) {
  SpecBuilder builder;
  builder.integers("p0", {0, 1, 2, 3, 4, 5, 6, 7});
  for (int i = 1; i < 45; ++i) {
    builder.integers(numbered('p', i), {0, 1, 2, 3, 4, 5, 6, 7});
    builder.require(fmt::format("p{} < p{} or p{} == 7", i - 1, i, i));
  }
  const Space space(builder, problem());
  EXPECT_GT(space.raw_size(), 4e40);
  EXPECT_EQ(space.size(), 128U);  // they rise through a subset of 0 to 6, then stay at 7
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    EXPECT_EQ(space.index_of(space.at(i)), i);
    EXPECT_TRUE(i == 0 || space.at(i - 1).values < space.at(i).values);
  }
}

TEST(SpaceTest, OrdersGroupsByTheirFirstParameter) {
  SpecBuilder builder;
  builder.integers("A", {1, 2, 3}).integers("B", {7, 5}).integers("C", {2, 1}).require("C <= A");
  const Space space(builder, problem());
  EXPECT_EQ(
      all_of(space, builder),
      (std::vector<std::string>{"A=1 B=7 C=1", "A=1 B=5 C=1", "A=2 B=7 C=2", "A=2 B=5 C=2", "A=2 B=7 C=1",
                                "A=2 B=5 C=1", "A=3 B=7 C=2", "A=3 B=5 C=2", "A=3 B=7 C=1", "A=3 B=5 C=1"}));
  EXPECT_EQ(removed_by_constraint(space), std::vector<double>{2});
}

TEST(SpaceTest, TakesEveryKindOfValue) {
  SpecBuilder builder;
  builder.parameter("T", {std::string("float"), std::string("__half")}).parameter("V", {true, false});
  builder.parameter("S", {0.5, 2.0}).require("T == '__half' or not V").require("S * 2 == 1 or V");
  const Space space(builder, problem());
  EXPECT_EQ(all_of(space, builder),
            (std::vector<std::string>{"T=float V=false S=0.5", "T=__half V=true S=0.5",
                                      "T=__half V=true S=2.0", "T=__half V=false S=0.5"}));
}

TEST(SpaceTest, KnowsWhatIsNotInIt) {
  SpecBuilder builder;
  builder.integers("A", {1, 2}).integers("B", {1, 2}).require("A != B");
  const Space space(builder, problem());
  EXPECT_EQ(space.index_of({{int64_t{1}, int64_t{2}}}), 0U);
  EXPECT_EQ(space.index_of({{1.0, int64_t{2}}}), 0U) << "an equal number";
  EXPECT_EQ(space.index_of({{int64_t{1}, int64_t{1}}}), space.size());
  EXPECT_EQ(space.index_of({{int64_t{1}, int64_t{3}}}), space.size());
  EXPECT_EQ(space.index_of({{int64_t{1}}}), space.size());
  EXPECT_EQ(space.index_of({{int64_t{1}, std::string("2")}}), space.size());
}

TEST(SpaceTest, CountsWhatEachConstraintRemovesAcrossGroups) {
  SpecBuilder builder;
  builder.integers("A", {1, 2, 3, 4}).integers("B", {1, 2, 3}).integers("C", {1, 2});
  builder.require("B <= 1").require("A % 2 == 0").require("A > 2 and C == 2");
  const Space space(builder, problem());
  EXPECT_EQ(space.size(), 1U);
  // A first: 1 and 3 fall to the second constraint (2 * 6 raw), 2 to the third (6). Of the 6 left, B <= 1
  // removes 4; of the 2 left, C == 2 removes 1.
  EXPECT_EQ(removed_by_constraint(space), (std::vector<double>{4, 12, 6 + 1}));
}

TEST(SpaceTest, TestsConstraintsOnTheProblemOnce) {
  SpecBuilder builder;
  builder.integers("A", {0, 2})
      .derived("HALF", "K // 2")
      .require("HALF == 128")
      .require("M == 1")
      .require("1 // A == 5");
  const Space space(builder, problem());
  EXPECT_EQ(space.size(), 0U);
  EXPECT_EQ(removed_by_constraint(space), (std::vector<double>{0, 2, 0}));
  EXPECT_EQ(space.index_of({{int64_t{2}}}), 0U);
}

TEST(SpaceTest, IsEmptyOnceAGroupIs) {
  SpecBuilder builder;
  builder.integers("A", {1, 2, 3}).integers("B", {1, 2}).require("A > 3").require("B > 1");
  const Space space(builder, problem());
  EXPECT_EQ(space.size(), 0U);
  EXPECT_EQ(removed_by_constraint(space), (std::vector<double>{6, 0}));
}

TEST(SpaceTest, HasOneConfigurationWithoutParameters) {
  SpecBuilder builder;
  const Space space(builder, problem());
  EXPECT_EQ(space.size(), 1U);
  EXPECT_EQ(space.at(0), Configuration{});
  EXPECT_TRUE(space.neighbours(0).empty());
}

TEST(SpaceTest, GuardsDivisionsByEarlierConstraints) {
  SpecBuilder builder;
  builder.integers("A", {0, 4}).integers("B", {8, 12}).integers("Z", {0, 1});
  builder.derived("RATIO", "B // A").require("A > 0").require("RATIO == 2");
  EXPECT_EQ(Space(builder, problem()).size(), 2U);

  // The guard needs Z as well, so that the guarded constraint would be tested before it.
  SpecBuilder late;
  late.integers("A", {0, 4}).integers("B", {8, 12}).integers("Z", {0, 1});
  late.derived("RATIO", "B // A")
      .require("A > 0 and A + Z > 0")
      .require("A * B + Z >= 0")
      .require("RATIO == 2");
  EXPECT_EQ(Space(late, problem()).size(), 2U);

  SpecBuilder wide;
  wide.integers("A", {0, 4}).integers("B", {1, 2, 3}).integers("C", {1, 2, 3}).require("A * B * C > 0");
  wide.require("12 // A == 3");
  EXPECT_EQ(Space(wide, problem()).size(), 9U);
}

TEST(SpaceTest, EvaluatesOnlyTheDerivedValuesThatAreRead) {
  SpecBuilder builder;
  builder.integers("A", {0, 4}).derived("RATIO", "8 // A").require("A == 0 or RATIO == 2");
  EXPECT_EQ(Space(builder, problem()).size(), 2U);
}

TEST(SpaceTest, AConstraintWithoutAValueExcludesACombination) {
  SpecBuilder builder;
  builder.integers("A", {0, 4}).integers("B", {8, 9}).require("B % A == 0").require("A > 0");
  const Space space(builder, problem());
  EXPECT_EQ(all_of(space, builder), std::vector<std::string>{"A=4 B=8"});
  EXPECT_EQ(removed_by_constraint(space), (std::vector<double>{1, 2}));  // A > 0 is tested first, on A alone
  EXPECT_EQ(space.constraints()[0].without_value, 0);

  SpecBuilder derived;
  derived.integers("A", {0, 4})
      .integers("Z", {1, 2})
      .derived("D", "8 // A")
      .derived("E", "D + 1")
      .require("E > 1");
  const Space without(derived, problem());
  EXPECT_EQ(without.size(), 2U);
  EXPECT_EQ(without.constraints()[0].removed_first, 2);
  EXPECT_EQ(without.constraints()[0].without_value, 2);
  EXPECT_TRUE(carries(without.constraints()[0].fault_text(),
                      {"2 combinations", "by zero", "'8 // A'", "column 6", "A = 0"}));

  for (const char* constraint : {"A * 4611686018427387904 > 0", "1e300 ** A > 0", "(-1) ** (A / 8) > 0",
                                 "1 << (A - 1) > 0", "log2(A) >= 0"}) {
    const Space one(SpecBuilder().integers("A", {0, 1, 4}).require(constraint), problem());
    EXPECT_GT(one.constraints()[0].without_value, 0) << constraint;
    EXPECT_GT(one.size(), 0U) << constraint;
  }
}

TEST(SpaceTest, RefusesConstraintsThatNoParameterExplains) {
  SpecBuilder builder;
  builder.integers("A", {0, 4}).require("M // (N - 512) > 0");
  EXPECT_TRUE(
      carries(error(builder), {"template.json: /constraints/0/require", "by zero", "column 6", "N = 512"}));
  SpecBuilder derived;
  derived.integers("A", {0, 4}).derived("D", "2 ** 62 * M").require("A > D");
  EXPECT_TRUE(carries(error(derived), {"template.json: /derived/0/value", "overflow", "M = 1024"}));
  SpecBuilder typed;
  typed.parameter("T", {std::string("a"), std::string("b")}).require("T * 2 > 1");
  EXPECT_TRUE(
      carries(error(typed), {"template.json: /constraints/0/require", "string", "column 3", "T = 'a'"}));
}

/// Constraints on all parameters at once.
TEST(SpaceTest, CountsFewAmongManyThatOneConstraintConnects) {
  const auto built = [](int count, const std::vector<int>& values, const char* op, const std::string& rest) {
    SpecBuilder builder;
    std::string all;
    for (int i = 0; i < count; ++i) {
      builder.integers(numbered('p', i), values);
      all += (i == 0 ? "" : op) + numbered('p', i);
    }
    return Space(builder.require(all + rest), problem());
  };
  const std::vector<int> powers{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  const Space product = built(8, powers, " * ", " == 1024");
  EXPECT_EQ(product.size(), 19448U) << "10 powers of two among 8 factors";
  EXPECT_EQ(product.constraints()[0].removed_first, product.raw_size() - 19448);
  EXPECT_EQ(built(24, {0, 1}, " + ", " <= 2").size(), 301U);
  EXPECT_EQ(built(10, {0, 1, 2, 3, 4, 5, 6, 7}, " + ", " < 4").size(), 286U);
  EXPECT_EQ(built(6, {1, 8, 64, 512, 4096}, " * ", " == 4096").size(), 126U) << "4096 ** 6 is beyond 64 bits";
  EXPECT_EQ(built(20, {0, 1}, " + ", " - 20 == 0 and p0 > 0").size(), 1U);
}

TEST(SpaceTest, RefusesWhatCannotBeDeclared) {
  EXPECT_TRUE(carries(error(SpecBuilder().integers("else", {1})),
                      {"template.json: /parameters/0", "'else'", "reserved word"}));
  EXPECT_TRUE(
      carries(error(SpecBuilder().integers("M", {1})), {"template.json: /parameters/0", "'M'", "twice"}));
  EXPECT_TRUE(
      carries(error(SpecBuilder().integers("A", {})), {"template.json: /parameters/0", "'A'", "no values"}));
  EXPECT_TRUE(carries(error(SpecBuilder().integers("A", {4, 2, 4})),
                      {"template.json: /parameters/0", "'A'", "4", "twice"}));
  EXPECT_TRUE(carries(error(SpecBuilder().parameter("A", {int64_t{1}, 1.0})),
                      {"template.json: /parameters/0", "'A'", "1.0", "twice"}));
  EXPECT_TRUE(carries(error(SpecBuilder().integers("A", {1}).derived("D", "E").derived("E", "A")),
                      {"template.json: /derived/0/value", "unknown name", "'E'", "column 1"}));
  EXPECT_TRUE(
      carries(error(SpecBuilder().integers("A", {1}).require("B > 1")),
              {"template.json: /constraints/0/require", "unknown name", "'B'", "'B > 1'", "column 1"}));
}

TEST(SpaceTest, ParametersMayBeNamedLikeFunctions) {
  SpecBuilder builder;
  builder.integers("pow", {1, 2, 3, 4}).integers("min", {1, 2, 3}).require("min(pow, pow(min, 2)) == pow");
  EXPECT_EQ(Space(builder, problem()).size(), 1U + 4U + 4U);
  EXPECT_TRUE(
      carries(error(SpecBuilder().integers("A", {1}).require("pow > 1")),
              {"template.json: /constraints/0/require", "unexpected", "'>'", "'pow > 1'", "column 5"}));
}

TEST(SpaceTest, RefusesAGroupThatIsTooLarge) {
  SpecBuilder builder;
  builder.integers("A", {1, 2, 3}).integers("B", {1, 2, 3}).integers("C", {1}).require("A + B > 2");
  const space::Scope scope(builder, problem());
  const auto conditions = space::parse_conditions(builder.spec().constraints, scope);
  EXPECT_EQ(space::enumerate_component(scope, {0, 1}, conditions, 1, {64, 12}).rows.size(), 8U);
  try {
    space::enumerate_component(scope, {0, 1}, conditions, 1, {56, 12});
    FAIL() << "8 rows were accepted";
  } catch (const UserError& caught) {
    EXPECT_TRUE(carries(caught.message(), {"7", "A, B"}));
  }
}

TEST(SpaceTest, RefusesAGroupThatTakesTooLongToWalk) {
  SpecBuilder builder;
  builder.integers("A", {1, 2, 3}).integers("B", {1, 2, 3}).require("A + B > 2");
  const space::Scope scope(builder, problem());
  const auto conditions = space::parse_conditions(builder.spec().constraints, scope);
  try {
    space::enumerate_component(scope, {0, 1}, conditions, 1, {64, 11});
    FAIL() << "three values of A, and three of B for each, were tried in eleven steps";
  } catch (const UserError& caught) {
    EXPECT_TRUE(carries(caught.message(), {"11 steps", "A, B"}));
  }
}

TEST(SpaceTest, StopsWhenItIsToldTo) {
  SpecBuilder builder;
  for (int i = 0; i < 6; ++i) builder.integers(numbered('p', i), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  builder.require("(p0 + p1 + p2 + p3 + p4 + p5) * 2 % 64 == 61");
  int asked = 0;
  EXPECT_THROW(Space(builder, problem(), [&] { return ++asked == 10; }), Stopped);
  EXPECT_EQ(asked, 10);
  asked = 0;
  EXPECT_EQ(Space(builder, problem(), [&] { return ++asked < 0; }).size(), 0U);
  EXPECT_GT(asked, 20) << "a million combinations";
}

TEST(SpaceTest, ConnectsAnyNumberOfParameters) {
  SpecBuilder builder;
  constexpr int kParameters = 250;
  for (int i = 0; i < kParameters; ++i) builder.integers(numbered('p', i), {0, 1});
  for (int i = kParameters; i-- > 1;) builder.require(numbered('p', i) + " <= " + numbered('p', i - 1));
  const Space space(builder, problem());
  EXPECT_EQ(space.size(), kParameters + 1U);
  EXPECT_EQ(space.rows(), kParameters + 1U);
}

TEST(SpaceTest, RefusesMoreConfigurationsThan64BitsCount) {
  SpecBuilder builder;
  for (int i = 0; i < 64; ++i) builder.integers(numbered('p', i), {0, 1});
  EXPECT_TRUE(carries(error(builder), {"template.json", "more than", "2^64"}));
  builder.require("p63 == 1");
  const Space space(builder, problem());
  EXPECT_EQ(space.size(), std::uint64_t{1} << 63);
  EXPECT_EQ(space.index_of(space.at(space.size() - 1)), space.size() - 1);
  EXPECT_EQ(space.neighbours(0).size(), 63U);
}

/// A, B, C of the positions given, row after row.
TemplateSpec listed_spec(std::vector<std::uint32_t> rows) {
  SpecBuilder builder;
  builder.integers("A", {1, 2, 3}).integers("B", {0, 5}).parameter("C", {Value(true), Value(false)});
  builder.spec().listed = std::move(rows);
  return builder.spec();
}

TEST(ListedSpace, HoldsTheListedConfigurationsInTheOrderOfTheirValues) {
  const TemplateSpec spec = listed_spec({2, 1, 0, 0, 0, 1, 2, 0, 0});
  const Space space(spec, problem());
  EXPECT_EQ(space.raw_size(), 3);
  EXPECT_EQ(all_of(space, spec),
            (std::vector<std::string>{"A=1 B=0 C=false", "A=3 B=0 C=true", "A=3 B=5 C=true"}));
  for (std::uint64_t i = 0; i < space.size(); ++i) EXPECT_EQ(space.index_of(space.at(i)), i);
  EXPECT_EQ(space.index_of({{Value(int64_t{2}), Value(int64_t{0}), Value(true)}}), space.size());
  EXPECT_EQ(space.neighbours(1), (std::vector<std::uint64_t>{2}));
  EXPECT_TRUE(space.neighbours(0).empty());
}

TEST(ListedSpace, CountsWhatConstraintsRemoveAndLetsThemGuardLaterOnes) {
  TemplateSpec spec = listed_spec({2, 1, 0, 0, 0, 1, 2, 0, 0, 1, 1, 0});
  spec.derived.push_back({"D", {"B * A", {}}, ""});
  spec.constraints = {{{"B > 0", {}}, ""}, {{"D // B < 3 and C", {}}, ""}, {{"M > 1", {}}, ""}};
  const Space space(spec, problem());
  EXPECT_EQ(all_of(space, spec), (std::vector<std::string>{"A=2 B=5 C=true"}));
  EXPECT_EQ(removed_by_constraint(space), (std::vector<double>{2, 1, 0}));
  EXPECT_EQ(space.raw_size(), 4);
}

TEST(ListedSpace, AConstraintWithoutAValueExcludesAConfiguration) {
  TemplateSpec spec = listed_spec({2, 1, 0, 0, 0, 1});
  spec.constraints = {{{"A % B == 3", {}}, ""}};
  const Space space(spec, problem());
  EXPECT_EQ(all_of(space, spec), std::vector<std::string>{"A=3 B=5 C=true"});
  EXPECT_EQ(space.constraints()[0].without_value, 1);
  EXPECT_TRUE(carries(space.constraints()[0].fault_text(), {"1 combination", "by zero", "B = 0"}));
}

TEST(ListedSpace, IsWhatWalkingGivesWhereEverythingIsListed) {
  SpecBuilder builder;
  builder.integers("A", {1, 2, 3, 4}).integers("B", {1, 2, 3}).integers("C", {5, 6});
  builder.require("A % B == 0", "").require("A * C < 20", "");
  TemplateSpec spec = builder.spec();
  const Space walked(spec, problem());
  spec.listed.emplace();
  for (std::uint32_t row = 24; row-- > 0;)
    spec.listed->insert(spec.listed->end(), {row % 4, row / 4 % 3, row / 12});
  const Space listed(spec, problem());
  EXPECT_EQ(all_of(listed, spec), all_of(walked, spec));
  EXPECT_EQ(listed.raw_size(), walked.raw_size());
  EXPECT_EQ(removed(listed), removed(walked));
}

TEST(SpaceTest, BringsAPointOutsideTheRangesBackToAValidConfiguration) {
  const Space space(SpecBuilder()
                        .integers("A", {1, 2, 4})
                        .integers("B", {1, 2, 4})
                        .integers("C", {0, 1})
                        .require("A * B == 4"),
                    problem());
  EXPECT_EQ(space.nearest(std::vector<double>{-3, 9, 0.9}),
            space.index_of({{std::int64_t{1}, std::int64_t{4}, std::int64_t{1}}}));
  EXPECT_EQ(space.index_at(std::vector<std::uint32_t>{0, 0, 0}), space.size());
}

TEST(SpaceTest, TheConfigurationNearAPointIsNotMuchFartherThanTheNearestOfAMillion) {
  const Space space(chain_of_ten(), problem());
  std::mt19937_64 random(1);
  double sum = 0;
  constexpr int kPoints = 20;
  for (int i = 0; i < kPoints; ++i) {
    std::vector<double> point;
    for (int p = 0; p < 10; ++p) point.push_back(std::uniform_real_distribution<double>(0, 9)(random));
    const std::vector<std::uint32_t> found = space.positions(space.nearest(point));
    for (std::size_t p = 0; p < 10; ++p) sum += std::abs(point[p] - found[p]);
  }
  // The nearest of each residue of 3 is 0.75 away on average, so about 7 in all; any valid one about 30.
  EXPECT_LT(sum / kPoints, 11);
}

}  // namespace space_test
}  // namespace tiletune
