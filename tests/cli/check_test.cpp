// `tiletune check`: what would fail in a sweep, found without a GPU, all of it in one run.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "carries.h"
#include "cli/needs_numpy.h"
#include "cli/process.h"
#include "cli/small_disk.h"

namespace tiletune {
namespace check_test {

using Json = nlohmann::ordered_json;

class Check : public testing::Test {
 protected:
  /// Writes a template that scales rows; returns its manifest for changes.
  static Json manifest(const std::string& name) {
    Json json = Json::parse(R"--({
      "summary": "y = 2 x",
      "operation": {
        "name": "scale", "dimensions": ["n"], "flops": "n", "bytes": "8 * n", "accumulation": "1", "bound": "copy",
        "buffers": [{"name": "x", "type": "f32", "elements": "n", "role": "in"},
                    {"name": "y", "type": "f32", "elements": "n", "role": "out"}],
        "reference": {"source": "reference.cu", "kernel": "reference", "grid": ["ceil_div(n, 256)"],
                      "block": ["256"]}},
      "source": "kernel.cu", "kernel": "scale", "template_arguments": ["THREADS"],
      "parameters": [{"name": "THREADS", "values": [128, 256, 512]}],
      "launch": {"grid": ["ceil_div(n, THREADS)"], "block": ["THREADS"]},
      "arguments": [{"buffer": "x"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"}]})--");
    json["name"] = name;
    return json;
  }
  void add(const Json& json, const std::string& kernel = kKernel,
           const std::string& reference = kReference) const {
    const std::string name = json["name"];
    std::filesystem::create_directories(sandbox_.folder() / name);
    sandbox_.write(name + "/template.json", json.dump());
    sandbox_.write(name + "/kernel.cu", kernel);
    sandbox_.write(name + "/reference.cu", reference);
  }
  std::string config(const std::vector<std::string>& templates,
                     const std::string& problems = R"(["1000"])") const {
    return sandbox_.write(
        "c.json", R"({"templates": )" + Json(templates).dump() + R"(, "problems": )" + problems + "}");
  }
  Finished check(const std::string& file, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"check", file, "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sandbox_.run(arguments);
  }

  static constexpr const char* kKernel =
      "template <int T> __global__ void scale(const float* x, float* y, int n) {\n"
      "  const int i = blockIdx.x * T + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}\n";
  static constexpr const char* kReference =
      "extern \"C\" __global__ void reference(const double* x, double* y, int n) {\n"
      "  const int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}\n";

  Sandbox sandbox_;
};

TEST_F(Check, ASoundConfigHasNoFindings) {
  add(manifest("good"));
  const Finished finished = check(config({"good"}));
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(carries(finished.out, {"H100 SXM at 1000", "3 valid configurations", "3 compiled",
                                     "1 reference compiled", "0 errors", "0 notes"}))
      << finished.out;
}

TEST_F(Check, AllFindingsComeInOneRun) {
  add(manifest("good"));
  add(manifest("syntax"),
      "template <int T> __global__ void scale(const float* x, float* y, int n) { y[0] = z; }");
  add(manifest("reference"), kKernel, "this is no kernel");
  Json fewer = manifest("fewer");
  fewer["arguments"].erase(2);
  add(fewer);
  Json empty = manifest("empty");
  empty["constraints"] = Json::parse(R"([{"require": "n % THREADS == 0"}])");
  add(empty);
  Json typo = manifest("typo");
  typo["sorce"] = "kernel.cu";
  add(typo);
  const Finished finished = check(config({"good", "syntax", "reference", "fewer", "empty", "typo"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "kernel.cu", "syntax 1000", "does not compile"}))
      << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"error", "reference.cu", "reference 1000", "does not compile"}));
  EXPECT_TRUE(has_line(finished.out, {"error", "fewer 1000", "takes 3", "passes 2"}));
  EXPECT_TRUE(has_line(finished.out, {"note", "empty 1000", "constraints"}));
  EXPECT_TRUE(has_line(finished.out, {"error", "template.json", "'sorce'"}));
  EXPECT_TRUE(has_line(finished.out, {"4 errors", "1 note"}));
}

TEST_F(Check, ASpaceWithoutConfigurationsIsAnErrorWhereNoOtherTemplateDoesTheProblem) {
  Json even = manifest("even");
  even["constraints"] = Json::parse(R"([{"require": "n % 2 == 0"}])");
  add(even);
  Json large = manifest("large");
  large["constraints"] = Json::parse(R"([{"require": "n > 2000"}])");
  add(large);
  const Finished some = check(config({"even", "large"}, R"(["1000", "1002", "3001"])"));
  EXPECT_EQ(some.code, 0) << some.out;
  EXPECT_TRUE(has_line(some.out, {"note", "large 1000 and 1 more problem", "constraints"})) << some.out;
  EXPECT_TRUE(has_line(some.out, {"note", "even 3001", "constraints"})) << some.out;
  const Finished none = check(config({"even", "large"}, R"(["1000", "1001"])"));
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(has_line(none.out, {"note", "large 1000", "constraints"})) << none.out;
  EXPECT_TRUE(has_line(none.out, {"error", "large 1001", "constraints"})) << none.out;
  EXPECT_TRUE(has_line(none.out, {"error", "even 1001", "constraints"})) << none.out;
}

TEST_F(Check, AScalarOfTheReferenceHasTheTypeOfTheKernels) {
  Json json = manifest("scalar");
  json["operation"]["scalars"] = Json::parse(R"({"eps": 1})");
  json["arguments"].push_back(Json::parse(R"({"scalar": "eps", "type": "f32"})"));
  add(json,
      "template <int T> __global__ void scale(const float* x, float* y, int n, float eps) { y[n] = x[0] + "
      "eps; }\n",
      "__global__ void reference(const double* x, double* y, int n, double eps) { y[n] = x[0] + eps; }\n");
  const Finished finished = check(config({"scalar"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(carries(finished.out, {"eps", "declare it as float", "reference"})) << finished.out;
}

TEST_F(Check, ASizeOfABufferThatNamesAParameterIsReportedWithWhatToUse) {
  Json json = manifest("partial");
  json["operation"]["buffers"][1]["elements"] = "ceil_div(n, THREADS)";
  add(json);
  const Finished finished = check(config({"partial"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(carries(finished.out, {"THREADS", "dimensions only", "`workspace`", "`launches`"}))
      << finished.out;
}

TEST_F(Check, LaunchesThatAGpuCannotTakeAreNotes) {
  Json large = manifest("large");
  large["parameters"][0]["values"] = {128, 2048};
  add(large);
  const Finished finished = check(config({"large"}));
  EXPECT_EQ(finished.code, 0);
  EXPECT_TRUE(has_line(finished.out, {"note", "large 1000", "1 of 2 configurations", "2048"}))
      << finished.out;
  large["parameters"][0]["values"] = {2048};
  add(large);
  EXPECT_EQ(check(config({"large"})).code, 1);
}

TEST_F(Check, RegistersThatAGpuDoesNotHaveAreANoteWhereOthersFit) {
  Json many = manifest("many");
  many["parameters"][0]["values"] = {128, 1024};
  const std::string kernel =
      "template <int T> __global__ void scale(const float* x, float* y, int n) {\n"
      "  const int i = blockIdx.x * T + threadIdx.x;\n  float kept[100];\n  if (i >= n) return;\n"
      "#pragma unroll\n  for (int k = 0; k < 100; ++k) kept[k] = ((const volatile float*)x)[i + k];\n"
      "#pragma unroll\n  for (int k = 99; k >= 0; --k) ((volatile float*)y)[i] = kept[k];\n}\n";
  add(many, kernel);
  const Finished finished = check(config({"many"}));
  EXPECT_EQ(finished.code, 0) << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"note", "many 1000", "THREADS=1024", "too many registers"}))
      << finished.out;
  many["parameters"][0]["values"] = {1024};
  add(many, kernel);
  EXPECT_EQ(check(config({"many"})).code, 1);
}

TEST_F(Check, ProblemsThatDoNotFitAreErrors) {
  Json wide = manifest("good");
  wide["operation"]["buffers"][1]["type"] = "f64";
  add(wide, "template <int T> __global__ void scale(const float* x, double* y, int n) {}");
  const Finished finished = check(config({"good"}, R"(["1000", "2147483647"])"), {"--gpu", "T4"});
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "good 2147483647"})) << finished.out;
}

TEST_F(Check, ArgumentsOfOtherTypesThanTheParametersAreFindings) {
  Json json = manifest("types");
  json["workspace"] = Json::parse(R"([{"name": "w", "type": "f64", "elements": "n"}])");
  json["arguments"] = Json::parse(R"([{"buffer": "y"}, {"buffer": "x"}, {"scalar": "n", "type": "i32"},
                                      {"buffer": "w"}])");
  add(json,
      "#include <cuda_fp16.h>\n"
      "template <int T> __global__ void scale(const float* a, __half* b, float c, float* d) {}\n");
  const Finished finished = check(config({"types"}, R"(["1000", "2000"])"));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "/arguments/0", "y, is an output", "const float*"}))
      << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"error", "/arguments/1", "x", "f32", "__half*"}));
  EXPECT_TRUE(has_line(finished.out, {"error", "/arguments/2", "n", "i32", "takes float"}));
  EXPECT_TRUE(has_line(finished.out, {"note", "/arguments/3", "w", "f64", "float*"}));
  EXPECT_TRUE(has_line(finished.out, {"3 errors", "1 note"}));
}

