// A kernel's source in, a template and a config out, which the other commands take.

#include "author/init.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/expect_error.h"

namespace tiletune {
namespace init_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kBlur = R"--(#ifndef fast
#define fast 0
#endif
typedef unsigned int count;
#if wide == 2
typedef float2 item;
#else
typedef float item;
#endif
__global__ void blur(item *out, const item *in, count width, count height) {
  count x = blockIdx.x * block_x + threadIdx.x, y = blockIdx.y * block_y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = in[y * width + x];
}
)--";

TEST(Init, WhatItWritesIsTakenByTheOtherCommands) {
  const Sandbox sandbox;
  sandbox.write("blur.cu", kBlur);
  const Finished run = sandbox.run({"init", "blur.cu"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.out, {"buffer", "out", "f32, out"}));
  EXPECT_TRUE(has_line(run.out, {"dimension", "width", "u32"}));
  EXPECT_TRUE(has_line(run.out, {"parameter", "block_x", "11"}));
  EXPECT_TRUE(carries(run.out, {"blur/template.json:3:", "tiletune inspect blur.json --gpu H100"}));
  EXPECT_EQ(sandbox.run({"space", "blur.json"}).code, 0);
  const Finished inspect =
      sandbox.run({"inspect", "blur.json", "--gpu", "H100", "--format", "json", "--quiet"});
  ASSERT_EQ(inspect.code, 0) << inspect.out << inspect.err;
  const Json rows = Json::parse(inspect.out)["configurations"];
  EXPECT_GT(rows.size(), 4U);
  for (const Json& row : rows) EXPECT_EQ(row["gpus"][0]["outcome"], "ok") << row;
}

TEST(Init, WhatNoManifestCanSayIsRefusedAndNothingIsWritten) {
  const Sandbox sandbox;
  const auto expect_refused = [&](const std::string& parameters, const std::vector<std::string>& parts) {
    sandbox.write("odd.cu", "\n__global__ void odd(" + parameters + ", float* x) { x[threadIdx.x] = 1; }\n");
    expect_error(sandbox.run({"init", "odd.cu"}), kUserError, parts);
    EXPECT_FALSE(fs::exists(sandbox.folder() / "odd"));
    EXPECT_FALSE(fs::exists(sandbox.folder() / "odd.json"));
  };
  expect_refused("float multiprocessors", {"odd.cu:", "'multiprocessors'"});
  std::string many = "float* p0";
  for (int i = 1; i < 256; ++i) many += ", float* p" + std::to_string(i);
  expect_refused(many, {"odd.cu:", "257 buffers", "256"});
  sandbox.write("odd.cu",
                "__global__ void odd(float* in, float* out, int n) { out[threadIdx.x] = in[n]; }\n");
  EXPECT_EQ(sandbox.run({"init", "odd.cu"}).code, 0) << "expressions do not name buffers";
  sandbox.write("odd.cu", "__global__ void odd(float* x, int in) { x[threadIdx.x] = in; }\n");
  const Finished renamed = sandbox.run({"init", "odd.cu", "--force"});
  EXPECT_TRUE(carries(renamed.out, {"argument_2"})) << renamed.err;
}

