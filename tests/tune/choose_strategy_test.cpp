#include <gtest/gtest.h>

#include "search/strategies.h"
#include "temporary_folder.h"
#include "tune/many_rows.h"
#include "tune/sweep.h"

namespace tiletune {
namespace choose_strategy_test {

class ChosenStrategy : public testing::Test {
 protected:
  /// The strategy of so many configurations on a GPU beside 16 cores: 25 ms each.
  std::string chosen(std::uint64_t configurations, const Budget& budget, const std::string& named = "auto") {
    LoadOptions options;
    options.template_folders = {std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
    spec_ = load_tune_spec(write_wide_space(folder_.path(), configurations, 1, false), options);
    spec_.budget = budget;
    spec_.strategy.name = named;
    const std::vector<Task> tasks = plan_tasks(spec_);
    said_ = choose_strategy(spec_, tasks, 16, 1);
    return spec_.strategy.name;
  }

  TemporaryFolder folder_;
  TuneSpec spec_;
  std::string said_;
};

TEST_F(ChosenStrategy, TriesAllThatTakeLessThanAMinute) {
  EXPECT_EQ(chosen(2000, {}), "exhaustive");
  EXPECT_EQ(said_, "");
  EXPECT_EQ(chosen(3000, {}), "surrogate");
  EXPECT_EQ(spec_.budget.until_percent, 1);
  EXPECT_NE(said_.find("--strategy exhaustive"), std::string::npos);
}

TEST_F(ChosenStrategy, TriesAllThatABudgetAllows) {
  EXPECT_EQ(chosen(3000, {.seconds = 100}), "exhaustive");
  EXPECT_EQ(chosen(3000, {.evaluations = 3000}), "exhaustive");
  EXPECT_EQ(chosen(3000, {.evaluations = 2999}), "surrogate");
  EXPECT_EQ(spec_.budget.until_percent, 0) << "the budget ends it";
  EXPECT_EQ(chosen(100, {.seconds = 1}), "surrogate");
  EXPECT_EQ(chosen(100, {.until_percent = 2}), "surrogate");
  EXPECT_EQ(spec_.budget.until_percent, 2);
}

TEST_F(ChosenStrategy, IsTheOneThatIsNamed) {
  EXPECT_EQ(chosen(3000, {}, "random"), "random");
  EXPECT_EQ(spec_.budget.until_percent, 0);
}

}  // namespace choose_strategy_test
}  // namespace tiletune