TEST_F(Check, MemoryMayBeReadAsOtherTypes) {
  Json json = manifest("vectors");
  add(json, "template <int T> __global__ void scale(const float4* x, unsigned* y, unsigned n) {}\n");
  EXPECT_TRUE(has_line(check(config({"vectors"})).out, {"0 errors", "0 notes"}));
  add(json, "template <int T> __global__ void scale(const unsigned* x, float* y, int n) {}\n");
  EXPECT_TRUE(has_line(check(config({"vectors"})).out, {"0 errors", "0 notes"}));
  add(json, "template <int T> __global__ void scale(const float* x, int* y, int n) {}\n");
  EXPECT_TRUE(has_line(check(config({"vectors"})).out, {"note", "y", "f32", "int*"}));
  add(json, "template <int T> __global__ void scale(const unsigned char* x, float* y, int n) {}\n");
  EXPECT_TRUE(has_line(check(config({"vectors"})).out, {"note", "x", "f32", "const unsigned char*"}));
}

TEST_F(Check, ArgumentsOfAnotherKindThanTheParametersAreErrors) {
  Json json = manifest("kinds");
  const auto out_of = [&](const std::string& type, const std::string& use) {
    add(json, "struct One { float* p; };\ntemplate <int T> __global__ void scale(" + type +
                  " x, float* y, int n) {\n  y[n] = " + use + ";\n}\n");
    return check(config({"kinds"})).out;
  };
  EXPECT_TRUE(has_line(out_of("cudaTextureObject_t", "tex1Dfetch<float>(x, n)"),
                       {"error", "/arguments/0", "x", "texture"}));
  for (const char* type : {"unsigned long long", "double", "size_t"})
    EXPECT_TRUE(has_line(out_of(type, "x"), {"error", "/arguments/0", "x", "an array of f32"})) << type;
  EXPECT_TRUE(has_line(out_of("float2", "x.x"), {"error", "/arguments/0", "float2"}));
  EXPECT_TRUE(has_line(out_of("One", "x.p[0]"), {"error", "/arguments/0", "8 bytes"}));
  json["arguments"][2] = {{"scalar", "n"}, {"type", "i64"}};
  add(json, "template <int T> __global__ void scale(const float* x, float* y, int* n) { y[*n] = x[0]; }\n");
  EXPECT_TRUE(has_line(check(config({"kinds"})).out, {"error", "/arguments/2", "i64", "int*"}));
}

