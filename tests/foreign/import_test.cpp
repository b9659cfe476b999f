#include "foreign/import.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "importing.h"
#include "rank/ranking.h"

namespace tiletune {
namespace import_test {

const std::filesystem::path kRecordings =
    std::filesystem::path(TILETUNE_SOURCE_DIR) / "tests/data/recordings";

class Import : public Importing {};

TEST_F(Import, MillisecondsBecomeMicrosecondsAndTheMeanStaysTheTools) {
  const ImportSummary summary = import_text(cache(
      R"("8": {"x": 8, "time": 0.25, "times": [0.5, 0.125, 0.125], "compile_time": 90.5, "benchmark_time": 3,
         "GFLOP/s": 1000, "timestamp": "2023-12-22 01:54:05.502007+02:00"})"));
  EXPECT_EQ(summary.new_rows, 1U);
  ASSERT_EQ(rows().size(), 1U);
  const Trial row = rows().front();
  EXPECT_EQ(row.source, Source::imported);
  EXPECT_EQ(row.template_name, "k");
  EXPECT_EQ(row.problem, "64x32");
  EXPECT_EQ(row.gpu, "NVIDIA A100");
  EXPECT_EQ(row.parameters, R"({"x":8})");
  EXPECT_EQ(row.samples_us, (std::vector<double>{500, 125, 125}));
  EXPECT_EQ(row.median_us, 125);
  EXPECT_EQ(row.mean_us, 250);
  EXPECT_EQ(row.min_us, 125);
  EXPECT_EQ(row.ci_high_us, 500);
  EXPECT_EQ(row.sample_count, 3);
  EXPECT_EQ(row.compile_ms, 90.5);
  EXPECT_EQ(row.measure_ms, 3);
  EXPECT_EQ(row.tflops, 2) << "at the median";
  EXPECT_EQ(row.recorded_at, "2023-12-21T23:54:05Z");
  EXPECT_TRUE(row.key.starts_with("20231221235405")) << row.key;
  EXPECT_EQ(row.measure_policy, R"({"tool":"Kernel Tuner","file":"file.json"})");
}

TEST_F(Import, AToolsFigureMayBeSomewhatBesideItsSamples) {
  import_text(
      cache(R"("1": {"x": 1, "time": 1, "times": [0.01, 0.02]}, "2": {"x": 2, "time": 1, "times": [99]})"));
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_EQ(rows()[0].mean_us, 1000);
  EXPECT_EQ(rows()[1].mean_us, 1000);
}

TEST_F(Import, FiguresThatCannotBeAreLeftOut) {
  for (const char* figure : {"-3", "1e300", "NaN", "Infinity", "1.1e12"}) {
    import_text(cache(fmt::format(
        R"("{0}": {{"x": "{0}", "time": 1, "GFLOP/s": {0}, "compile_time": {0}, "benchmark_time": {0}}})",
        figure)));
    const Trial row = rows().back();
    EXPECT_FALSE(row.tflops || row.compile_ms || row.measure_ms) << figure;
    EXPECT_EQ(row.median_us, 1000);
  }
  import_text(
      R"({"metadata": {"timeunit": "ms"}, "results": [{"configuration": {"x": 1}, "invalidity": "correct",
                 "times": {"compilation_time": -3, "runtimes": [1]}}]})",
      {"A", "1", "k", ""});
  EXPECT_FALSE(rows().back().compile_ms);
  import_text(
      R"({"Metadata": {"Device": "A", "TimeUnit": "ms"}, "Results": [{"KernelName": "k", "Status": "Ok",
                 "TotalDuration": 1, "Configuration": [{"Name": "x", "Value": 2}],
                 "ComputationResults": [{"CompilationData": {"RegistersCount": -5}}]}]})",
      {"", "1", "", ""});
  EXPECT_FALSE(rows().back().registers);
}

