// `tiletune slurm` without Slurm: what it writes, refuses and says of a folder. tests/tools/slurm_test runs
// the scripts.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "cli/expect_error.h"
#include "cli/process.h"

namespace tiletune::slurm_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class Slurm : public testing::Test {
 protected:
  Finished slurm(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"slurm", config_});
    return sandbox_.run(arguments);
  }
  std::string file(const std::string& name) { return read_file(sandbox_.folder() / name); }
  void write(const std::string& name, const std::string& text) { sandbox_.write(name, text); }
  Json status(int code) {
    const Finished run = sandbox_.run({"slurm", "status", "array", "--format", "json"});
    EXPECT_EQ(run.code, code) << run.err;
    return Json::parse(run.out).at("arrays").at(0);
  }
  /// Whether bash takes the script.
  static bool is_sound(const fs::path& script) {
    return std::system(("bash -n " + shell_quoted(script.string())).c_str()) == 0;
  }

  Sandbox sandbox_;
  std::string config_ = sandbox_.write_tiny_space(14);
};

TEST_F(Slurm, WritesAnArrayOfShardsAndAJobThatMerges) {
  const Finished run = slurm({"--nodes", "2", "--gpus-per-node", "4", "--array", "8", "--time", "1:00:00",
                              "--sbatch=--partition=gpu", "--cpus-per-task", "12", "-o", "array", "--",
                              "--seed", "7", "--finals", "20"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"8 shards", "1 GPU", "array/submit", "slurm status"}));
  const std::string sweep = file("array/sweep.sbatch");
  EXPECT_TRUE(carries(
      sweep, {"--array=1-8\"", "--gpus-per-node=1\"", "--time=1:00:00", "--partition=gpu",
              "--cpus-per-task=12", "--requeue", "/8\" --db", "--finals off", "--learn-from", "--seed 7"}));
  EXPECT_EQ(sweep.find("--finals 20"), std::string::npos);
  EXPECT_TRUE(carries(file("array/finish.sbatch"), {"merge", "--recorded", "--finals 20", "export --best"}));
  for (const char* script : {"array/sweep.sbatch", "array/finish.sbatch", "array/submit"})
    EXPECT_TRUE(is_sound(sandbox_.folder() / script)) << script;
  EXPECT_EQ(::access((sandbox_.folder() / "array/submit").c_str(), X_OK), 0);
}

TEST_F(Slurm, FewerShardsThanGpusGetSeveralAndMoreWait) {
  ASSERT_EQ(slurm({"--nodes", "4", "--gpus-per-node", "8", "-o", "whole"}).code, 0);
  EXPECT_TRUE(carries(file("whole/sweep.sbatch"), {"--array=1-4\"", "--gpus-per-node=8\""}));
  ASSERT_EQ(slurm({"--nodes", "1", "--gpus-per-node", "2", "--array", "10", "-o", "many"}).code, 0);
  EXPECT_TRUE(carries(file("many/sweep.sbatch"), {"--array=1-10%2\"", "--gpus-per-node=1\""}));
}

TEST_F(Slurm, EachTypeOfGpuHasAnArrayOfItsOwn) {
  ASSERT_EQ(slurm({"--nodes", "2", "--gpu-type", "a100", "--gpu-type", "h100", "-o", "array"}).code, 0);
  EXPECT_TRUE(carries(file("array/a100/sweep.sbatch"), {"--gpus-per-node=a100:1\"", "array/a100"}));
  EXPECT_TRUE(carries(file("array/h100/finish.sbatch"), {"--gpus-per-node=h100:1\"", "array/h100"}));
  const Finished run = sandbox_.run({"slurm", "status", "array"});
  EXPECT_EQ(run.code, kNothingToDo);
  EXPECT_TRUE(carries(run.out, {"array/a100: 2 shards, 2 waiting", "array/h100: 2 shards, 2 waiting"}));
}

TEST_F(Slurm, CompilesFirstWithoutGpus) {
  ASSERT_EQ(slurm({"--nodes", "2", "--compile-for", "H100", "--compile-tasks", "3", "--cache", "cache",
                   "--local", "/tmp", "-o", "array", "--problem", "4096"})
                .code,
            0);
  const std::string script = file("array/compile.sbatch");
  EXPECT_TRUE(carries(
      script, {"--array=1-3\"", "compile", "--gpu H100", "/3\"", "--problem=4096", "XDG_CACHE_HOME"}));
  EXPECT_EQ(script.find("--gpus-per-node"), std::string::npos);
  EXPECT_TRUE(carries(file("array/submit"), {"compile.sbatch", "afterany"}));
  EXPECT_TRUE(carries(file("array/sweep.sbatch"), {"/tmp/tiletune.XXXXXX", "merge"}));
  for (const char* name : {"compile.sbatch", "sweep.sbatch", "submit"})
    EXPECT_TRUE(is_sound(sandbox_.folder() / "array" / name)) << name;
}

