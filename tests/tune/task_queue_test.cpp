// What a queue proposes when its strategy waits for results.

#include "tune/task_queue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "temporary_folder.h"
#include "tune/many_rows.h"

namespace tiletune {
namespace task_queue_test {

/// Asks for a configuration when it has the result of the one before.
class OneByOne : public Strategy {
 public:
  explicit OneByOne(std::uint64_t planned) : planned_(planned) {}

  std::vector<Choice> ask(std::size_t /*most*/) override {
    if (asked_ > results_ || asked_ == planned_) return {};
    return {Choice{0, asked_++}};
  }
  void tell(const Choice& /*choice*/, std::optional<double> /*median_us*/) override { ++results_; }

 private:
  std::uint64_t planned_;
  std::uint64_t asked_ = 0;
  std::uint64_t results_ = 0;
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

  bool is_waiting() {
    const Search* search = queue_.searches.current();
    return search != nullptr && search->is_waiting();
  }

  TemporaryFolder folder_;
  TuneSpec spec_ =
      load_tune_spec(write_wide_space(folder_.path(), kConfigurations, 1, false), with_shipped_templates());
  std::vector<GpuSet> gpu_sets_ = pretended_gpu_set(spec_, TILETUNE_SOURCE_DIR);
  TaskQueue queue_{gpu_sets_.front(), spec_, make_one_by_one};
};

TEST_F(WaitingStrategy, IsAskedAgainWhenItHasTheResult) {
  for (std::uint64_t i = 0; i < kConfigurations; ++i) {
    const auto proposal = queue_.searches.propose(4);
    ASSERT_TRUE(proposal);
    EXPECT_EQ(proposal->index, i);
    EXPECT_TRUE(i + 1 == kConfigurations || !queue_.searches.propose(4)) << "it waits";
    EXPECT_EQ(is_waiting(), i + 1 < kConfigurations);
    queue_.searches.tell(*proposal->task, i, 100);
    EXPECT_FALSE(is_waiting());
  }
  EXPECT_TRUE(queue_.exhausted());
}

TEST_F(WaitingStrategy, GetsTheResultOfWhatWasPutOff) {
  const auto first = queue_.searches.propose(4);
  ASSERT_TRUE(first);
  EXPECT_FALSE(queue_.searches.propose(4));
  EXPECT_TRUE(is_waiting());
  queue_.searches.defer(*first->task, first->index);
  EXPECT_FALSE(is_waiting()) << "what it waits for can be tried again";
  const auto again = queue_.searches.propose(4);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->index, first->index);
  EXPECT_TRUE(again->deferred);
  EXPECT_FALSE(queue_.searches.propose(4));
  EXPECT_TRUE(is_waiting());
  queue_.searches.tell(*again->task, again->index, 100);
  const auto second = queue_.searches.propose(4);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->index, 1U);
}

/// Expects a gain until it has the results of five choices.
class ExpectsGain : public OneByOne {
 public:
  using OneByOne::OneByOne;
  void tell(const Choice& choice, std::optional<double> median_us) override {
    OneByOne::tell(choice, median_us);
    ++results_;
  }
  std::optional<double> remaining_gain_percent() override { return results_ < 5 ? 3.0 : 0.5; }

 private:
  int results_ = 0;
};

std::unique_ptr<Strategy> make_hopeful(const std::vector<SearchedSpace>& spaces, std::uint64_t /*seed*/) {
  return std::make_unique<ExpectsGain>(spaces.front().planned);
}

