// `tiletune import`, `merge` and `export --format t4` as a person sees them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/expect_error.h"
#include "cli/fake_sweep.h"
#include "cli/process.h"
#include "store/database.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace {

/// A Kernel Tuner cache of these parameters, all 1 but the first.
std::string cache(const std::string& gpu, const std::vector<std::string>& parameters, int rows) {
  nlohmann::ordered_json document{
      {"device_name", gpu}, {"kernel_name", "k"}, {"problem_size", 64}, {"tune_params_keys", parameters}};
  for (int i = 0; i < rows; ++i) {
    nlohmann::ordered_json row;
    for (const std::string& name : parameters) row[name] = name == parameters.front() ? i : 1;
    if (i == 0) {
      row["time"] = "InvalidConfig";
    } else {
      row["time"] = i;
    }
    document["cache"][std::to_string(i)] = row;
  }
  return document.dump();
}

TEST(ImportCommand, SaysWhatItFoundAndHowRowsJoin) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x", "y"}, 3));
  sandbox.write("b.json", cache("NVIDIA B200", {"x"}, 2));
  const Finished run = sandbox.run({"import", "a.json", "b.json", "--db", "r.db"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "a.json: Kernel Tuner cache of k 64 on NVIDIA A100\n"
            "  3 rows: ok 2, refused 1\n"
            "  refused 1: refused before it was compiled or launched (InvalidConfig)\n"
            "  2 parameters: x, y\n"
            "b.json: Kernel Tuner cache of k 64 on NVIDIA B200\n"
            "  2 rows: ok 1, refused 1\n"
            "  refused 1: refused before it was compiled or launched (InvalidConfig)\n"
            "  1 parameter: x\n"
            "tiletune rank --db r.db\n");
  const Finished again = sandbox.run({"import", "a.json", "--db", "r.db", "--format", "json"});
  const auto summary = nlohmann::ordered_json::parse(again.out);
  EXPECT_EQ(summary["files"][0]["new_rows"], 0);
  EXPECT_EQ(summary["files"][0]["outcomes"]["ok"], 2);
  EXPECT_FALSE(summary.contains("joins")) << "files are joined where they are compared";
  EXPECT_NE(sandbox.run({"rank", "--db", "r.db"}).out.find("imported times of NVIDIA A100"),
            std::string::npos);
}

TEST(ImportCommand, SaysWhatAllRowsHaveAndNotMoreThanItCounted) {
  const Sandbox sandbox;
  nlohmann::ordered_json ktt{{"Metadata", {{"Device", "A"}, {"TimeUnit", "us"}}}};
  const auto add = [&](const std::string& kernel, const std::string& parameter) {
    ktt["Results"].push_back({{"KernelName", kernel},
                              {"Status", "Ok"},
                              {"TotalDuration", 1},
                              {"Configuration", {{{"Name", parameter}, {"Value", 1}}}}});
  };
  for (const char* parameter : {"y", "x", "y", "a\"b:{", "z"}) add("k", parameter);
  sandbox.write("few.json", ktt.dump());
  const Finished few = sandbox.run({"import", "few.json", "--problem", "64"});
  EXPECT_NE(few.out.find("  4 parameters: y, x, a\"b:{, z\n"), std::string::npos) << few.out << few.err;
  for (int i = 0; i < 1500; ++i) add("k" + std::to_string(i), "x");
  sandbox.write("many.json", ktt.dump());
  const Finished many = sandbox.run({"import", "many.json", "--problem", "64"});
  EXPECT_EQ(many.out.find("many.json: KTT output of more than 999 kernels 64 on A\n"), 0U)
      << many.out << many.err;
}

TEST(ImportCommand, AFileThatIsRefusedLeavesTheOthers) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.write("b.json", cache("", {"x"}, 3));
  expect_error(sandbox.run({"import", "a.json", "b.json", "--db", "r.db"}), kUserError,
               {"b.json: does not say on which GPU it was recorded", "--gpu"});
  EXPECT_EQ(Database(sandbox.folder() / "r.db", Database::Mode::read_only).trials({}).size(), 3U);
  const Finished between = sandbox.run({"import", "b.json", "a.json", "--db", "s.db"});
  EXPECT_EQ(between.code, kUserError);
  EXPECT_NE(between.out.find("3 rows"), std::string::npos) << between.out;
  EXPECT_NE(between.err.find("1 of 2 files were imported"), std::string::npos) << between.err;
}