TEST_F(Check, AnInputThatAKernelWritesIsANote) {
  add(manifest("written"),
      "template <int T> __global__ void scale(float* x, float* y, int n) {\n"
      "  y[n] = x[n]; x[0] = 1; }\n");
  EXPECT_TRUE(has_line(check(config({"written"})).out, {"note", "/arguments/0", "x", "an input", "float*"}));
}

TEST_F(Check, AnOverloadedKernelIsNamed) {
  Json json = manifest("twice");
  json.erase("template_arguments");
  add(json,
      "__global__ void scale(const float* x, float* y, int n) {}\n__global__ void scale(double* y) {}\n");
  EXPECT_TRUE(has_line(check(config({"twice"})).out, {"error", "/kernel", "several functions", "'scale'"}));
}

TEST_F(Check, WhatTheSourceDoesNotUseOrNeedsIsANote) {
  Json json = manifest("notes");
  json.erase("template_arguments");
  json["macros"] = Json::parse(R"({"VECT": "THREADS", "IN_HEADER": "1"})");
  json["operation"]["reference"] = "none";
  json["arguments"] = Json::parse(R"([{"buffer": "y"}, {"buffer": "x"}, {"scalar": "n", "type": "i32"}])");
  add(json,
      "#define VEC 4\n#include \"more.h\"\n// VECT\n__global__ void scale(float* x, float* y, int n) {\n"
      "  extern __shared__ float tile[];\n  y[0] = tile[0] * VEC;\n}\n");
  sandbox_.write("notes/more.h", "#if IN_HEADER\n#endif\n");
  std::string text = json.dump(1);
  text.replace(text.find("{"), 1, "{ // decide: everything\n");
  sandbox_.write("notes/template.json", text);
  const Finished finished = check(config({"notes"}));
  EXPECT_EQ(finished.code, 0);
  EXPECT_TRUE(has_line(finished.out, {"note", "template.json", "1 line", "decide:", ": 1"})) << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"note", "/operation", "not be verified"}));
  EXPECT_TRUE(has_line(finished.out, {"note", "/macros/VECT", "VECT"}));
  EXPECT_TRUE(has_line(finished.out, {"Did you mean VEC?"}));
  EXPECT_TRUE(has_line(finished.out, {"note", "/launch", "'scale'", "line 5", "0 bytes"}));
  EXPECT_TRUE(has_line(finished.out, {"note", "/arguments", "y, x, n", "x, y, n"}));
  EXPECT_TRUE(has_line(finished.out, {"note", "/arguments/1", "x, is an input", "float*"}));
  EXPECT_TRUE(has_line(finished.out, {"0 errors", "6 notes"}));
}

