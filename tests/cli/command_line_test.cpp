// Command lines that cannot mean what they say: each is refused with its place and a remedy.

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/expect_error.h"
#include "store/database.h"

namespace tiletune {
namespace {

namespace fs = std::filesystem;

/// A sandbox with one row of one sweep in rows.db.
class CommandLine : public testing::Test {
 protected:
  CommandLine() {
    Database database(sandbox.folder() / "rows.db", Database::Mode::read_write);
    Trial trial;
    trial.key = "one";
    trial.template_name = "tiny";
    trial.problem = "64x64x64";
    trial.gpu = "NVIDIA H200";
    trial.outcome = Outcome::ok;
    trial.median_us = 3;
    trial.seen_in_sweep = database.begin_sweep({});
    database.record(trial);
  }

  Finished rank(std::vector<std::string> more) const {
    more.insert(more.begin(), {"rank", "--db", "rows.db"});
    return sandbox.run(more);
  }

  const Sandbox sandbox;
};

TEST_F(CommandLine, UnknownCommandsAndOptionsNameTheNearest) {
  expect_error(sandbox.run({}), kUserError, {"no command is given\n  Known: sweep, bench, space"});
  expect_error(sandbox.run({"swep"}), kUserError, {"there is no command 'swep'\n  Did you mean 'sweep'?"});
  expect_error(
      sandbox.run({"foo"}), kUserError,
      {"Known: sweep, bench, space, inspect, rank, compare, export, import, merge, report, doctor."});
  expect_error(sandbox.run({"--limit", "3"}), kUserError,
               {"there is no option '--limit' before the command"});
  expect_error(rank({"--lmit", "3"}), kUserError, {"there is no option '--lmit'\n  Did you mean '--limit'?"});
  expect_error(rank({"-x"}), kUserError, {"there is no option '-x'\n  See 'tiletune rank --help'."});
  expect_error(rank({"extra"}), kUserError, {"'extra' is one argument too many"});
}

TEST_F(CommandLine, OptionsOfOneValueStandOnce) {
  expect_error(rank({"--limit", "2", "--limit", "3"}), kUserError,
               {"--limit: the option is given twice\n  Give it once."});
  expect_error(rank({"-o", "a", "--output=b", "-oc"}), kUserError, {"--output: the option is given 3 times"});
  EXPECT_EQ(rank({"--gpu", "H200", "--gpu", "H100"}).code, 0) << "either of them";
}

TEST_F(CommandLine, FormatsThatACommandLacks) {
  const std::string config = sandbox.write_tiny_space(1);
  for (const char* format : {"csv", "markdown"}) {
    const std::string message =
        "there is no output format '" + std::string(format) + "'\n  Use one of table, json.";
    expect_error(sandbox.run({"space", config, "--format", format}), kUserError, {message});
    expect_error(sandbox.run({"inspect", config, "--gpu", "H100", "--format", format}), kUserError,
                 {message});
    EXPECT_EQ(rank({"--format", format}).code, 0);
  }
}

TEST_F(CommandLine, EmptyArgumentsAreMistakes) {
  expect_error(rank({"--gpu", ""}), kUserError, {"--gpu: an argument is empty"});
  expect_error(rank({"--template="}), kUserError, {"--template=: an argument is empty"});
  expect_error(sandbox.run({"space", ""}), kUserError, {"space: an argument is empty"});
}

TEST_F(CommandLine, RowsThatCannotExist) {
  EXPECT_EQ(rank({"--sweep", "1"}).code, 0);
  expect_error(rank({"--sweep", "99"}), kUserError,
               {"--sweep: rows.db has no sweep 99\n  Its sweeps are 1 to 1."});
  expect_error(rank({"--sweep", "-1"}), kUserError, {"no sweep -1"});
  expect_error(rank({"--sweep", "0"}), kUserError, {"no sweep 0"});
  for (const char* problem : {"abc", "64x", "x", "-64x64x64", "064x64x64", "64X64", "64x64x64;", "64 x64",
                              "64,", "64,lda", "64,lda=0", "64,3d=65"})
    expect_error(rank({"--problem", problem}), kUserError,
                 {"--problem: '", "is not a problem", "4096x4096x64, or 1000x77x513,lda=520"});
  expect_error(rank({"--problem", "64x64"}), kNothingToDo, {"no row matches"});
  expect_error(rank({"--limit", "-1"}), kUserError, {"--limit"});
  expect_error(rank({"--sort-by", "medain_us"}), kUserError, {"Did you mean 'median_us'?"});
}

TEST_F(CommandLine, OptionsThatWouldBeIgnored) {
  expect_error(rank({"--ladder", "--columns", "gpu"}), kUserError,
               {"--columns: has no effect with --ladder"});
  expect_error(rank({"--ladder", "--sort-by", "gpu"}), kUserError,
               {"--sort-by: has no effect with --ladder"});
  expect_error(rank({"--ladder", "--outcome", "ok"}), kUserError, {"--outcome: has no effect with --ladder"});
  expect_error(rank({"--ladder", "--limit", "20"}), kUserError, {"--limit: has no effect with --ladder"});
  expect_error(rank({"--outcome", "crashed", "--sort-by", "gpu"}), kUserError,
               {"--sort-by: has no effect with --outcome"});
  EXPECT_EQ(rank({"--outcome", "ok", "--sort-by", "gpu", "--columns", "gpu,rank"}).code, 0);
  expect_error(sandbox.run({"export", "--db", "rows.db", "--best", "--samples"}), kUserError,
               {"--samples: --best lists no samples"});
}

TEST_F(CommandLine, OutputsAndDatabases) {
  EXPECT_EQ(rank({"-o", "new/folder/rank.txt"}).code, 0);
  EXPECT_TRUE(fs::exists(sandbox.folder() / "new/folder/rank.txt"));
  expect_error(rank({"-o", "rows.db"}), kUserError, {"rows.db: the output would replace the database"});
  expect_error(rank({"-o", "rows.db/x"}), kUserError, {"rows.db/x", "cannot be written"});
  expect_error(rank({"-o", "."}), kUserError, {".: cannot be written"});
  expect_error(sandbox.run({"rank", "--db", "."}), kUserError, {".: this is a folder; a database is a file"});
}

TEST_F(CommandLine, MissingConfigsSuggestConfigsOnly) {
  sandbox.write_tiny_space(1);
  sandbox.write("configs/other.json", R"({"templates": ["tiny"], "problems": [1]})");
  sandbox.write("timy.json", R"({"version": 3})");
  expect_error(sandbox.run({"space", "tinny.json"}), kUserError,
               {"tinny.json: ", "Did you mean 'tiny.json'?"});
  expect_error(sandbox.run({"space", "othr"}), kUserError, {"Did you mean 'configs/other.json'?"});
  const Finished far = sandbox.run({"space", "quite_another.json"});
  expect_error(far, kUserError, {"Known: ", "tiny.json"});
  EXPECT_EQ(far.err.find("timy.json"), std::string::npos) << far.err;
}

TEST_F(CommandLine, Problems) {
  const std::string config = sandbox.write_tiny_space(1);
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"0x1x1", "M = 0 is out of range\n  Use sizes from 1 to 2147483647."},
      {"1x1x-1", "'-1' in the problem '1x1x-1' is not a size"},
      {"9223372036854775808x1x1", "M = 9223372036854775808 is out of range"},
      {"4096x4096", "has 2 sizes, expected 3 (MxNxK)"},
      {"1e3", "'1e3' in the problem '1e3' is not a size"}};
  for (const auto& [problem, message] : wrong)
    expect_error(sandbox.run({"space", config, "--problem", problem}), kUserError, {"--problem: ", message});
  expect_error(sandbox.run({"space", config, "--problem", "8", "--problem", "8x8x8"}), kUserError,
               {"--problem: the problem 8x8x8 is listed twice"});
  expect_error(sandbox.run({"space", config, "--template", "tiny", "--template", "tiny"}), kUserError,
               {"--template: the template 'tiny' is named twice"});
}

}  // namespace
}  // namespace tiletune