TEST_F(Import, FailuresOfKernelTunerMayHaveAKeyOfTheirOwn) {
  import_text(cache(R"("1": {"x": 1, "__error__": "InvalidConfig"},
                       "2": {"x": 2, "__error__": "RuntimeFailedConfig", "time": 1}, "3": {"x": 3, "time": 2})"));
  ASSERT_EQ(rows().size(), 3U);
  EXPECT_EQ(rows()[0].outcome, Outcome::refused);
  EXPECT_EQ(rows()[1].outcome, Outcome::launch_failed);
  EXPECT_FALSE(rows()[1].median_us);
  EXPECT_EQ(rows()[2].outcome, Outcome::ok);
}

TEST_F(Import, FailuresOfKernelTunerKeepTheirWord) {
  const ImportSummary summary = import_text(
      cache(R"("1": {"x": 1, "time": "InvalidConfig"}, "2": {"x": 2, "time": "CompilationFailedConfig"},
               "3": {"x": 3, "time": "RuntimeFailedConfig"}, "4": {"x": 4, "time": 1e20}, "5": {"x": 5, "time": 2})"));
  ASSERT_EQ(rows().size(), 5U);
  EXPECT_EQ(rows()[0].outcome, Outcome::refused);
  EXPECT_TRUE(carries(rows()[0].reason, {"(InvalidConfig)"}));
  EXPECT_EQ(rows()[1].outcome, Outcome::compile_failed);
  EXPECT_EQ(rows()[2].outcome, Outcome::launch_failed);
  EXPECT_EQ(rows()[3].outcome, Outcome::launch_failed);
  EXPECT_TRUE(carries(rows()[3].reason, {"1e20"}));
  EXPECT_FALSE(rows()[3].median_us);
  EXPECT_EQ(rows()[4].median_us, 2000);
  EXPECT_EQ(summary.reasons.at({Outcome::refused, rows()[0].reason}), 1);
}

TEST_F(Import, AnUnfinishedCacheGivesTheRowsThatAreThere) {
  for (const char* end : {"", ",", ",\n", "}"}) {
    Database fresh(folder_ / "fresh.db", Database::Mode::read_write);
    const auto file =
        write("cut.json", open_cache(R"("1": {"x": 1, "time": 1}, "2": {"x": 2, "time": 2})") + end);
    const ImportSummary summary = import_file(fresh, file, {}, [](std::uint64_t) {});
    EXPECT_EQ(summary.rows, 2U) << end;
    EXPECT_TRUE(summary.unfinished) << end;
    EXPECT_FALSE(summary.lost_row) << end;
    std::filesystem::remove(folder_ / "fresh.db");
  }
}

/// Whoever is killed as it writes stops anywhere.
TEST_F(Import, ACacheThatEndsInTheMiddleOfARowGivesTheRowsBefore) {
  const std::string row = R"("-25,é": {"x": -2.5e1, "time": 2, "times": [1, null, true], "note": "\u00e9"})";
  const std::string before = open_cache("\"1\": {\"x\": 1, \"time\": 1},\n");
  for (std::size_t bytes = 1; bytes < row.size(); ++bytes) {
    const ImportSummary summary = import_text(before + row.substr(0, bytes));
    EXPECT_EQ(summary.rows, 1U) << bytes;
    EXPECT_TRUE(summary.unfinished && summary.lost_row) << bytes;
  }
  EXPECT_EQ(rows().size(), 1U);
}

TEST_F(Import, ImportingAgainChangesNothing) {
  const std::string text = cache(R"("1": {"x": 1, "time": 1}, "2": {"x": 2, "time": "InvalidConfig"})");
  import_text(text);
  const std::vector<Trial> before = rows();
  const ImportSummary again = import(write("renamed.json.gz", gzipped(text)));
  EXPECT_EQ(again.rows, 2U);
  EXPECT_EQ(again.new_rows, 0U);
  ASSERT_EQ(rows().size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const Column& column : trial_columns()) EXPECT_EQ(column.read(rows()[i]), column.read(before[i]));
  }
  EXPECT_EQ(import_text(cache(R"("1": {"x": 1, "time": 1}, "2": {"x": 2, "time": 7})")).new_rows, 1U)
      << "another result is another row";
}

TEST_F(Import, AProblemSizeMayBeANumberAListOrText) {
  import_text(cache(R"("1": {"x": 1, "time": 1})", "A", "4096"));
  import_text(cache(R"("1": {"x": 1, "time": 1})", "A", "\"many\""));
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_EQ(rows()[0].problem, "4096");
  EXPECT_EQ(rows()[1].problem, "many");
}

TEST_F(Import, AProblemThatIsNoSizesThroughoutIsAName) {
  for (const char* name : {"0 order", "3 body", "64, 0", "64x32 lda", "many"}) {
    import_text(cache(R"("1": {"x": 1, "time": 1})", "A", fmt::format("\"{}\"", name)));
    EXPECT_EQ(rows().back().problem, name);
    EXPECT_FALSE(is_sizes(name)) << name;
  }
  for (const char* sizes : {"64", "64x32", "64x32 lda=40,ldb=50", "99999999999999999999x1"})
    EXPECT_TRUE(is_sizes(sizes)) << sizes;
}

TEST_F(Import, ValuesKeepTheirTypes) {
  import_text(R"({"device_name": "A", "kernel_name": "k", "problem_size": 1,
    "tune_params_keys": ["i", "f", "s", "b"],
    "cache": {"-1,1.0,a,b,True": {"i": -1, "f": 1.0, "s": "a\"\u00b5", "b": true, "time": 1}}})");
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].parameters, R"({"i":-1,"f":1.0,"s":"a\"µ","b":true})");
}

