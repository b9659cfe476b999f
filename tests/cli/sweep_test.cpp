// Whole sweeps through the executable, with a fake GPU worker where times are needed.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/expect_error.h"
#include "cli/fake_sweep.h"

namespace tiletune {
namespace sweep_test {

using Json = nlohmann::ordered_json;

TEST(Sweep, MeasuresRanksAndExports) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(6), "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("ok 6"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("cublas"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("export the best:"), std::string::npos) << run.out;
  const Finished best = sandbox.run({"export", "--best", "--db", "results.db"});
  const Json document = Json::parse(best.out);
  ASSERT_EQ(document["best"].size(), 1U);
  EXPECT_EQ(document["best"][0]["template"], "tiny");
  EXPECT_EQ(document["best"][0]["gpu"], "Fake H200");
  EXPECT_TRUE(document["best"][0]["timing"]["median_us"].is_number());
  EXPECT_EQ(document["best"][0]["provenance"]["driver_version"], "580.0");
}

TEST(Sweep, AnUnchangedConfigurationIsNotMeasuredTwice) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(5);
  sandbox.run(measured_sweep(config, "none"));
  const Finished again = sandbox.run(measured_sweep(config, "crash", 1));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("5 reused"), std::string::npos) << again.out;
  EXPECT_EQ(rows_of(sandbox).size(), 7U) << "five kernels, one baseline, the fastest one's twin";
}

/// The problems that a sweep's kernels of one template are of.
std::set<std::string> problems_of(const std::vector<Trial>& rows, const std::string& kernel) {
  std::set<std::string> problems;
  for (const Trial& row : rows) {
    if (row.kind == "kernel" && row.template_name == kernel) problems.insert(row.problem);
  }
  return problems;
}

TEST(Sweep, OnlyWhatPassesLeadingDimensionsIsSweptOnMatricesWithThem) {
  const Sandbox sandbox;
  sandbox.write_tiny_space(2);
  sandbox.write(
      "strided/kernel.cu",
      "extern \"C\" __global__ void strided(const float* A, const float* B, float* C, int lda, int ldb, "
      "int ldc) { C[ldc] = A[lda] * B[ldb] + V; }\n");
  sandbox.write("strided/template.json", R"({
    "name": "strided", "summary": "one product", "operation": "gemm", "source": "kernel.cu", "kernel": "strided",
    "macros": {"V": "V"}, "parameters": [{"name": "V", "values": [1, 2], "meaning": "what is added"}],
    "launch": {"grid": [1], "block": [32]},
    "arguments": [{"buffer": "A"}, {"buffer": "B"}, {"buffer": "C"}, {"scalar": "lda", "type": "i32"},
                  {"scalar": "ldb", "type": "i32"}, {"scalar": "ldc", "type": "i32"}]})");
  const std::string config = sandbox.write("both.json", R"({"templates": ["tiny", "strided"],
    "problems": ["8x16x32 lda=40 ldc=20", "8x16x32"]})");
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::ok), 6);
  EXPECT_EQ(problems_of(rows, "tiny"), (std::set<std::string>{"8x16x32"}));
  EXPECT_EQ(problems_of(rows, "strided"), (std::set<std::string>{"8x16x32", "8x16x32 lda=40 ldc=20"}));
  EXPECT_TRUE(carries(run.out, {"8x16x32 lda=40 ldc=20 on Fake H200"}));
  const Finished predicted = sandbox.run({"sweep", config, "--gpu", "H200", "--db", "predicted.db"});
  EXPECT_TRUE(carries(predicted.out, {"tiny 8x16x32 lda=40 ldc=20", "tiletune space " + config}));

  const Finished alone = sandbox.run(measured_sweep(config, "none", 3, {"--template", "tiny"}));
  EXPECT_EQ(alone.code, 0) << alone.err << "a problem that no template is swept on does no harm";
  const Finished bench =
      sandbox.run({"bench", "tiny", "--set", "V=1", "--problem", "8x16x32,ldb=17", "--db", "x.db"});
  EXPECT_EQ(bench.code, 1);
  EXPECT_TRUE(carries(bench.err, {"tiny", "8x16x32 ldb=17"}));
  EXPECT_NE(bench.err.find("(the kernel takes dense matrices only)"), std::string::npos) << bench.err;
}