TEST(Init, TemplatesAndTypesOfTheCompiler) {
  const Sandbox sandbox;
  sandbox.write(
      "k.cu",
      "#include <cuda_fp16.h>\ntemplate <int BLOCK, bool ADD>\n"
      "__global__ void k(const __half* a, int4* b, size_t n, double s, bool f, unsigned char** p) {\n"
      "  b[0].x = ADD + DEPTH + n; }\n");
  const Finished run = sandbox.run({"init", "k.cu", "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json report = Json::parse(run.out);
  std::map<std::string, std::string> guesses;
  for (const Json& finding : report["findings"]) guesses[finding["name"]] = finding["guess"];
  EXPECT_EQ(guesses.at("a"), "f16, in");
  EXPECT_EQ(guesses.at("b"), "i32, out");
  EXPECT_EQ(guesses.at("n"), "u64");
  EXPECT_EQ(guesses.at("s"), "f64");
  EXPECT_EQ(guesses.at("f"), "bool");
  EXPECT_EQ(guesses.at("p"), "u8, in") << "of addresses nothing is known";
  EXPECT_TRUE(guesses.contains("DEPTH")) << "what a template's body lacks counts, too";
  EXPECT_EQ(report["manifest"], "k/template.json");
  EXPECT_EQ(report["source_copy"], "k/k.cu");
}

TEST(Init, HostCodeIsLeftOutWhereverAKernelIsCompiled) {
  const Sandbox sandbox;
  const std::string text =
      "#include <vector>\n#include <cstdio>\n#include <cublas_v2.h>\n#include \"timer.h\"\n"
      "__global__ void k(float* a, int n) { const int i = blockIdx.x * BX + threadIdx.x; if (i < n) a[i] = "
      "1; }\n"
      "void launch(float* a, int n) {\n"
      "  cudaMemcpy(a, a, n, cudaMemcpyHostToDevice);\n  k<<<n, BX>>>(a, n);\n}\n"
      "int main() { std::vector<float> a(8); launch(a.data(), 8); std::puts(\"done\"); }\n";
  sandbox.write("k.cu", text);
  sandbox.write("timer.h",
                "#pragma once\n#include <ctime>\n#include <thread>\n"
                "inline double now() { return clock() / 1e6; }\n");
  const Finished run = sandbox.run({"init", "k.cu", "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json report = Json::parse(run.out);
  for (const Json& finding : report["findings"]) EXPECT_NE(finding["name"], "cudaMemcpyHostToDevice");
  EXPECT_EQ(read_file(sandbox.folder() / "k/k.cu"), text);
  const Finished check = sandbox.run({"check", "k.json", "--quiet"});
  EXPECT_EQ(check.code, 0) << check.out;
}

TEST(Init, HeadersAreCopiedWithTheSource) {
  const Sandbox sandbox;
  sandbox.write("src/common.h",
                "#include \"more/tile.h\"\n__device__ float twice(float v) { return 2 * v; }\n");
  sandbox.write("src/more/tile.h", "#define TILE 32\n");
  sandbox.write("common/shared.h", "#define ONE 1\n");
  sandbox.write("src/scale.cu",
                "#include \"common.h\"\n#include \"../common/shared.h\"\n"
                "__global__ void scale(float* y, const float* x) { y[0] = twice(x[0]) + TILE * ONE; }\n");
  const Finished run = sandbox.run({"init", "src/scale.cu", "--out", "drafts/scale", "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(Json::parse(run.out)["header_copies"],
            Json({"drafts/common/shared.h", "drafts/scale/common.h", "drafts/scale/more/tile.h"}));
  const Finished check = sandbox.run({"check", "drafts/scale.json", "--quiet"});
  EXPECT_EQ(check.code, 0) << check.out;
  EXPECT_TRUE(fs::remove(sandbox.folder() / "drafts/scale/template.json"));
  expect_error(sandbox.run({"init", "src/scale.cu", "--out", "drafts/scale"}), kUserError,
               {"exists already"});
  EXPECT_EQ(sandbox.run({"init", "src/scale.cu", "--out", "drafts/other"}).code, 0) << "it shares a header";
  sandbox.write("drafts/common/shared.h", "// another one\n");
  expect_error(sandbox.run({"init", "src/scale.cu", "--out", "drafts/third"}), kUserError,
               {"drafts/common/shared.h", "exists already"});
  EXPECT_EQ(read_file(sandbox.folder() / "drafts/common/shared.h"), "// another one\n");
}

TEST(Init, CheckLooksAtTheFirstAndTheLastConfiguration) {
  const Sandbox sandbox;
  sandbox.write("k.cu",
                "template <int MODE> __global__ void k(float* a, float* c, int n) {\n"
                "  const int i = blockIdx.x * MODE + threadIdx.x;\n"
                "  if (i < n) { c[i] = a[i]; if (MODE > 256) a[i] = 0; }\n}\n");
  ASSERT_EQ(sandbox.run({"init", "k.cu"}).code, 0);
  const Finished check = sandbox.run({"check", "k.json"});
  EXPECT_TRUE(carries(check.out + check.err, {"a, is an input that the kernel may write to"})) << check.out;
}

TEST(Init, WhatPublicSamplesHaveIsRead) {
  const Sandbox sandbox;
  sandbox.write("steps.h", "#define STEPS 2048\n");
  const std::string kernel =
      "__global__ void k(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }\n";
  for (const std::string& text :
       {"#include <cstdio>\ninline void __ck(cudaError_t e) { if (e) printf(\"%s\", cudaGetErrorString(e)); "
        "}\n" +
            kernel,
        "#include <cuda_runtime.h>\nstruct Buffer { explicit Buffer(int n) { cudaMalloc(&p, n); } void* p; "
        "};\n" +
            kernel + "auto failed = cudaGetLastError();\n",
        "#include \"steps.h\"\n#if STEPS % 64\n#error no\n#endif\n" + kernel,
        std::string("#define SIDE 32\n__global__ void k(float* y, int n) {\n"
                    "  const int i = (threadIdx.z * SIDE + threadIdx.y) * SIDE + threadIdx.x;\n"
                    "  if (i < n) y[i] = 1;\n}\n")}) {
    sandbox.write("k.cu", text);
    const Finished run = sandbox.run({"init", "k.cu", "--force"});
    EXPECT_EQ(run.code, 0) << text << run.err;
    const Finished check = sandbox.run({"check", "k.json", "--quiet"});
    EXPECT_EQ(check.code, 0) << text << check.out;
  }
}

TEST(Init, RolesAreWhatTheKernelDoes) {
  const Sandbox sandbox;
  const auto roles = [&](const std::string& text) {
    sandbox.write("k.cu", text);
    const Finished run = sandbox.run({"init", "k.cu", "--force", "--format", "json"});
    EXPECT_EQ(run.code, 0) << run.err;
    std::string all;
    const Json report = Json::parse(run.out);
    for (const Json& finding : report["findings"])
      if (finding["found"] == "buffer")
        all += (all.empty() ? "" : "; ") + finding["guess"].get<std::string>();
    return all;
  };
  EXPECT_EQ(roles("__device__ void add(unsigned* bin) { atomicAdd(bin, 1u); }\n"
                  "__global__ void k(unsigned char* in, unsigned* bins, float2* out, int n) {\n"
                  "  if (threadIdx.x < n) { add(&bins[in[threadIdx.x]]);\n"
                  "    reinterpret_cast<float4*>(out)[n] = make_float4(1, 2, 3, 4); } }\n"),
            "u8, in, randint(0, min(n, 256)); u32, inout; f32, out");
  EXPECT_EQ(roles("struct Body { float at[3]; int cell; };\ntypedef float vec[3];\n"
                  "__global__ void k(Body* b, vec* v, Body* other) {\n"
                  "  b->at[0] += v[1][2]; for (Body* o = other; o->cell; ++o) o->cell = 0; }\n"),
            "u8, inout; f32, in; u8, inout");
}

TEST(Init, WhatCannotBeLaunchedIsNamed) {
  const Sandbox sandbox;
  const auto expect_refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    sandbox.write("k.cu", text);
    expect_error(sandbox.run({"init", "k.cu"}), kUserError, parts);
  };
  expect_refused("__global__ void k(cudaTextureObject_t t, float* y) { y[0] = tex1Dfetch<float>(t, 0); }\n",
                 {"parameter 1, 't'", "texture"});
  expect_refused("__global__ void k(float* y) { y[0] = 1; }\n__global__ void k(double* y) { y[0] = 1; }\n",
                 {"line 1", "several functions", "'k'"});
  expect_refused(
      "#include <cooperative_groups.h>\n__global__ void k(float* y) {\n"
      "  y[1] = 2; cooperative_groups::this_grid().sync(); y[0] = y[1]; }\n",
      {"'k'", "grid.sync()", "cooperative"});
}

TEST(Init, MacrosThatCountThreadsMayBeDividedBy32) {
  const Sandbox sandbox;
  sandbox.write(
      "k.cu",
      "__global__ void __launch_bounds__(BLOCK) k(const float* x, float* y, int n) {\n"
      "  constexpr int W = BLOCK / 32;\n  __shared__ float s[BLOCK / 32];\n  __shared__ float t[W];\n"
      "  s[threadIdx.x / 32] = x[n]; t[0] = s[0]; y[blockIdx.x * BLOCK + threadIdx.x] = t[0]; }\n");
  const Finished run = sandbox.run({"init", "k.cu"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has_line(run.out, {"parameter", "BLOCK"}));
  sandbox.write("k.cu", "__global__ void k(float* y, int n) { static_assert(WIDTH == 7); y[n] = WIDTH; }\n");
  expect_error(sandbox.run({"init", "k.cu", "--force"}), kUserError,
               {"k.cu: line 1", "#ifndef WIDTH", "#define WIDTH 256", "#endif"});
}

TEST(Init, AFolderOfTheKernelsNameIsTheTemplates) {
  const Sandbox sandbox;
  sandbox.write("blur/blur.cu", kBlur);
  const Finished run = sandbox.run({"init", "blur/blur.cu", "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json report = Json::parse(run.out);
  EXPECT_EQ(report["manifest"], "blur/template.json");
  EXPECT_EQ(report["config"], "blur.json");
  EXPECT_EQ(report["source_copy"], nullptr);
  EXPECT_FALSE(fs::exists(sandbox.folder() / "blur/blur"));
  EXPECT_TRUE(carries(report["next"][0].get<std::string>(), {"tiletune check blur.json"}));
  EXPECT_TRUE(carries(report["decide"][0]["text"].get<std::string>(), {"thread blocks"}));
}

TEST(Init, ASweepOfAnUncheckedDraftSaysSo) {
  const Sandbox sandbox;
  sandbox.write("blur.cu", kBlur);
  ASSERT_EQ(sandbox.run({"init", "blur.cu"}).code, 0);
  const std::size_t open = decisions_in(read_file(sandbox.folder() / "blur/template.json")).size();
  const Finished run =
      sandbox.run({"sweep", "blur.json", "--gpu", "H100", "--budget", "1", "--db", "draft.db"});
  EXPECT_TRUE(
      has_line(run.err, {"blur/template.json", "draft: " + std::to_string(open) + " '// decide:' comments"}))
      << run.err;
}

TEST(Init, TypesOfATemplateAreTried) {
  const Sandbox sandbox;
  const auto kernel = [](const std::string& more) {
    return "template <typename T> __global__ void k(const T* a, int* b, int n) { b[0] = a[0] & n; }" + more;
  };
  sandbox.write("k.cu", kernel(""));
  Finished run = sandbox.run({"init", "k.cu"});
  EXPECT_TRUE(has_line(run.out, {"parameter", "T", "[\"int\"]"})) << run.out << run.err;
  sandbox.write("k.cu",
                kernel("template __global__ void k<unsigned short>(const unsigned short*, int*, int);"));
  run = sandbox.run({"init", "k.cu", "--force"});
  EXPECT_TRUE(has_line(run.out, {"buffer", "a", "u16, in"})) << run.out << run.err;
  EXPECT_EQ(sandbox.run({"check", "k.json"}).code, 0);
  sandbox.write("k.cu", "template <typename T> __global__ void k(T* a, int n) { a[0] = T::start(n); }");
  expect_error(sandbox.run({"init", "k.cu", "--force"}), kUserError, {"k.cu", "float", "double", "default"});
}

TEST(Init, AKernelInANamespaceIsReportedInOneSentence) {
  const Sandbox sandbox;
  const std::string text = "namespace deep { __global__ void k(float* a, int n) { a[0] = n; } }\n";
  sandbox.write("k.cu", text);
  const Finished run = sandbox.run({"init", "k.cu"});
  expect_error(run, kUserError, {"k.cu", "'k'", "namespace deep", "using deep::k;"});
  sandbox.write("k.cu", text + "using deep::k;\n");
  EXPECT_EQ(sandbox.run({"init", "k.cu"}).code, 0);
}

TEST(Init, AMacroMayHaveAnyName) {
  const Sandbox sandbox;
  sandbox.write("k.cu",
                "#define T float\n#define value 3\n__global__ void k(T* x, int n) { x[n] = A * value; }\n");
  const Finished run = sandbox.run({"init", "k.cu"});
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST(Init, WritesNowhereElse) {
  const Sandbox sandbox;
  sandbox.write("in/k.cu", "__global__ void k(float* x, int n) { x[n] = 1; }\n");
  fs::create_directory(sandbox.folder() / "elsewhere");
  fs::create_directory_symlink(sandbox.folder() / "elsewhere", sandbox.folder() / "in/k");
  expect_error(sandbox.run({"init", "in/k.cu"}), kUserError,
               {"in/k", "a link to a folder elsewhere", "--out"});
  EXPECT_TRUE(fs::is_empty(sandbox.folder() / "elsewhere"));
  expect_error(sandbox.run({"init", "in/k.cu", "--out", std::string(300, 'x')}), kUserError,
               {"File name too long", "--out"});
}

TEST(Init, NeverReplacesAFileUnasked) {
  const Sandbox sandbox;
  sandbox.write("blur.cu", kBlur);
  sandbox.write("blur/template.json", "mine");
  expect_error(sandbox.run({"init", "blur.cu"}), kUserError, {"blur/template.json", "--out", "--force"});
  EXPECT_EQ(read_file(sandbox.folder() / "blur/template.json"), "mine");
  EXPECT_FALSE(fs::exists(sandbox.folder() / "blur.json"));
  EXPECT_EQ(sandbox.run({"init", "blur.cu", "--force"}).code, 0);
  EXPECT_NE(read_file(sandbox.folder() / "blur/template.json"), "mine");
}

TEST(Init, ASourceInTheFolderStaysWhereItIs) {
  const Sandbox sandbox;
  sandbox.write("smooth/blur.cu", kBlur);
  const Finished run = sandbox.run({"init", "smooth/blur.cu", "--out", "smooth/", "--format", "json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(Json::parse(run.out)["source_copy"], nullptr);
  EXPECT_TRUE(fs::exists(sandbox.folder() / "smooth.json"));
  expect_error(sandbox.run({"init", "smooth/blur.cu", "--out", "2nd"}), kUserError, {"--out", "'2nd'"});
}

TEST(Init, Mistakes) {
  const Sandbox sandbox;
  expect_error(sandbox.run({"init", "none.cu"}), kUserError, {"none.cu", "not a file"});
  expect_error(sandbox.run({"init", "."}), kUserError, {".", "not a file"});
  sandbox.write("binary.cu", std::string("a\0b", 3));
  expect_error(sandbox.run({"init", "binary.cu"}), kUserError, {"binary.cu", "zero byte"});
  sandbox.write("wrong.cu", "__global__ void k(float* a) { a[0] = missing(1); }");
  expect_error(sandbox.run({"init", "wrong.cu"}), kUserError, {"wrong.cu: line 1", "'k'", "\"missing\""});
  EXPECT_FALSE(fs::exists(sandbox.folder() / "k"));
}

}  // namespace init_test
}  // namespace tiletune