TEST_F(Import, TheHeaderMayStandBehindTheRows) {
  import_text(R"({"cache": {"1": {"x": 1, "time": 1}}, "kernel_name": "k", "problem_size": [2, 3],
                  "device_name": "A", "tune_params_keys": ["x"]})");
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].problem, "2x3");
}

TEST_F(Import, ThePersonMaySayWhatTheFileSays) {
  const ImportFacts facts{"NVIDIA A100", "64x32", "k", "ns"};
  import_text(cache(R"("1": {"x": 1, "time": 2})"), facts);
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].median_us, 2e-3) << "a cache does not say its unit";
  import_text(R"({"metadata": {"timeunit": "milliseconds"}, "results": [{"configuration": {"x": 2},
                 "measurements": [{"name": "time", "value": 3000, "unit": "us"}],
                 "times": {"runtimes": [3]}, "invalidity": "correct"}]})",
              {"NVIDIA A100", "64x32", "k", "ms"});
  EXPECT_EQ(rows().back().median_us, 3000);
}

TEST_F(Import, AConfigThatIsReplayedMaySayOtherThingsThanTheFile) {
  ImportFacts facts{"A100", "7", "other", ""};
  facts.replayed = true;
  import_text(cache(R"("1": {"x": 1, "time": 2})"), facts);
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].gpu, "NVIDIA A100");
  EXPECT_EQ(rows()[0].problem, "64x32");
  EXPECT_EQ(rows()[0].template_name, "k");
}

TEST_F(Import, ThePersonNamesTheGpuAndTheFileSaysItsOwnWord) {
  import_text(cache(R"("1": {"x": 1, "time": 2})", "x86_64"), {"NVIDIA A4000", "", "", ""});
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].gpu, "NVIDIA A4000");
  EXPECT_EQ(nlohmann::json::parse(rows()[0].measure_policy),
            nlohmann::json::parse(R"({"tool": "Kernel Tuner", "file": "file.json", "gpu": "x86_64"})"));
}

TEST_F(Import, ASecondGpuUnderTheNameOfTheFirstIsAnError) {
  const std::string first = cache(R"("1": {"x": 1, "time": 2}, "2": {"x": 2, "time": 3})", "x86_64");
  EXPECT_EQ(
      import_text(R"({"metadata": {"timeunit": "milliseconds"}, "results": [{"configuration": {"x": 1.0},
                 "times": {"runtimes": [2]}, "invalidity": "correct"}]})",
                  {"of T4", "64x32", "k", ""})
          .new_rows,
      1U);
  EXPECT_TRUE(carries(refusal(cache(R"("1": {"x": true, "time": 4})", "of T4")), {"/cache/1", "2000 us"}))
      << "1.0 and true are one value";
  const std::string second = cache(R"("3": {"x": 3, "time": 2}, "2": {"x": 2, "time": 4})", "x86_64");
  import_text(first);
  EXPECT_TRUE(carries(refusal(second), {"file.json: /cache/2", "4000 us", "3000 us", "'x86_64'", "--gpu",
                                        "--recorded-again"}));
  EXPECT_EQ(rows().size(), 3U) << "a file is taken in as a whole or not at all";
  EXPECT_EQ(import_text(first).new_rows, 0U);
  const std::string grown = cache(R"("1": {"x": 1, "time": 2}, "3": {"x": 3, "time": 5})", "x86_64");
  EXPECT_EQ(import_text(grown).new_rows, 1U);
  const std::string failed = cache(R"("2": {"x": 2, "time": "RuntimeFailedConfig"})", "x86_64");
  EXPECT_EQ(import_text(failed).new_rows, 1U) << "no other time";
  EXPECT_EQ(import_text(second, {"NVIDIA A4000", "", "", ""}).new_rows, 2U);
  ImportFacts again;
  again.recorded_again = true;
  EXPECT_EQ(import_text(cache(R"("2": {"x": 2, "time": 4})", "x86_64"), again).new_rows, 1U);
}