TEST(Sweep, AChangedKernelIsMeasuredAnewAndACommentChangesNone) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  sandbox.run(measured_sweep(config, "none"));
  const std::string source = read_file(sandbox.folder() / "tiny/kernel.cu");
  sandbox.write("tiny/kernel.cu", "// a comment\n" + source);
  const Finished commented = sandbox.run(measured_sweep(config, "none"));
  EXPECT_NE(commented.out.find("2 reused"), std::string::npos) << commented.out;
  std::string changed = source;
  changed.replace(changed.find("B[0] +"), 6, "B[0] -");
  sandbox.write("tiny/kernel.cu", changed);
  const Finished again = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(again.out.find(" reused"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("ok 2"), std::string::npos) << again.out;
}

/// How the ranking of a template's rows looks after its kernel or a header was edited.
TEST(Sweep, RowsOfAnEarlierSourceAreHiddenAndCounted) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(4, kNoFinals);
  std::string source = "#include \"other.cuh\"\n" + read_file(sandbox.folder() / "tiny/kernel.cu");
  source.replace(source.find("B[0] +"), 6, "B[0] + EXTRA +");
  const std::string one = R"({"templates": [{"template": "tiny", "parameters": {"V": [1]}}],
                              "problems": ["1x1x1"]})";
  const std::string narrow = sandbox.write("narrow.json", one);
  sandbox.write("tiny/other.cuh", "#define EXTRA 1\n");
  sandbox.write("tiny/kernel.cu", source);
  EXPECT_EQ(sandbox.run(measured_sweep(config, "none")).code, 0);
  const auto ranked = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"rank", "--db",      "results.db", "--format",
                                       "csv",  "--columns", "parameters"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = sandbox.run(arguments);
    return std::pair(std::count(run.out.begin(), run.out.end(), '\n'), run.err);
  };
  const auto [all, nothing] = ranked({});
  EXPECT_EQ(nothing, "");
  std::string changed = source;
  changed.replace(changed.find("+ EXTRA"), 7, "- EXTRA");
  for (const auto& [file, text] : {std::pair("tiny/kernel.cu", changed),
                                   std::pair("tiny/other.cuh", std::string("#define EXTRA 2\n"))}) {
    sandbox.write(file, text);
    EXPECT_EQ(sandbox.run(measured_sweep(narrow, "none")).code, 0);
    const auto [rows, note] = ranked({"--template", "tiny"});
    EXPECT_EQ(rows, all - 3) << file << ": the header line, the new row and the baseline";
    EXPECT_TRUE(carries(note, {"--any-source"})) << note;
    EXPECT_GE(ranked({"--any-source"}).first, all);
    const Finished best = sandbox.run({"export", "--best", "--db", "results.db"});
    EXPECT_EQ(nlohmann::json::parse(best.out)["best"][0]["parameters"]["V"], 1) << best.out;
    EXPECT_TRUE(carries(best.err, {"--any-source"})) << best.err;
  }
  EXPECT_EQ(ranked({"--sweep", "1"}).first, all) << "a sweep that is named is shown as it was";
  {
    // Of another GPU, only rows of the former code are there.
    Database database(sandbox.folder() / "results.db", Database::Mode::read_write);
    for (Trial row : rows_of(sandbox)) {
      if (row.kind != "kernel" || row.sweep_id != 1) continue;
      row.key += "of another GPU";
      row.gpu = "Other GPU";
      database.record(row);
    }
  }
  for (const char* command : {"rank", "report", "portfolio"})
    expect_error(sandbox.run({command, "--db", "results.db", "--gpu", "Other"}), kNothingToDo,
                 {"results.db:", "4", "rows", "--any-source"});
  EXPECT_EQ(sandbox.run({"rank", "--db", "results.db", "--gpu", "Other", "--any-source"}).code, 0);
  sandbox.write("tiny/kernel.cu", "// a comment\n" + source);
  sandbox.write("tiny/other.cuh", "#define EXTRA 1\n");
  EXPECT_TRUE(has_line(sandbox.run(measured_sweep(config, "none")).out, {"4 reused"}));
  EXPECT_EQ(ranked({}).first, all) << "rows of the same kernels are of the new source, too";
}

