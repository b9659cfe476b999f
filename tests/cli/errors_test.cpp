// What a person sees who makes a mistake: the exit code, and a message that names the place and the remedy.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/expect_error.h"
#include "store/database.h"

namespace tiletune {
namespace errors_test {

const std::vector<std::string> kSweep{"sweep", "--gpu", "H100", "--quiet"};

Finished sweep(const Sandbox& sandbox, const std::string& config, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = kSweep;
  arguments.push_back(config);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return sandbox.run(arguments);
}

TEST(Errors, BadJsonNamesLineAndColumn) {
  const Sandbox sandbox;
  sandbox.write("bad.json", "{\n  \"templates\": [\"tiny\"],\n  \"problems\": [1,,2]\n}");
  expect_error(sweep(sandbox, "bad.json"), kUserError, {"bad.json: line 3, column 18", "JSON"});
}

TEST(Errors, UnknownKeySuggestsTheNearest) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1, R"(, "stratgy": {"name": "random"})");
  expect_error(sweep(sandbox, config), kUserError, {"tiny.json", "stratgy", "'strategy'"});
}

TEST(Errors, ConstraintWithAnUnknownName) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(4);
  const std::string config = sandbox.write("narrowed.json", R"({"problems": [1], "templates": [
      {"template": "tiny", "constraints": [{"require": "W < 3", "why": "a test"}]}]})");
  expect_error(sweep(sandbox, config), kUserError,
               {"narrowed.json: /templates/0/constraints/0/require", "'W'"});
}

TEST(Errors, DivisionByZeroExcludesTheValues) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(4);
  const auto config = [&](const std::string& constraint) {
    return sandbox.write("narrowed.json", R"({"problems": [1], "templates": [{"template": "tiny",
      "constraints": [{"require": ")" + constraint +
                                              R"(", "why": "a test"}]}]})");
  };
  const Finished space = sandbox.run({"space", config("M % V == 0")});
  EXPECT_EQ(space.code, 0);
  EXPECT_TRUE(has_line(space.out, {"cannot be evaluated", "1 combination", "by zero", "M % V == 0", "V = 0"}))
      << space.out;
  const Finished checked = sandbox.run({"check", config("M % V == 0"), "--gpu", "H100"});
  EXPECT_TRUE(has_line(checked.out, {"note", "narrowed.json: /templates/0/constraints/0/require", "by zero"}))
      << checked.out;
  expect_error(sweep(sandbox, config("1 // (M - 1) > 0")), kUserError,
               {"narrowed.json: /templates/0/constraints/0/require", "by zero", "M = 1"});
}

TEST(Errors, EmptySpace) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(4);
  const std::string config = sandbox.write("narrowed.json", R"({"problems": [1], "templates": [
      {"template": "tiny", "constraints": [{"require": "V > 100", "why": "a test"}]}]})");
  expect_error(sweep(sandbox, config), kNothingToDo, {"narrowed.json", "constraints", "tiletune space"});
  expect_error(sandbox.run({"space", config}), kNothingToDo, {"constraints"});
}

TEST(Errors, NoConfigurationAdmitted) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2, R"(, "limits": {"max_registers": 1})");
  expect_error(sweep(sandbox, config), kNothingToDo, {"configuration ran", "--outcome refused"});
  const Finished rank = sandbox.run({"rank", "--outcome", "refused"});
  EXPECT_EQ(rank.code, 0) << rank.err;
  EXPECT_NE(rank.out.find("registers"), std::string::npos) << rank.out;
}

TEST(Errors, NoConfigurationRunsOnAnyInspectedGpu) {
  const Sandbox sandbox;
  const std::string limited = sandbox.write_tiny_space(2, R"(, "limits": {"max_registers": 1})");
  const Finished run = sandbox.run({"inspect", limited, "--gpu", "A100 40GB", "--gpu", "H100", "--quiet"});
  expect_error(run, kNothingToDo, {"tiny.json:", "these GPUs"});
  EXPECT_NE(run.out.find("refused: "), std::string::npos) << "the table comes all the same: " << run.out;
}

TEST(Errors, NoGpuNamed) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  expect_error(sandbox.run({"inspect", config}), kUserError, {"--gpu:", "A100", "H100"});
}

TEST(Errors, UnknownGpu) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  expect_error(sandbox.run({"inspect", config, "--gpu", "H1000"}), kUserError, {"H1000", "H100"});
}

