#include "foreign/t1.h"

#include "foreign/python_list.h"
#include "spec/fixture.h"

namespace tiletune {
namespace {

std::string values(const std::string& text) {
  Json list = Json::array();
  for (const Value& value : parse_python_list(text, {})) list.push_back(to_json(value));
  return list.dump();
}

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
  EXPECT_EQ(values("[2**3**2, +-3, -+-3, 2**-1, 1.5 // 2, max(3, (4)), 8 if 1 > 2 else 9]"),
            "[512,-3,3,0.5,0.0,4,9]");
  EXPECT_EQ(values("[(i)for\ni in range(3)] + [fort_ for\tfort_ in [5]]"), "[0,1,2,5]");
  EXPECT_EQ(values("[' for, ]', \"it's\"]"), R"([" for, ]","it's"])");
  EXPECT_EQ(values("[1] + [] + list(list(range(2)) + [5])"), "[1,0,1,5]");
}

TEST(PythonList, NothingElseIsRun) {
  const auto refusal = [](const std::string& text) { return error_of([&] { values(text); }).message(); };
  EXPECT_EQ(refusal("[i for i in range(9) if i % 2]"),
            "expected ']' at column 22 of '[i for i in range(9) if i % 2]'");
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "[i for i in ";
  EXPECT_TRUE(
      refusal(nested).starts_with("expected a list or range() without a 'for' of its own at column 24 of"));
  std::string powers = "[1";
  for (int i = 0; i < 2'000; ++i) powers += "**1";
  EXPECT_TRUE(refusal(powers + "]").starts_with("nested deeper than 64 levels in '1**1"));
  EXPECT_EQ(refusal(powers + powers + powers), "an expression of 18005 bytes");
  EXPECT_TRUE(refusal("[" + std::string(100, '(') + "1").starts_with("nested deeper than 64 levels in '((("));
  for (const auto& [text, why] : {
           std::pair("[i for i in range(9) if i % 2]",
                     "expected ']' at column 22 of '[i for i in range(9) if i % 2]'"),
           std::pair("[2**i for j in range(4)]", "unknown name 'i' in '2**i ' at column 4"),
           std::pair("[2**64]", "integer overflow beyond 64 bits in '2**64' at column 2"),
           std::pair("[1 // 0]", "division by zero in '1 // 0' at column 6"),
           std::pair("[0.5 / 0.0]", "division by zero in '0.5 / 0.0' at column 7"),
           std::pair("[in for in in range(3)]", "'in' is a reserved word of expressions"),
           std::pair("[1 for 2 in [3]]", "'2' is not a name"),
           std::pair("[x + 1 for x in ['a']]",
                     "a string where a number is needed in 'x + 1 ' at column 3 (x = 'a')"),
           std::pair(
               "[9223372036854775808]",
               "number '9223372036854775808' does not fit 64 bits in '9223372036854775808' at column 1"),
           std::pair("[,]", "nothing in '' at column 1"),
           std::pair("['a]", "string without an end in ''a]' at column 1"),
           std::pair("__import__('os')",
                     "expected a list such as [16, 32, 64] or range(1, 9) at column 1 of '__import__('os')'"),
           std::pair("[__import__('os')]", "no function '__import__' in '__import__('os')' at column 1"),
           std::pair("[1, x]", "unknown name 'x' in 'x' at column 1"),
           std::pair("[1] * 2", "expected the end of the list at column 5 of '[1] * 2'"),
           std::pair("range(0, 10, 0)", "expected a step that is not 0 at column 16 of 'range(0, 10, 0)'"),
           std::pair("range(0.5)", "expected integers in range() at column 11 of 'range(0.5)'"),
           std::pair("range(10000000000)",
                     "expected at most 100000 values at column 19 of 'range(10000000000)'"),
           std::pair("[1", "expected ']' at column 3 of '[1'"),
           std::pair("[12ab]", "malformed number '12ab' in '12ab' at column 1"),
           std::pair("[[1], 2]", "unexpected '[' in '[1]' at column 1"),
       }) {
    EXPECT_EQ(refusal(text), why);
  }
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
    LoadOptions options = options_;
    options.read_other = read_t1;
    return load_tune_spec(write("configs/t1.json", document.dump()), options);
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
    expect_fault(error_of([&] { load(fault.patch); }), fault, (root_ / "configs/t1.json").string());
  };
  expect({R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "bx", "Values": "[1, 1]"}]}})",
          "/ConfigurationSpace/TuningParameters/0/Values/1", "the value 1 is listed twice", "Remove one"});
  expect({R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "bx", "Values": "[f(x)]"}]}})",
          "/ConfigurationSpace/TuningParameters/0/Values", "no function 'f' in 'f(x)' at column 1",
          "the functions are"});
  expect({R"({"ConfigurationSpace": {"TuningParameters": null}})", "/ConfigurationSpace",
          "the key 'TuningParameters' is missing", "a list of parameters"});
  expect({R"({"Budget": [{"Type": "ConfigurationFraction", "BudgetValue": 0.5}]})", "/Budget/0/Type",
          "the budget 'ConfigurationFraction' is not known", "ConfigurationCount"});
  expect({R"({"KernelSpecification": {"Arguments": [{"Type": "half8", "MemoryType": "Scalar"}]}})",
          "/KernelSpecification/Arguments/0/Type", "a scalar cannot be of the type 'half8' here", "int32"});
}

}  // namespace
}  // namespace tiletune