/// An edit, a sweep of one configuration, and back.
TEST(Sweep, RowsOfTheSourceAsItIsNowCount) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(4, kNoFinals);
  const std::string source = read_file(sandbox.folder() / "tiny/kernel.cu");
  std::string changed = source;
  changed.replace(changed.find("B[0] +"), 6, "B[0] -");
  const std::string narrow = sandbox.write(
      "narrow.json",
      R"({"templates": [{"template": "tiny", "parameters": {"V": [1]}}], "problems": ["1x1x1"]})");
  EXPECT_EQ(sandbox.run(measured_sweep(config, "none")).code, 0);
  sandbox.write("tiny/kernel.cu", changed);
  const std::vector<std::string> rank{"rank",     "--db", "results.db", "--template", "tiny",
                                      "--format", "csv",  "--columns",  "parameters"};
  const auto kernels = [&] {
    const std::string out = sandbox.run(rank).out;
    std::size_t count = 0;
    for (std::size_t at = out.find("{\"\"V"); at != out.npos; at = out.find("{\"\"V", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(kernels(), 4U);
  EXPECT_TRUE(has_line(sandbox.run(rank).err, {"note:", "tiny", "edited"}));
  EXPECT_FALSE(carries(sandbox.run({"rank", "--db", "results.db", "--template", "cublas"}).err, {"edited"}));
  EXPECT_EQ(sandbox.run(measured_sweep(narrow, "none")).code, 0);
  EXPECT_EQ(kernels(), 1U);
  EXPECT_TRUE(carries(sandbox.run(rank).err, {"4", "rows", "--any-source"}));
  std::vector<std::string> bench{"bench", "tiny", "--best", "--problem", "1", "--db", "results.db"};
  const std::vector<std::string> workers = fake_gpu_workers("none");
  bench.insert(bench.end(), workers.begin(), workers.end());
  for (const auto& command :
       {std::vector<std::string>{"sweep", config, "--replay", "results.db", "--db", "replayed.db"}, bench}) {
    const Finished run = sandbox.run(command);
    EXPECT_TRUE(has_line(run.err, {"note:", "4 rows"})) << run.err;
    EXPECT_FALSE(carries(run.err, {"--any-source"})) << "which it does not have";
  }
  sandbox.write("tiny/kernel.cu", source);
  EXPECT_EQ(kernels(), 4U) << "rows of the source as it is now, although later ones are of another";
  EXPECT_TRUE(carries(sandbox.run(rank).err, {"note:", "--any-source"}));
  // What lies outside of the working folder is not looked for.
  std::filesystem::rename(sandbox.folder() / "tiny", sandbox.folder() / "real");
  std::filesystem::create_directory_symlink("/", sandbox.folder() / "tiny");
  EXPECT_EQ(kernels(), 1U) << "of the newest sweep";
}

TEST(Sweep, KnownConfigurationsAndFailuresAreNotCompiledAgain) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(4);
  const std::string source = read_file(sandbox.folder() / "tiny/kernel.cu");
  sandbox.write("tiny/other.cuh", "#if V == 3\n#error \"not this one\"\n#endif\n");
  sandbox.write("tiny/kernel.cu", "#include \"other.cuh\"\n" + source);
  const Finished first = sandbox.run(measured_sweep(config, "none"));
  EXPECT_NE(first.out.find("ok 3, compile_failed 1"), std::string::npos) << first.out;
  std::filesystem::remove_all(sandbox.folder() / "cache");
  const Finished again = sandbox.run(measured_sweep(config, "crash", 1));
  EXPECT_TRUE(has_line(again.out, {"4 reused", "0 ms of CPU"}));
  sandbox.write("tiny/other.cuh", "");
  const Finished changed = sandbox.run(measured_sweep(config, "none"));
  EXPECT_NE(changed.out.find("ok 4; 3 reused"), std::string::npos) << changed.out;
}

/// Two of three values of a parameter give one kernel.
std::string write_space_of_equal_kernels(const Sandbox& sandbox) {
  const std::string config = sandbox.write_tiny_space(3, kNoFinals);
  sandbox.write(
      "tiny/kernel.cu",
      "extern \"C\" __global__ void tiny(const float* A, const float* B, float* C) { C[0] = A[0] * B[0] "
      "+ (V > 0); }\n");
  return config;
}

TEST(Sweep, EqualKernelsShareOneMeasurement) {
  const Sandbox sandbox;
  const std::string config = write_space_of_equal_kernels(sandbox);
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.out, {"ok 3; 1 share"}));
  std::vector<Trial> kernels = rows_of(sandbox);
  std::erase_if(kernels, [](const Trial& row) { return row.kind != "kernel"; });
  const auto sharing =
      std::find_if(kernels.begin(), kernels.end(), [](const Trial& row) { return !row.shares.empty(); });
  ASSERT_NE(sharing, kernels.end());
  const auto measured = std::find_if(kernels.begin(), kernels.end(),
                                     [&](const Trial& row) { return row.key == sharing->shares; });
  ASSERT_NE(measured, kernels.end());
  EXPECT_EQ(measured->measurement, sharing->measurement);
  EXPECT_EQ(measured->samples_us, sharing->samples_us);
  EXPECT_NE(measured->parameters, sharing->parameters);
  EXPECT_TRUE(measured->measure_ms.has_value());
  EXPECT_FALSE(sharing->measure_ms.has_value());
  const Finished again = sandbox.run(measured_sweep(config, "crash", 1));
  EXPECT_NE(again.out.find("ok 3; 3 reused"), std::string::npos) << again.out;
}

