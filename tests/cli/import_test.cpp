// `tiletune import`, `merge` and `export --format t4` as a person sees them.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/expect_error.h"
#include "cli/fake_sweep.h"
#include "cli/process.h"
#include "store/database.h"
#include "store/sample_trial.h"

namespace tiletune {
namespace import_test {

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
  for (const std::vector<std::string>& parts :
       std::vector<std::vector<std::string>>{{"a.json:", "Kernel Tuner", "k 64", "NVIDIA A100"},
                                             {"3 rows: ok 2, refused 1"},
                                             {"refused 1:", "(InvalidConfig)"},
                                             {"2 parameters: x, y"},
                                             {"b.json:", "Kernel Tuner", "k 64", "NVIDIA B200"},
                                             {"2 rows: ok 1, refused 1"},
                                             {"1 parameter: x"},
                                             {"tiletune rank --db r.db"}})
    EXPECT_TRUE(has_line(run.out, parts));
  const Finished again = sandbox.run({"import", "a.json", "--db", "r.db", "--format", "json"});
  const auto summary = nlohmann::ordered_json::parse(again.out);
  EXPECT_EQ(summary["files"][0]["new_rows"], 0);
  EXPECT_EQ(summary["files"][0]["outcomes"]["ok"], 2);
  EXPECT_FALSE(summary.contains("joins")) << "files are joined where they are compared";
  EXPECT_TRUE(has_line(sandbox.run({"rank", "--db", "r.db"}).out, {"NVIDIA A100", "imported"}));
}

TEST(ImportCommand, APipeWithoutAWriterIsNotWaitedFor) {
  const Sandbox sandbox;
  const std::string pipe = (sandbox.folder() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(sandbox.run({"import", "pipe", "--db", "r.db"}), kUserError, {"pipe:"});
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const std::string rows = cache("NVIDIA A100", {"x"}, 2);
  ASSERT_EQ(::write(ends[1], rows.data(), rows.size()), static_cast<ssize_t>(rows.size()));
  ::close(ends[1]);
  constexpr int kInherited = 20;
  const Finished read = sandbox.wait(
      sandbox.start({"import", "/dev/fd/20", "--db", "r.db"}, [&] { ::dup2(ends[0], kInherited); }));
  ::close(ends[0]);
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_TRUE(has_line(read.out, {"2 rows"}));
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
  EXPECT_TRUE(carries(many.out, {"many.json:", "KTT", "than 999", "64", "A"})) << many.out << many.err;
}

TEST(ImportCommand, AFileThatIsRefusedLeavesTheOthers) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.write("b.json", cache("", {"x"}, 3));
  expect_error(sandbox.run({"import", "a.json", "b.json", "--db", "r.db"}), kUserError,
               {"b.json:", "which GPU", "--gpu"});
  EXPECT_EQ(Database(sandbox.folder() / "r.db", Database::Mode::read_only).trials({}).size(), 3U);
  const Finished between = sandbox.run({"import", "b.json", "a.json", "--db", "s.db"});
  EXPECT_EQ(between.code, kUserError);
  EXPECT_NE(between.out.find("3 rows"), std::string::npos) << between.out;
  EXPECT_TRUE(carries(between.err, {"1 of 2 files"}));
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

TEST(ImportCommand, CountsWhatItLeavesOut) {
  const Sandbox sandbox;
  const std::string head =
      R"({"device_name": "A", "kernel_name": "k", "problem_size": 1, "tune_params_keys": ["x"], "cache": {)";
  sandbox.write(
      "a.json",
      head + R"("1": {"x": 1, "time": 1}, "2": {"x": 2, "time": "\u001bx"}, "3": {"x": 4, "time": 1}}})");
  expect_error(sandbox.run({"import", "a.json", "--db", "r.db"}), kUserError,
               {"a.json: /cache/2/time", "--skip-bad"});
  const Finished run = sandbox.run({"import", "a.json", "--db", "r.db", "--skip-bad"});
  EXPECT_TRUE(has_line(run.out, {"1 row:", "ok 1"})) << run.err;
  EXPECT_TRUE(has_line(run.out, {"cannot be read", "2 rows", "a.json: /cache/2/time", "?x"}));
  const auto json = nlohmann::json::parse(
      sandbox.run({"import", "a.json", "--db", "r.db", "--skip-bad", "--format", "json"}).out);
  EXPECT_EQ(json["files"][0]["bad_rows"], 2);
  sandbox.write("b.json", head + R"("2": {"x": 2, "time": "x"}}})");
  expect_error(sandbox.run({"import", "b.json", "--db", "r.db", "--skip-bad"}), kUserError,
               {"b.json:", "no row", "/cache/2/time"});
}

TEST(ImportCommand, AFileWithoutRowsIsAMistake) {
  const Sandbox sandbox;
  sandbox.write("a.json", R"({"device_name": "A", "kernel_name": "k", "problem_size": 1,
                              "tune_params_keys": ["x"], "cache": {}})");
  expect_error(sandbox.run({"import", "a.json", "--db", "r.db"}), kUserError, {"a.json:", "no rows"});
}

TEST(ImportCommand, SaysWhatItTakesForAProblemsName) {
  const Sandbox sandbox;
  sandbox.write("a.json", R"({"device_name": "A", "kernel_name": "k", "problem_size": "hello world",
                              "tune_params_keys": ["x"], "cache": {"1": {"x": 1, "time": 1}}})");
  const Finished run = sandbox.run({"import", "a.json", "--db", "r.db"});
  EXPECT_TRUE(has_line(run.out, {"problem 'hello world'", "sizes"}));
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
  EXPECT_TRUE(has_line(run.out, {"a.db:", "3 rows, 3 new, 0 replaced", "0 new sweeps, 0 calibrations"}));
  EXPECT_TRUE(has_line(run.out, {"b.db:", "7 rows, 4 new, 0 replaced"}));
  EXPECT_TRUE(has_line(run.out, {"all.db", "7 rows"}));
  expect_error(sandbox.run({"merge", "a.db", "b.db", "-o", "a.db"}), kUserError, {"a.db:", "inputs"});
  expect_error(sandbox.run({"merge", "no.db", "-o", "new.db"}), kUserError, {"no.db", "no such"});
  std::filesystem::create_symlink("a.db", sandbox.folder() / "link.db");
  for (const char* same : {"a.db", "./a.db", "link.db"})
    expect_error(sandbox.run({"merge", "a.db", "b.db", same, "-o", "new.db"}), kUserError,
                 {std::string(same) + ":", "same file", "a.db"});
  EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "new.db"));
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
  EXPECT_TRUE(carries(input.err, {"b.db:", "SQLite"}));
  EXPECT_EQ(files_of(sandbox), before);
  const Finished output = sandbox.run({"merge", "a.db", "-o", "b.db"});
  EXPECT_TRUE(carries(output.err, {"b.db:", "SQLite", "-o FILE"}));
  EXPECT_EQ(files_of(sandbox), before);
}