TEST_F(Import, ANumberThatPythonDoesNotHaveHarmsNoOther) {
  import_text(cache(R"("1": {"x": 1, "time": 2, "power": NaN, "energy": -Infinity})"));
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].median_us, 2000);
}

TEST_F(Import, KttSaysItsUnitAndItsStatus) {
  const ImportFacts facts{"", "1024", "", ""};
  import_text(R"({"Metadata": {"Device": "NVIDIA GeForce GTX 1070", "TimeUnit": "Nanoseconds",
                              "Timestamp": "2024-02-03 04:05:06"},
    "Results": [
      {"KernelName": "add", "Status": "Ok", "TotalDuration": 2500.0, "TotalOverhead": 1.0,
       "Configuration": [{"Name": "BLOCK", "IsDouble": false, "Value": 128}, {"Name": "F", "IsDouble": true, "Value": 0.5}],
       "ComputationResults": [{"KernelFunction": "add", "Duration": 2500.0, "Overhead": 1.0,
                               "CompilationData": {"RegistersCount": 40}}]},
      {"KernelName": "add", "Status": "ValidationFailed", "TotalDuration": 0.0,
       "Configuration": [{"Name": "BLOCK", "Value": 256}], "ComputationResults": []}]})",
              facts);
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_EQ(rows()[0].gpu, "NVIDIA GeForce GTX 1070");
  EXPECT_EQ(rows()[0].median_us, 2.5);
  EXPECT_EQ(rows()[0].parameters, R"({"BLOCK":128,"F":0.5})");
  EXPECT_EQ(rows()[0].registers, 40);
  EXPECT_EQ(rows()[0].recorded_at, "2024-02-03T04:05:06Z");
  EXPECT_EQ(rows()[1].outcome, Outcome::wrong_result);
  EXPECT_TRUE(carries(rows()[1].reason, {"(ValidationFailed)"}));
}

TEST_F(Import, T4ResultsThatAreNotCorrectAreWrongWhateverElseTheRowSays) {
  const ImportFacts facts{"A", "1", "k", "ms"};
  std::string results;
  for (const char* correctness : {"0", "false", "0.0", "1", "true", "0.5"}) {
    results += fmt::format(R"({}{{"configuration": {{"x": "{}"}}, "times": {{"runtimes": [1]}},
                              "invalidity": "correct", "correctness": {}}})",
                           results.empty() ? "" : ",", correctness, correctness);
  }
  import_text(R"({"metadata": {}, "results": [)" + results + "]}", facts);
  ASSERT_EQ(rows().size(), 6U);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(rows()[i].outcome, i < 3 ? Outcome::wrong_result : Outcome::ok) << rows()[i].parameters;
  EXPECT_TRUE(carries(rows()[0].reason, {"correctness 0"}));
  EXPECT_FALSE(rows()[0].median_us);
}

TEST_F(Import, LargeIntegersStayApart) {
  import_text(cache(R"("9223372036854775806": {"x": 9223372036854775806, "time": 1},
                       "9223372036854775807": {"x": 9223372036854775807, "time": 1},
                       "-9223372036854775808": {"x": -9223372036854775808, "time": 1}, "1e+18": {"x": 1e18, "time": 1})"));
  EXPECT_EQ(rows().size(), 4U);
}

TEST_F(Import, LargeFractionsAreTaken) {
  import_text(cache(R"("1e+18": {"x": 1e18, "time": 1}, "[-1.5e+18, 1]": {"x": [-1.5e18, 1], "time": 1})"));
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_EQ(rows()[0].parameters, R"({"x":1e+18})");
}

TEST_F(Import, T4InvaliditiesAndUnits) {
  const ImportFacts facts{"A", "1", "k", ""};
  const std::string head = R"({"metadata": {"timeunit": "miliseconds"}, "results": [)";
  import_text(head + R"(
    {"configuration": {"x": 1}, "times": {"compilation_time": 3, "runtimes": [2, 2]}, "invalidity": "correct",
     "correctness": 1, "measurements": [{"name": "time", "value": 2000.0, "unit": "us"}]},
    {"configuration": {"x": 2}, "times": {}, "invalidity": "timeout", "correctness": 0},
    {"configuration": {"x": 3}, "times": {}, "invalidity": "correctness", "correctness": 0},
    {"configuration": {"x": 4}, "times": {}, "invalidity": "constraints", "correctness": 0}]})",
              facts);
  ASSERT_EQ(rows().size(), 4U);
  EXPECT_EQ(rows()[0].mean_us, 2000) << "a measurement's own unit counts";
  EXPECT_EQ(rows()[0].median_us, 2000);
  EXPECT_EQ(rows()[0].compile_ms, 3);
  EXPECT_EQ(rows()[1].outcome, Outcome::timeout);
  EXPECT_EQ(rows()[2].outcome, Outcome::wrong_result);
  EXPECT_EQ(rows()[3].outcome, Outcome::refused);
}

