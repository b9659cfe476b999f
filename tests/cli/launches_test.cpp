// The kernels of tests/launches: workspaces, tensor maps and grids that follow the GPU, up to the point where
// only a GPU can go on.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace launches_test {

using Json = nlohmann::ordered_json;

const std::string kLaunches = std::string(TILETUNE_SOURCE_DIR) + "/tests/launches/launches.json";

Json launch_of(const std::vector<Trial>& rows, const char* template_name, const char* parameters) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Trial& trial) {
    return trial.template_name == template_name && trial.parameters == parameters;
  });
  return row == rows.end() ? Json() : Json::parse(row->launch);
}

TEST(Launches, RowsSayWhatMemoryAndArgumentsALaunchNeeds) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(kLaunches, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 11) << run.out;
  const Json split = launch_of(rows, "split_k", R"({"SPLIT":3})");
  EXPECT_EQ(split["workspace"], Json::parse(R"([
      {"name": "partials", "type": "f32", "elements": 180000, "bytes": 720000, "zeroed": false},
      {"name": "tickets", "type": "u32", "elements": 250, "bytes": 1000, "zeroed": true}])"));
  EXPECT_EQ(split["arguments"].size(), 8U);
  EXPECT_EQ(split["arguments"][7], Json({{"buffer", "tickets"}}));
  const Json mapped = launch_of(rows, "tma_tile", R"({"LOADER":"tma","SWIZZLE":"128B","BLOCKS_PER_SM":1})");
  EXPECT_EQ(mapped["arguments"][0], Json::parse(R"({"tensor_map": "A", "type": "f32", "extents": [100, 200],
      "pitches": [100], "box": [32, 32], "swizzle": "128B"})"));
  const Json unmapped =
      launch_of(rows, "tma_tile", R"({"LOADER":"threads","SWIZZLE":"none","BLOCKS_PER_SM":1})");
  EXPECT_EQ(unmapped["arguments"][0], Json({{"tensor_map", "A"}}));
  EXPECT_EQ(unmapped["arguments"][4], Json::parse(R"({"scalar": "TILES", "type": "i32", "value": 70})"));
}

TEST(Launches, FollowTheGpuTheyArePredictedFor) {
  const Sandbox sandbox;
  const Finished run = sandbox.run({"sweep", kLaunches, "--gpu", "A100 40GB", "--problem", "1000x1000x96",
                                    "--db", "results.db", "-j", "2", "--quiet"});
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 7) << run.out;
  EXPECT_EQ(kernels_with(rows, Outcome::refused), 4);
  for (const Trial& row : rows) {
    if (row.outcome != Outcome::refused) continue;
    EXPECT_TRUE(carries(row.reason, {"8.0", "A100 40GB", "9.0"}));
  }
  const Json grid =
      launch_of(rows, "tma_tile", R"({"LOADER":"threads","SWIZZLE":"none","BLOCKS_PER_SM":2})")["grid"];
  EXPECT_EQ(grid, Json({216, 1, 1})) << "two blocks for each of its 108 multiprocessors";
}

TEST(Launches, ATensorMapThatTheHardwareForbidsIsRefusedWithTheArithmetic) {
  const Sandbox sandbox;
  const Finished run = sandbox.run({"sweep", kLaunches, "--gpu", "H100", "--problem", "64x64x33",
                                    "--template", "tma_tile", "--db", "results.db", "-j", "2", "--quiet"});
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::refused), 4);
  for (const Trial& row : rows) {
    if (row.outcome != Outcome::refused) continue;
    EXPECT_TRUE(carries(row.reason, {"33 x 4 B = 132 B", "16 B"}));
  }
}

}  // namespace launches_test
}  // namespace tiletune
