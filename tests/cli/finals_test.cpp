// The best of a sweep are re-measured, interleaved: through the executable, with a fake GPU worker.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "carries.h"
#include "cli/fake_sweep.h"
#include "spec/tune_spec.h"

namespace tiletune {
namespace finals_test {

constexpr int kConfigurations = 14;
constexpr int kSeats = 10;
constexpr int kInterrupted = 130;
/// Whatever is measured is lost with its worker: for runs that are to find everything in the database.
constexpr const char* kUnusable = "always_crash";

double first_us(const Trial& row) { return row.first_median_us.value_or(*row.median_us); }

/// Kernels, by their times before the finals.
std::vector<Trial> kernels_of(const Sandbox& sandbox) {
  std::vector<Trial> rows = rows_of(sandbox);
  std::erase_if(rows, [](const Trial& row) { return row.kind != "kernel"; });
  std::sort(rows.begin(), rows.end(),
            [](const Trial& a, const Trial& b) { return first_us(a) < first_us(b); });
  return rows;
}

std::vector<Trial> of_kind(const Sandbox& sandbox, const std::string& kind) {
  std::vector<Trial> rows = rows_of(sandbox);
  std::erase_if(rows, [&](const Trial& row) { return row.kind != kind; });
  return rows;
}

/// That the best, and only they, have their times from finals, `faulty` of them excepted.
void expect_finals(const Sandbox& sandbox, const std::set<std::size_t>& faulty = {}) {
  const std::vector<Trial> rows = kernels_of(sandbox);
  std::size_t best = 0;
  while (faulty.contains(best)) ++best;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Trial& row = rows[i];
    const bool takes_part = i < kSeats || first_us(row) <= 1.02 * first_us(rows[best]);
    EXPECT_EQ(row.timed_in, takes_part ? "final" : "sampling") << i;
    EXPECT_EQ(row.outcome == Outcome::ok, !faulty.contains(i)) << i;
    if (row.timed_in != "final" || faulty.contains(i)) continue;
    EXPECT_NEAR(*row.median_us, *row.first_median_us * 0.99, 0.004 * *row.median_us);
    EXPECT_EQ(row.sample_count, FinalsPolicy().rounds);
    EXPECT_LE(*row.ci_low_us, *row.median_us);
    EXPECT_GE(*row.ci_high_us, *row.median_us);
    EXPECT_NEAR(*row.noise_floor_percent, 0.02, 0.001) << "the twin is so much slower";
    EXPECT_TRUE(row.probability_near_best.has_value());
    EXPECT_NEAR(*row.percent_of_baseline, 100 * *row.baseline_us / *row.median_us, 1e-9);
  }
}

TEST(Finals, TheBestAreMeasuredAgainWithTheBaselineAndATwin) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  expect_complete(sandbox, kConfigurations);
  expect_finals(sandbox);
  const std::vector<Trial> kernels = kernels_of(sandbox);
  EXPECT_EQ(kernels.front().probability_near_best, 1);
  const std::vector<Trial> twins = of_kind(sandbox, "twin");
  ASSERT_EQ(twins.size(), 1U);
  EXPECT_EQ(twins[0].parameters, kernels.front().parameters);
  EXPECT_NEAR(*twins[0].median_us, 1.0002 * *kernels.front().median_us, 1e-6);
  EXPECT_FALSE(twins[0].first_median_us.has_value());
  const std::vector<Trial> baselines = of_kind(sandbox, "baseline");
  ASSERT_EQ(baselines.size(), 1U);
  EXPECT_EQ(baselines[0].timed_in, "final");
  EXPECT_EQ(baselines[0].first_median_us, 201);
  EXPECT_EQ(kernels.front().baseline_us, baselines[0].median_us);
}

TEST(Finals, ASingleConfigurationIsMeasuredInTurnsWithItsTwin) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(1), "none"));
  expect_complete(sandbox, 1);
  EXPECT_EQ(kernels_of(sandbox).front().probability_near_best, 1);
}

/// All but what tells that another sweep has seen the row.
void expect_unchanged(const Sandbox& sandbox, const std::vector<Trial>& before) {
  const std::vector<Trial> after = rows_of(sandbox);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].key, before[i].key);
    EXPECT_EQ(after[i].outcome, before[i].outcome);
    EXPECT_EQ(after[i].median_us, before[i].median_us);
    EXPECT_EQ(after[i].first_median_us, before[i].first_median_us);
    EXPECT_EQ(after[i].sweep_id, before[i].sweep_id);
    EXPECT_EQ(after[i].seen_in_sweep, 2) << after[i].kind;
  }
}

TEST(Finals, ASecondRunFindsThemInTheDatabase) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "none"));
  const std::vector<Trial> before = rows_of(sandbox);
  const Finished again = sandbox.run(measured_sweep(config, kUnusable));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("14 reused"), std::string::npos) << again.out;
  expect_unchanged(sandbox, before);
}

