#include "rank/sides.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "carries.h"
#include "rank/compared.h"

namespace tiletune {
namespace sides_test {

using Names = std::vector<std::string>;

/// Two GPUs of the model "A", and rows that bear its name.
std::string model_of(const std::string& gpu) { return gpu.starts_with("A") ? "A" : gpu; }

Trial imported_on(const std::string& gpu, int x, double median_us) {
  Trial trial = on(gpu, x, median_us);
  trial.source = Source::imported;
  return trial;
}

TEST(Sides, TwoGpusOfOneModelAreTwoSides) {
  const std::vector<Trial> rows{imported_on("A SXM", 1, 10), imported_on("A PCIE", 1, 20)};
  const Compared compared(CompareBy::gpu, rows, {}, model_of);
  EXPECT_EQ(compared.names(), (Names{"A SXM", "A PCIE"}));
  EXPECT_EQ(compared.only_problem().best_of[1].on[1].time_us, 20);
  EXPECT_EQ(Compared(CompareBy::gpu, rows, {"A"}, model_of).names(), (Names{"A SXM", "A PCIE"}))
      << "by the name of their model";
}

TEST(Sides, PredictionsForAModelAreOfItsOnlyGpuAndStandAloneBesideTwo) {
  EXPECT_EQ(
      Compared(CompareBy::gpu, {predicted_on("A", 1, 5), on("A SXM", 1, 10), on("B", 1, 1)}, {}, model_of)
          .names(),
      (Names{"A", "B"}));
  EXPECT_EQ(Compared(CompareBy::gpu, {predicted_on("A", 1, 5), on("A SXM", 1, 10), on("A PCIE", 1, 1)}, {},
                     model_of)
                .names(),
            (Names{"A", "A SXM", "A PCIE"}));
  EXPECT_EQ(
      Compared(CompareBy::gpu, {on("A", 1, 5), on("A SXM", 1, 10), on("B", 1, 1)}, {}, model_of).names(),
      (Names{"A", "A SXM", "B"}))
      << "both are measured: neither is left out";
}

TEST(Sides, BySourcePredictionsStandBesideEachGpuOfTheModel) {
  const Compared compared(CompareBy::source,
                          {predicted_on("A", 1, 5), on("A SXM", 1, 10), on("A PCIE", 1, 20)}, {}, model_of);
  ASSERT_EQ(compared.comparison.problems.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[0].gpu, "A SXM");
  EXPECT_EQ(compared.comparison.problems[0].best_of[1].on[0].time_us, 10);
  EXPECT_EQ(compared.comparison.problems[1].gpu, "A PCIE");
  EXPECT_EQ(compared.comparison.problems[1].best_of[1].on[0].time_us, 20);
}

TEST(Sides, ByDriverTwoGpusOfOneModelAreNotMixed) {
  std::vector<Trial> rows{on("A SXM", 1, 10), on("A PCIE", 1, 20), on("A SXM", 1, 11), on("A PCIE", 1, 21)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].driver_version = i < 2 ? "1" : "2";
  const Compared compared(CompareBy::driver, rows, {}, model_of);
  ASSERT_EQ(compared.comparison.problems.size(), 2U);
  EXPECT_EQ(compared.comparison.problems[1].gpu, "A PCIE");
  EXPECT_EQ(compared.comparison.problems[1].best_of[0].on[1].time_us, 21);
}

TEST(Sides, ASweepIsNamedByItsWholeNumber) {
  std::vector<Trial> rows{on("A", 1, 1), on("A", 1, 2), on("A", 1, 3)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].sweep_id = 10 + static_cast<std::int64_t>(i);
  EXPECT_EQ(Compared(CompareBy::sweep, rows, {"12", "10"}).names(), (Names{"12", "10"}));
  try {
    const Compared compared(CompareBy::sweep, rows, {"1"});
    FAIL() << "there is none";
  } catch (const UserError& error) {
    EXPECT_TRUE(carries(error.message(), {"sweep '1'"}));
  }
}

}  // namespace sides_test
}  // namespace tiletune