TEST(ImportCommand, WhereNothingIsTakenInNoDatabaseIsLeft) {
  const Sandbox sandbox;
  sandbox.write("b.json", cache("", {"x"}, 3));
  EXPECT_EQ(sandbox.run({"import", "b.json", "no.json", "--db", "r.db"}).code, kUserError);
  for (const char* file : {"r.db", "r.db-wal", "r.db-shm"})
    EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / file)) << file;
  { const Database present(sandbox.folder() / "r.db", Database::Mode::read_write); }
  EXPECT_EQ(sandbox.run({"import", "b.json", "--db", "r.db"}).code, kUserError);
  EXPECT_TRUE(std::filesystem::exists(sandbox.folder() / "r.db")) << "it was there before";
}

TEST(ImportCommand, AFileWithoutRowsIsAMistake) {
  const Sandbox sandbox;
  sandbox.write("a.json", R"({"device_name": "A", "kernel_name": "k", "problem_size": 1,
                              "tune_params_keys": ["x"], "cache": {}})");
  expect_error(sandbox.run({"import", "a.json", "--db", "r.db"}), kUserError, {"a.json: holds no rows"});
}

TEST(ImportCommand, SaysWhatItTakesForAProblemsName) {
  const Sandbox sandbox;
  sandbox.write("a.json", R"({"device_name": "A", "kernel_name": "k", "problem_size": "hello world",
                              "tune_params_keys": ["x"], "cache": {"1": {"x": 1, "time": 1}}})");
  const Finished run = sandbox.run({"import", "a.json", "--db", "r.db"});
  EXPECT_NE(
      run.out.find(
          "  the problem 'hello world' is a name without sizes: it equals only problems of the same name\n"),
      std::string::npos)
      << run.out;
  const Finished json = sandbox.run({"import", "a.json", "--db", "r.db", "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["files"][0]["named_problems"][0], "hello world");
}

TEST(ImportCommand, AHostileNameIsHarmlessText) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("\x1b]0;GPU\x07", {"x\x1b[31m"}, 2));
  const Finished run = sandbox.run({"import", "a.json", "--db", "r.db"});
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("x?[31m"), std::string::npos) << run.out;
}

TEST(MergeCommand, JoinsAndLeavesItsInputs) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.write("b.json", cache("NVIDIA B200", {"x"}, 4));
  sandbox.run({"import", "a.json", "--db", "a.db"});
  sandbox.run({"import", "a.json", "b.json", "--db", "b.db"});
  const Finished run = sandbox.run({"merge", "a.db", "b.db", "-o", "all.db"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "a.db: 3 rows, 3 new, 0 replaced; 0 new sweeps, 0 calibrations\n"
            "b.db: 7 rows, 4 new, 0 replaced; 0 new sweeps, 0 calibrations\n"
            "all.db now has 7 rows\n");
  expect_error(sandbox.run({"merge", "a.db", "b.db", "-o", "a.db"}), kUserError,
               {"a.db: the output is one of the inputs", "Leave it out"});
  expect_error(sandbox.run({"merge", "no.db", "-o", "new.db"}), kUserError,
               {"no.db: there is no such database"});
  EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "new.db"));
}

/// The names of what lies in the sandbox, but for what the test itself writes.
std::set<std::string> files_of(const Sandbox& sandbox) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(sandbox.folder()))
    names.insert(entry.path().filename().string());
  names.erase("stdout");
  names.erase("stderr");
  return names;
}

TEST(MergeCommand, ARefusedInputLeavesNothingAndTheRemedyNamesAnOptionThatIsThere) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.run({"import", "a.json", "--db", "a.db"});
  sandbox.write("b.db", "no database");
  const std::set<std::string> before = files_of(sandbox);
  const Finished input = sandbox.run({"merge", "a.db", "b.db", "-o", "all.db"});
  EXPECT_EQ(input.code, kUserError);
  EXPECT_EQ(input.err,
            "tiletune: error: b.db: not an SQLite database\n  Name another file, or move this one away.\n");
  EXPECT_EQ(files_of(sandbox), before);
  const Finished output = sandbox.run({"merge", "a.db", "-o", "b.db"});
  EXPECT_EQ(output.err,
            "tiletune: error: b.db: not an SQLite database\n  Name another file with -o FILE, or move this "
            "one away.\n");
  EXPECT_EQ(files_of(sandbox), before);
}

