#include "fixture.h"
#include "spec/python_list.h"

namespace tiletune {
namespace {

std::string values(const std::string& text) { return parse_python_list(text, {}).dump(); }

TEST(PythonList, WhatListsOfPythonLookLike) {
  EXPECT_EQ(values("[16, 32]"), "[16,32]");
  EXPECT_EQ(values(" ( -1, +2, 0.5, 1e3, .5, 7., ) "), "[-1,2,0.5,1000.0,0.5,7.0]");
  EXPECT_EQ(values("['a', \"b'c\"]"), R"(["a","b'c"])");
  EXPECT_EQ(values("[True, False]"), "[true,false]");
  EXPECT_EQ(values("range(3)"), "[0,1,2]");
  EXPECT_EQ(values("list(range(8, 1, -3))"), "[8,5,2]");
  EXPECT_EQ(values("[]"), "[]");
}

/// As the tuning problems of public benchmark suites have them.
TEST(PythonList, ListsThatAreCalculated) {
  EXPECT_EQ(values("[1, 2, 4] + list(range(32, 96+1, 32))"), "[1,2,4,32,64,96]");
  EXPECT_EQ(values("[2**i for i in range(0, 6)]"), "[1,2,4,8,16,32]");
  EXPECT_EQ(values("[1] + [2 * i for i in range(1, 4)]"), "[1,2,4,6]");
  EXPECT_EQ(values("[i for i in range(1, 2+1)]"), "[1,2]");
  EXPECT_EQ(values("list([(x - 1) // 2 % 3 for x in (1, -4, 9)] + [7])"), "[0,0,1,7]");
  EXPECT_EQ(values("[-2**2, --3, 7 // -2, 7 % -2, -7 % -1, 1 / 4, 0.5 * 3]"), "[-4,3,-4,-1,0,0.25,1.5]");
  EXPECT_EQ(values("[2**3**2, +-3, -+-3, - 9223372036854775808, -9223372036854775808 + 1]"),
            "[512,-3,3,-9223372036854775808,-9223372036854775807]");
  EXPECT_EQ(values("[(i)for\ni in range(3)] + [fort_ for\tfort_ in [5]]"), "[0,1,2,5]");
  EXPECT_EQ(values("[1] + [] + list(list(range(2)) + [5])"), "[1,0,1,5]");
}

TEST(PythonList, NothingElseIsRun) {
  const auto refusal = [](const std::string& text) { return error_of([&] { values(text); }).message(); };
  EXPECT_EQ(refusal("[i for i in range(9) if i % 2]"),
            "expected ']' at column 22 of '[i for i in range(9) if i % 2]'");
  EXPECT_EQ(refusal("[2**i for j in range(4)]"),
            "expected a number, a string in quotes, True or False at column 5 of '[2**i for j in range(4)]'");
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "[i for i in ";
  EXPECT_TRUE(
      refusal(nested).starts_with("expected a list or range() without a 'for' of its own at column 24 of"));
  EXPECT_EQ(refusal("[2**64]"), "expected a calculation with a result of 64 bits at column 3 of '[2**64]'");
  EXPECT_EQ(refusal("[1 // 0]"), "expected a divisor that is not 0 at column 4 of '[1 // 0]'");
  EXPECT_EQ(refusal("[0.5 / 0.0]"), "expected a divisor that is not 0 at column 6 of '[0.5 / 0.0]'");
  EXPECT_EQ(refusal("[in for in in range(3)]"), "expected a name at column 11 of '[in for in in range(3)]'");
  EXPECT_EQ(refusal("[1.5 // 2]"),
            "expected a calculation of + - * / with a finite result, or one of integers at column 6 of "
            "'[1.5 // 2]'");
  EXPECT_EQ(refusal("[x + 1 for x in ['a']]"),
            "expected a calculation with numbers at column 8 of '[x + 1 for x in ['a']]'");
  EXPECT_EQ(refusal("[9223372036854775808]"),
            "expected an integer of 64 bits at column 2 of '[9223372036854775808]'");
  EXPECT_EQ(refusal("[-92233720368547758080]"),
            "expected an integer of 64 bits at column 3 of '[-92233720368547758080]'");
  std::string powers = "[1";
  for (int i = 0; i < 100'000; ++i) powers += "**1";
  EXPECT_TRUE(refusal(powers).starts_with("expected fewer powers of powers at column "));
  EXPECT_EQ(refusal("[" + std::string(100, '(') + "1").substr(0, 38),
            "expected fewer parentheses at column 6");
  EXPECT_EQ(refusal("__import__('os')"),
            "expected a list such as [16, 32, 64] or range(1, 9) at column 1 of '__import__('os')'");
  EXPECT_EQ(refusal("[1, x]"),
            "expected a number, a string in quotes, True or False at column 5 of '[1, x]'");
  EXPECT_EQ(refusal("[1] * 2"), "expected the end of the list at column 5 of '[1] * 2'");
  EXPECT_EQ(refusal("range(0, 10, 0)"), "expected a step that is not 0 at column 16 of 'range(0, 10, 0)'");
  EXPECT_EQ(refusal("range(10000000000)"),
            "expected at most 100000 values at column 19 of 'range(10000000000)'");
  EXPECT_EQ(refusal("[1"), "expected ']' at column 3 of '[1'");
  EXPECT_EQ(refusal("[12ab]"),
            "expected a number, a string in quotes, True or False at column 2 of '[12ab]'");
  EXPECT_EQ(refusal("[inf]"), "expected a number, a string in quotes, True or False at column 2 of '[inf]'");
}

TEST(PythonList, CallsOfListWithoutEndAreNoDeepRecursion) {
  std::string open;
  for (int i = 0; i < 100'000; ++i) open += "list(";
  EXPECT_EQ(values(open + "[1]" + std::string(100'000, ')')), "[1]");
  const std::string refusal = error_of([&] { values(open); }).message();
  EXPECT_TRUE(refusal.starts_with("expected a list such as [16, 32, 64] or range(1, 9) at column 500001 of"));
  EXPECT_LT(refusal.size(), 400U);
  EXPECT_TRUE(error_of([&] { values("list(list([1])"); }).message().starts_with("expected ')' at column 15"));
}

constexpr const char* kProblem = R"json({
  "General": {"BenchmarkName": "example"},
  "ConfigurationSpace": {
    "TuningParameters": [{"Name": "bx", "Type": "int", "Values": "[16, 32]", "Default": 16},
                         {"Name": "tile", "Type": "int", "Values": "range(1, 3)"}],
    "Conditions": [{"Expression": "ProblemSize[0] / bx >= 2 and not tile in [3, 4]", "Parameters": ["bx"]}]},
  "Budget": [{"Type": "TuningDuration", "BudgetValue": 90}, {"Type": "ConfigurationCount", "BudgetValue": 3}],
  "KernelSpecification": {
    "Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "GlobalSizeType": "OpenCL",
    "LocalSize": {"X": "bx"}, "GlobalSize": {"X": "4096", "Y": "ProblemSize[1] // tile"}, "SharedMemory": 64,
    "ProblemSize": [4096, 512], "GridDivX": ["bx", "tile"], "CompilerOptions": ["-DA=1", "-std=c++11"], "Stream": null,
    "Arguments": [{"Name": "image", "Type": "float", "MemoryType": "Vector", "Size": "max(tile)"},
                  {"Name": "filter", "Type": "float", "MemoryType": "Vector", "MemType": "Constant"},
                  {"Name": "count", "Type": "int32", "MemoryType": "Scalar", "FillValue": 7}]}})json";

class T1 : public SpecTest {
 protected:
  TuneSpec load(const char* patch = "{}") const {
    Json document = Json::parse(kProblem);
    document.merge_patch(Json::parse(patch));
    return load_config(document.dump());
  }
};

TEST_F(T1, StandsForAConfigOfItsKernel) {
  const TuneSpec spec = load();
  EXPECT_EQ(spec.name, "example");
  ASSERT_EQ(spec.templates.size(), 1U);
  const TemplateSpec& kernel = spec.templates.front();
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.parameters.at(1).values, (std::vector<Value>{std::int64_t{1}, std::int64_t{2}}));
  EXPECT_EQ(kernel.constraints.at(0).require.text, "ProblemSize0 / bx >= 2 and not tile in [3, 4]");
  EXPECT_EQ(kernel.constraints.at(0).require.where.pointer, "/ConfigurationSpace/Conditions/0/Expression");
  EXPECT_EQ(kernel.launch.block[0].text, "bx");
  EXPECT_EQ(kernel.launch.block[1].text, "1");
  EXPECT_EQ(kernel.launch.grid[0].text, "ceil_div(ProblemSize0, (bx) * (tile))");
  EXPECT_EQ(kernel.launch.grid[1].text, "ceil_div(ProblemSize1 // tile, 1)");
  EXPECT_EQ(kernel.launch.dynamic_shared_bytes.text, "64");
  EXPECT_EQ(kernel.macros.at(0).first, "bx");
  EXPECT_EQ(kernel.compile_options, std::vector<std::string>{"-DA=1"});
  ASSERT_EQ(kernel.arguments.size(), 2U);
  EXPECT_EQ(kernel.arguments[1].name, "count");
  EXPECT_EQ(kernel.arguments[1].value.text, "7");
  EXPECT_EQ(spec.problems.at(0).label(), "4096x512");
  EXPECT_EQ(spec.budget.seconds, 90);
  EXPECT_EQ(spec.budget.evaluations, 3U);
  EXPECT_EQ(spec.baseline, Baseline::none);
  EXPECT_FALSE(kernel.operation.reference);
}

TEST_F(T1, OneBudgetNeedsNoList) {
  EXPECT_EQ(load(R"({"Budget": {"Type": "ConfigurationCount", "BudgetValue": 200}})").budget.evaluations,
            200U);
}

TEST_F(T1, TheCommandLineMayNameTheProblem) {
  options_.problems = {"8x16x32"};
  EXPECT_EQ(error_of([&] { load(); }).message(),
            "the problem '8x16x32' has 3 sizes, expected 2 (ProblemSize0xProblemSize1)");
  EXPECT_EQ(load(R"({"KernelSpecification": {"ProblemSize": null}})").problems.at(0).label(), "8x16x32");
}

TEST_F(T1, MistakesAreNamed) {
  const auto expect = [&](const Fault& fault) {
    expect_fault(error_of([&] { load(fault.patch); }), fault, (root_ / "configs/sweep.json").string());
  };
  expect({R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "bx", "Values": "[1, 1]"}]}})",
          "/ConfigurationSpace/TuningParameters/0/Values/1", "the value 1 is listed twice", "Remove one"});
  expect({R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "bx", "Values": "[f(x)]"}]}})",
          "/ConfigurationSpace/TuningParameters/0/Values",
          "expected a number, a string in quotes, True or False at column 2 of '[f(x)]'",
          "Write the values out"});
  expect({R"({"ConfigurationSpace": {"TuningParameters": null}})", "/ConfigurationSpace",
          "the key 'TuningParameters' is missing", "a list of parameters"});
  expect({R"({"Budget": [{"Type": "ConfigurationFraction", "BudgetValue": 0.5}]})", "/Budget/0/Type",
          "the budget 'ConfigurationFraction' is not known", "ConfigurationCount"});
  expect({R"({"KernelSpecification": {"Arguments": [{"Type": "half8", "MemoryType": "Scalar"}]}})",
          "/KernelSpecification/Arguments/0/Type", "a scalar cannot be of the type 'half8' here", "int32"});
}

}  // namespace
}  // namespace tiletune