TEST(Finals, AreHeldAgainWhereTheyMayTakeLonger) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(kConfigurations);
  const std::string config =
      sandbox.write("two.json", R"({"templates": ["tiny"], "problems": ["1x1x1", "2x2x2"]})");
  warm_kernel_cache(sandbox, config);
  const std::vector<std::string> budget{"--budget", "22s"};  // of which finals get less than usual
  sandbox.run(measured_sweep(config, "none", 3, budget));
  const std::vector<Trial> before = rows_of(sandbox);
  const Finished again = sandbox.run(measured_sweep(config, kUnusable, 3, budget));
  EXPECT_NE(again.out.find("28 reused"), std::string::npos) << again.out;
  expect_unchanged(sandbox, before);
  const Finished longer = sandbox.run(measured_sweep(config, "none"));
  EXPECT_NE(longer.out.find("28 reused"), std::string::npos) << longer.out;
  EXPECT_EQ(kernels_of(sandbox).front().sweep_id, 3);
  EXPECT_EQ(sandbox.run(measured_sweep(config, kUnusable, 3, budget)).code, 0);
  EXPECT_EQ(kernels_of(sandbox).front().sweep_id, 3) << "longer ones were held";
}

TEST(Finals, AreHeldAgainForWhoWantsThemBackToBackToo) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "none"));
  const Finished again = sandbox.run(measured_sweep(config, "none", 3, {"--sustained", "1s"}));
  EXPECT_NE(again.out.find("14 reused"), std::string::npos) << again.out;
  EXPECT_EQ(kernels_of(sandbox).front().sweep_id, 2);
}

TEST(Finals, AreHeldAgainForWhoWantsTimesWithCopiesToo) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  sandbox.run(measured_sweep(config, "none"));
  for (const Trial& row : rows_of(sandbox)) EXPECT_EQ(row.with_copies_us, std::nullopt);
  const Finished again = sandbox.run(measured_sweep(config, "none", 3, {"--host-copies", "on"}));
  EXPECT_NE(again.out.find("14 reused"), std::string::npos) << again.out;
  int timed = 0;
  for (const Trial& row : rows_of(sandbox)) {
    EXPECT_EQ(row.with_copies_us.has_value(), row.timed_in == "final" && row.kind != "twin") << row.kind;
    if (!row.with_copies_us) continue;
    EXPECT_GT(*row.with_copies_us, *row.median_us);
    ++timed;
  }
  EXPECT_GT(timed, kSeats) << "the finalists and cuBLAS";
  // What is not asked for any more does no harm.
  const Finished without = sandbox.run(measured_sweep(config, kUnusable));
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_EQ(kernels_of(sandbox).front().sweep_id, 2);
}

TEST(Finals, SayWhereTheBestIsNotTheFastestInAnotherRegime) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  const Finished run = sandbox.run(measured_sweep(config, "none", 3, {"--regime", "cold,warm"}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("\nwarm: the best choice is "), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("\ncold: the best choice is "), std::string::npos) << run.out;
  const auto json = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"rank", "--db", "results.db", "--format", "json"});
    return nlohmann::json::parse(sandbox.run(more).out)["groups"][0]["rows"];
  };
  const auto usual = json({});
  const auto warm = json({"--regime", "warm"});
  EXPECT_NE(usual[0]["parameters"], warm[0]["parameters"]);
  EXPECT_LT(warm.size(), usual.size()) << "the others were not timed warm";
  const Finished table = sandbox.run({"rank", "--db", "results.db", "--regime", "warm"});
  EXPECT_TRUE(carries(table.out, {"warm_us", "median_us"}));
  EXPECT_EQ(sandbox.run({"rank", "--db", "results.db", "--regime", "eager"}).code, kNothingToDo);
}

TEST(Finals, RowsAreWarnedWhereTheHostHasNoMemoryForCopies) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "no_host_memory",
                                                  3, {"--host-copies", "on"}));
  EXPECT_EQ(run.code, 0) << run.err;
  const Trial best = kernels_of(sandbox).front();
  EXPECT_EQ(best.outcome, Outcome::ok);
  EXPECT_EQ(best.timed_in, "final");
  EXPECT_EQ(best.with_copies_us, std::nullopt);
  EXPECT_TRUE(carries(best.warnings, {"copies", "out of memory"})) << best.warnings;
}

TEST(Finals, OfAWiderSpaceTakeInWhatTheOldOnesHad) {
  const Sandbox sandbox;
  sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations), "none"));
  const Finished again = sandbox.run(measured_sweep(sandbox.write_tiny_space(kConfigurations + 6), "none"));
  EXPECT_NE(again.out.find("14 reused"), std::string::npos) << again.out;
  const std::vector<Trial> kernels = kernels_of(sandbox);
  for (std::size_t i = 0; i < kSeats; ++i) {
    EXPECT_EQ(kernels[i].timed_in, "final");
    EXPECT_EQ(kernels[i].sweep_id, 2) << "all of the best have finals_measured each other";
    EXPECT_NEAR(*kernels[i].median_us, *kernels[i].first_median_us * 0.99, 0.004 * *kernels[i].median_us);
  }
}