TEST(ExportCommand, T4NeedsOneSpace) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.write("b.json", cache("NVIDIA B200", {"x"}, 4));
  sandbox.run({"import", "a.json", "b.json", "--db", "r.db"});
  expect_error(sandbox.run({"export", "--format", "t4", "--db", "r.db"}), kUserError,
               {"r.db: rows of 2 GPUs match", "--gpu"});
  expect_error(sandbox.run({"export", "--format", "t5", "--db", "r.db"}), kUserError,
               {"--format: there is no export format 't5'", "json, t4"});
  expect_error(sandbox.run({"export", "--format", "t4", "--best", "--db", "r.db"}), kUserError,
               {"--format: has no effect with --best"});
  const Finished run = sandbox.run({"export", "--format", "t4", "--gpu", "b200", "--db", "r.db"});
  EXPECT_EQ(nlohmann::ordered_json::parse(run.out)["results"].size(), 4U);
}

TEST(ExportCommand, WhereNoRowMatchesNothingIsWritten) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.run({"import", "a.json", "--db", "r.db"});
  for (const char* format : {"json", "t4", "header"}) {
    expect_error(sandbox.run({"export", "--format", format, "--template", "nope", "--db", "r.db", "-o", "x"}),
                 kNothingToDo, {"r.db: no row matches", "Loosen the filters"});
    EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "x")) << format;
  }
}

TEST(ExportCommand, BaselinesStandByEveryTemplateButAreNotAskedFor) {
  const Sandbox sandbox;
  Trial baseline = timed_trial("a", 100, 1);
  baseline.kind = "baseline";
  Database(sandbox.folder() / "r.db", Database::Mode::read_write).record(baseline);
  EXPECT_EQ(sandbox.run({"export", "--db", "r.db"}).code, 0);
  expect_error(sandbox.run({"export", "--db", "r.db", "--template", "nope"}), kNothingToDo,
               {"no row matches"});
}

TEST(ExportCommand, T4HasNoWordForPredictions) {
  const Sandbox sandbox;
  Trial row = timed_trial("a", 100, 1);
  row.source = Source::predicted;
  Database(sandbox.folder() / "r.db", Database::Mode::read_write).record(row);
  expect_error(sandbox.run({"export", "--format", "t4", "--db", "r.db", "-o", "x"}), kUserError,
               {"r.db: T4 cannot mark predictions", "--source measured"});
  EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "x"));
}

/// A T1 tuning problem with a kernel file that is not there.
constexpr const char* kT1 = R"json({
  "ConfigurationSpace": {"TuningParameters": [{"Name": "n", "Type": "int", "Values": "[1, 2, 4]"}],
                         "Conditions": [{"Expression": "n != 2", "Parameters": ["n"]}]},
  "KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "ProblemSize": [64],
                          "LocalSize": {"X": "32 * n"}, "GlobalSize": {"X": "1"},
                          "Arguments": [{"Name": "out", "Type": "float", "MemoryType": "Vector"}]}})json";

TEST(T1Problem, IsAcceptedWhereAConfigIsAndNeedsItsKernelOnlyToCompile) {
  const Sandbox sandbox;
  sandbox.write("t1.json", kT1);
  const Finished space = sandbox.run({"space", "t1.json"});
  EXPECT_NE(space.out.find("k 64: 3 raw combinations, 2 valid"), std::string::npos) << space.out << space.err;
  expect_error(sandbox.run({"inspect", "t1.json", "--gpu", "A100"}), kUserError,
               {"t1.json: the kernel's file", "k.cu does not exist", "Put it beside this file"});
  sandbox.write("k.cu", "extern \"C\" __global__ void k(float* out) { out[threadIdx.x] = n; }\n");
  const Finished inspected = sandbox.run({"inspect", "t1.json", "--gpu", "A100"});
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  const Finished predicted = sandbox.run({"sweep", "t1.json", "--gpu", "A100", "--db", "r.db"});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_NE(predicted.out.find("n=4"), std::string::npos) << predicted.out;
  expect_error(
      sandbox.run(sweep_with("t1.json", "none")), kUserError,
      {"t1.json: k cannot be measured: a T1 tuning problem names neither a reference kernel", "--gpu NAME"});
}

}  // namespace
}  // namespace tiletune