/// Three problems of ten configurations each, or more.
class SharedBudget : public testing::Test {
 protected:
  TaskQueue make(const Budget& budget, bool learns = false, std::uint64_t configurations = 10) {
    const std::filesystem::path config = write_wide_space(folder_.path(), configurations, 1, false);
    write_file(config, R"({"templates": ["wide"], "problems": ["1x1x1", "2x2x2", "3x3x3"]})");
    spec_ = load_tune_spec(config, with_shipped_templates());
    spec_.budget = budget;
    gpu_sets_ = pretended_gpu_set(spec_, TILETUNE_SOURCE_DIR);
    TaskQueue queue(gpu_sets_.front(), spec_, make_hopeful, learns);
    for (WorkloadState& one : queue.workloads) one.finals.state = WorkloadFinals::State::over;
    return queue;
  }
  /// Proposes and tells until nothing is left; a proposal takes a second.
  static std::vector<SearchedWorkload> run(TaskQueue queue) {
    double now_s = 0;
    while (true) {
      queue.end_searches(now_s);
      const auto proposal = queue.searches.propose(4);
      if (!proposal && queue.exhausted()) return queue.searches.summary();
      if (!proposal) continue;
      queue.slots.front().workload = proposal->task->workload;
      queue.end_searches(now_s);
      queue.searches.tell(*proposal->task, proposal->index, 100);
      now_s += 1;
    }
  }
  /// As if its kernel were compiled, and waited to be measured.
  static std::optional<Proposal> propose_and_compile(TaskQueue& queue) {
    const auto proposal = queue.searches.propose(1);
    if (!proposal) return std::nullopt;
    queue.searches.tell(*proposal->task, proposal->index, 100);
    queue.ready.emplace_back().task = proposal->task;
    return proposal;
  }
  static std::vector<std::uint64_t> tried(const std::vector<SearchedWorkload>& searched) {
    std::vector<std::uint64_t> tried;
    for (const SearchedWorkload& one : searched) tried.push_back(one.tried);
    return tried;
  }

  TemporaryFolder folder_;
  TuneSpec spec_;
  std::vector<GpuSet> gpu_sets_;
};

TEST_F(SharedBudget, OfEvaluationsIsDividedAmongProblems) {
  const auto searched = run(make({.evaluations = 14}));
  EXPECT_EQ(tried(searched), (std::vector<std::uint64_t>{5, 5, 4}));
  EXPECT_EQ(searched.front().end, SearchEnd::evaluations);
  EXPECT_EQ(searched.front().problem, "1x1x1");
  EXPECT_EQ(searched.front().valid, 10U);
}

TEST_F(SharedBudget, IsTwiceAsLargeForTheProblemThatTheOthersLearnFrom) {
  EXPECT_EQ(tried(run(make({.evaluations = 16}, true))), (std::vector<std::uint64_t>{8, 4, 4}));
  EXPECT_EQ(tried(run(make({.seconds = 16}, true))), (std::vector<std::uint64_t>{8, 4, 4}));
  EXPECT_EQ(tried(run(make({.evaluations = 1}, true))), (std::vector<std::uint64_t>{1, 0, 0}));
  EXPECT_EQ(tried(run(make({.evaluations = 9}, true))), (std::vector<std::uint64_t>{5, 2, 2}));
  EXPECT_EQ(tried(run(make({.evaluations = 4}, true))), (std::vector<std::uint64_t>{2, 1, 1}));
  EXPECT_EQ(tried(run(make({.evaluations = 3}, true))), (std::vector<std::uint64_t>{1, 1, 1}))
      << "each problem gets one before the first gets two";
  EXPECT_EQ(tried(run(make({.evaluations = 9}))), (std::vector<std::uint64_t>{3, 3, 3})) << "none learns";
}

TEST_F(SharedBudget, OfTimeIsDividedAmongProblems) {
  const auto searched = run(make({.seconds = 9}));
  EXPECT_EQ(tried(searched), (std::vector<std::uint64_t>{3, 3, 3}));
  EXPECT_EQ(searched.back().end, SearchEnd::time);
}

