#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "author/init.h"
#include "carries.h"
#include "temporary_folder.h"

namespace tiletune {
namespace manifest_test {

using Json = nlohmann::ordered_json;

const ParameterType kIn{true, true, ElementType::f32, 1};
const ParameterType kPlain{true, false, ElementType::f32, 1};
const ParameterType kInt{false, false, ElementType::i32, 1};

Draft draft_of(const std::string& text, const Signature& signature) {
  const SourceFacts facts = read_source_facts(text, "k.cu");
  return draft_manifest("k", "k.cu", facts, choose_kernel(facts, "", "k.cu"), signature);
}

Json json_of(const std::string& text, const Signature& signature) {
  return Json::parse(draft_of(text, signature).manifest, nullptr, true, true);
}

TEST(Draft, AKernelInOneDimension) {
  const Json manifest = json_of(
      "__global__ void saxpy(const float* x, float* y, float a, int n) { y[blockIdx.x * BLOCK] += a * x[0]; "
      "}",
      {{kIn, kPlain, {false, false, ElementType::f32, 1}, kInt},
       {{"BLOCK", 1, std::nullopt, false, {}}},
       "",
       {{.read = true}, {.read = true, .written = true}, {}, {}}});
  const Json& operation = manifest["operation"];
  EXPECT_EQ(operation["dimensions"], Json::array({"n"}));
  EXPECT_EQ(operation["scalars"], Json({{"a", 1}}));
  EXPECT_EQ(operation["buffers"][0]["role"], "in");
  EXPECT_EQ(operation["buffers"][1]["role"], "inout");
  EXPECT_EQ(operation["buffers"][1]["elements"], "n");
  EXPECT_EQ(operation["bytes"], "4 * n + 8 * n");
  EXPECT_EQ(operation["reference"], "none");
  EXPECT_EQ(manifest["launch"]["grid"], Json::array({"ceil_div(n, BLOCK)"}));
  EXPECT_EQ(manifest["launch"]["block"], Json::array({"BLOCK"}));
  EXPECT_EQ(manifest["macros"], Json({{"BLOCK", "BLOCK"}}));
  EXPECT_EQ(manifest["arguments"][3], Json({{"scalar", "n"}, {"type", "i32"}}));
}

TEST(Draft, RolesFollowFromWhatTheCompilerSays) {
  const auto buffers = [](const std::vector<PointerUse>& uses, const ParameterType& second) {
    return json_of("__global__ void k(float* a, float* b, int n) {}",
                   {{kPlain, second, kInt}, {}, "", uses})["operation"]["buffers"];
  };
  const auto roles = [&](const PointerUse& a, const PointerUse& b, const ParameterType& second = kPlain) {
    const Json all = buffers({a, b, {}}, second);
    return all[0]["role"].get<std::string>() + " " + all[1]["role"].get<std::string>();
  };
  const PointerUse reads{.read = true}, writes{.written = true}, both{.read = true, .written = true},
      passes{.escaped = true};
  EXPECT_EQ(roles(reads, writes), "in out");
  EXPECT_EQ(roles(both, passes), "inout inout");
  EXPECT_EQ(roles(writes, passes, kIn), "out in") << "what is passed on may be const";
  EXPECT_EQ(roles(reads, {}), "inout inout") << "a kernel writes something";
  EXPECT_EQ(buffers({}, kPlain)[0]["role"], "inout") << "nothing is known";
}

TEST(Draft, StructsHaveTheirSizeInBytes) {
  const ParameterType body{true, false, std::nullopt, 1, 24};
  const Json buffer =
      json_of("__global__ void k(B* b, int n) {}", {{body, kInt}, {}})["operation"]["buffers"][0];
  EXPECT_EQ(buffer["type"], "u8");
  EXPECT_EQ(buffer["elements"], "n * 24");
}

TEST(Draft, IndicesFitTheirType) {
  const auto values = [](ElementType type, const std::string& body) {
    return json_of("__global__ void k(const float* x, float* y, const T* idx, int n) {\n" + body + " }",
                   {{kIn, kPlain, {true, true, type, 1}, kInt}, {}})["operation"]["buffers"][2]["values"];
  };
  EXPECT_EQ(values(ElementType::u8, "y[0] = x[idx[0]];"), "randint(0, min(n, 256))");
  EXPECT_EQ(values(ElementType::i16, "y[0] = x[idx[0]];"), "randint(0, min(n, 32768))");
  EXPECT_EQ(values(ElementType::u8, "for (int j = idx[n]; j < idx[n + 1]; ++j) y[0] = x[j];"),
            "offsets(min(total, 255))");
}

TEST(Draft, TexturesAreRefused) {
  const Signature signature{{{false, false, ElementType::u64, 1}, kPlain}, {}, "", {{.texture = true}, {}}};
  EXPECT_TRUE(carries(error_of([&] { draft_of("__global__ void k(Texture t, float* y) {}", signature); }),
                      {"parameter 1, 't'", "texture"}));
}

TEST(Draft, SizesThatTheSourceDefines) {
  const std::string text =
      "#define width 4096\n#ifndef height\n#define height 2048\n#endif\n#define BLOCK_X 32\n"
      "__global__ void k(float* a, float* b) { a[blockIdx.y + threadIdx.y] = b[threadIdx.x]; }";
  const Draft draft = draft_of(text, {{kPlain, kPlain}, {}});
  EXPECT_EQ(draft.problem, "4096x2048");
  const Json manifest = Json::parse(draft.manifest, nullptr, true, true);
  EXPECT_EQ(manifest["macros"], Json({{"height", "height"}}));
  EXPECT_EQ(manifest["constraints"][0]["require"], "width == 4096");
  EXPECT_EQ(manifest["derived"][0]["value"], "32") << "the launch needs what the source fixes";
  EXPECT_EQ(manifest["launch"]["grid"], Json::array({"ceil_div(width, BLOCK_X)", "ceil_div(height, 8)"}));
}

TEST(Draft, TemplatesTakeMacrosAsOptions) {
  const Json manifest =
      json_of("template <int TILE, bool FAST> __global__ void k(float* a, int n) { a[blockIdx.x] = DEPTH; }",
              {{kPlain, kInt}, {{"DEPTH", 1, std::nullopt, false, {}}}});
  EXPECT_EQ(manifest["template_arguments"], Json::array({"TILE", "FAST"}));
  EXPECT_EQ(manifest["compile_options"], Json({"-DDEPTH={DEPTH}"}));
  EXPECT_FALSE(manifest.contains("macros"));
  EXPECT_EQ(manifest["parameters"][1]["values"], Json::array({false, true}));
}

TEST(Draft, WhatAnIndexIsMadeOfIsTheBlock) {
  const std::vector<MacroText> names{{"BX", 1, std::nullopt, false, {}}, {"BY", 1, std::nullopt, false, {}}};
  const std::string head = "__global__ void k(int M, int N, int K, const float* a, float* b) {\n";
  for (const char* body :
       {"int c = blockIdx.x * BX + threadIdx.x, r = threadIdx.y + BY * blockIdx.y;\n"
        "if (c >= K || r >= N) return; b[0] = a[0]; }",
        "const int x = threadIdx.x; const int by = blockIdx.y; int c = (blockIdx.x * BX) + x;\n"
        "int r = static_cast<int>(BY * by) + threadIdx.y; if (c < K && r < N) b[0] = a[0]; }"}) {
    const Json manifest = json_of(head + body, {{kInt, kInt, kInt, kIn, kPlain}, names});
    EXPECT_EQ(manifest["launch"]["block"], Json::array({"BX", "BY"})) << body;
    EXPECT_EQ(manifest["launch"]["grid"], Json::array({"ceil_div(K, BX)", "ceil_div(N, BY)"})) << body;
    EXPECT_EQ(manifest["parameters"][0]["values"], Json::array({16, 32, 64}));
  }
  const Json square = json_of(
      "template <int T> __global__ void k(int n, const float* a, float* b) {\n"
      "int c = blockIdx.x * T + threadIdx.x, r = blockIdx.y * T + threadIdx.y; b[c] = a[r]; }",
      {{kInt, kIn, kPlain}, {}});
  EXPECT_EQ(square["launch"]["block"], Json::array({"T", "T"}));
  EXPECT_EQ(square["launch"]["grid"], Json::array({"ceil_div(n, T)", "ceil_div(n, T)"}));
}

TEST(Draft, WhatAnIndexLeavesOpenIsGuessedFromNames) {
  const auto launch = [](const std::string& index) {
    return json_of("__global__ void k(float* a, int n) { int i = " + index + "; a[i] = 1; }",
                   {{kPlain, kInt}, {{"ITEMS", 1, std::nullopt, false, {}}}})["launch"]["block"][0];
  };
  EXPECT_EQ(launch("blockIdx.x * ITEMS + threadIdx.x"), "ITEMS");
  EXPECT_EQ(launch("blockIdx.x * ITEMS + threadIdx.x * 4"), "256");
  EXPECT_EQ(launch("blockIdx.x * ITEMS"), "256");
  EXPECT_EQ(launch("blockIdx.x * blockDim.x + threadIdx.x"), "256");
}

TEST(Draft, ABlockForEachIndexHasNoThreadsInItsGrid) {
  const auto grid = [](const std::string& body, const std::string& sizes = "int rows, int cols") {
    return json_of("__global__ void k(const float* x, float* y, " + sizes + ") {\n" + body + " }",
                   {{kIn, kPlain, kInt, kInt}, {{"BLOCK", 1, std::nullopt, false, {}}}})["launch"]["grid"];
  };
  const char* const loop =
      "for (int c = threadIdx.x; c < cols; c += BLOCK) y[row * cols + c] = x[row * cols + c];";
  EXPECT_EQ(grid(std::string("const int row = blockIdx.x;\n") + loop), Json::array({"rows"}));
  EXPECT_EQ(grid(std::string("int row = static_cast<int>(blockIdx.x); if (row >= rows) return;\n") + loop),
            Json::array({"rows"}));
  EXPECT_EQ(grid("const float* in = x + (size_t)blockIdx.x * cols; y[blockIdx.x] = in[threadIdx.x];"),
            Json::array({"rows"}));
  EXPECT_EQ(grid(std::string("int row = blockIdx.x; if (row < rows) ") + loop, "int cols, int rows"),
            Json::array({"rows"}));
  for (const char* body : {"int i = blockIdx.x * BLOCK + threadIdx.x; y[i] = x[i];",
                           "int b = blockIdx.x; int i = b * blockDim.x + threadIdx.x; y[i] = x[i];",
                           "int i = (blockIdx.x << 8) + threadIdx.x; y[i] = x[i];"})
    EXPECT_EQ(grid(body), Json::array({"ceil_div(rows * cols, BLOCK)"})) << body;
}

const ParameterType kIndices{true, true, ElementType::i32, 1};

TEST(Draft, IndicesStayWithinWhatTheyPointInto) {
  const auto operation = [](const std::string& sizes, const std::string& body) {
    const std::vector<ParameterType> types{kIn, kPlain, kIndices, kInt, kInt};
    const auto count = static_cast<std::ptrdiff_t>(std::count(sizes.begin(), sizes.end(), ',') + 4);
    return json_of(
        "__global__ void k(const float* x, float* y, const int* idx, " + sizes + ") {\n" + body + " }",
        {{types.begin(), types.begin() + count}, {}})["operation"];
  };
  const Json gather = operation("int n", "y[blockIdx.x] = x[idx[blockIdx.x]];");
  EXPECT_EQ(gather["buffers"][2]["values"], "randint(0, n)");
  EXPECT_FALSE(gather["buffers"][0].contains("values"));
  const Json rows =
      operation("int rows, int n", "const int row = idx[blockIdx.x]; y[0] = x[row * n + threadIdx.x];");
  EXPECT_EQ(rows["buffers"][2]["values"], "randint(0, rows)");
  for (const char* body :
       {"y[0] = x[idx[0] + 1];", "y[0] = x[idx[0] % 7];", "__shared__ int h[99]; h[idx[0]] = 1; y[0] = x[0];",
        "y[0] = x[idx[0]]; y[idx[1] + 1] = 0;"})
    EXPECT_EQ(operation("int n", body)["buffers"][2]["values"], "constant(0)") << body;
  EXPECT_FALSE(operation("int n", "y[0] = x[0] + idx[0];")["buffers"][2].contains("values"));
}

TEST(Draft, WhatItDecidesOfIndicesIsExplained) {
  const auto text = [](const std::string& body) {
    return draft_of("__global__ void k(const float* x, float* y, const int* idx, int n) {\n" + body + " }",
                    {{kIn, kPlain, kIndices, kInt}, {}})
        .manifest;
  };
  EXPECT_TRUE(has_line(text("y[0] = x[idx[0]];"), {"// decide:", "indices into x (line 2)"}));
  EXPECT_TRUE(has_line(text("y[0] = x[idx[0] / 2];"), {"constant(0)", "// decide:", "line 2", "range"}));
  const Draft draft = draft_of("__global__ void k(float* y, const int* idx, int n) { y[0] = f(idx); }",
                               {{kPlain, kIndices, kInt}, {}, "", {{}, {.read = true, .indexes = true}, {}}});
  EXPECT_TRUE(has_line(draft.manifest, {"\"idx\"", "constant(0)", "// decide:", "indices"}));
  EXPECT_FALSE(has_line(text("y[0] = idx[0] + x[0];"), {"\"idx\"", "values"}));
}

TEST(Draft, StartsOfRowsAreOffsets) {
  const Draft draft = draft_of(
      "__global__ void spmv(float* y, const int* rows, const int* cols, const float* values, const float* x, "
      "int nrows) {\n"
      "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= nrows) return; float sum = 0;\n"
      "for (int j = rows[i]; j < rows[i + 1]; ++j) sum += values[j] * x[cols[j]];\ny[i] = sum; }",
      {{kPlain, kIndices, kIndices, kIn, kIn, kInt}, {}});
  const Json operation = Json::parse(draft.manifest, nullptr, true, true)["operation"];
  EXPECT_EQ(operation["dimensions"], Json::array({"nrows", "total"}));
  EXPECT_EQ(draft.problem, "4194304x33554432");
  const Json& buffers = operation["buffers"];
  EXPECT_EQ(buffers[1]["values"], "offsets(total)");
  EXPECT_EQ(buffers[1]["elements"], "nrows + 1");
  EXPECT_EQ(buffers[2]["values"], "randint(0, nrows)") << "x has as many elements";
  EXPECT_EQ(buffers[2]["elements"], "total");
  EXPECT_EQ(buffers[3]["elements"], "total");
  EXPECT_EQ(buffers[4]["elements"], "nrows");
  EXPECT_EQ(operation["bytes"], "8 * nrows + 4 * (nrows + 1) + 4 * total + 4 * total + 4 * nrows");
  EXPECT_TRUE(has_line(draft.manifest, {"\"rows\"", "starts of rows", "values (line 3)", "cols (line 3)"}));
}

TEST(Draft, TheLaunchIsTheFirstThingToDecide) {
  const Draft draft = draft_of("__global__ void k(float* a, int n) { a[0] = n; }", {{kPlain, kInt}, {}});
  const std::vector<Decision> decisions = launch_first(decisions_in(draft.manifest));
  ASSERT_GT(decisions.size(), 2U);
  EXPECT_TRUE(carries(decisions.front().text, {"thread blocks"}));
  EXPECT_LT(decisions[1].line, decisions[2].line) << "the others keep their order";
}

TEST(Draft, AMatrixProductIsToldOfTheOperation) {
  const auto draft = [](const std::string& sizes) {
    const SourceFacts facts = read_source_facts(
        "__global__ void k(" + sizes + ", const float* A, const float* B, float* C) { C[0] = A[0] * B[0]; }",
        "k.cu");
    return draft_manifest("k", "k.cu", facts, facts.kernels.front(),
                          {{kInt, kInt, kInt, kIn, kIn, kPlain}, {}}, {"gemm", "softmax"})
        .manifest;
  };
  EXPECT_TRUE(carries(draft("int M, int N, int K"), {"\"operation\": \"gemm\"", "gemm, softmax."}));
  const std::string other = draft("int M, int N, int batch");
  EXPECT_FALSE(carries(other, {"\"operation\": \"gemm\""})) << other;
  EXPECT_TRUE(carries(other, {"gemm, softmax."}));
}

TEST(Draft, ATypeHasItsDefaultOrWhatTheCompilerTakes) {
  const auto values = [](const std::string& text) {
    Signature signature{{kPlain, kInt}, {}};
    signature.type = "int";
    return json_of(text, signature)["parameters"];
  };
  const std::string body = "__global__ void k(T* a, int n) { a[0] = n; }\n";
  EXPECT_EQ(values("template <typename T> " + body)[0]["values"], Json({"int"}));
  EXPECT_EQ(values("template <typename T = std::uint8_t> " + body)[0]["values"], Json({"std::uint8_t"}));
  const Json both = values("template <class T, int LANES> " + body +
                           "template __global__ void k<unsigned char, 8>(unsigned char*, int);");
  EXPECT_EQ(both[0]["values"], Json({"unsigned char"}));
  EXPECT_EQ(both[1]["values"], Json({8}));
}

TEST(Draft, MemoryThatTheLaunchMustProvideIsADecision) {
  const Draft draft = draft_of(
      "__constant__ float weights[9];\n"
      "__global__ void k(float* a, int n) { extern __shared__ float tile[]; a[0] = n; }",
      {{kPlain, kInt}, {}});
  const Json manifest = Json::parse(draft.manifest, nullptr, true, true);
  EXPECT_EQ(manifest["launch"]["dynamic_shared_bytes"], "0");
  std::string decisions;
  for (const Decision& decision : decisions_in(draft.manifest)) decisions += decision.text + "\n";
  EXPECT_TRUE(carries(decisions, {"extern __shared__", "line 2", "weights", "line 1", "\"constants\""}));
}

TEST(Draft, ConstantsOfTheSource) {
  const Draft draft = draft_of(
      "const int TILE = 32;\nstatic constexpr unsigned kRowBlock = 4;\n#define WARP_SIZE 32\n"
      "constexpr float scale = 2;\n__global__ void k(float* a, int n) { const int local = 3; a[0] = n; }",
      {{kPlain, kInt}, {}});
  std::string found;
  for (const SourceFinding& finding : draft.findings)
    if (finding.what == "constant") found += finding.name + " " + finding.guess + "\n";
  EXPECT_TRUE(carries(found, {"TILE 32", "kRowBlock 4", "macro or a template parameter"})) << found;
  for (const char* none : {"WARP_SIZE", "scale", "local"}) EXPECT_FALSE(carries(found, {none})) << found;
}

TEST(Draft, DecisionsHaveTheirLines) {
  const Draft draft = draft_of("__global__ void k(float* a, int n) { a[0] = n; }", {{kPlain, kInt}, {}});
  std::vector<std::string> lines{""};
  for (const char c : draft.manifest) c == '\n' ? lines.emplace_back() : lines.back() += c, void();
  const std::vector<Decision> decisions = decisions_in(draft.manifest);
  ASSERT_GE(decisions.size(), 5U);
  for (const Decision& decision : decisions)
    EXPECT_TRUE(lines[static_cast<std::size_t>(decision.line) - 1].ends_with("// decide: " + decision.text));
}

TEST(Draft, WhatAManifestCannotSay) {
  const auto refusal = [](const std::string& parameters, const Signature& signature) {
    return error_of([&] { draft_of("\n__global__ void k(" + parameters + ") {}", signature); });
  };
  EXPECT_TRUE(carries(refusal("", {}), {"k.cu: line 2", "'k'", "output"}));
  EXPECT_TRUE(carries(refusal("int n", {{kInt}, {}}), {"k.cu: line 2", "no pointer"}));
  EXPECT_TRUE(carries(refusal("const float* a", {{kIn}, {}}), {"const"}));
  EXPECT_TRUE(carries(refusal("float* a, Shape s", {{kPlain, {false, false, std::nullopt, 1}}, {}}),
                      {"parameter 2", "'s'", "by value"}));
  EXPECT_EQ(refusal("float* a", {{kPlain}, {}}), "no error")
      << "a pointer that nothing shows to be read only";
}

}  // namespace manifest_test
}  // namespace tiletune