TEST_F(Slurm, NamesOfFilesAreNoCommands) {
  const std::string odd = "a b;$(touch evil)'%j";
  ASSERT_EQ(slurm({"--gpu", "H100", "-o", odd}).code, 0);
  const fs::path folder = sandbox_.folder() / odd;
  EXPECT_TRUE(is_sound(folder / "sweep.sbatch"));
  // Without Slurm the task is a script like any other.
  const std::string task =
      "cd '" + sandbox_.folder().string() + "' && SLURM_ARRAY_TASK_ID=1 bash ./a*/sweep.sbatch >log 2>&1";
  EXPECT_EQ(std::system(task.c_str()), 0) << file("log");
  EXPECT_FALSE(fs::exists(sandbox_.folder() / "evil"));
  EXPECT_TRUE(fs::exists(folder / "shards/1.db"));
  EXPECT_TRUE(carries(read_file(folder / "sweep.sbatch"), {"%%j/shards/%a.log"}));
  expect_error(slurm({"--gpu", "H100", "-o", "two\nlines"}), kUserError, {"#SBATCH"});
  expect_error(slurm({"--gpu", "H100", "-o", "x", "--sbatch=--a\n#SBATCH --b"}), kUserError, {"#SBATCH"});
}

TEST_F(Slurm, RefusesWhatWouldFailOnEveryNode) {
  expect_error(slurm({"--array", "15"}), kUserError, {"--array", "14 configurations", "15"});
  expect_error(slurm({"--", "--stratgy", "x"}), kUserError, {"--stratgy", "--strategy"});
  expect_error(slurm({"--", "--db", "x.db"}), kUserError, {"--db", "database of its own"});
  expect_error(slurm({"--", "--problem", "64"}), kUserError, {"--problem", "before the --"});
  expect_error(slurm({"--compile-for", "H100"}), kUserError, {"--compile-for", "--cache"});
  expect_error(slurm({"--gpu", "H1000"}), kUserError, {"H1000"});
  expect_error(slurm({"--gpu-type", "../x"}), kUserError, {"--gpu-type", "../x"});
  expect_error(slurm({"--nodes", "0"}), kUserError, {"--nodes"});
  expect_error(sandbox_.run({"slurm"}), kUserError, {"CONFIG"});
  expect_error(sandbox_.run({"slurm", "none.json"}), kUserError, {"none.json"});
  EXPECT_FALSE(fs::exists(sandbox_.folder() / "slurm")) << "nothing is written before all is checked";
}

TEST_F(Slurm, TheNameOfAConfigLeadsOutOfNoFolder) {
  Json config = Json::parse(read_file(config_));
  const auto write_array_of = [&](const std::string& name) {
    config["name"] = name;
    write("named.json", config.dump());
    return sandbox_.run({"slurm", "named.json"});
  };
  for (const auto& [name, folder] : std::map<std::string, std::string>{{"v1.2_x-y", "v1.2_x-y"},
                                                                       {"../../outside", "_._.._outside"},
                                                                       {"..", "_."},
                                                                       {"/outside", "_outside"},
                                                                       {"-rf\n*", "_rf__"},
                                                                       {"\xe2\x88\x95", "___"}}) {
    EXPECT_EQ(write_array_of(name).code, 0) << name;
    EXPECT_TRUE(fs::exists(sandbox_.folder() / "slurm" / folder / "submit")) << name;
  }
  expect_error(write_array_of(std::string(300, 'x')), kUserError, {"slurm/", "-o"});
}

TEST_F(Slurm, FilesOfOthersAreNotReplaced) {
  fs::create_directories(sandbox_.folder() / "array");
  EXPECT_EQ(slurm({"--nodes", "4", "-o", "array"}).code, 0) << "the folder is empty";
  write("secret", "text");
  fs::remove(sandbox_.folder() / "array/submit");
  fs::create_symlink("../secret", sandbox_.folder() / "array/submit");
  expect_error(slurm({"--nodes", "4", "-o", "array"}), kUserError, {"array/submit", "symbolic link", "-o"});
  EXPECT_EQ(file("secret"), "text");
  fs::create_directories(sandbox_.folder() / "other");
  write("other/best.json", "text");
  expect_error(slurm({"--nodes", "4", "-o", "other"}), kUserError, {"other", "-o"});
  expect_error(slurm({"--nodes", "4", "-o", "secret"}), kUserError, {"secret", "-o"});
  EXPECT_EQ(std::distance(fs::directory_iterator(sandbox_.folder() / "other"), {}), 1);
}