TEST_F(Check, AKernelThatIsNotThereIsAMistakeOfTheManifest) {
  Json json = manifest("named");
  json["kernel"] = "scael";
  add(json);
  const Finished finished = check(config({"named"}));
  EXPECT_TRUE(has_line(finished.out, {"error", "template.json: /kernel", "kernel.cu", "'scael'"}))
      << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"Did you mean 'scale'?"}));
  EXPECT_FALSE(carries(finished.out, {"__nv_name_map"}));
}

TEST_F(Check, FunctionsOfPythonThatFailAreReportedOnceWithTheirRemedy) {
  NEEDS_NUMPY();
  Json json = manifest("python");
  json["operation"]["reference"] = Json::parse(R"({"python": "reference.py", "function": "scale"})");
  add(json);
  const auto expect = [&](const std::string& text, const std::vector<std::string>& what,
                          const std::vector<std::string>& remedy) {
    sandbox_.write("python/reference.py", text);
    const Finished finished = check(config({"python"}, R"(["1000", "2000", "3000"])"));
    std::vector<std::string> parts{"error", "reference.py", "python 1000 and 2 more problems"};
    parts.insert(parts.end(), what.begin(), what.end());
    EXPECT_TRUE(has_line(finished.out, parts)) << finished.out;
    EXPECT_TRUE(has_line(finished.out, remedy)) << finished.out;
    EXPECT_TRUE(has_line(finished.out, {"1 error,"})) << finished.out;
  };
  const std::string head = "import numpy\ndef scale(inputs, problem):\n  ";
  expect("def scael(inputs): pass\n", {"no function scale"}, {"scael", "/operation/reference/function"});
  expect(head + "2 * inputs['x']\n", {"None"}, {"return"});
  expect(head + "return inputs['z']\n", {"KeyError", "'z'"}, {"x", "n"});
  expect(head + "return inputs['x'].max(axis=1)\n", {"AxisError"}, {"\"elements\"", "\"rows\""});
  expect(head + "return inputs['x'][0, 0]\n", {"IndexError"}, {"\"elements\"", "\"rows\""});
}

