#include "foreign/t1.h"

#include "spec/fixture.h"

namespace tiletune {
namespace t1_test {

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
  const auto refusal = [](const std::string& text) { return user_error_of([&] { values(text); }).message(); };
  EXPECT_TRUE(carries(refusal("[i for i in range(9) if i % 2]"),
                      {"']'", "column 22", "'[i for i in range(9) if i % 2]'"}));
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "[i for i in ";
  EXPECT_TRUE(carries(refusal(nested), {"a list", "range()", "'for'", "column 24"}));
  std::string powers = "[1";
  for (int i = 0; i < 2'000; ++i) powers += "**1";
  EXPECT_TRUE(carries(refusal(powers + "]"), {"nested", "64", "1"}));
  EXPECT_TRUE(carries(refusal(powers + powers + powers), {"18005 bytes"}));
  EXPECT_TRUE(carries(refusal("[" + std::string(100, '(') + "1"), {"nested", "64"}));
  for (const auto& [text, parts] : std::vector<std::pair<const char*, std::vector<std::string>>>{
           {"[i for i in range(9) if i % 2]", {"']'", "column 22", "'[i for i in range(9) if i % 2]'"}},
           {"[2**i for j in range(4)]", {"unknown name", "'i'", "'2**i '", "column 4"}},
           {"[2**64]", {"overflow", "'2**64'", "column 2"}},
           {"[1 // 0]", {"by zero", "'1 // 0'", "column 6"}},
           {"[0.5 / 0.0]", {"by zero", "'0.5 / 0.0'", "column 7"}},
           {"[in for in in range(3)]", {"'in'", "reserved word"}},
           {"[1 for 2 in [3]]", {"'2'", "not a name"}},
           {"[x + 1 for x in ['a']]", {"'x + 1 '", "column 3", "x = 'a'"}},
           {"[9223372036854775808]", {"'9223372036854775808'", "64 bits", "column 1"}},
           {"[,]", {"nothing", "column 1"}},
           {"['a]", {"without an end", "''a]'", "column 1"}},
           {"__import__('os')", {"a list", "column 1", "'__import__('os')'"}},
           {"[__import__('os')]", {"'__import__'", "'__import__('os')'", "column 1"}},
           {"[1, x]", {"unknown name", "'x'", "column 1"}},
           {"[1] * 2", {"the end", "column 5", "'[1] * 2'"}},
           {"range(0, 10, 0)", {"not 0", "column 16", "'range(0, 10, 0)'"}},
           {"range(0.5)", {"integers", "column 11", "'range(0.5)'"}},
           {"range(10000000000)", {"100000 values", "column 19", "'range(10000000000)'"}},
           {"[1", {"']'", "column 3", "'[1'"}},
           {"[12ab]", {"malformed", "'12ab'", "column 1"}},
           {"[[1], 2]", {"unexpected", "'['", "'[1]'", "column 1"}},
       }) {
    EXPECT_TRUE(carries(refusal(text), parts));
  }
}

TEST(PythonList, CallsOfListWithoutEndAreNoDeepRecursion) {
  std::string open;
  for (int i = 0; i < 100'000; ++i) open += "list(";
  EXPECT_EQ(values(open + "[1]" + std::string(100'000, ')')), "[1]");
  const std::string refusal = user_error_of([&] { values(open); }).message();
  EXPECT_TRUE(carries(refusal, {"a list", "[16, 32, 64]", "1", "9", "column 500001"}));
  EXPECT_LT(refusal.size(), 400U);
  EXPECT_TRUE(carries(user_error_of([&] { values("list(list([1])"); }).message(), {"')'", "column 15"}));
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
  EXPECT_EQ(kernel.launches[0].block[0].text, "bx");
  EXPECT_EQ(kernel.launches[0].block[1].text, "1");
  EXPECT_EQ(kernel.launches[0].grid[0].text, "ceil_div(ProblemSize0, (bx) * (tile))");
  EXPECT_EQ(kernel.launches[0].grid[1].text, "ceil_div(ProblemSize1 // tile, 1)");
  EXPECT_EQ(kernel.launches[0].dynamic_shared_bytes.text, "64");
  EXPECT_EQ(kernel.macros.at(0).first, "bx");
  EXPECT_EQ(kernel.compile_options, (std::vector<std::string>{"-DA=1", "--std=c++14"}));
  ASSERT_EQ(kernel.launches[0].arguments.size(), 2U);
  EXPECT_EQ(kernel.launches[0].arguments[1].name, "count");
  EXPECT_EQ(kernel.launches[0].arguments[1].value.text, "7");
  EXPECT_EQ(spec.problems.at(0).label(), "4096x512");
  EXPECT_EQ(spec.budget.seconds, 90);
  EXPECT_EQ(spec.budget.evaluations, 3U);
  EXPECT_EQ(spec.baseline, Baseline::none);
  EXPECT_FALSE(kernel.operation.reference);
}

constexpr const char* kWholeArrays = R"--({"KernelSpecification": {"Arguments": [
  {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "FillType": "Constant",
   "FillValue": 0, "Size": "ProblemSize[0] * max(tile)"},
  {"Name": "in", "Type": "int16", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
   "FillValue": 9, "Size": "ProblemSize[0] + min(bx)"},
  {"Name": "filter", "Type": "double", "MemoryType": "Vector", "MemType": "Constant", "AccessType": "ReadOnly",
   "FillType": "Random", "FillValue": 1, "Size": 15}]}})--";

TEST_F(T1, ArraysThatAreWholeAreVerifiedByConsensus) {
  write("configs/k.cu", "__global__ void k(float* out, const short* in) {}");
  const TuneSpec spec = load(kWholeArrays);
  const TemplateSpec& kernel = spec.templates.front();
  const Operation& operation = kernel.operation;
  ASSERT_EQ(operation.buffers.size(), 3U);
  EXPECT_EQ(operation.buffers[0].elements.text, "ProblemSize0 * 2");
  EXPECT_EQ(operation.buffers[0].role, BufferRole::out);
  EXPECT_EQ(operation.buffers[1].elements.text, "ProblemSize0 + 16");
  EXPECT_EQ(operation.buffers[1].type, ElementType::i16);
  EXPECT_EQ(operation.buffers[1].values->distribution, Distribution::randint);
  EXPECT_EQ(operation.buffers[1].values->arguments[1].text, "9 + 1");
  EXPECT_EQ(operation.buffers[2].values->distribution, Distribution::uniform);
  EXPECT_EQ(operation.consensus, 3);
  ASSERT_EQ(kernel.constants.size(), 1U);
  EXPECT_EQ(kernel.constants[0].symbol, "filter");
  ASSERT_EQ(kernel.launches[0].arguments.size(), 2U);
  EXPECT_EQ(kernel.launches[0].arguments[1].name, "in");
}

TEST_F(T1, ConstantMemoryIsAnArgumentWhereTheKernelTakesIt) {
  write("configs/k.cu", "__global__ void k(float* out, const short* in, double* filter) {}");
  const TuneSpec spec = load(kWholeArrays);
  EXPECT_EQ(spec.templates.front().launches[0].arguments.size(), 3U);
  EXPECT_EQ(spec.templates.front().constants.size(), 1U);
}

/// name=value, as rows have it.
std::string stated(const TuneSpec& spec) {
  std::string text;
  for (const auto& [name, value] : spec.templates.front().operation.stated)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

TEST_F(T1, WithoutSizesAProblemHasThoseOfItsArrays) {
  const auto sized = [&](const char* out, const char* in) {
    Json patch = Json::parse(R"({"KernelSpecification": {"ProblemSize": null, "GridDivX": null,
                                 "GridDivY": ["bx"], "GlobalSize": {"X": "ProblemSize[0] // 2 ** 3", "Y": "5000"}}})");
    patch["KernelSpecification"]["Arguments"] =
        Json::parse(kWholeArrays).at("KernelSpecification").at("Arguments");
    patch["KernelSpecification"]["Arguments"][0]["Size"] = out;
    patch["KernelSpecification"]["Arguments"][1]["Size"] = in;
    return load(patch.dump().c_str());
  };
  EXPECT_EQ(sized("100 * max(tile)", "7").problems.at(0).label(), "200x7x15");
  EXPECT_EQ(sized("15", "15").problems.at(0).label(), "15");
  EXPECT_EQ(stated(sized("15", "15")),
            "GlobalSizeX=ceil_div(ProblemSize0//2**3,bx) GlobalSizeY=ceil_div(5000,1)");
  options_.problems = {"8"};
  const TuneSpec named = sized("100", "7");
  EXPECT_EQ(named.problems.at(0).label(), "8");
  EXPECT_TRUE(carries(stated(named), {"out=100 in=7 filter=15"})) << stated(named);
}