TEST_F(Slurm, AFolderIsOfOneDivision) {
  ASSERT_EQ(slurm({"--nodes", "4", "-o", "array"}).code, 0);
  EXPECT_EQ(slurm({"--nodes", "4", "-o", "array"}).code, 0) << "the same again";
  expect_error(slurm({"--nodes", "5", "-o", "array"}), kUserError, {"plan.json", "4", "5", "-o"});
  std::string plan = file("array/plan.json");
  const std::size_t at = plan.find("\"division\": \"") + 13;
  plan[at] = plan[at] == '0' ? '1' : '0';
  write("array/plan.json", plan);
  expect_error(slurm({"--nodes", "4", "-o", "array"}), kUserError, {"plan.json", "division"});
  const std::string before = file("array/sweep.sbatch");
  EXPECT_TRUE(carries(before, {"--array=1-4"}));
}

TEST_F(Slurm, StatusNamesWhatFailedAndHowToRunItAgain) {
  ASSERT_EQ(slurm({"--nodes", "5", "--gpu", "H100", "-o", "array"}).code, 0);
  for (const char* number : {"1", "2", "3", "4"})
    write("array/shards/" + std::string(number) + ".started", "node" + std::string(number) + "\n");
  write("array/shards/1.exit", "0\n");
  write("array/shards/2.exit", "2\n");
  write("array/shards/2.log", "tiletune: error: x.json: no such file\n  Name another.\n");
  write("array/shards/3.exit", "137\n");
  write("array/shards/4.exit", "1\n");
  write("array/shards/4.log", "bash: tiletune: command not found\n");
  const Json array = status(kNothingToDo);
  EXPECT_FALSE(array.at("done").get<bool>());
  const Json& shards = array.at("shards");
  ASSERT_EQ(shards.size(), 5U);
  EXPECT_EQ(shards[0].at("state"), "done");
  EXPECT_EQ(shards[1].at("state"), "failed");
  EXPECT_EQ(shards[1].at("reason"), "error: x.json: no such file");
  EXPECT_EQ(shards[2].at("reason"), "exit status 137");
  EXPECT_EQ(shards[2].at("node"), "node3");
  EXPECT_EQ(shards[4].at("state"), "waiting");
  const std::string later =
      file("array/shards/2.log") + "tiletune slurm: a task begins\nslurmstepd: error: x\n";
  write("array/shards/2.log", later);
  EXPECT_EQ(status(kNothingToDo).at("shards").at(1).at("reason"), "exit status 2")
      << "an earlier task said that";
  write("array/shards/2.log", later + "tiletune: error: x.json: no such file\n");
  const Finished run = sandbox_.run({"slurm", "status", "array"});
  EXPECT_TRUE(carries(run.out, {"3 failed", "submit 2-4", "error: x.json: no such file"}));
  for (const char* number : {"1", "2", "3", "4", "5"})
    write("array/shards/" + std::string(number) + ".exit", "0\n");
  EXPECT_TRUE(status(0).at("done").get<bool>());
}

TEST_F(Slurm, AShardOfWhichNothingCanRunIsDone) {
  ASSERT_EQ(slurm({"--nodes", "1", "--gpu", "H100", "-o", "array"}).code, 0);
  write("array/shards/1.exit", "1\n");
  write("array/shards/1.log", "tiletune: nothing to do: tiny.json: no configuration ran\n");
  EXPECT_EQ(status(0).at("shards").at(0).at("state"), "done");
}

/// With a program in squeue's place that knows of shard 2 of job 41.
TEST_F(Slurm, AShardThatIsQueuedIsNotSubmittedAgain) {
  ASSERT_EQ(slurm({"--nodes", "3", "--gpu", "H100", "-o", "array"}).code, 0);
  write("array/jobs", "40\n41\n");
  write("array/shards/3.exit", "2\n");
  for (const auto& [name, body] :
       {std::pair("squeue", "echo 41 2; echo 7 3"), std::pair("sbatch", "echo 42")}) {
    write(std::string("bin/") + name, std::string("#!/bin/bash\n") + body + "\n");
    fs::permissions(sandbox_.folder() / "bin" / name, fs::perms::owner_all);
  }
  const std::string folder = shell_quoted(sandbox_.folder().string());
  const auto submit = [&](const char* shards) {
    return std::system(
        ("cd " + folder + " && PATH=$PWD/bin:$PATH array/submit " + shards + " >log 2>&1").c_str());
  };
  EXPECT_NE(submit(""), 0);
  EXPECT_TRUE(carries(file("log"), {"shard 2 is queued or running", "scancel 41_2"}));
  EXPECT_NE(submit("1,2-3"), 0);
  EXPECT_EQ(file("array/shards/3.exit"), "2\n") << "nothing is changed";
  EXPECT_EQ(submit("3,1"), 0) << file("log");
  EXPECT_FALSE(fs::exists(sandbox_.folder() / "array/shards/3.exit"));
  EXPECT_EQ(file("array/jobs"), "40\n41\n42\n");
}

