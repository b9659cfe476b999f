#include "inspect/scheduler.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace scheduler_test {

Step arithmetic() {
  Step step;
  step.pipe = Pipe::fma;
  step.pipe_clocks = 2;
  step.stall = 1;
  return step;
}

Step load(double memory_clocks, double latency) {
  Step step;
  step.pipe = Pipe::memory;
  step.stall = 1;
  step.memory_clocks = memory_clocks;
  step.latency = latency;
  step.write_scoreboard = 0;
  return step;
}

Step waiting(Step step) {
  step.wait_mask = 1;
  return step;
}

Step barrier() {
  Step step;
  step.stall = 1;
  step.barrier = true;
  return step;
}

/// Of `warps` warps on each of the four schedulers, none of which waits for another.
double clocks(const std::vector<Step>& turn, int warps, const PipelineRates& rates = {}) {
  return clocks_per_turn(turn, 4 * warps, 1, rates);
}

TEST(Scheduler, EachIssuesOneInstructionPerClock) {
  const std::vector<Step> turn(100, arithmetic());
  EXPECT_NEAR(clocks(turn, 1), 100, 1);
  EXPECT_NEAR(clocks(turn, 4), 400, 1);
  EXPECT_NEAR(clocks_per_turn(turn, 1, 1, {}), 100, 1) << "one warp keeps one of them busy";
}

TEST(Scheduler, AUnitOfSixteenLanesTakesTwoClocks) {
  Step integer = arithmetic();
  integer.pipe = Pipe::alu;
  EXPECT_NEAR(clocks(std::vector<Step>(100, integer), 4), 800, 2);
}

TEST(Scheduler, StallCountsHoldOneWarpBackAndOthersFillTheGap) {
  Step slow = arithmetic();
  slow.stall = 4;
  const std::vector<Step> turn(50, slow);
  EXPECT_NEAR(clocks(turn, 1), 200, 1);
  EXPECT_NEAR(clocks(turn, 4), 200, 4);
  EXPECT_NEAR(clocks(turn, 8), 400, 8);
}

TEST(Scheduler, AResultIsWaitedForUnlessItWasLoadedEarlier) {
  std::vector<Step> at_once(100, arithmetic());
  at_once[50] = load(1, 300);
  at_once[51] = waiting(arithmetic());
  EXPECT_GT(clocks(at_once, 1), 390);
  EXPECT_LT(clocks(at_once, 8), 8 * 110) << "other warps hide it";
  std::vector<Step> early(400, arithmetic());
  early[0] = load(1, 300);
  early[350] = waiting(arithmetic());
  EXPECT_NEAR(clocks(early, 1), 400, 4);
}

TEST(Scheduler, WarpsOfABlockWaitForEachOther) {
  std::vector<Step> turn(100, arithmetic());
  turn[20] = load(1, 300);
  turn[21] = waiting(arithmetic());
  const double without_barrier = clocks_per_turn(turn, 16, 1, {});
  turn[60] = barrier();
  const double small_blocks = clocks_per_turn(turn, 4, 4, {}), one_block = clocks_per_turn(turn, 1, 16, {});
  EXPECT_LE(without_barrier, small_blocks);
  EXPECT_LT(small_blocks, one_block);
}

TEST(Scheduler, SharedMemoryServesAllFourSchedulers) {
  std::vector<Step> turn(100, arithmetic());
  for (std::size_t i = 0; i < turn.size(); i += 2) turn[i] = load(4, 20);
  EXPECT_NEAR(clocks(turn, 4), 16 * 50 * 4, 100);
  EXPECT_NEAR(clocks_per_turn(turn, 1, 4, {}), 4 * 50 * 4, 100);
}

TEST(Scheduler, L2IsARateAndALatency) {
  std::vector<Step> turn(64, arithmetic());
  turn[0] = load(1, 0);
  turn[0].l2_bytes = 4096;
  turn[1] = waiting(arithmetic());
  PipelineRates slow, fast;
  slow.l2_bytes_per_clock = 16;
  fast.l2_bytes_per_clock = 64;
  EXPECT_NEAR(clocks(turn, 8, slow) / clocks(turn, 8, fast), 4, 0.4);
}

/// A ring of stages: the wait is for the oldest of the copies under way.
TEST(Scheduler, GroupsOfCopiesThatMayStayPendingHideTheLatency) {
  Step copy = load(1, 500), commit = arithmetic(), wait = arithmetic();
  copy.write_scoreboard = kNoScoreboard;
  copy.copy = true;
  commit.commit = true;
  commit.write_scoreboard = 0;
  wait.waited_scoreboard = 0;
  std::vector<Step> turn(200, arithmetic());
  turn[0] = copy;
  turn[1] = commit;
  turn[199] = wait;
  EXPECT_GT(clocks(turn, 1), 500);
  turn[199].pending = 3;
  EXPECT_NEAR(clocks(turn, 1), 200, 5);
}

TEST(Scheduler, ConflictsOfTheRegisterFileCostIssueSlots) {
  Step conflicting = arithmetic();
  conflicting.conflicts_alone = 1;
  PipelineRates rates;
  rates.bank_conflict_clocks = 0.5;
  const std::vector<Step> turn(100, conflicting);
  EXPECT_NEAR(clocks(turn, 1, rates), 100, 1) << "the warp's own reuse cache serves it";
  conflicting.conflicts = 1;
  EXPECT_NEAR(clocks(std::vector<Step>(100, conflicting), 1, rates), 150, 2);
}

TEST(Scheduler, NoInstructionsTakeNoTimeAndABarrierOfOneWarpEnds) {
  EXPECT_EQ(clocks({}, 4), 0);
  EXPECT_GT(clocks({barrier()}, 1), 0);
  EXPECT_EQ(clocks({arithmetic()}, 0), 0);
}

}  // namespace scheduler_test
}  // namespace tiletune