TEST_F(Import, ValuesThatOnlyTheKeySaysAreReadFromIt) {
  const std::string head = R"({"device_name": "A", "kernel_name": "k", "problem_size": 1,
    "tune_params_keys": ["i", "f", "b", "s"], "cache": {)";
  import_text(head +
              R"("32,0.5,True,a b": {"time": 1}, "64, 1.0, False, c": {"i": 64, "f": 1, "time": 2}}})");
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_EQ(rows()[0].parameters, R"({"i":32,"f":0.5,"b":true,"s":"a b"})");
  EXPECT_EQ(rows()[1].parameters, R"({"i":64,"f":1,"b":false,"s":"c"})");
  EXPECT_TRUE(
      carries(refusal(head + R"("32,0.5,True,a": {"i": 32, "f": 0.25, "b": true, "s": "a", "time": 1}}})"),
              {"file.json: /cache/32,0.5,True,a", "key", "0.5", "'f'", "0.25"}));
  EXPECT_TRUE(carries(refusal(head + R"("32,0.5,True": {"i": 32, "f": 0.5, "b": true, "time": 1}}})"),
                      {"file.json: /cache/32,0.5,True", "'s'"}));
  EXPECT_EQ(
      import_text(head + R"("1,1.0,True,a,b": {"i": 1, "f": 1.0, "b": 1, "s": "a,b", "time": 1}}})").new_rows,
      1U)
      << "a string with a comma makes the key ambiguous";
}

TEST_F(Import, TwoResultsOfOneConfigurationInOneFileAreAnError) {
  const std::string head = R"({"metadata": {"timeunit": "us"}, "results": [)";
  const auto row = [](const char* x, const char* more) {
    return fmt::format(R"({{"configuration": {{"x": {}}}, "times": {{{}}}, "invalidity": )", x, more);
  };
  const ImportFacts facts{"A", "1", "k", ""};
  const std::string first = head + row("1", R"("runtimes": [5])") + R"("correct"},)";
  EXPECT_TRUE(carries(refusal(first + row("1.0", R"("runtimes": [7])") + R"("correct"}]})", facts),
                      {"file.json: /results/1", "7 us", "earlier row", "5 us", "--gpu", "--recorded-again"}));
  EXPECT_TRUE(
      carries(refusal(first + row("1", "") + R"("runtime"}]})", facts), {"/results/1", "5 us", "no time"}));
  EXPECT_TRUE(rows().empty());
  const ImportSummary same = import_text(first + row("1", R"("runtimes": [5])") + R"("correct"}]})", facts);
  EXPECT_EQ(same.rows, 2U);
  EXPECT_EQ(same.repeats, 1U);
  EXPECT_EQ(same.new_rows, 1U);
  ImportFacts again = facts;
  again.recorded_again = true;
  EXPECT_EQ(import_text(first + row("1", R"("runtimes": [7])") + R"("correct"}]})", again).new_rows, 1U);
}

/// KTT's output of a kernel with one parameter: its value, the time (0: it failed), and what ran it.
std::string ktt(const std::vector<std::tuple<int, double, std::string>>& results) {
  std::string text =
      R"({"Metadata": {"Device": "A", "TimeUnit": "Microseconds", "Timestamp": "2022-6-1 13:55:7 UTC"},
                         "Results": [)";
  for (const auto& [value, time, more] : results)
    text += fmt::format(R"({}{{"KernelName": "k", "Status": "{}", "TotalDuration": {}, "Configuration":
        [{{"Name": "B", "Value": {}}}], "ComputationResults": [{{"Duration": {}{}}}]}})",
                        text.back() == '[' ? "" : ",", time == 0 ? "ComputationFailed" : "Ok", time, value,
                        time, more);
  return text + "]}";
}

