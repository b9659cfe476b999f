// Configs that `tiletune compare --fill` writes, and what they measure.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/compared_rows.h"
#include "cli/expect_error.h"

namespace tiletune {
namespace fill_config_test {

/// "1x1x1 {"V":3}" of all that a config evaluates.
std::set<std::string> evaluated_by(const Sandbox& sandbox, const std::string& config) {
  const Finished run =
      sandbox.run({"sweep", config, "--gpu", "H100", "--db", config + ".db", "-q", "-j", "2"});
  EXPECT_EQ(run.code, 0) << run.err;
  std::set<std::string> found;
  for (const Trial& row : Database(sandbox.folder() / (config + ".db"), Database::Mode::read_only).trials({}))
    found.insert(row.problem + " " + row.parameters);
  return found;
}

TEST(Fill, WritesConfigsForExactlyWhatIsUnmeasured) {
  const Sandbox sandbox;
  record_with_gaps(sandbox);
  sandbox.write_tiny_space(6);
  const Finished run = sandbox.run(with(kBoth, {"--fill", "gaps.json"}));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.err, {"1 configuration of 1 problem", "NVIDIA A100-SXM4-40GB",
                                 "tiletune sweep gaps-nvidiaa100sxm440gb.json"}));
  EXPECT_TRUE(has_line(run.err, {"2 configurations of 2 problems", "NVIDIA H100 80GB HBM3",
                                 "tiletune sweep gaps-nvidiah10080gbhbm3.json"}));
  const std::string config = "gaps-nvidiah10080gbhbm3.json";
  EXPECT_NE(sandbox.run({"space", config}).out.find(" 2 valid\n"), std::string::npos);
  EXPECT_EQ(evaluated_by(sandbox, config), (std::set<std::string>{R"(1x1x1 {"V":1})", R"(2x3x4 {"V":5})"}));
  const auto written = read_json(sandbox.folder() / config);
  EXPECT_EQ(written["measure"].dump(), R"({"cache":"warm","screening":0})");
  EXPECT_EQ(written["scalars"].dump(), R"({"alpha":1,"beta":0})");
}

TEST(Fill, OfOneSideTakesTheFilesNameAndWhatIsCompleteWritesNone) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(6);
  record(sandbox, "a.db", {tiny("A", 1, 10), tiny("A", 2, 5), tiny("B", 1, 7)});
  const std::vector<std::string> compare{"compare", "--db", "a.db", "--fill", "gaps.json"};
  EXPECT_TRUE(
      carries(sandbox.run(compare).err, {"1 configuration of 1 problem", "B", "tiletune sweep gaps.json"}));
  EXPECT_EQ(evaluated_by(sandbox, "gaps.json"), std::set<std::string>{R"(1x1x1 {"V":2})"});
  std::filesystem::remove(sandbox.folder() / "gaps.json");
  record(sandbox, "a.db", {tiny("B", 2, 6)});
  const Finished complete = sandbox.run(compare);
  EXPECT_TRUE(carries(complete.err, {"gaps.json", "not written"}));
  EXPECT_EQ(complete.code, kNothingToDo);
  EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "gaps.json"));
}

TEST(Fill, NamesAConfigurationAsItsTemplateDoesAndOnce) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(3);
  std::vector<Trial> rows{tiny("A", 1, 10), tiny("B", 1, 10), tiny("C", 2, 10)};
  rows[0].parameters = R"({"V":true})";
  rows[1].parameters = R"({"V":1.0})";
  record(sandbox, "a.db", rows);
  EXPECT_EQ(sandbox.run({"compare", "A", "B", "C", "--db", "a.db", "--fill", "gaps.json"}).code, 0);
  EXPECT_EQ(evaluated_by(sandbox, "gaps-c.json"), std::set<std::string>{R"(1x1x1 {"V":1})"});
}

TEST(Fill, SaysOnWhichGpuWhereSidesAreNone) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(3);
  std::vector<Trial> rows{tiny("A", 1, 10), tiny("A", 2, 10), tiny("B", 1, 10), tiny("B", 2, 9)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].driver_version = i % 2 == 0 ? "570" : "580";
  record(sandbox, "a.db", rows);
  const Finished run = sandbox.run({"compare", "--by", "driver", "--db", "a.db", "--fill", "gaps.json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(
      has_line(run.err, {"1 configuration of 1 problem", "570", "tiletune sweep gaps-570-a.json", "with A"}));
  EXPECT_TRUE(has_line(run.err, {"580", "tiletune sweep gaps-580-b.json", "with B"}));
}

TEST(Fill, SaysWhatNoConfigCanMeasure) {
  const Sandbox sandbox;
  record_with_gaps(sandbox);
  const Finished unknown = sandbox.run(with(kBoth, {"--fill", "gaps.json"}));
  EXPECT_EQ(unknown.code, kNothingToDo);
  EXPECT_TRUE(carries(unknown.err, {"tiny at 1x1x1", "'tiny'"}));
  sandbox.write_tiny_space(2);
  expect_error(sandbox.run(with(kBoth, {"--fill", "gaps.json"})), kUserError, {"V = 3"});
}

}  // namespace fill_config_test
}  // namespace tiletune