TEST(Finals, ACrashBlamesTheParticipantWhoseTurnItWas) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  // In such modes tickets are places among the finalists.
  const Finished run = sandbox.run(measured_sweep(config, "finals_crash", 4));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("ok 13, crashed 1"), std::string::npos) << run.out;
  expect_finals(sandbox, {3});
  EXPECT_TRUE(carries(kernels_of(sandbox)[3].reason, {"the finals", "signal 11"}));
  const std::vector<Trial> before = rows_of(sandbox);
  const Finished again = sandbox.run(measured_sweep(config, kUnusable));
  EXPECT_NE(again.out.find("14 reused"), std::string::npos) << again.out;
  expect_unchanged(sandbox, before);
}

TEST(Finals, AWrongResultCostsItsRowTheRank) {
  for (const int place : {1, 4}) {
    const Sandbox sandbox;
    const std::string config = sandbox.write_tiny_space(kConfigurations);
    const Finished run = sandbox.run(measured_sweep(config, "finals_wrong", place));
    EXPECT_EQ(run.code, 0) << run.err;
    const std::size_t faulty = static_cast<std::size_t>(place) - 1;
    expect_finals(sandbox, {faulty});
    const std::vector<Trial> kernels = kernels_of(sandbox);
    EXPECT_EQ(kernels[faulty].outcome, Outcome::wrong_result);
    EXPECT_TRUE(carries(kernels[faulty].reason, {"the finals", "0.5 of C", "1e-06"}));
    const std::vector<Trial> twins = of_kind(sandbox, "twin");
    ASSERT_EQ(twins.size(), 1U);
    EXPECT_EQ(twins[0].parameters, kernels[place == 1 ? 1 : 0].parameters) << "of one that is right";
  }
}

bool all_are_ok(const Sandbox& sandbox) {
  return kernels_with(rows_of(sandbox), Outcome::ok) == kConfigurations;
}

TEST(Finals, CtrlCBeforeThemLeavesThemToTheNextRun) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  warm_kernel_cache(sandbox, config);
  const pid_t process = sandbox.start(sweep_with(config, "slow"));
  ASSERT_TRUE(eventually([&] { return kernels_with(rows_of(sandbox), Outcome::ok) >= 2; }));
  ::kill(process, SIGINT);
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, kInterrupted);
  EXPECT_TRUE(carries(run.err, {"finals of 1x1x1 on Fake H200", "interrupted"}));
  for (const Trial& row : kernels_of(sandbox)) EXPECT_EQ(row.timed_in, "sampling");
  EXPECT_EQ(sandbox.run(measured_sweep(config, "none")).code, 0);
  expect_finals(sandbox);
}

TEST(Finals, CtrlCInTheMiddleOfThemDoesNotWaitForTheirEnd) {
  adopt_orphans();
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  const pid_t process = sandbox.start(sweep_with(config, "finals_hang", 3));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(sandbox.folder() / "finals_hang"); }));
  EXPECT_TRUE(all_are_ok(sandbox));
  ::kill(process, SIGINT);
  const auto started = std::chrono::steady_clock::now();
  const Finished run = sandbox.wait(process);
  EXPECT_EQ(run.code, kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
  EXPECT_TRUE(carries(run.err, {"the finals", "interrupted"}));
  EXPECT_TRUE(no_orphans());
  for (const Trial& row : kernels_of(sandbox)) EXPECT_EQ(row.timed_in, "sampling");
  const Finished again = sandbox.run(measured_sweep(config, "none"));
  EXPECT_NE(again.out.find("14 reused"), std::string::npos) << again.out;
  expect_complete(sandbox, kConfigurations);
  expect_finals(sandbox);
}

TEST(Finals, ComeOnTopOfASpentBudget) {
  const Sandbox sandbox;
  // 40 measurements of 20 ms each take longer than the budget.
  const std::string config = sandbox.write_tiny_space(40);
  warm_kernel_cache(sandbox, config);
  const Finished run = sandbox.run(measured_sweep(config, "slow", 3, {"--budget", "0.5s"}));
  EXPECT_TRUE(carries(run.out, {"time budget"}));
  EXPECT_EQ(of_kind(sandbox, "twin").size(), 1U);
  expect_finals(sandbox);
}

/// Cubins of 11 MiB, of which four fit into a message.
TEST(Finals, SayHowManyTakePartWhereNotAllCubinsFitIntoAMessage) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(5);
  sandbox.write("tiny/kernel.cu",
                "__device__ int large[11 << 18] = {1};\n"
                "extern \"C\" __global__ void tiny(const float* A, const float* B, float* C) {\n"
                "  C[0] = A[0] * B[0] + V + large[threadIdx.x];\n}\n");
  const Finished run = sandbox.run(sweep_with(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.err, {"finals of 1x1x1", "4 of 5", "48.0 MiB"}));
  const std::vector<Trial> rows = kernels_of(sandbox);
  ASSERT_EQ(rows.size(), 5U);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(rows[i].timed_in, i < 4 ? "final" : "sampling") << i;
}

}  // namespace finals_test
}  // namespace tiletune