TEST_F(T1, ProblemsOfEqualSizesDifferInWhatElseTheyState) {
  const std::string grid = " GlobalSizeY=ceil_div(ProblemSize1//tile,1)";
  EXPECT_EQ(stated(load()), "count=7" + grid);
  EXPECT_EQ(stated(load(kWholeArrays)), "out=ProblemSize0*2 in=ProblemSize0+16 filter=15" + grid);
  EXPECT_EQ(stated(load(R"({"KernelSpecification": {"Arguments": null, "GridDivY": null,
                            "GlobalSize": {"Y": "ProblemSize[1] // 2"}}})")),
            "GlobalSizeY=ceil_div(ProblemSize1//2,1)");
}

TEST_F(T1, HasTheMacrosThatKernelTunerDefines) {
  const auto macros = [&](const char* patch) {
    std::map<std::string, std::string> texts;
    const TuneSpec spec = load(patch);
    for (const auto& [name, value] : spec.templates.front().macros) texts[name] = value.text;
    return texts;
  };
  write("configs/k.cu", "__global__ void k() { int blocks = grid_size_y; }");
  EXPECT_EQ(macros("{}"),
            (std::map<std::string, std::string>{{"bx", "bx"},
                                                {"tile", "tile"},
                                                {"kernel_tuner", "int(1)"},
                                                {"block_size_x", "int(bx)"},
                                                {"block_size_y", "int(1)"},
                                                {"block_size_z", "int(1)"},
                                                {"grid_size_y", "int(ceil_div(ProblemSize1 // tile, 1))"}}));
  const auto own =
      macros(R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "block_size_y", "Values": "[1]"},
      {"Name": "bx", "Values": "[1]"}, {"Name": "tile", "Values": "[1]"}]}})");
  EXPECT_EQ(own.at("block_size_y"), "block_size_y");
}

