// Problems from a file: --problems.

#include <gtest/gtest.h>

#include <set>

#include "cli/expect_error.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace problem_file_test {

class ProblemFile : public testing::Test {
 protected:
  /// With a list of problems in the file "sizes".
  Finished space(const std::string& list) const {
    sandbox.write("sizes", list);
    return sandbox.run({"space", sandbox.write_tiny_space(2), "--problems", "sizes", "--format", "json"});
  }
  void expect_refused(const std::string& list, const std::vector<std::string>& parts) const {
    expect_error(space(list), kUserError, parts);
  }

  const Sandbox sandbox;
};

TEST_F(ProblemFile, EachProblemIsSweptOnce) {
  sandbox.write("sizes.csv", "K,M,N\n64,16,32\n\n8,8,8\n64,16,32\n");
  std::vector<std::string> command = measured_sweep(sandbox.write_tiny_space(2, kNoFinals), "none");
  command.insert(command.end(), {"--problems", "sizes.csv"});
  const Finished run = sandbox.run(command);
  EXPECT_EQ(run.code, 0) << run.err;
  std::set<std::string> problems;
  for (const Trial& row : rows_of(sandbox))
    if (row.kind == "kernel") problems.insert(row.problem);
  EXPECT_EQ(problems, (std::set<std::string>{"16x32x64", "8x8x8"}));
}

TEST_F(ProblemFile, JsonIsAListAsInAConfig) {
  const Finished run = space(R"([16, "1x2x3", {"M": 4, "N": 5, "K": 6}, "16x16x16"])");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"16x16x16", "1x2x3", "4x5x6"}));
}

TEST_F(ProblemFile, ColumnsMayBeOptions) {
  sandbox.write("sizes", "M,N,K,layout\n64,64,64,nt\n64,64,64,\n");
  const std::string config = TILETUNE_SOURCE_DIR "/docs/examples/mixed.json";
  const Finished run = sandbox.run({"space", config, "--problems", "sizes", "--format", "json"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"64x64x64", "layout=nt"}));
  sandbox.write("sizes", "M,N,K,layout\n64,64,64,diagonal\n");
  expect_error(sandbox.run({"space", config, "--problems", "sizes"}), kUserError,
               {"sizes", "line 2", "layout"});
}

TEST_F(ProblemFile, MistakesAreSaidWithTheirLines) {
  expect_refused("M,N,K\n1,2,3\n1,2\n", {"sizes", "line 3", "2 cells", "3"});
  expect_refused("M,N,K\n1,2,3\n1,x,2\n", {"sizes", "line 3", "N"});
  expect_refused("M,N,K\n1,0,2\n", {"sizes", "line 2", "N"});
  expect_refused("M,N\n1,2\n", {"sizes", "line 2", "K"});
  expect_refused("M,N,K,Q\n1,2,3,4\n", {"sizes", "line 2", "Q"});
  expect_refused("M,N,K,M\n1,2,3,4\n", {"sizes", "line 1"});
  expect_refused("M;N;K\n1;2;3\n", {"sizes", "line 1", "commas"});
  expect_refused("M,N,\"K\n1,2,3\n", {"sizes", "line 1", "quotation"});
  expect_refused("M,N,K\n", {"sizes", "no problems", "M,N,K"});
  expect_refused("", {"sizes", "no problems"});
  expect_refused("[1, 0]", {"sizes", "/1"});
  expect_refused("[]", {"sizes"});
  expect_refused("{}", {"sizes", "list"});
  expect_refused("[1,,]", {"sizes", "line 1"});
}

TEST_F(ProblemFile, TheFileAndOtherProblemsExcludeEachOther) {
  const std::string config = sandbox.write_tiny_space(2);
  expect_error(sandbox.run({"space", config, "--problems", "nowhere.csv"}), kUserError, {"nowhere.csv"});
  sandbox.write("sizes", "[1]");
  expect_error(sandbox.run({"space", config, "--problems", "sizes", "--problem", "1"}), kUserError,
               {"--problem"});
  expect_error(sandbox.run({"space", TILETUNE_SOURCE_DIR "/tests/data/benchmark_hub/T1_convolution_milo.json",
                            "--problems", "sizes"}),
               kUserError, {"--problems", "--problem"});
}

}  // namespace problem_file_test
}  // namespace tiletune