TEST_F(Import, OfRepeatsOfKttTheFastestCountsAndProfiledLaunchesDoNot) {
  const ImportFacts facts{"", "1", "", ""};
  const char* profiled = R"(, "ProfilingData": {"Counters": [], "RemainingProfilingRuns": 0})";
  const std::string text = ktt({{64, 60, ""},
                                {128, 52, ""},
                                {64, 50, ""},
                                {64, 55, ""},
                                {64, 0, ""},
                                {32, 0, ""},
                                {32, 80, ""},
                                {64, 9, profiled},
                                {16, 9, profiled}});
  const ImportSummary summary = import_text(text, facts);
  EXPECT_EQ(summary.rows, 7U);
  EXPECT_EQ(summary.repeats, 4U);
  EXPECT_EQ(summary.profiled, 2U);
  EXPECT_EQ(summary.first_recorded_at, "2022-06-01T13:55:07Z");
  RankingRows ranking = ranking_rows(database_, {});
  const auto ranked = rank_rows(ranking);
  ASSERT_EQ(ranked.size(), 1U);
  std::vector<double> times;
  for (const auto& row : ranked.front().rows) times.push_back(*database_.row(row.id).median_us);
  EXPECT_EQ(times, (std::vector<double>{50, 52, 80}));
  const ImportSummary again = import_text(text, facts);
  EXPECT_EQ(again.new_rows, 0U);
  EXPECT_EQ(again.known_rows, summary.new_rows);
}

TEST_F(Import, BadRowsMayBeLeftOut) {
  const std::string text = cache(R"("1": {"x": 1, "time": 1}, "2": {"x": 2, "time": "Exploded"}, "3": [3],
                                    "4": {"x": 5, "time": 1})");
  EXPECT_TRUE(carries(refusal(text), {"file.json: /cache/2/time", "'Exploded'", "--skip-bad"}));
  ImportFacts facts;
  facts.skip_bad = true;
  const ImportSummary summary = import_text(text, facts);
  EXPECT_EQ(summary.rows, 1U);
  EXPECT_EQ(summary.bad_rows, 3U);
  EXPECT_TRUE(carries(summary.first_bad, {"file.json: /cache/2/time", "'Exploded'"}));
  const std::string no_unit = refusal(R"({"metadata": {}, "results": [{"configuration": {"x": 1},
      "times": {"runtimes": [1]}, "invalidity": "correct"}]})",
                                      {"A", "1", "k", "", true});
  EXPECT_TRUE(carries(no_unit, {"/metadata/timeunit", "--time-unit"}))
      << "what the file lacks is no row's fault";
  EXPECT_EQ(no_unit.find("--skip-bad"), no_unit.npos) << no_unit;
}

TEST_F(Import, TheUnitOfAMeasurementStandsForAFileThatSaysNone) {
  import_text(R"({"metadata": {}, "results": [
    {"configuration": {"x": 1}, "times": {"compilation_time": 3, "runtimes": [0.5]}, "invalidity": "correct",
     "measurements": [{"name": "time", "value": 0.5, "unit": "ms"}]},
    {"configuration": {"x": 2}, "times": {}, "invalidity": "correct",
     "measurements": [{"name": "time", "value": 250, "unit": "us"}]},
    {"configuration": {"x": 3}, "times": {"compilation_time": 3}, "invalidity": "runtime"}]})",
              {"A", "1", "k", ""});
  ASSERT_EQ(rows().size(), 3U);
  EXPECT_EQ(rows()[0].median_us, 500);
  EXPECT_EQ(rows()[0].samples_us, std::vector<double>{500});
  EXPECT_EQ(rows()[0].compile_ms, 3);
  EXPECT_EQ(rows()[1].median_us, 250);
  EXPECT_FALSE(rows()[2].compile_ms) << "nobody says its unit";
}