TEST_F(SharedBudget, OfTimeBeginsWhenTheProblemBeforeIsMeasured) {
  TaskQueue queue = make({.seconds = 12});
  queue.slots.front().workload = 0;
  const auto propose_at = [&](double now_s) -> std::optional<std::size_t> {
    queue.end_searches(now_s);
    const auto proposal = propose_and_compile(queue);
    return proposal ? std::optional(proposal->task->workload) : std::nullopt;
  };
  EXPECT_EQ(propose_at(0), 0U);
  EXPECT_EQ(propose_at(4), 1U) << "the first one's share of 4 s is over";
  EXPECT_EQ(queue.ready.size(), 2U) << "what it compiled will be measured";
  EXPECT_EQ(propose_at(5.5), 1U) << "its time has not begun";
  EXPECT_TRUE(queue.searches.propose_ahead());
  queue.ready.clear();
  queue.workloads[0].finals.state = WorkloadFinals::State::running;
  EXPECT_EQ(propose_at(5.8), 1U);
  queue.ready.clear();
  queue.workloads[0].finals.state = WorkloadFinals::State::over;
  EXPECT_EQ(propose_at(5.9), 1U);
  EXPECT_TRUE(queue.searches.propose_ahead()) << "no GPU has its buffers";
  queue.slots.front().workload = 1;
  EXPECT_EQ(propose_at(6), 1U) << "6 s are left for two problems: 1.5 s each, half of a share, as two passed "
                                  "after the first, and two would leave one";
  EXPECT_FALSE(queue.searches.propose_ahead());
  EXPECT_EQ(propose_at(7.4), 1U);
  EXPECT_EQ(propose_at(7.6), 2U);
  queue.ready.clear();
  queue.slots.front().workload = 2;
  EXPECT_EQ(propose_at(8), 2U) << "4 s are left, and 1.25 s passed after a problem";
  EXPECT_EQ(propose_at(10.7), 2U);
  EXPECT_EQ(propose_at(10.8), std::nullopt);
  EXPECT_EQ(queue.searches.summary().back().end, SearchEnd::time);
}

TEST_F(SharedBudget, OfTimeWaitsForAllProblemsBefore) {
  TaskQueue queue = make({.seconds = 12});
  queue.slots.front().workload = 0;
  queue.end_searches(0);
  auto proposal = propose_and_compile(queue);
  ASSERT_TRUE(proposal);
  while (proposal && proposal->task->workload < 2) {
    queue.end_searches(4);
    proposal = queue.searches.propose(1);
    if (proposal) queue.searches.tell(*proposal->task, proposal->index, 100);
  }
  ASSERT_TRUE(proposal) << "all rows of the second are reused";
  queue.slots.front().workload = 2;
  queue.end_searches(5);
  EXPECT_TRUE(queue.searches.propose_ahead()) << "the first one is not measured";
  queue.ready.clear();
  queue.end_searches(6);
  EXPECT_FALSE(queue.searches.propose_ahead());
}

TEST_F(SharedBudget, OfTimeDoesNotSetAsideWhatAProblemWithoutAShareTook) {
  TaskQueue queue = make({.seconds = 12});
  queue.slots.front().workload = 0;
  const auto propose_all = [&](std::size_t workload) {
    for (int i = 0; i < 10; ++i) {
      const auto proposal = queue.searches.propose(1);
      ASSERT_TRUE(proposal);
      ASSERT_EQ(proposal->task->workload, workload);
      queue.searches.tell(*proposal->task, proposal->index, 100);
    }
  };
  queue.end_searches(0);
  propose_all(0);
  propose_all(1);
  queue.slots.front().workload = 2;
  queue.end_searches(9);
  EXPECT_FALSE(queue.searches.propose_ahead());
  queue.end_searches(11.9);
  EXPECT_FALSE(queue.searches.summary()[2].end) << "3 s are left for it";
  queue.end_searches(12);
  EXPECT_EQ(queue.searches.summary()[2].end, SearchEnd::time);
}