TEST_F(Check, OtherFilesThanConfigsAreReported) {
  add(manifest("good"));
  const Finished source = check((sandbox_.folder() / "good/kernel.cu").string());
  EXPECT_TRUE(has_line(source.out, {"error", "kernel.cu", "CUDA source"})) << source.out;
  EXPECT_TRUE(has_line(source.out, {"tiletune init", "kernel.cu"}));
  const Finished path = check(config({"good/template.json"}));
  EXPECT_TRUE(has_line(path.out, {"error", "/templates/0", "'good/template.json'"})) << path.out;
  EXPECT_TRUE(has_line(path.out, {"\"good\""}));
}

TEST_F(Check, ValuesInTheWrongQuotes) {
  Json json = manifest("quotes");
  json["template_arguments"] = Json::parse(R"(["THREADS", "std::uint8_t"])");
  add(json);
  EXPECT_TRUE(has_line(check(config({"quotes"})).out, {"\"'std::uint8_t'\""}));
  json = manifest("quotes");
  json["parameters"][0]["values"] = {"128", "256"};
  add(json);
  EXPECT_TRUE(has_line(check(config({"quotes"})).out, {"128 without quotes"}));
  json = manifest("quotes");
  json["operation"]["buffers"][0]["values"] = 0;
  add(json);
  EXPECT_TRUE(has_line(check(config({"quotes"})).out, {"\"constant(0)\""}));
}

TEST_F(Check, PythonDoesNotRunForProblemsThatDoNotFit) {
  NEEDS_NUMPY();
  Json json = manifest("big");
  json["operation"]["reference"] = Json::parse(R"({"python": "reference.py", "function": "scale"})");
  for (Json& buffer : json["operation"]["buffers"]) buffer["elements"] = "100 * n";
  add(json);
  sandbox_.write("big/reference.py", "def scale(inputs, problem): return 2 * inputs['x']\n");
  const Finished finished = check(config({"big"}, R"(["2000000000"])"));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "big 2000000000", "cannot be launched"})) << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"0 references", "1 error"})) << finished.out;
}

TEST_F(Check, InputsOfPythonThatDoNotFitOnTheDiskAreNotWritten) {
  NEEDS_NUMPY();
  const SmallDisk disk(sandbox_.folder() / "disk", "1m");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount";
  Json json = manifest("big");
  json["operation"]["reference"] = Json::parse(R"({"python": "reference.py", "function": "scale"})");
  add(json);
  sandbox_.write("big/reference.py", "def scale(inputs, problem): return 2 * inputs['x']\n");
  const Finished finished =
      sandbox_.wait(sandbox_.start({"check", config({"big"}, R"(["100000"])"), "--quiet"},
                                   [&] { ::setenv("TMPDIR", disk.folder().c_str(), 1); }));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "scale()", "100000", "1.1 MiB", "1020.0 KiB"}))
      << finished.out << finished.err;
}

TEST_F(Check, AnInterruptEndsTheWritingOfInputs) {
  NEEDS_NUMPY();
  Json json = manifest("big");
  json["operation"]["reference"] = Json::parse(R"({"python": "reference.py", "function": "scale"})");
  add(json);
  sandbox_.write("big/reference.py", "def scale(inputs, problem): return 2 * inputs['x']\n");
  const std::string tmp = (sandbox_.folder() / "tmp").string();
  std::filesystem::create_directory(tmp);
  const pid_t process = sandbox_.start({"check", config({"big"}, R"(["400000000"])"), "--quiet"},
                                       [&] { ::setenv("TMPDIR", tmp.c_str(), 1); });
  const auto is_writing = [&] {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(tmp))
      if (entry.path().extension() == ".npy") return true;
    return false;
  };
  ASSERT_TRUE(eventually(is_writing));
  ::kill(process, SIGINT);
  EXPECT_EQ(sandbox_.wait(process).code, 130);
  EXPECT_TRUE(std::filesystem::is_empty(tmp)) << "what was written is removed";
}

