// Configs that `tiletune compare --fill` writes, and what they measure.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/compared_rows.h"
#include "cli/expect_error.h"

namespace tiletune {
namespace {

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
  EXPECT_EQ(
      run.err,
      "gaps-nvidiaa100sxm440gb.json: 1 configuration of 1 problem for NVIDIA A100-SXM4-40GB; run tiletune "
      "sweep gaps-nvidiaa100sxm440gb.json on a machine with NVIDIA A100-SXM4-40GB\n"
      "gaps-nvidiah10080gbhbm3.json: 2 configurations of 2 problems for NVIDIA H100 80GB HBM3; run tiletune "
      "sweep gaps-nvidiah10080gbhbm3.json on a machine with NVIDIA H100 80GB HBM3\n");
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
  EXPECT_EQ(
      sandbox.run(compare).err,
      "gaps.json: 1 configuration of 1 problem for B; run tiletune sweep gaps.json on a machine with B\n");
  EXPECT_EQ(evaluated_by(sandbox, "gaps.json"), std::set<std::string>{R"(1x1x1 {"V":2})"});
  std::filesystem::remove(sandbox.folder() / "gaps.json");
  record(sandbox, "a.db", {tiny("B", 2, 6)});
  const Finished complete = sandbox.run(compare);
  EXPECT_EQ(complete.err, "nothing to fill: gaps.json is not written\n");
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
  for (const std::string line : {"gaps-570-a.json: 1 configuration of 1 problem for 570; run tiletune sweep "
                                 "gaps-570-a.json on a machine with A\n",
                                 "gaps-580-b.json on a machine with B\n"})
    EXPECT_NE(run.err.find(line), std::string::npos) << line << "is not in\n" << run.err;
}

TEST(Fill, SaysWhatNoConfigCanMeasure) {
  const Sandbox sandbox;
  record_with_gaps(sandbox);
  const Finished unknown = sandbox.run(with(kBoth, {"--fill", "gaps.json"}));
  EXPECT_EQ(unknown.code, kNothingToDo);
  EXPECT_NE(unknown.err.find("no config can measure tiny at 1x1x1: there is no template 'tiny'\n"),
            std::string::npos)
      << unknown.err;
  sandbox.write_tiny_space(2);
  expect_error(sandbox.run(with(kBoth, {"--fill", "gaps.json"})), kUserError,
               {"V = 3 is not among the template's values"});
}

}  // namespace
}  // namespace tiletune