TEST_F(SharedBudget, OfTimeBeginsAlsoWhereNothingCanBeMeasured) {
  TaskQueue queue = make({.seconds = 12});
  queue.end_searches(0);
  EXPECT_TRUE(queue.searches.propose_ahead());
  queue.slots.front().failed_workloads[0] = "no memory";
  queue.end_searches(0);
  EXPECT_FALSE(queue.searches.propose_ahead());
}

TEST_F(SharedBudget, OfTimeDoesNotBeginOnAGpuThatCannotMeasure) {
  TaskQueue queue = make({.seconds = 12});
  queue.slots.emplace_back().evaluator = queue.slots.front().evaluator;
  GpuSlot& gpu = queue.slots.front();
  gpu.workload = 0;
  gpu.failed_workloads[0] = "no memory";
  queue.end_searches(0);
  EXPECT_TRUE(queue.searches.propose_ahead()) << "the other one may have it";
  gpu.failed_workloads.clear();
  gpu.retired = true;
  queue.end_searches(0);
  EXPECT_TRUE(queue.searches.propose_ahead());
  gpu.retired = false;
  queue.end_searches(0);
  EXPECT_FALSE(queue.searches.propose_ahead());
}

TEST_F(SharedBudget, OfTimeBeginsAfterManyResultsWithoutAGpu) {
  TaskQueue queue = make({.seconds = 12}, false, 100);
  const auto propose = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto proposal = queue.searches.propose(1);
      ASSERT_TRUE(proposal);
      ASSERT_EQ(proposal->task->workload, 0U);
      queue.searches.tell(*proposal->task, proposal->index, std::nullopt);
      queue.end_searches(1);
    }
  };
  propose(60);
  EXPECT_TRUE(queue.searches.propose_ahead()) << "its first kernels may be on their way";
  queue.ready.emplace_back().task = &queue.task_of(0);
  propose(10);
  EXPECT_TRUE(queue.searches.propose_ahead()) << "one waits for a GPU";
  queue.ready.clear();
  queue.end_searches(1);
  EXPECT_FALSE(queue.searches.propose_ahead());
  queue.end_searches(12);
  EXPECT_EQ(queue.searches.summary().front().end, SearchEnd::time);
}

TEST_F(SharedBudget, OfTimeBeginsOnOneGpuWhileAnotherIsBehind) {
  TaskQueue queue = make({.seconds = 12});
  queue.slots.push_back(queue.slots.front());
  queue.slots.front().workload = 0;
  queue.slots.back().workload = queue.slots.back().measuring = 0;
  queue.end_searches(0);
  ASSERT_TRUE(queue.searches.propose(1));
  queue.end_searches(4);
  EXPECT_TRUE(queue.searches.propose_ahead()) << "no GPU has the second one's buffers";
  queue.slots.front().workload = 1;
  queue.end_searches(5);
  EXPECT_FALSE(queue.searches.propose_ahead());
}