TEST_F(T1, ConditionsThatOnlyPythonCanEvaluateNameWhoDoes) {
  for (const char* condition :
       {"len(str(bx)) > 1", "'f' in 'float'", "(bx, tile) != (16, 1)", "'a' + 'b' == 'ab'", "bx < 'a'"}) {
    const Json patch{{"ConfigurationSpace", {{"Conditions", {{{"Expression", condition}}}}}}};
    expect_fault(user_error_of([&] { load(patch.dump().c_str()); }),
                 {condition, "/ConfigurationSpace/Conditions/0/Expression", {condition, "tune_kernel()"}},
                 (root_ / "configs/t1.json").string());
  }
}

TEST_F(T1, ArraysThatAreNotWholeAreNotVerified) {
  EXPECT_EQ(load().templates.front().operation.consensus, 0);
}

TEST_F(T1, OneBudgetNeedsNoList) {
  EXPECT_EQ(load(R"({"Budget": {"Type": "ConfigurationCount", "BudgetValue": 200}})").budget.evaluations,
            200U);
}

TEST_F(T1, TheCommandLineMayNameTheProblem) {
  options_.problems = {"8x16x32"};
  EXPECT_TRUE(carries(user_error_of([&] { load(); }).message(), {"'8x16x32'", "3", "2"}));
  EXPECT_EQ(load(R"({"KernelSpecification": {"ProblemSize": null}})").problems.at(0).label(), "8x16x32");
}

TEST_F(T1, AProblemMayHaveMoreThanThreeSizes) {
  const TuneSpec spec = load(R"({"KernelSpecification": {"ProblemSize": [4096, 512, 3, 4, 5],
                                                         "GlobalSize": {"X": "ProblemSize[4] * ProblemSize[1]"},
                                                         "GridDivX": null}})");
  EXPECT_EQ(spec.problems.at(0).label(), "4096x512x3x4x5");
  EXPECT_EQ(spec.templates.at(0).launches[0].grid[0].text, "ceil_div(ProblemSize4 * ProblemSize1, bx)");
}

TEST_F(T1, MistakesAreNamed) {
  const auto expect = [&](const Fault& fault) {
    expect_fault(user_error_of([&] { load(fault.patch); }), fault, (root_ / "configs/t1.json").string());
  };
  expect({R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "bx", "Values": "[1, 1]"}]}})",
          "/ConfigurationSpace/TuningParameters/0/Values/1",
          {"1", "twice"}});
  expect({R"({"ConfigurationSpace": {"TuningParameters": [{"Name": "bx", "Values": "[f(x)]"}]}})",
          "/ConfigurationSpace/TuningParameters/0/Values",
          {"'f'", "'f(x)'", "column 1"}});
  expect({R"({"ConfigurationSpace": {"TuningParameters": null}})",
          "/ConfigurationSpace",
          {"'TuningParameters'", "missing"}});
  expect({R"({"Budget": [{"Type": "ConfigurationFraction", "BudgetValue": 0.5}]})",
          "/Budget/0/Type",
          {"'ConfigurationFraction'"}});
  expect({R"({"KernelSpecification": {"Arguments": [{"Type": "half8", "MemoryType": "Scalar"}]}})",
          "/KernelSpecification/Arguments/0/Type",
          {"'half8'"}});
  expect({R"({"KernelSpecification": {"GlobalSizeType": "OpenGL", "GridDivX": null}})",
          "/KernelSpecification/GlobalSizeType",
          {"'OpenGL'"}});
  expect({R"({"KernelSpecification": {"ProblemSize": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}})",
          "/KernelSpecification/ProblemSize",
          {"17", "16"}});
}

}  // namespace t1_test
}  // namespace tiletune
