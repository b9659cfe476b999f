// The kernels of tests/faults, mixed with kernels that are right, through the real compiler and admission.
// What only a GPU shows passes here as measured: the GPU worker is a fake one.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace faults_test {

using Json = nlohmann::ordered_json;

const std::filesystem::path kFaults = std::filesystem::path(TILETUNE_SOURCE_DIR) / "tests/faults";

/// What picks all faults and two templates that are right, and leaves the compiler little memory.
std::vector<std::string> mixed(const Json& expected) {
  std::vector<std::string> arguments{"--max-compile-memory", "256MiB"};
  for (const char* good : {"sgemm_naive", "sgemm_shared"}) {
    arguments.insert(arguments.end(), {"--template", good});
  }
  for (const auto& [fault, unused] : expected.items()) {
    arguments.insert(arguments.end(), {"--template", fault});
  }
  return arguments;
}

struct Expectation {
  Outcome outcome = Outcome::ok;
  std::string reason;
};

Expectation without_gpu(const Json& expected, const std::string& template_name) {
  if (!expected.contains(template_name) || expected[template_name]["found_by"] == "gpu") return {};
  const Json& fault = expected[template_name];
  return {from_name<Outcome>(fault["outcome"].get<std::string>()).value(),
          fault["reason"].get<std::string>()};
}

TEST(Faults, EachHasItsOutcomeAndReasonAndTheRestIsMeasured) {
  const Json expected = Json::parse(read_file(kFaults / "expected.json"));
  const Sandbox sandbox;
  const Finished run =
      sandbox.run(measured_sweep((kFaults / "faults.json").string(), "none", 0, mixed(expected)));
  EXPECT_EQ(run.code, 0) << run.err;
  std::map<std::string, int> configurations;
  for (const Trial& row : rows_of(sandbox)) {
    if (row.kind != "kernel") continue;
    ++configurations[row.template_name];
    const Expectation wanted = without_gpu(expected, row.template_name);
    EXPECT_EQ(row.outcome, wanted.outcome) << row.template_name << ": " << row.reason;
    EXPECT_NE(row.reason.find(wanted.reason), std::string::npos) << row.template_name << ": " << row.reason;
  }
  EXPECT_EQ(configurations.size(), expected.size() + 2);
  for (const auto& [name, count] : configurations) EXPECT_GE(count, 2) << name;
}

}  // namespace faults_test
}  // namespace tiletune