/// Runs the task of shard 1 with another program in tiletune's place.
TEST_F(Slurm, ATaskSaysHowItsSweepEnded) {
  ASSERT_EQ(slurm({"--nodes", "1", "--gpu", "H100", "-o", "array"}).code, 0);
  const std::string script = file("array/sweep.sbatch");
  const auto exit_of = [&](const std::string& program) {
    const std::string name = "tiletune=";
    const std::size_t at = script.find("\n" + name) + 1;
    std::string other = script;
    other.replace(at, script.find('\n', at) - at, name + program);
    write("array/other", other);
    fs::remove(sandbox_.folder() / "array/shards/1.exit");
    const std::string folder = shell_quoted(sandbox_.folder().string());
    std::system(("cd " + folder + " && SLURM_ARRAY_TASK_ID=1 bash array/other >log 2>&1").c_str());
    return fs::exists(sandbox_.folder() / "array/shards/1.exit") ? file("array/shards/1.exit") : "none";
  };
  const auto ends = [&](const std::string& how) {
    write("program", "#!/bin/bash\n" + how + "\n");
    fs::permissions(sandbox_.folder() / "program", fs::perms::owner_all);
    return exit_of("./program");
  };
  EXPECT_EQ(exit_of("./is_not_there"), "127\n");
  EXPECT_EQ(ends("exit 0"), "0\n");
  EXPECT_EQ(ends("exit 2"), "2\n");
  EXPECT_EQ(ends("kill -9 $$"), "137\n");
  EXPECT_EQ(ends("exit 130"), "none") << "interrupted: it is queued again, or was cancelled";
  EXPECT_EQ(ends("trap 'exit 130' TERM; kill -TERM $PPID; sleep 0.2; kill -TERM $$; sleep 9"), "none");
  EXPECT_EQ(ends("kill -TERM $$"), "none");
}

TEST_F(Slurm, ATaskWithoutALocalFolderFails) {
  ASSERT_EQ(slurm({"--nodes", "1", "--gpu", "H100", "--local", "is/not/there", "-o", "array"}).code, 0);
  const std::string folder = shell_quoted(sandbox_.folder().string());
  std::system(("cd " + folder + " && SLURM_ARRAY_TASK_ID=1 bash array/sweep.sbatch >log 2>&1").c_str());
  EXPECT_EQ(file("array/shards/1.exit"), "2\n") << file("log");
}

TEST_F(Slurm, StatusOfAFolderWithoutAnArrayIsAnError) {
  expect_error(sandbox_.run({"slurm", "status", "nowhere"}), kUserError, {"nowhere"});
  fs::create_directory(sandbox_.folder() / "empty");
  expect_error(sandbox_.run({"slurm", "status", "empty"}), kUserError, {"empty"});
  write("array/plan.json", "{\"shards\": -1}");
  expect_error(sandbox_.run({"slurm", "status", "array"}), kUserError, {"plan.json"});
  write("array/plan.json", "[");
  expect_error(sandbox_.run({"slurm", "status", "array"}), kUserError, {"plan.json"});
  write("array/plan.json", "{\"shards\": 99999999999}");
  expect_error(sandbox_.run({"slurm", "status", "array"}), kUserError, {"plan.json"});
}

TEST_F(Slurm, StatusDoesNotTrustWhatLiesInTheFolder) {
  ASSERT_EQ(slurm({"--nodes", "2", "--gpu", "H100", "-o", "array"}).code, 0);
  write("array/shards/1.db", "this is no database");
  write("array/shards/1.started", std::string("9 \x1b[31mred\n"));
  write("array/shards/2.exit", "7\n");
  write("array/shards/2.log", "tiletune: \x1b[31mred\n");
  const Finished run = sandbox_.run({"slurm", "status", "array"});
  EXPECT_EQ(run.code, kNothingToDo);
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
}

}  // namespace tiletune::slurm_test