TEST_F(Import, NvbenchNamesItsGpusAndItsAxes) {
  const ImportFacts facts{"", "M, N", "", ""};
  const ImportSummary summary = import(kRecordings / "nvbench.json", facts);
  EXPECT_EQ(summary.format, "NVBench output");
  ASSERT_EQ(rows().size(), 4U);
  EXPECT_EQ(rows()[0].gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(rows()[0].template_name, "copy_rows");
  EXPECT_EQ(rows()[0].problem, "1024x2048");
  EXPECT_EQ(rows()[0].parameters, R"({"Block":128,"T":"F32"})");
  EXPECT_DOUBLE_EQ(*rows()[0].median_us, 40);
  EXPECT_DOUBLE_EQ(*rows()[0].mean_us, 44);
  EXPECT_DOUBLE_EQ(*rows()[0].min_us, 39);
  EXPECT_DOUBLE_EQ(*rows()[1].median_us, 37.5) << "older versions report a mean alone";
  EXPECT_EQ(rows()[1].mean_us, rows()[1].median_us);
  EXPECT_EQ(rows()[2].outcome, Outcome::launch_failed);
  EXPECT_TRUE(carries(rows()[2].reason, {"too many threads"}));
  EXPECT_EQ(rows()[3].gpu, "NVIDIA L4");
  EXPECT_TRUE(carries(error_of([&] {
                        import(kRecordings / "nvbench.json", {"", "M,K", "", ""});
                      }),
                      {"/benchmarks/0/states/0", "'K'", "--problem"}));
  import(kRecordings / "nvbench.json", {"", "large", "", ""});
  EXPECT_EQ(rows()[4].parameters, R"({"M":1024,"N":2048,"Block":128,"T":"F32"})");
  EXPECT_EQ(rows()[4].problem, "large");
}

TEST_F(Import, TablesOfTheCutlassProfilerSayTheirSizesAndKernels) {
  const ImportSummary summary = import(kRecordings / "cutlass.gemm.csv", {"NVIDIA A100", "", "", ""});
  EXPECT_EQ(summary.format, "CUTLASS profiler table");
  EXPECT_EQ(summary.rows, 5U);
  ASSERT_EQ(rows().size(), 5U);
  EXPECT_EQ(rows()[0].problem, "1024x512x256");
  EXPECT_EQ(rows()[0].template_name,
            "gemm A=f16:row B=f16:column C=f32:row alpha=1 beta=0 batch_count=1 accum=f32");
  EXPECT_EQ(
      rows()[0].parameters,
      R"({"Provider":"CUTLASS","Operation":"wide_tile","split_k_slices":1,"op_class":"tensorop","cta_m":128,)"
      R"("cta_n":64,"stages":4})");
  EXPECT_DOUBLE_EQ(*rows()[0].median_us, 25);
  EXPECT_DOUBLE_EQ(*rows()[0].tflops, 10.7);
  EXPECT_EQ(rows()[2].outcome, Outcome::wrong_result);
  EXPECT_EQ(rows()[3].outcome, Outcome::refused);
  RankingRows ranking = ranking_rows(database_, {});
  EXPECT_EQ(rank_rows(ranking).size(), 2U) << "products of other types are not compared";
  EXPECT_TRUE(
      carries(error_of([&] {
                import(write("cut.csv", "OperationKind,Operation,gemm_kind,m\ngemm,a\n"), {"A", "", "", ""});
              }),
              {"cut.csv: /table/line 2", "CUTLASS"}));
}

TEST_F(Import, TablesThatAreCutOffOrJoined) {
  const std::string header =
      "Problem,Provider,OperationKind,Operation,Disposition,gemm_kind,m,A,op_class,cta_m,Bytes,Runtime\n";
  const std::string row = "1,CUTLASS,gemm,a,passed,universal,128,f32,tensorop,64,100,0.5";
  EXPECT_TRUE(carries(
      error_of([&] {
        import(write("cut.csv", header + row + "\n1,CUTLASS,gemm,b,passed,universal"), {"A", "", "", ""});
      }),
      {"cut.csv", "is cut off"}));
  std::string wider = header;
  wider.replace(wider.find("Bytes"), 5, "cta_n,Bytes");
  import(write("two.csv", header + row + "\n" + wider +
                              "1,CUTLASS,gemm,b,passed,universal,128,f32,tensorop,64,32,9,0.1"),
         {"A", "", "", ""});
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_DOUBLE_EQ(*rows()[1].median_us, 100);
}

TEST_F(Import, FiguresOfNvbenchAreOfItsDevicesAndOfOneLaunch) {
  const auto read = [&](const std::string& state) {
    import(write("nv.json",
                 R"({"devices": [{"id": 0, "name": "GPU 0"}], "benchmarks": [{"name": "b", "states": [)" +
                     state + "]}]}"),
           {"", "large", "", ""});
  };
  const auto summary = [](const std::string& tag, const std::string& data) {
    return R"({"tag": "nv/cold/time/gpu/)" + tag + R"(", "data": [)" + data + "]}";
  };
  const std::string mean =
      summary("mean", R"({"name": "other", "value": "9"}, {"name": "value", "value": "1e-3"})");
  read(R"({"device": 0, "summaries": [)" + mean + "]}");
  EXPECT_DOUBLE_EQ(*rows()[0].mean_us, 1000);
  EXPECT_TRUE(carries(error_of([&] { read(R"({"device": 5, "summaries": [)" + mean + "]}"); }),
                      {"/benchmarks/0/states/0/device", "--gpu"}));
  EXPECT_TRUE(carries(error_of([&] {
                        read(R"({"device": 0, "summaries": [)" + mean + ", " +
                             summary("min", R"({"name": "value", "value": "5"})") + "]}");
                      }),
                      {"shortest", "/summaries"}));
}

TEST_F(Import, OfMembersOfOneNameTheLastCounts) {
  import(write("twice.json", R"({"kernel_name": "k", "problem_size": 100, "tune_params_keys": ["a"],
                                 "cache": {"1": {"a": 1, "time": 1.0, "time": 99.0}}, "device_name": "GPU"})"));
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_DOUBLE_EQ(*rows()[0].median_us, 99000);
  EXPECT_EQ(rows()[0].gpu, "GPU") << "it stands behind the rows";
}

TEST_F(Import, ARowWithANameThatIsTooLongCanBeLeftOut) {
  const std::string file =
      R"({"Metadata": {"Device": "G", "TimeUnit": "us"}, "Results": [{"KernelName": ")" +
      std::string(9000, 'x') +
      R"(", "Status": "Ok", "TotalDuration": 2, "Configuration": [{"Name": "a", "Value": 1}]}]})";
  ImportFacts facts{"", "100", "", ""};
  EXPECT_TRUE(
      carries(error_of([&] { import(write("long.json", file), facts); }), {"/Results/0", "9000 bytes"}));
  facts.skip_bad = true;
  EXPECT_EQ(import(write("long.json", file), facts).bad_rows, 1U);
}