TEST(Sweep, RowsThatShareAMeasurementFollowItIntoTheFinals) {
  const Sandbox sandbox;
  const std::string config = write_space_of_equal_kernels(sandbox);
  sandbox.write("tiny.json", R"({"templates": ["tiny"], "problems": ["1x1x1"]})");
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  std::map<std::string, std::set<double>> medians;
  for (const Trial& row : rows_of(sandbox)) {
    if (row.kind == "kernel" && row.timed_in == "final")
      medians[row.measurement].insert(row.median_us.value_or(0));
  }
  EXPECT_EQ(medians.size(), 2U);
  for (const auto& [measurement, values] : medians) EXPECT_EQ(values.size(), 1U) << measurement;
}

TEST(Sweep, ACrashingConfigurationIsBlamedAndTheOthersAreMeasured) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(6), "crash", 4));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("ok 5, crashed 1"), std::string::npos) << run.out;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::dispatched), 0);
  const auto crashed = std::find_if(rows.begin(), rows.end(),
                                    [](const Trial& row) { return row.outcome == Outcome::crashed; });
  EXPECT_TRUE(carries(crashed->reason, {"signal 11"}));
}

TEST(Sweep, AGpuLostTooOftenEndsTheSweepWithWhatWasRecorded) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(120), "always_crash"));
  EXPECT_EQ(run.code, 3) << run.out;
  EXPECT_TRUE(carries(run.err, {"101 times", "signal 11"}));
  EXPECT_NE(run.out.find("crashed 101"), std::string::npos) << run.out;
  EXPECT_TRUE(carries(run.out, {"101 of 120 valid configurations"})) << "what waited was not tried";
  EXPECT_EQ(kernels_with(rows_of(sandbox), Outcome::crashed), 101);
}

TEST(Sweep, ALaunchThatCannotBeEvaluatedIsARow) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(4);
  const std::string manifest = read_file(sandbox.folder() / "tiny/template.json");
  const std::string grid = "\"grid\": [1]";
  const std::size_t place = manifest.find(grid);
  ASSERT_NE(place, std::string::npos);
  sandbox.write("tiny/template.json",
                std::string(manifest).replace(place, grid.size(), "\"grid\": [\"V - 1\"]"));
  const Finished run = sandbox.run(measured_sweep(config, "none"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("ok 2, refused 2"), std::string::npos) << run.out;
  const Finished inspected = sandbox.run({"inspect", config, "--gpu", "H100", "--quiet", "--format", "json"});
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  int refused = 0;
  int value = 0;
  const Json document = Json::parse(inspected.out);
  for (const auto& configuration : document["configurations"]) {
    refused += configuration["gpus"][0]["outcome"] == "refused" ? 1 : 0;
    EXPECT_EQ(configuration["parameters"]["V"], value++)
        << "a refused one waits for those compiled before it";
  }
  EXPECT_EQ(refused, 2) << inspected.out;
}

TEST(Sweep, AProblemThatDoesNotFitIsRefusedWithItsReason) {
  const Sandbox sandbox;
  const Finished run = sandbox.run(measured_sweep(sandbox.write_tiny_space(2), "unpreparable"));
  EXPECT_EQ(run.code, 1) << run.out;
  const std::vector<Trial> rows = rows_of(sandbox);
  EXPECT_EQ(kernels_with(rows, Outcome::refused), 2);
  EXPECT_TRUE(carries(rows.front().reason, {"3.0 TiB"}));
}