TEST_F(SharedBudget, OfTimeLeavesWhatWaitsWhenItIsOver) {
  TaskQueue queue = make({.seconds = 12});
  queue.slots.front().workload = 0;
  queue.end_searches(0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(propose_and_compile(queue));
  queue.end_searches(4.1);
  EXPECT_EQ(queue.ready.size(), 2U) << "two for each GPU";
  EXPECT_EQ(queue.searches.summary().front().tried, 2U);
  EXPECT_EQ(queue.searches.summary().front().end, SearchEnd::time);
}

TEST_F(SharedBudget, OfTimeBoundsTheFinals) {
  EXPECT_EQ(make({.seconds = 12}).searches.longest_finals_us(), 1e6);
  EXPECT_TRUE(std::isinf(make({.evaluations = 12}).searches.longest_finals_us()));
}

TEST_F(SharedBudget, EndsWhereNoGainIsExpected) {
  const auto searched = run(make({.until_percent = 1}));
  EXPECT_EQ(tried(searched), (std::vector<std::uint64_t>{5, 5, 5}));
  EXPECT_EQ(searched.front().end, SearchEnd::gain);
}

TEST_F(SharedBudget, OfMoreThanThereIsTriesAll) {
  const auto searched = run(make({.evaluations = 100, .seconds = 1000, .until_percent = 0.1}));
  EXPECT_EQ(tried(searched), (std::vector<std::uint64_t>{10, 10, 10}));
  EXPECT_TRUE(searched.front().is_whole());
  EXPECT_EQ(searched.front().end, SearchEnd::all_tried);
}

/// Learns from four lessons at most.
class Pupil : public OneByOne {
 public:
  using OneByOne::OneByOne;
  std::size_t most_lessons() const override { return 4; }
  void learn(const std::vector<Lesson>& lessons) override { lessons_ = lessons; }

  static std::vector<Lesson> lessons_;  ///< of the strategy that was made last
};
std::vector<Lesson> Pupil::lessons_;

std::unique_ptr<Strategy> make_pupil(const std::vector<SearchedSpace>& spaces, std::uint64_t /*seed*/) {
  return std::make_unique<Pupil>(spaces.front().planned);
}

TEST(LessonsOfAQueue, AreAsManyAsTheStrategyLearnsFromTheFastestFirst) {
  const TemporaryFolder folder;
  const TuneSpec spec =
      load_tune_spec(write_wide_space(folder.path(), 10, 1, false), with_shipped_templates());
  std::vector<GpuSet> gpu_sets = pretended_gpu_set(spec, TILETUNE_SOURCE_DIR);
  Database database(folder / "known.db", Database::Mode::read_write);
  for (int x = 1; x <= 10; ++x) {
    Trial row;
    row.key = std::to_string(x);
    row.template_name = "wide";
    row.operation = "gemm";
    row.problem = "8x8x8";
    row.dimensions = R"({"M": 8, "N": 8, "K": 8})";
    row.parameters = R"({"X": )" + std::to_string(x) + R"(, "Y": 1})";
    row.outcome = Outcome::ok;
    row.median_us = 100 - x;
    database.record(row);
  }
  const Knowledge knowledge(folder / "known.db", gpu_sets.front().tasks);
  TaskQueue queue(gpu_sets.front(), spec, make_pupil, true, &knowledge);
  Pupil::lessons_.clear();
  ASSERT_TRUE(queue.searches.propose(1));
  ASSERT_EQ(Pupil::lessons_.size(), 4U);
  EXPECT_EQ(Pupil::lessons_[0].positions, (std::vector<std::uint32_t>{9, 0}));
  EXPECT_EQ(Pupil::lessons_[0].relative_time, 1);
  EXPECT_EQ(Pupil::lessons_[1].positions, (std::vector<std::uint32_t>{8, 0}));
}

/// Tries what is compiled in its order; expects nothing of it after three of each problem.
class Thrifty : public OneByOne {
 public:
  using OneByOne::OneByOne;
  std::vector<Choice> ask_among(const std::vector<Choice>& some, std::size_t most) override {
    last_offered_ = some.size();
    if (tried_ >= 3) return {};
    const std::size_t count = std::min({most, some.size(), 3 - tried_});
    tried_ += count;
    return {some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  static std::size_t last_offered_;

 private:
  std::size_t tried_ = 0;
};
std::size_t Thrifty::last_offered_ = 0;

std::unique_ptr<Strategy> make_thrifty(const std::vector<SearchedSpace>& spaces, std::uint64_t /*seed*/) {
  return std::make_unique<Thrifty>(spaces.front().planned);
}

/// Kernels that the first of two problems had compiled.
class CompiledBefore : public SharedBudget {
 protected:
  /// With the first problem searched: six of its configurations ran.
  TaskQueue after_first(const Budget& budget, MakeStrategy* strategy = make_thrifty) {
    make(budget);
    TaskQueue queue(gpu_sets_.front(), spec_, strategy, true);
    for (WorkloadState& one : queue.workloads) one.finals.state = WorkloadFinals::State::over;
    EXPECT_TRUE(queue.propose_compiled().empty()) << "nothing was compiled before it";
    for (int i = 0; i < 10; ++i) {
      const auto proposal = queue.searches.propose(1);
      EXPECT_TRUE(queue.propose_compiled().empty()) << "the same";
      queue.searches.tell(*proposal->task, proposal->index, i < 6 ? std::optional(100.0 + i) : std::nullopt);
    }
    EXPECT_EQ(queue.searches.propose(1)->task->workload, 1U);
    return queue;
  }
};

TEST_F(CompiledBefore, AreTriedWhereAGpuWouldWait) {
  TaskQueue queue = after_first({});
  const std::vector<Proposal> proposals = queue.propose_compiled();
  EXPECT_EQ(Thrifty::last_offered_, 6U) << "what did not run is not offered";
  ASSERT_EQ(proposals.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(proposals[i].task->workload, 1U);
    EXPECT_EQ(proposals[i].index, i);
    queue.searches.tell(*proposals[i].task, i, 100);
  }
  EXPECT_TRUE(queue.propose_compiled().empty()) << "nothing is expected of the others";
  EXPECT_EQ(Thrifty::last_offered_, 3U);
  EXPECT_EQ(queue.searches.summary()[1].tried, 4U) << "with the one of propose()";
}

/// Has nothing else to choose once it was asked about what is compiled.
class OnlyCompiled : public OneByOne {
 public:
  using OneByOne::OneByOne;
  std::vector<Choice> ask(std::size_t most) override {
    return was_asked_ ? std::vector<Choice>{} : OneByOne::ask(most);
  }
  std::vector<Choice> ask_among(const std::vector<Choice>& some, std::size_t /*most*/) override {
    if (std::exchange(was_asked_, true)) return {};
    return {some[1], some[2], some[3]};
  }

 private:
  bool was_asked_ = false;
};

std::unique_ptr<Strategy> make_only_compiled(const std::vector<SearchedSpace>& spaces,
                                             std::uint64_t /*seed*/) {
  return std::make_unique<OnlyCompiled>(spaces.front().planned);
}

TEST_F(CompiledBefore, AreTriedAlsoWhereTheStrategyHasNothingElse) {
  TaskQueue queue = after_first({}, make_only_compiled);
  Task& task = queue.task_of(1);
  queue.searches.tell(task, 0, 100);
  const std::vector<Proposal> proposals = queue.propose_compiled();
  ASSERT_EQ(proposals.size(), 3U);
  for (std::uint64_t index = 1; index < 4; ++index) {
    EXPECT_EQ(proposals[index - 1].task, &task);
    EXPECT_EQ(proposals[index - 1].index, index);
    queue.searches.tell(task, index, 100);
  }
  queue.searches.propose(1);
  EXPECT_EQ(queue.searches.summary()[1].tried, 4U);
}

TEST_F(CompiledBefore, WaitForWhatIsReady) {
  TaskQueue queue = after_first({});
  queue.ready.emplace_back().task = &queue.task_of(2);
  EXPECT_TRUE(queue.propose_compiled().empty());
}

TEST_F(CompiledBefore, AreNotTriedWhereEvaluationsCount) {
  TaskQueue queue = after_first({.evaluations = 30});
  EXPECT_TRUE(queue.propose_compiled().empty());
}

TEST_F(CompiledBefore, AreForgottenWhereSizesChangeTheSource) {
  TaskQueue queue = after_first({});
  const std::vector<Proposal> proposals = queue.propose_compiled();
  ASSERT_FALSE(proposals.empty());
  queue.searches[1].forget_compiled(*proposals.front().task);
  EXPECT_TRUE(queue.propose_compiled().empty());
  EXPECT_EQ(Thrifty::last_offered_, 6U) << "it was asked once";
}

}  // namespace task_queue_test
}  // namespace tiletune