TEST_F(Check, ReferencesThatTakeFloatAreErrors) {
  add(manifest("reference"), kKernel,
      "extern \"C\" __global__ void reference(const float* x, float* y, int n) {}");
  const Finished finished = check(config({"reference"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "/operation/reference", "f64", "float*", "y"}))
      << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"double*"}));
}

TEST_F(Check, OutputsWithoutElementsAreErrors) {
  Json json = manifest("empty");
  json["operation"]["buffers"][1]["elements"] = "n - 1000";
  add(json);
  const Finished finished = check(config({"empty"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "/operation/buffers/1/elements", "y", "0 elements"}))
      << finished.out;
  EXPECT_EQ(check(config({"empty"}, R"(["2000"])")).code, 0) << "where it has some";
}

TEST_F(Check, ABufferThatIsWrittenIsPassedOnce) {
  Json json = manifest("overlap");
  json["arguments"] = Json::parse(R"([{"buffer": "y"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"}])");
  json["operation"]["reference"]["arguments"] =
      Json::parse(R"([{"buffer": "x"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"}])");
  json["operation"]["buffers"][1]["role"] = "inout";
  json["operation"]["buffers"].erase(0);
  json["operation"]["reference"]["arguments"].erase(0);
  add(json, kKernel, "extern \"C\" __global__ void reference(double* y, int n) {}");
  const Finished finished = check(config({"overlap"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "/arguments/1", "1 and 2", "y"})) << finished.out;
}

TEST_F(Check, ATensorMapOfABufferThatIsWrittenIsOneOfItsArguments) {
  Json json = manifest("mapped");
  json["operation"]["reference"]["arguments"] = json["arguments"];
  const Json address = Json::parse(R"({"buffer": "y"})");
  const Json map =
      Json::parse(R"({"tensor_map": "y", "extents": ["n", "1"], "pitches": ["n"], "box": [32, 1]})");
  const auto checked = [&](const std::vector<Json>& outputs) {
    json["arguments"] = outputs;
    json["arguments"].push_back(Json::parse(R"({"buffer": "x"})"));
    std::string parameters;
    for (const Json& output : outputs)
      parameters += output.contains("buffer") ? "float*, " : "const __grid_constant__ Map, ";
    add(json, "struct alignas(64) Map { char bytes[128]; };\ntemplate <int T> __global__ void scale(" +
                  parameters + "const float* x) {}\n");
    return check(config({"mapped"}, R"(["1024"])"));
  };
  for (const auto& both :
       {std::vector<Json>{address, map}, std::vector<Json>{map, address}, std::vector<Json>{map, map}}) {
    const Finished finished = checked(both);
    EXPECT_EQ(finished.code, 1);
    EXPECT_TRUE(has_line(finished.out, {"error", "/arguments/1", "1 and 2", "y"})) << finished.out;
    EXPECT_TRUE(has_line(finished.out, {"\"when\""})) << finished.out;
  }
  Json chosen = map;
  chosen["when"] = "THREADS > 128";
  EXPECT_EQ(checked({address, chosen}).code, 0) << "the map takes the place of the address";
  EXPECT_EQ(checked({chosen, chosen}).code, 1);
  EXPECT_EQ(checked({map}).code, 0);
}

