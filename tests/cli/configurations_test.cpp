// Sweeps of the configurations that a config lists.

#include <gtest/gtest.h>

#include "carries.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace configurations_test {

class ListedConfigurations : public testing::Test {
 protected:
  std::string config(const std::string& list) const {
    sandbox.write("list.csv", list);
    return sandbox.write_tiny_space(9, R"(, "configurations": "list.csv")" + kNoFinals);
  }
  Finished sweep(const std::string& list) const { return sandbox.run(measured_sweep(config(list), "none")); }
  /// "{"V":3}" of the kernels' rows, in the order of the rows.
  std::vector<std::string> swept() const {
    std::vector<std::string> parameters;
    for (const Trial& row : rows_of(sandbox)) {
      if (row.kind == "kernel") parameters.push_back(row.parameters);
    }
    std::sort(parameters.begin(), parameters.end());
    return parameters;
  }

  const Sandbox sandbox;
};

TEST_F(ListedConfigurations, AreSweptAndNothingElse) {
  const Finished run = sweep("V\n7\n1\n4\n");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(swept(), (std::vector<std::string>{R"({"V":1})", R"({"V":4})", R"({"V":7})"}));
}

TEST_F(ListedConfigurations, ALongerListContinuesTheSweep) {
  sweep("V\n7\n1\n");
  const std::vector<Trial> first = rows_of(sandbox);
  const Finished run = sweep("V\n1\n2\n7\n");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(swept(), (std::vector<std::string>{R"({"V":1})", R"({"V":2})", R"({"V":7})"}));
  for (const Trial& row : rows_of(sandbox)) {
    if (row.parameters == R"({"V":1})") {
      EXPECT_EQ(row.sweep_id, first.front().sweep_id) << "it is not measured again";
    }
  }
}

TEST_F(ListedConfigurations, SpaceAndSweepSayWhatConstraintsLeave) {
  sandbox.write_tiny_space(9);
  sandbox.write("list.csv", "V\n7\n1\n4\n");
  const std::string narrowed = sandbox.write("narrowed.json", R"({
    "templates": [{"template": "tiny", "constraints": [{"require": "V < 5", "why": "a test"}]}],
    "problems": [1], "configurations": "list.csv"})");
  const Finished space = sandbox.run({"space", narrowed});
  EXPECT_TRUE(carries(space.out, {"3 listed configurations, 2 valid", "33.3%"})) << space.err;
  const Finished run = sandbox.run(sweep_with(narrowed, "none"));
  EXPECT_TRUE(carries(run.out + run.err, {"3 listed configurations, 2 valid"}));
}

}  // namespace configurations_test
}  // namespace tiletune
