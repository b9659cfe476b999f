// Which rows are of one configuration where they do not list the same parameters.

#include "rank/row_joins.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rank/compared.h"

namespace tiletune {
namespace row_joins_test {

using Texts = std::set<std::string>;

Trial with_parameters(const std::string& gpu, const std::string& parameters, double median_us) {
  Trial trial = on(gpu, 0, median_us);
  trial.key = gpu + parameters;
  trial.parameters = parameters;
  return trial;
}

/// A lists X and Y; B lists X alone, in another spacing.
std::vector<Trial> with_one_lacking() {
  return {with_parameters("A", R"({"X":1,"Y":"a,}"})", 50), with_parameters("A", R"({"X":1,"Y":"b"})", 60),
          with_parameters("A", R"({"X":2,"Y":"b"})", 90), with_parameters("B", R"({"X":1})", 30),
          with_parameters("B", R"({ "X": 2 })", 10)};
}

TEST(RowJoins, TheParametersInCommonDecideAndTheFastestCounts) {
  const Compared compared(CompareBy::gpu, with_one_lacking());
  const ComparedProblem& problem = compared.only_problem();
  ASSERT_EQ(problem.joined.size(), 1U);
  EXPECT_EQ(problem.joined[0].by, Texts{"X"});
  EXPECT_EQ(problem.joined[0].left_out, (std::map<std::size_t, Texts>{{1, {"Y"}}}));
  EXPECT_EQ(problem.common, 2U);
  EXPECT_EQ(problem.best_of[0].on[0].id, 0);
  EXPECT_DOUBLE_EQ(problem.best_of[0].on[1].efficiency, 10 / 30.0);
  EXPECT_EQ(problem.best_of[1].on[0].id, 2);
  EXPECT_DOUBLE_EQ(problem.best_of[1].on[0].efficiency, 50 / 90.0);
}

TEST(RowJoins, OneSideMayListSeveralWays) {
  std::vector<Trial> rows = with_one_lacking();
  rows.push_back(with_parameters("B", R"({"X":1,"Z":1})", 99));
  const Compared compared(CompareBy::gpu, rows);
  const ComparedProblem& problem = compared.only_problem();
  ASSERT_EQ(problem.joined.size(), 1U);
  EXPECT_EQ(problem.joined[0].by, Texts{"X"});
  EXPECT_EQ(problem.joined[0].left_out, (std::map<std::size_t, Texts>{{0, {"Z"}}, {1, {"Y", "Z"}}}));
}

TEST(RowJoins, AThirdSideChangesNothingBetweenTwo) {
  std::vector<Trial> rows = with_one_lacking();
  for (Trial& row : rows) {
    if (row.gpu == "B") row.gpu = "C";
  }
  // Both of B are on A; C leaves out Y.
  rows.push_back(with_parameters("B", R"({"X":1,"Y":"a,}"})", 7));
  rows.push_back(with_parameters("B", R"({"X":2,"Y":"b"})", 8));
  const Compared all(CompareBy::gpu, rows, {"A", "B", "C"});
  const Compared two(CompareBy::gpu, rows, {"A", "B"});
  const ComparedProblem& of_all = all.only_problem();
  const ComparedProblem& of_two = two.only_problem();
  EXPECT_TRUE(of_two.joined.empty());
  EXPECT_EQ(of_two.pairs[0].common, 2U);
  EXPECT_EQ(of_all.pairs[0].common, 2U);
  EXPECT_EQ(of_all.pairs[0].spearman, of_two.pairs[0].spearman);
  EXPECT_EQ(of_all.best_of[0].on[1].id, of_two.best_of[0].on[1].id);
  EXPECT_EQ(of_all.best_of[0].on[2].id, 3) << "by X alone";
  EXPECT_EQ(of_all.best_of[2].on[0].id, 2);
  EXPECT_EQ(of_all.common, 2U);
  std::vector<std::vector<std::size_t>> sides;
  for (const JoinedTemplate& joined : of_all.joined) sides.push_back(joined.sides);
  EXPECT_EQ(sides, (std::vector<std::vector<std::size_t>>{{0, 2}, {1, 2}, {0, 1, 2}}));
  for (const JoinedTemplate& joined : of_all.joined)
    EXPECT_EQ(joined.left_out, (std::map<std::size_t, Texts>{{2, {"Y"}}}));
}