TEST_F(Check, IndicesThatLeadOutOfABufferAreNotes) {
  Json json = manifest("gather");
  json["operation"]["buffers"].push_back(
      Json::parse(R"({"name": "idx", "type": "i32", "elements": "n", "role": "in"})"));
  json["arguments"].push_back(Json::parse(R"({"buffer": "idx"})"));
  json["operation"]["reference"]["arguments"] =
      Json::parse(R"([{"buffer": "x"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"}])");
  const auto checked = [&](const Json& values, const std::string& index) {
    if (values.is_null())
      json["operation"]["buffers"][2].erase("values");
    else
      json["operation"]["buffers"][2]["values"] = values;
    add(json,
        "template <int T> __global__ void scale(const float* x, float* y, int n, const int* idx) {\n"
        "  const int i = blockIdx.x * T + threadIdx.x;\n  if (i < n) y[i] = 2 * x[" +
            index + "];\n}\n");
    return check(config({"gather"})).out;
  };
  EXPECT_TRUE(has_line(checked({}, "idx[i]"),
                       {"note", "/buffers/2", "idx", "-100 to 100", "line 3", "x", "1000 elements"}));
  EXPECT_TRUE(has_line(checked("randint(0, n + 1)", "idx[i]"), {"note", "from 0 to 1000"}));
  EXPECT_TRUE(has_line(checked("iota(1, 1)", "idx[i]"), {"note", "from 1 to 1000"}));
  for (const char* good : {"randint(0, n)", "permutation", "constant(999)", "iota", "offsets(n)"})
    EXPECT_TRUE(has_line(checked(good, "idx[i]"), {"0 errors", "0 notes"})) << good;
  for (const char* index : {"idx[i] + 1", "idx[i] % 5", "(idx[i] + n) / 2"})
    EXPECT_TRUE(has_line(checked({}, index), {"0 errors", "0 notes"})) << index;
}

TEST_F(Check, NamesMayStandInNamespaces) {
  Json json = manifest("inside");
  json["kernel"] = "lib::scale";
  json["constants"] = Json::parse(R"({"lib::factors": "factors"})");
  json["operation"]["buffers"].push_back(
      Json::parse(R"({"name": "factors", "type": "f32", "elements": "4", "role": "in"})"));
  json["operation"]["reference"]["arguments"] =
      Json::parse(R"([{"buffer": "x"}, {"buffer": "y"}, {"scalar": "n", "type": "i32"}])");
  const std::string kernel =
      "namespace lib {\n__constant__ float factors[4];\n"
      "template <int T> __global__ void scale(const float* x, float* y, int n) { y[0] = factors[n]; }\n}\n";
  add(json, kernel);
  EXPECT_EQ(check(config({"inside"})).code, 0) << check(config({"inside"})).out;
  json["constants"] = Json::parse(R"({"lib::factor": "factors"})");
  add(json, kernel);
  const Finished finished = check(config({"inside"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "/constants/lib::factor", "kernel.cu", "'lib::factor'"}))
      << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"Did you mean 'lib::factors'?"}));
}

TEST_F(Check, T1ProblemsThatCannotBeMeasuredAreErrors) {
  sandbox_.write("k.cu", "__global__ void k(float* out) {}");
  const std::string file = sandbox_.write("t1.json", R"({"ConfigurationSpace": {"TuningParameters":
      [{"Name": "bx", "Values": "[16, 32]"}]}, "KernelSpecification": {"Language": "CUDA", "KernelName": "k",
      "KernelFile": "k.cu", "ProblemSize": [64], "LocalSize": {"X": "bx"}, "GridDivX": ["bx"],
      "Arguments": [{"Name": "out", "Type": "float", "MemoryType": "Vector"}]}})");
  const Finished finished = check(file);
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "t1.json", "T1", "size", "access"})) << finished.out;
}