TEST(Sweep, BudgetsLimitConfigurationsAndTime) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(200, R"(, "strategy": {"name": "random", "seed": 5})");
  std::vector<std::string> arguments = measured_sweep(config, "slow");
  arguments.insert(arguments.end(), {"--budget", "7"});
  const Finished counted = sandbox.run(arguments);
  EXPECT_NE(counted.out.find("7 of 7 configurations"), std::string::npos) << counted.out;
  arguments.back() = "1s";
  const Finished timed = sandbox.run(arguments);
  EXPECT_TRUE(carries(timed.out, {"time budget"}));
}

TEST(Sweep, WithoutAGpuItPredictsAndSaysSo) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(3);
  const Finished run = sandbox.run(sweep_with(config, "no_gpu"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(carries(run.out, {"No GPU", "no driver"}));
  EXPECT_TRUE(has_line(run.out, {"predicted for H100 SXM", "calibrated on NVIDIA H200"}));
  for (const Trial& row : rows_of(sandbox)) {
    EXPECT_EQ(row.source, Source::predicted);
    EXPECT_NE(row.measure_policy.find("calibrated on NVIDIA H200"), std::string::npos) << row.measure_policy;
    EXPECT_FALSE(row.percent_of_baseline.has_value());
  }
}

TEST(Sweep, JsonOutputIsOneDocumentOnStandardOutput) {
  const Sandbox sandbox;
  std::vector<std::string> arguments = measured_sweep(sandbox.write_tiny_space(3), "none");
  arguments.insert(arguments.end(), {"--format", "json"});
  const Json document = Json::parse(sandbox.run(arguments).out);
  ASSERT_EQ(document["groups"].size(), 1U);
  EXPECT_EQ(document["groups"][0]["rows"].size(), 4U);
}

TEST(Inspect, ShowsGpusSideBySide) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  const Finished table = sandbox.run({"inspect", config, "--gpu", "A100 40GB", "--gpu", "H100", "--quiet"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("A100"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("H100"), std::string::npos) << table.out;
  const Finished run =
      sandbox.run({"inspect", config, "--gpu", "A100 40GB", "--gpu", "H100", "--quiet", "--format", "json"});
  const Json document = Json::parse(run.out);
  ASSERT_EQ(document["configurations"].size(), 2U);
  const Json& gpus = document["configurations"][0]["gpus"];
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0]["architecture"], "sm_80");
  EXPECT_EQ(gpus[1]["architecture"], "sm_90a");
  EXPECT_GT(gpus[0]["registers"], 0);
  EXPECT_FALSE(gpus[1]["occupancy"]["arithmetic"].get<std::string>().empty());
}

TEST(Inspect, TellsWhatTheMachineCodeConsistsOf) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(2);
  const Finished table =
      sandbox.run({"inspect", config, "--gpu", "A100 40GB", "--gpu", "H100", "--sass", "--quiet"});
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* text : {"FFMA %", "stalls/FFMA", "LDS 4/8/16", "LDL/STL", "predicted_us", "A100",
                           "H100 SXM", "by the static model, calibrated on NVIDIA H200, 20"}) {
    EXPECT_NE(table.out.find(text), std::string::npos) << text << "\n" << table.out;
  }
  const Finished run =
      sandbox.run({"inspect", config, "--gpu", "H100", "--sass", "--quiet", "--format", "json"});
  const Json document = Json::parse(run.out);
  EXPECT_EQ(document["static_model"]["provenance"].get<std::string>().rfind("calibrated on NVIDIA H200", 0),
            0U);
  const Json& sass = document["configurations"][0]["gpus"][0]["sass"];
  EXPECT_GT(sass["kernel"]["instructions"], 0);
  EXPECT_GT(sass["kernel"]["global_stores"]["4_bytes"], 0);
  EXPECT_GT(sass["predicted_us"], 0);
  EXPECT_EQ(sass["terms"]["meetings"], 0);
}

TEST(Inspect, AStaticModelWithAMistakeIsNamed) {
  const Sandbox sandbox;
  const std::string config = sandbox.write_tiny_space(1);
  const std::string model = sandbox.write("model.json", R"({"calibrated_on": {"gpu": "a GPU"}})");
  expect_error(sandbox.run({"inspect", config, "--gpu", "H100", "--sass", "--static-model", model}),
               kUserError, {"model.json: /calibrated_on", "'date'", "missing", "tools/static_model"});
}

}  // namespace sweep_test
}  // namespace tiletune