TEST(RowJoins, OldRowsWithoutALaterParameterStandApart) {
  const Compared compared(
      CompareBy::gpu,
      {with_parameters("A", R"({"X":9})", 40), with_parameters("A", R"({"X":1,"Y":1})", 10),
       with_parameters("A", R"({"X":1,"Y":2})", 20), with_parameters("B", R"({"X":1,"Y":2})", 30)});
  const ComparedProblem& problem = compared.only_problem();
  EXPECT_EQ(problem.pairs[0].common, 1U);
  EXPECT_EQ(problem.best_of[1].on[0].id, 2) << "by all parameters";
  EXPECT_EQ(problem.best_of[0].on[1].known, Known::unmeasured);
  ASSERT_EQ(problem.joined.size(), 1U);
  EXPECT_EQ(problem.joined[0].apart, 1U);
}

TEST(RowJoins, ProblemsAreJoinedEachByItsOwnRows) {
  std::vector<Trial> rows = with_one_lacking();
  rows.push_back(with_parameters("A", R"({"X":1,"Y":"b"})", 5));
  rows.push_back(with_parameters("B", R"({"X":1,"Y":"c"})", 5));
  rows[5].problem = rows[6].problem = "8x8x8";
  const Compared compared(CompareBy::gpu, rows);
  ASSERT_EQ(compared.comparison.problems.size(), 2U);
  EXPECT_TRUE(compared.comparison.problems[1].joined.empty());
  EXPECT_EQ(compared.comparison.problems[1].pairs[0].common, 0U);
}

TEST(RowJoins, TheOrderOfParametersDoesNotTellConfigurationsApart) {
  const Compared compared(CompareBy::gpu, {with_parameters("A", R"({"X":1,"Y":2})", 100),
                                           with_parameters("B", R"({"Y":2,"X":1})", 30)});
  EXPECT_EQ(compared.only_problem().common, 1U);
  EXPECT_TRUE(compared.only_problem().joined.empty()) << "nothing is lacking";
}

TEST(RowJoins, ValuesAreEqualWhateverTypeTheyAreWrittenIn) {
  const Compared compared(CompareBy::gpu, {with_parameters("A", R"({"X":1,"Y":2,"Z":"1"})", 100),
                                           with_parameters("B", R"({"X":true,"Y":2,"Z":"1"})", 30),
                                           with_parameters("C", R"({"Y":2.0,"X":1,"Z":"1"})", 30),
                                           with_parameters("D", R"({"X":true,"Y":2})", 30)});
  EXPECT_EQ(compared.only_problem().common, 1U);
  std::vector<std::string> written;
  for (const WrittenValues& values : compared.comparison.written) {
    std::string& text = written.emplace_back(values.template_name + " " + values.parameter);
    for (const auto& [writing, sides] : values.sides) {
      text += fmt::format(" {}", name(writing));
      for (const std::size_t side : sides) text += compared.names()[side];
    }
  }
  EXPECT_EQ(written, (std::vector<std::string>{"sgemm X booleanBD integerAC", "sgemm Y integerABD floatC"}));
}

TEST(RowJoins, ValuesWrittenInOneWayAreNoCaseOfSeveral) {
  const Compared compared(CompareBy::gpu, {with_parameters("A", R"({"X":1,"Y":0.5})", 100),
                                           with_parameters("B", R"({"X":2,"Y":0.25})", 30)});
  EXPECT_TRUE(compared.comparison.written.empty());
}

TEST(RowJoins, WhereNothingIsInCommonNothingIsJoined) {
  const Compared compared(CompareBy::gpu,
                          {with_parameters("A", R"({"X":1})", 100), with_parameters("B", R"({"Y":1})", 30)});
  EXPECT_EQ(compared.only_problem().common, 0U);
  EXPECT_EQ(compared.only_problem().best_of[0].on[1].known, Known::unmeasured);
  ASSERT_EQ(compared.only_problem().joined.size(), 1U);
  EXPECT_TRUE(compared.only_problem().joined[0].by.empty());
  EXPECT_EQ(compared.only_problem().joined[0].left_out,
            (std::map<std::size_t, Texts>{{0, {"Y"}}, {1, {"X"}}}));
}

}  // namespace row_joins_test
}  // namespace tiletune