TEST_F(Check, T1ProblemsHaveTheMacrosAndOptionsOfKernelTuner) {
  sandbox_.write(
      "k.cu",
      "#ifndef kernel_tuner\n#define bx 8\n#endif\n"
      "__global__ void __launch_bounds__(bx * block_size_y * block_size_z) k(float* out) {\n"
      "  static_assert(block_size_x == bx && grid_size_x == 64 / bx);\n  out[threadIdx.x] = 1;\n}\n");
  const std::string file = sandbox_.write("t1.json", R"({"ConfigurationSpace": {"TuningParameters":
      [{"Name": "bx", "Values": "[16, 32, 64]"}]}, "KernelSpecification": {"Language": "CUDA", "KernelName": "k",
      "KernelFile": "k.cu", "ProblemSize": [64], "LocalSize": {"X": "bx"}, "GridDivX": ["bx"],
      "CompilerOptions": ["-O3", "-Xcompiler", "-Wall", "-use_fast_math"],
      "Arguments": [{"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly",
                     "FillType": "Constant", "Size": 64}]}})");
  const Finished finished = check(file);
  EXPECT_EQ(finished.code, 0) << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"note", "-O3, -Xcompiler=-Wall"})) << finished.out;
  EXPECT_TRUE(has_line(finished.out, {"0 errors", "1 note"})) << finished.out;
}

/// What concerns every configuration is found before the first is compiled.
TEST_F(Check, ASweepBeginsWithIt) {
  const auto sweep = [&](const std::string& file) {
    return sandbox_.run({"sweep", file, "--gpu", "H100", "--db", "a.db", "--quiet"});
  };
  const auto expect_refusal = [&](const std::vector<std::string>& parts) {
    const Finished finished = sweep(config({"t"}));
    EXPECT_NE(finished.code, 0) << finished.out;
    EXPECT_TRUE(carries(finished.err, parts));
    EXPECT_FALSE(carries(finished.out, {"best choice"})) << finished.out;
  };
  add(manifest("t"),
      "template <int T> __global__ void scale(const float* x, float* y, float n) { y[0] = n; }");
  expect_refusal({"/arguments/2", "i32", "takes float"});
  add(manifest("t"), "template <int T> __global__ void scale(const float* x, const float* y, int n) {}");
  expect_refusal({"/arguments/1", "y, is an output", "const float*"});
  add(manifest("t"), kKernel, "extern \"C\" __global__ void reference(const float* x, float* y, int n) {}");
  expect_refusal({"/operation/reference", "f64", "float*"});
  Json empty = manifest("t");
  empty["operation"]["buffers"][1]["elements"] = "n - 1000";
  add(empty);
  expect_refusal({"/operation/buffers/1/elements", "0 elements"});
  add(manifest("t"));
  EXPECT_EQ(sweep(config({"t"})).code, 0);
  EXPECT_EQ(sweep(config({"t"})).code, 0) << "all rows are known";
}

/// Only some configurations take other types.
TEST_F(Check, ASweepIsNotRefusedForSomeConfigurations) {
  Json json = manifest("some");
  json["template_arguments"] = {"THREADS", "TYPE"};
  json["parameters"].push_back(Json::parse(R"({"name": "TYPE", "values": ["double", "float"]})"));
  add(json, "template <int T, class V> __global__ void scale(const V* x, V* y, int n) { y[0] = x[0]; }");
  const Finished finished =
      sandbox_.run({"sweep", config({"some"}), "--gpu", "H100", "--db", "a.db", "--quiet"});
  EXPECT_EQ(finished.code, 0) << finished.err;
}

TEST_F(Check, IsJsonForScripts) {
  add(manifest("syntax"), "nonsense");
  const Finished finished = check(config({"syntax"}), {"--format", "json"});
  EXPECT_EQ(finished.code, 1);
  const Json report = Json::parse(finished.out);
  EXPECT_EQ(report["errors"], 1);
  ASSERT_EQ(report["findings"].size(), 1U);
  EXPECT_EQ(report["findings"][0]["severity"], "error");
  EXPECT_EQ(report["findings"][0]["template"], "syntax");
  EXPECT_FALSE(report["findings"][0]["remedy"].get<std::string>().empty());
}

TEST_F(Check, AConfigThatCannotBeReadIsAFinding) {
  const Finished finished =
      check(sandbox_.write("bad.json", R"({"templates": ["nothing"], "problems": [1]})"));
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has_line(finished.out, {"error", "bad.json", "'nothing'"})) << finished.out;
}

}  // namespace check_test
}  // namespace tiletune