TEST(ExportCommand, T4NeedsOneSpace) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.write("b.json", cache("NVIDIA B200", {"x"}, 4));
  sandbox.run({"import", "a.json", "b.json", "--db", "r.db"});
  expect_error(sandbox.run({"export", "--format", "t4", "--db", "r.db"}), kUserError,
               {"r.db:", "2 GPUs", "--gpu"});
  expect_error(sandbox.run({"export", "--format", "t5", "--db", "r.db"}), kUserError,
               {"--format:", "'t5'", "json, t4"});
  expect_error(sandbox.run({"export", "--format", "t4", "--best", "--db", "r.db"}), kUserError,
               {"--format", "no effect", "--best"});
  const Finished run = sandbox.run({"export", "--format", "t4", "--gpu", "b200", "--db", "r.db"});
  EXPECT_EQ(nlohmann::ordered_json::parse(run.out)["results"].size(), 4U);
}

TEST(ExportCommand, WhereNoRowMatchesNothingIsWritten) {
  const Sandbox sandbox;
  sandbox.write("a.json", cache("NVIDIA A100", {"x"}, 3));
  sandbox.run({"import", "a.json", "--db", "r.db"});
  for (const char* format : {"json", "t4", "header", "cuda"}) {
    expect_error(sandbox.run({"export", "--format", format, "--template", "nope", "--db", "r.db", "-o", "x"}),
                 kNothingToDo, {"r.db:", "no row"});
    EXPECT_FALSE(std::filesystem::exists(sandbox.folder() / "x")) << format;
  }
}

TEST(ExportCommand, BaselinesStandByEveryTemplateButAreNotAskedFor) {
  const Sandbox sandbox;
  Trial baseline = timed_trial("a", 100, 1);
  baseline.kind = "baseline";
  Database(sandbox.folder() / "r.db", Database::Mode::read_write).record(baseline);
  EXPECT_EQ(sandbox.run({"export", "--db", "r.db"}).code, 0);
  expect_error(sandbox.run({"export", "--db", "r.db", "--template", "nope"}), kNothingToDo, {"no row"});
}