TEST_F(Import, CachesOfTritonSayTheirSizesAndTypes) {
  const std::filesystem::path file = kRecordings / "matmul.autotune.json";
  EXPECT_EQ(import(file, {"NVIDIA A100", "", "", ""}).format, "Triton autotuner cache");
  ASSERT_EQ(rows().size(), 3U);
  EXPECT_EQ(rows()[0].problem, "1024x1024x512");
  EXPECT_EQ(rows()[0].template_name, "matmul torch.float16 torch.float16 torch.float32");
  EXPECT_EQ(rows()[0].parameters,
            R"({"BLOCK_M":64,"BLOCK_N":64,"BLOCK_K":32,"num_warps":4,"num_ctas":1,"num_stages":3})");
  EXPECT_DOUBLE_EQ(*rows()[0].median_us, 41.2);
  EXPECT_FALSE(rows()[0].mean_us) << "quantiles say nothing of it";
  EXPECT_TRUE(carries(rows()[2].parameters, {R"("maxnreg":168)"}));
  EXPECT_EQ(rows()[2].outcome, Outcome::launch_failed);
  EXPECT_TRUE(carries(error_of([&] { import(file); }), {"on which GPU", "--gpu"}));
  const auto refused = [&](const std::string& timings) {
    return error_of([&] {
      import(write("k.autotune.json", R"({"key": ["64"], "configs_timings": [)" + timings + "]}"),
             {"A", "", "", ""});
    });
  };
  EXPECT_TRUE(carries(refused("{}"), {"/configs_timings/0", "a list of two values"}));
  EXPECT_TRUE(carries(refused("[1, 2]"), {"/configs_timings/0/0", "no configuration"}));
  EXPECT_TRUE(carries(refused(R"([{"kwargs": {}}, [null]])"), {"/configs_timings/0/1", "no time"}));
  EXPECT_TRUE(carries(refused(R"([{"num_warps": 4, "kwargs": {"num_warps": 8}}, 1])"),
                      {"'num_warps' is there twice"}));
  EXPECT_TRUE(carries(refused(R"([{"kwargs": {}}, -1])"), {"/configs_timings/0/1"}));
}

TEST_F(Import, AnExportOfTiletunesIsRefusedWithTheRemedy) {
  EXPECT_TRUE(carries(refusal(R"({"tiletune_trials": 2, "sweeps": [], "calibrations": [], "trials": [{}]})"),
                      {"file.json: /trials", "export of tiletune's", "tiletune merge"}));
}

}  // namespace import_test
}  // namespace tiletune
