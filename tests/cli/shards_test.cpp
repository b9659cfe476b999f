// Sweeps in parts: --shard, merged and held finals of with --recorded, and the kernel cache filled before.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/expect_error.h"
#include "cli/fake_sweep.h"

namespace tiletune::shards_test {

using Json = nlohmann::ordered_json;

constexpr int kConfigurations = 14;

std::vector<std::string> shard_of(const std::string& config, const std::string& shard,
                                  const std::string& database, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"sweep", config, "--db", database, "--shard", shard, "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  for (const std::string& word : fake_gpu_workers("good")) arguments.push_back(word);
  return arguments;
}

std::set<std::string> keys_of(const std::vector<Trial>& rows) {
  std::set<std::string> keys;
  for (const Trial& row : rows)
    if (row.kind == "kernel") keys.insert(row.key);
  return keys;
}

TEST(Shards, TogetherAreTheWholeSweepAndTheirFinalsAreHeldOnceMore) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  warm_kernel_cache(sandbox, config);
  ASSERT_EQ(sandbox.run(measured_sweep(config, "good")).code, 0);
  const std::set<std::string> whole = keys_of(rows_of(sandbox));
  ASSERT_EQ(whole.size(), kConfigurations);
  std::vector<std::string> merge{"merge"};
  for (const std::string number : {"1", "2", "3"}) {
    const Finished run = sandbox.run(shard_of(config, number + "/3", number + ".db", {"--finals", "off"}));
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(carries(run.out, {"of shard " + number + "/3"}));
    for (const Trial& row : rows_of(sandbox, number + ".db")) EXPECT_NE(row.timed_in, "final");
    merge.push_back(number + ".db");
  }
  merge.insert(merge.end(), {"-o", "merged.db"});
  ASSERT_EQ(sandbox.run(merge).code, 0);
  EXPECT_EQ(keys_of(rows_of(sandbox, "merged.db")), whole);
  std::vector<std::string> finals{"sweep", config, "--db", "merged.db", "--recorded", "12", "--quiet"};
  for (const std::string& word : fake_gpu_workers("good")) finals.push_back(word);
  const Finished run = sandbox.run(finals);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"12 of 12 configurations", "12 reused"}));
  const std::vector<Trial> rows = rows_of(sandbox, "merged.db");
  EXPECT_EQ(keys_of(rows), whole) << "nothing else was measured";
  EXPECT_GE(std::count_if(rows.begin(), rows.end(),
                          [](const Trial& row) { return row.kind == "kernel" && row.timed_in == "final"; }),
            10);
}

TEST(Shards, OneThatIsRunAgainReusesItsRows) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  ASSERT_EQ(sandbox.run(shard_of(config, "2/3", "a.db")).code, 0);
  const std::set<std::string> first = keys_of(rows_of(sandbox, "a.db"));
  const Finished again = sandbox.run(shard_of(config, "2/3", "a.db"));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(carries(again.out, {"reused"}));
  EXPECT_EQ(keys_of(rows_of(sandbox, "a.db")), first);
}

TEST(Shards, ADatabaseHoldsOneAlone) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  ASSERT_EQ(sandbox.run(shard_of(config, "1/2", "a.db")).code, 0);
  expect_error(sandbox.run(shard_of(config, "2/2", "a.db")), kUserError, {"a.db", "1/2", "2/2", "--db"});
  EXPECT_EQ(keys_of(rows_of(sandbox, "a.db")).size(), 7U);
}

TEST(Shards, WhatIsNoneIsRefused) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(4);
  ::unsetenv("SLURM_ARRAY_TASK_ID");
  for (const std::string text : {"0/3", "4/3", "3", "a/3", "1/", "1/0", "1/3/5", "-1/3", "1/9999999"})
    expect_error(sandbox.run(shard_of(config, text, "a.db")), kUserError, {"--shard", text});
  expect_error(sandbox.run(shard_of(config, "/3", "a.db")), kUserError, {"--shard", "SLURM_ARRAY_TASK_ID"});
}

TEST(Shards, OfTooFewConfigurationsSomeHaveNone) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  int empty = 0;
  for (const std::string number : {"1", "2", "3"}) {
    const Finished run = sandbox.run(shard_of(config, number + "/3", number + ".db"));
    if (run.code == 0) continue;
    ++empty;
    expect_error(run, kNothingToDo, {"shard " + number + "/3", "fewer"});
  }
  EXPECT_EQ(empty, 1);
}

TEST(Shards, TakeTheirNumberFromSlurmsArray) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  ::setenv("SLURM_ARRAY_TASK_ID", "2", 1);
  const Finished run = sandbox.run(shard_of(config, "/3", "a.db"));
  ::setenv("SLURM_ARRAY_TASK_ID", "0", 1);
  const Finished refused = sandbox.run(shard_of(config, "/3", "b.db"));
  ::unsetenv("SLURM_ARRAY_TASK_ID");
  EXPECT_TRUE(carries(run.out, {"shard 2/3"}));
  expect_error(refused, kUserError, {"SLURM_ARRAY_TASK_ID is 0"});
}

TEST(Recorded, OfAnotherGpuOrOfNothingIsRefused) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(4);
  std::vector<std::string> finals{"sweep", config, "--db", "new.db", "--recorded", "5"};
  for (const std::string& word : fake_gpu_workers("good")) finals.push_back(word);
  expect_error(sandbox.run(finals), kNothingToDo, {"new.db", "--recorded"});
  expect_error(sandbox.run({"sweep", config, "--db", "new.db", "--recorded", "5", "--gpu", "H100"}),
               kUserError, {"--recorded", "finals need a GPU"});
}

TEST(Compile, LeavesNothingToCompileToASweep) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(kConfigurations);
  const Finished run = sandbox.run({"compile", config, "--gpu", "H200", "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json.at("gpus").at(0).at("compiled"), kConfigurations);
  EXPECT_EQ(json.at("gpus").at(0).at("failed"), 0);
  const Finished sweep = sandbox.run({"sweep", config, "--gpu", "H200", "--db", "a.db"});
  EXPECT_TRUE(carries(sweep.out, {"compiling 0 ms of CPU time"}));
}

TEST(Compile, SaysWhatFailsAndHowOften) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(6);
  sandbox.write("tiny/kernel.cu",
                "#if V == 2\n#error two\n#endif\nextern \"C\" __global__ void tiny(const float*, const "
                "float*, float*) {}\n");
  const Finished run =
      sandbox.run({"compile", config, "--gpu", "A100 40GB", "--gpu", "H100", "--shard", "1/1"});
  EXPECT_TRUE(carries(run.out, {"A100", "H100", "1 failed", "error"}));
  expect_error(sandbox.run({"compile", config}), kUserError, {"--gpu"});
  expect_error(sandbox.run({"compile", config, "--gpu", "none"}), kUserError, {"none"});
}

}  // namespace tiletune::shards_test