TEST(ExportCommand, T4HasNoWordForPredictions) {
  const Sandbox sandbox;
  Trial row = timed_trial("a", 100, 1);
  row.source = Source::predicted;
  Database(sandbox.folder() / "r.db", Database::Mode::read_write).record(row);
  expect_error(sandbox.run({"export", "--format", "t4", "--db", "r.db", "-o", "x"}), kUserError,
               {"r.db", "T4", "--source measured"});
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
  EXPECT_TRUE(has_line(space.out, {"k 64:", "3 raw", "2 valid"})) << space.err;
  expect_error(sandbox.run({"inspect", "t1.json", "--gpu", "A100 40GB"}), kUserError,
               {"t1.json:", "k.cu", "not exist"});
  sandbox.write("k.cu", "extern \"C\" __global__ void k(float* out) { out[threadIdx.x] = n; }\n");
  const Finished inspected = sandbox.run({"inspect", "t1.json", "--gpu", "A100 40GB"});
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  const Finished predicted = sandbox.run({"sweep", "t1.json", "--gpu", "A100 40GB", "--db", "r.db"});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_NE(predicted.out.find("n=4"), std::string::npos) << predicted.out;
  expect_error(sandbox.run(sweep_with("t1.json", "none")), kUserError, {"t1.json:", "size", "--gpu NAME"});
}

TEST(T1Problem, OfAnotherSizeIsAnotherProblem) {
  const Sandbox sandbox;
  sandbox.write(
      "k.cu",
      "extern \"C\" __global__ void k(float* out, int n) { if (threadIdx.x < n) out[threadIdx.x] = bx; }\n");
  const auto sweep = [&](int elements, int n) {
    auto json = nlohmann::json::parse(
        R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "bx", "Values": "[64]"}]},
      "KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "LocalSize": {"X": "bx"},
      "Arguments": [{"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
                     "FillType": "Constant"}, {"Name": "n", "Type": "int32", "MemoryType": "Scalar"}]}})");
    auto& arguments = json["KernelSpecification"]["Arguments"];
    arguments[0]["Size"] = elements;
    arguments[1]["FillValue"] = n;
    sandbox.write("t1.json", json.dump());
    const Finished swept = sandbox.run({"sweep", "t1.json", "--gpu", "A100 40GB", "--db", "r.db", "--quiet"});
    EXPECT_EQ(swept.code, 0) << swept.err;
  };
  sweep(4096, 4096);
  sweep(1048576, 4096);
  sweep(4096, 64);
  const Finished ranked = sandbox.run({"rank", "--db", "r.db", "--format", "json"});
  std::vector<std::string> groups;
  const auto ranking = nlohmann::json::parse(ranked.out);
  for (const auto& group : ranking.at("groups"))
    groups.push_back(group.at("problem").get<std::string>() + ": " +
                     group.at("conditions").get<std::string>());
  std::ranges::sort(groups);
  EXPECT_EQ(groups, (std::vector<std::string>{"1048576: k, f32, n=4096", "4096: k, f32, n=4096",
                                              "4096: k, f32, n=64"}))
      << ranked.out;
}

TEST(T1Problem, OfOpenClIsCountedAndReplayedButNotCompiled) {
  const Sandbox sandbox;
  const std::string problem = R"json({
    "ConfigurationSpace": {"TuningParameters": [{"Name": "x", "Type": "int", "Values": "[1, 2, 3]"}]},
    "KernelSpecification": {"Language": "OpenCL", "KernelName": "k", "KernelFile": "k.cl", "ProblemSize": [64],
                            "GlobalSize": {"X": "64"}, "LocalSize": {"X": "x"}, "GlobalSizeType": "OpenCL"}})json";
  sandbox.write("t1.json", problem);
  sandbox.write("k.cl", "__kernel void k() {}\n");
  sandbox.write("rows.json", cache("NVIDIA A100", {"x"}, 4));
  const Finished space = sandbox.run({"space", "t1.json"});
  EXPECT_EQ(space.code, 0) << space.err;
  const Finished replayed = sandbox.run({"sweep", "t1.json", "--replay", "rows.json", "--quiet"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_TRUE(has_line(replayed.out, {"k", "x=1", "1000"})) << replayed.out;
  expect_error(sandbox.run({"inspect", "t1.json", "--gpu", "H100"}), kUserError,
               {"t1.json:", "OpenCL", "--replay"});
}

}  // namespace import_test
}  // namespace tiletune