TEST(Errors, UnwritableDatabase) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  sandbox.write("file", "no folder");
  expect_error(sweep(sandbox, config, {"--db", "file/results.db"}), kUserError, {"file"});
  expect_error(sweep(sandbox, config, {"--db", "file"}), kUserError, {"file", "database"});
}

TEST(Errors, DatabaseOfANewerSchema) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  const std::string file = (sandbox.folder() / "newer.db").string();
  { const Database create(file, Database::Mode::read_write); }
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "PRAGMA user_version = 99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  expect_error(sweep(sandbox, config, {"--db", file}), kUserError, {"newer.db", "99"});
  expect_error(sandbox.run({"rank", "--db", file}), kUserError, {"newer.db", "99"});
  expect_error(sandbox.run({"sweep", config, "--replay", file}), kUserError,
               {"newer.db", "99", "--replay FILE"});
}

TEST(Errors, MissingHeaderNamesTheIncludeAndWhereItWasLookedFor) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  sandbox.write("tiny/kernel.cu", "// one line\n#include \"helpers.cuh\"\n");
  const Finished run = sandbox.run({"sweep", config, "--gpu", "H100"});
  expect_error(run, kNothingToDo,
               {"tiny 1x1x1", "kernel.cu(2): ", "cannot open source file \"helpers.cuh\"",
                (std::filesystem::canonical(sandbox.folder()) / "tiny").string()});
}

TEST(Errors, HarmfulCompileOption) {
  const Sandbox sandbox;
  const std::string config =
      sandbox.write_tiny_space(1, R"(, "compile": {"options": ["--include-path=/etc"]})");
  expect_error(sweep(sandbox, config), kUserError, {"tiny.json: /compile/options", "--include-path"});
}

TEST(Errors, CompileErrorIsARowWithTheCompilersLog) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  sandbox.write("tiny/kernel.cu", "extern \"C\" __global__ void tiny() { undeclared_name = V; }\n");
  expect_error(sweep(sandbox, config), kNothingToDo, {"configuration ran"});
  const Finished rank = sandbox.run({"rank", "--outcome", "compile_failed"});
  EXPECT_NE(rank.out.find("undeclared_name"), std::string::npos) << rank.out;
}

TEST(Errors, TextThatIsNoUtf8IsRepairedInAnExport) {
  const Sandbox sandbox;
  Trial trial;
  trial.key = "a";
  trial.outcome = Outcome::crashed;
  trial.reason = "half of a character: \xe2\x82";
  Database(sandbox.folder() / "foreign.db", Database::Mode::read_write).record(trial);
  const Finished run = sandbox.run({"export", "--db", "foreign.db"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("half of a character: \xef\xbf\xbd"), std::string::npos) << run.out;
}

TEST(Errors, CompileMemoryMustBeASizeThatSuffices) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  expect_error(sweep(sandbox, config, {"--max-compile-memory", "much"}), kUserError,
               {"--max-compile-memory", "'much'", "not a size", "512MiB or 4GiB"});
  expect_error(sandbox.run({"inspect", config, "--gpu", "H100", "--max-compile-memory", "1KiB"}), kUserError,
               {"--max-compile-memory", "1.0 KiB", "too little", "64.0 MiB"});
  EXPECT_EQ(sweep(sandbox, config, {"--max-compile-memory", "64MiB"}).code, 0) << "the least must do";
}

TEST(Errors, BadCommandLine) {
  const Sandbox sandbox;
  EXPECT_EQ(sandbox.run({}).code, kUserError);
  EXPECT_EQ(sandbox.run({"swep"}).code, kUserError);
  EXPECT_EQ(sandbox.run({"sweep"}).code, kUserError);
  EXPECT_EQ(sandbox.run({"--help"}).code, 0);
  const std::string config = sandbox.write_tiny_space(1);
  expect_error(sweep(sandbox, config, {"--budget", "soon"}), kUserError, {"--budget", "'soon'", "60s"});
  expect_error(sweep(sandbox, config, {"--format", "yaml"}), kUserError,
               {"yaml", "table, json, csv, markdown"});
  expect_error(sandbox.run({"rank"}), kUserError, {"results/tiletune.db", "tiletune sweep"});
}

}  // namespace errors_test
}  // namespace tiletune
