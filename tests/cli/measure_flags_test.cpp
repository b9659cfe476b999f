// Flags of `tiletune sweep` that replace what a config says of measuring.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/expect_error.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace measure_flags_test {

using Json = nlohmann::ordered_json;

class MeasureFlags : public testing::Test {
 protected:
  Finished sweep(const std::vector<std::string>& more) const {
    return sandbox.run(measured_sweep(config, "none", 3, more));
  }
  /// The measurement policy that the rows of a sweep with these flags have.
  Json policy(const std::vector<std::string>& more) const {
    const Finished run = sweep(more);
    EXPECT_EQ(run.code, 0) << run.err;
    return Json::parse(rows_of(sandbox).back().measure_policy);
  }

  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(
      1, R"(, "measure": {"precision_percent": 3, "screening": 9, "cache": "warm"})");
};

TEST_F(MeasureFlags, ReplaceTheConfigs) {
  const Json own = policy({});
  const Json replaced = policy({"--precision", "0.25%", "--screening", "1.2", "--cache", "rotate", "--finals",
                                "3", "--sustained", "0.5s", "--host-copies", "on", "--baseline", "none"});
  EXPECT_EQ(own["precision_percent"], 3);
  EXPECT_EQ(replaced["precision_percent"], 0.25);
  EXPECT_EQ(own["screening"], 9);
  EXPECT_EQ(replaced["screening"], 1.2);
  EXPECT_EQ(own["cache"], "warm");
  EXPECT_EQ(replaced["cache"], "rotate");
  EXPECT_EQ(policy({"--screening", "off", "--finals", "off"})["screening"], 0);
}

TEST_F(MeasureFlags, MistakesNameTheFlagAndTheRemedy) {
  const auto refused = [&](const std::vector<std::string>& flags, const std::vector<std::string>& parts) {
    expect_error(sweep(flags), kUserError, parts);
  };
  refused({"--baseline", "cublast"}, {"--baseline:", "'cublast'", "'cublas'"});
  refused({"--baseline", "mkl"}, {"--baseline:", "'mkl'", "none, cublas, lt"});
  refused({"--cache", "rotated"}, {"--cache:", "'rotated'", "'rotate'"});

  for (const std::string text : {"0.5", "1001", "fast", "1.5x", "inf", "nan"})
    refused({"--screening", text}, {"--screening:", "'" + text + "'", "1 to 1000", "off"});

  for (const std::string text : {"2.5", "1001", "ten", "-1"})
    refused({"--finals=" + text}, {"--finals:", "'" + text + "'", "0 to 100", "off"});

  for (const std::string text : {"101", "off", "half", "%"})
    refused({"--precision", text}, {"--precision:", "'" + text + "'", "0 to 100"});

  for (const std::string text : {"2", "0s", "2h", "soon"})
    refused({"--sustained", text}, {"--sustained:", "'" + text + "'", "2s", "3600s"});
  refused({"--sustained", "2s", "--finals", "off"}, {"--sustained:", "--finals 10"});
  refused({"--host-copies", "yes"}, {"--host-copies:", "'yes'", "on", "off"});
  refused({"--host-copies", "on", "--finals", "off"}, {"--host-copies:", "--finals 10"});
  EXPECT_EQ(sweep({"--host-copies", "off", "--finals", "off"}).code, 0);
  refused({"--regime", "cold,hot"}, {"--regime:", "'hot'"});
  refused({"--regime", "warm", "--finals", "off"}, {"--regime:", "--finals 10"});
}

TEST_F(MeasureFlags, AreRefusedWhereNothingIsMeasured) {
  const auto expect_refused = [&](std::vector<std::string> command, const std::string& flag) {
    command.insert(command.end(), {"--gpu", "H100", "--quiet"});
    expect_error(sandbox.run(command), kUserError, {flag, "no effect", "--gpu"});
  };
  const std::vector<std::pair<std::string, std::string>> flags{
      {"--baseline", "none"}, {"--precision", "1"}, {"--cache", "cold"},     {"--sustained", "1s"},
      {"--screening", "off"}, {"--finals", "3"},    {"--host-copies", "on"}, {"--regime", "warm"}};
  for (const auto& [flag, value] : flags) expect_refused({"sweep", config, flag, value}, flag);
  for (const std::string flag : {"--samples", "--rounds"})
    expect_refused({"bench", "sgemm_naive", "--problem", "64", flag, "30"}, flag);
}

}  // namespace measure_flags_test
}  // namespace tiletune
