// What a queue proposes when its strategy waits for results.

#include "tune/task_queue.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"
#include "tune/many_rows.h"

namespace tiletune {
namespace task_queue_test {

/// Asks for a configuration when it was told of the one before.
class OneByOne : public Strategy {
 public:
  explicit OneByOne(std::uint64_t planned) : planned_(planned) {}

  std::vector<Choice> ask(std::size_t /*most*/) override {
    if (asked_ > told_ || asked_ == planned_) return {};
    return {Choice{0, asked_++}};
  }
  void tell(const Choice& /*choice*/, std::optional<double> /*median_us*/) override { ++told_; }

 private:
  std::uint64_t planned_;
  std::uint64_t asked_ = 0;
  std::uint64_t told_ = 0;
};

std::unique_ptr<Strategy> make_one_by_one(const std::vector<SearchedSpace>& spaces, std::uint64_t /*seed*/) {
  return std::make_unique<OneByOne>(spaces.front().planned);
}

LoadOptions with_shipped_templates() {
  LoadOptions options;
  options.template_folders = {std::filesystem::path(TILETUNE_SOURCE_DIR) / "kernel_templates"};
  return options;
}

class WaitingStrategy : public testing::Test {
 protected:
  static constexpr std::uint64_t kConfigurations = 3;

  TemporaryFolder folder_;
  TuneSpec spec_ =
      load_tune_spec(write_wide_space(folder_.path(), kConfigurations, 1, false), with_shipped_templates());
  std::vector<GpuSet> gpu_sets_ = pretended_gpu_set(spec_, TILETUNE_SOURCE_DIR);
  TaskQueue queue_{gpu_sets_.front(), spec_, make_one_by_one};
};

TEST_F(WaitingStrategy, IsAskedAgainWhenItWasTold) {
  for (std::uint64_t i = 0; i < kConfigurations; ++i) {
    const auto proposal = queue_.propose(4);
    ASSERT_TRUE(proposal);
    EXPECT_EQ(proposal->index, i);
    EXPECT_TRUE(i + 1 == kConfigurations || !queue_.propose(4)) << "it waits";
    EXPECT_EQ(queue_.is_waiting(), i + 1 < kConfigurations);
    queue_.tell(*proposal->task, i, 100);
    EXPECT_FALSE(queue_.is_waiting());
  }
  EXPECT_TRUE(queue_.exhausted());
}

TEST_F(WaitingStrategy, GetsTheResultOfWhatWasPutOff) {
  const auto first = queue_.propose(4);
  ASSERT_TRUE(first);
  EXPECT_FALSE(queue_.propose(4));
  EXPECT_TRUE(queue_.is_waiting());
  queue_.defer(first->task, first->index);
  EXPECT_FALSE(queue_.is_waiting()) << "what it waits for can be tried again";
  const auto again = queue_.propose(4);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->index, first->index);
  EXPECT_TRUE(again->deferred);
  EXPECT_FALSE(queue_.propose(4));
  EXPECT_TRUE(queue_.is_waiting());
  queue_.tell(*again->task, again->index, 100);
  const auto second = queue_.propose(4);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->index, 1U);
}

}  // namespace task_queue_test
}  // namespace tiletune
