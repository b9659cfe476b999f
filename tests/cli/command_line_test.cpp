// Command lines that cannot mean what they say: each is refused with its place and a remedy.

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/expect_error.h"
#include "search/strategies.h"
#include "store/database.h"

namespace tiletune {
namespace command_line_test {

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
  expect_error(sandbox.run({}), kUserError, {"sweep, bench, init, check, space"});
  expect_error(sandbox.run({"swep"}), kUserError, {"'swep'", "'sweep'"});
  expect_error(
      sandbox.run({"foo"}), kUserError,
      {"sweep, bench, init, check, space, inspect, compile, rank, portfolio, compare, export, import "
       "and 5 more"});
  expect_error(sandbox.run({"--limit", "3"}), kUserError, {"'--limit'", "before"});
  expect_error(rank({"--lmit", "3"}), kUserError, {"'--lmit'", "'--limit'"});
  expect_error(rank({"-x"}), kUserError, {"'-x'", "'tiletune rank --help'"});
  expect_error(rank({"extra"}), kUserError, {"'extra'", "too many"});
}

TEST_F(CommandLine, OptionsOfOneValueStandOnce) {
  expect_error(rank({"--limit", "2", "--limit", "3"}), kUserError, {"--limit", "twice"});
  expect_error(rank({"-o", "a", "--output=b", "-oc"}), kUserError, {"--output:", "3 times"});
  EXPECT_EQ(rank({"--gpu", "H200", "--gpu", "H100"}).code, 0) << "either of them";
}

TEST_F(CommandLine, FormatsThatACommandLacks) {
  const std::string config = sandbox.write_tiny_space(1);
  for (const char* format : {"csv", "markdown"}) {
    const std::vector<std::string> parts{"'" + std::string(format) + "'", "table, json."};
    expect_error(sandbox.run({"space", config, "--format", format}), kUserError, parts);
    expect_error(sandbox.run({"inspect", config, "--gpu", "H100", "--format", format}), kUserError, parts);
    EXPECT_EQ(rank({"--format", format}).code, 0);
  }
}

TEST_F(CommandLine, EmptyArgumentsAreMistakes) {
  expect_error(rank({"--gpu", ""}), kUserError, {"--gpu", "empty"});
  expect_error(rank({"--template="}), kUserError, {"--template=:", "empty"});
  expect_error(sandbox.run({"space", ""}), kUserError, {"space:", "empty"});
}

TEST_F(CommandLine, RowsThatCannotExist) {
  EXPECT_EQ(rank({"--sweep", "1"}).code, 0);
  expect_error(rank({"--sweep", "99"}), kUserError, {"--sweep:", "rows.db", "sweep 99", "1 to 1"});
  expect_error(rank({"--sweep", "-1"}), kUserError, {"sweep -1"});
  expect_error(rank({"--sweep", "0"}), kUserError, {"sweep 0"});
  for (const char* problem : {"abc", "64x", "x", "-64x64x64", "064x64x64", "64X64", "64x64x64;", "64 x64",
                              "64,", "64,lda", "64,lda=0", "64,3d=65"})
    expect_error(rank({"--problem", problem}), kUserError,
                 {"--problem: '", "not a problem", "4096x4096x64", "1000x77x513,lda=520"});
  expect_error(rank({"--problem", "64x64"}), kNothingToDo, {"no row"});
  expect_error(rank({"--limit", "-1"}), kUserError, {"--limit"});
  expect_error(rank({"--sort-by", "medain_us"}), kUserError, {"'median_us'"});
}

TEST_F(CommandLine, OptionsThatWouldBeIgnored) {
  expect_error(rank({"--ladder", "--columns", "gpu"}), kUserError, {"--columns", "no effect", "--ladder"});
  expect_error(rank({"--ladder", "--sort-by", "gpu"}), kUserError, {"--sort-by", "no effect", "--ladder"});
  expect_error(rank({"--ladder", "--outcome", "ok"}), kUserError, {"--outcome", "no effect", "--ladder"});
  expect_error(rank({"--ladder", "--limit", "20"}), kUserError, {"--limit", "no effect", "--ladder"});
  expect_error(rank({"--outcome", "crashed", "--sort-by", "gpu"}), kUserError,
               {"--sort-by", "no effect", "--outcome"});
  EXPECT_EQ(rank({"--outcome", "ok", "--sort-by", "gpu", "--columns", "gpu,rank"}).code, 0);
  expect_error(sandbox.run({"export", "--db", "rows.db", "--best", "--samples"}), kUserError,
               {"--samples", "--best"});
}

TEST_F(CommandLine, OutputsAndDatabases) {
  EXPECT_EQ(rank({"-o", "new/folder/rank.txt"}).code, 0);
  EXPECT_TRUE(fs::exists(sandbox.folder() / "new/folder/rank.txt"));
  expect_error(rank({"-o", "rows.db"}), kUserError, {"rows.db:", "replace"});
  expect_error(rank({"-o", "rows.db/x"}), kUserError, {"rows.db/x", "written"});
  expect_error(rank({"-o", "."}), kUserError, {".:", "written"});
  expect_error(sandbox.run({"rank", "--db", "."}), kUserError, {".:", "a folder"});
}

TEST_F(CommandLine, MissingConfigsSuggestConfigsOnly) {
  sandbox.write_tiny_space(1);
  sandbox.write("configs/other.json", R"({"templates": ["tiny"], "problems": [1]})");
  sandbox.write("timy.json", R"({"version": 3})");
  expect_error(sandbox.run({"space", "tinny.json"}), kUserError, {"tinny.json: ", "'tiny.json'"});
  expect_error(sandbox.run({"space", "othr"}), kUserError, {"'configs/other.json'"});
  const Finished far = sandbox.run({"space", "quite_another.json"});
  expect_error(far, kUserError, {"Known: ", "tiny.json"});
  EXPECT_EQ(far.err.find("timy.json"), std::string::npos) << far.err;
}

TEST_F(CommandLine, Problems) {
  const std::string config = sandbox.write_tiny_space(1);
  std::vector<std::pair<std::string, std::vector<std::string>>> wrong{
      {"0x1x1", {"M = 0", "1", "9007199254740992"}},
      {"1x1x-1", {"'-1'", "'1x1x-1'"}},
      {"9223372036854775808x1x1", {"M = 9223372036854775808"}},
      {"4096x4096", {"2 sizes", "3 (MxNxK)"}},
      {"1e3", {"'1e3'", "not a size"}}};
  for (auto& [problem, parts] : wrong) {
    parts.emplace_back("--problem: ");
    expect_error(sandbox.run({"space", config, "--problem", problem}), kUserError, parts);
  }
  expect_error(sandbox.run({"space", config, "--problem", "8", "--problem", "8x8x8"}), kUserError,
               {"--problem", "8x8x8", "twice"});
  expect_error(sandbox.run({"space", config, "--template", "tiny", "--template", "tiny"}), kUserError,
               {"--template", "'tiny'", "twice"});
}

TEST_F(CommandLine, HelpOfStrategiesNamesEachOnALine) {
  const Finished run = sandbox.run({"sweep", "--strategy", "help"});
  EXPECT_EQ(run.code, 0) << run.err;
  for (const StrategyEntry& entry : strategies()) EXPECT_TRUE(carries(run.out, {entry.name, entry.help}));
  expect_error(sandbox.run({"sweep", "a.json", "--strategy", "randon"}), kUserError,
               {"--strategy:", "\"randon\"", "'random'"});
}

}  // namespace command_line_test
}  // namespace tiletune
