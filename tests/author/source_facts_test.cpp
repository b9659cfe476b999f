#include "author/source_facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "carries.h"
#include "temporary_folder.h"

namespace tiletune {
namespace source_facts_test {

std::vector<std::string> kernel_names(const std::string& text) {
  std::vector<std::string> names;
  for (const KernelText& kernel : read_source_facts(text, "k.cu").kernels) names.push_back(kernel.name);
  return names;
}

KernelText only_kernel(const std::string& text) {
  const SourceFacts facts = read_source_facts(text, "k.cu");
  return choose_kernel(facts, "", "k.cu");
}

const MacroText* find(const SourceFacts& facts, const std::string& name) {
  const auto found = std::find_if(facts.macros.begin(), facts.macros.end(),
                                  [&](const MacroText& macro) { return macro.name == name; });
  return found == facts.macros.end() ? nullptr : &*found;
}

TEST(SourceFacts, KernelsAreFoundInCodeAlone) {
  EXPECT_EQ(kernel_names(R"--(
      // __global__ void in_comment(int) {}
      /* __global__ void in_block(int) {} */
      const char* text = "__global__ void in_text(int) {}";
      const char* raw = R"x(" __global__ void in_raw(int) {} )x";
      __global__ void declared(int);
      extern "C" __global__ void first(int) {}
      __launch_bounds__(64) static __global__ void second() {}
      template <int N> __global__ __launch_bounds__(N) void third(float* a) { a[0] = N; })--"),
            (std::vector<std::string>{"first", "second", "third"}));
}

TEST(SourceFacts, AKernelsHead) {
  const KernelText kernel = only_kernel(
      "template <int BM, bool SUM = true, typename T = float, int BN = 0x40>\n"
      "__global__ void __launch_bounds__(BM* BN, 2) k(const T* __restrict__ a, std::array<int, 4> b,\n"
      "    int, float c[], unsigned int d = 3) {}\n");
  EXPECT_EQ(kernel.line, 2);
  EXPECT_EQ(kernel.launch_bounds, "BM * BN");
  EXPECT_EQ(kernel.parameter_names, (std::vector<std::string>{"a", "b", "", "c", "d"}));
  ASSERT_EQ(kernel.template_parameters.size(), 4U);
  EXPECT_EQ(kernel.template_parameters[1].name, "SUM");
  EXPECT_EQ(kernel.template_parameters[1].type, "bool");
  EXPECT_EQ(kernel.template_parameters[2].type, "typename");
  EXPECT_EQ(kernel.template_parameters[3].default_value, 64);
  EXPECT_EQ(kernel.template_parameters[0].default_value, std::nullopt);
}

TEST(SourceFacts, HowABodyUsesAxes) {
  const KernelText kernel =
      only_kernel("__global__ void k(float* w) {\n  int i = blockIdx.x + threadIdx.z;\n  w[i * 2] = 0; }");
  EXPECT_EQ(kernel.block_axes, 3U);
  EXPECT_EQ(kernel.grid_axes, 1U);
}

TEST(SourceFacts, ABodyThatIsNotClosedEndsBeforeTheNextKernel) {
  const SourceFacts facts = read_source_facts(
      "__global__ void one(float* a) { a[0] = 1; __global__ void two(float* a) { a[threadIdx.y] = 1; }",
      "k.cu");
  ASSERT_EQ(facts.kernels.size(), 2U);
  EXPECT_EQ(facts.kernels[0].block_axes, 1U);
  EXPECT_EQ(facts.kernels[1].block_axes, 2U);
}

TEST(SourceFacts, Macros) {
  const SourceFacts facts = read_source_facts(
      "#ifndef TILE\n#define TILE (32)\n#endif\n"
      "#if !defined(ROWS)\n#define ROWS 8u\n#endif\n"
      "#define FIXED 4\n#define SCALE 1.5f\n#define CALL(x) x\n"
      "#define CACHE cached\n"
      "#if CACHE == 1 && \\\n  defined(OTHER)\n#elif CACHE == 0\n#endif\n"
      "#pragma unroll UNROLL\n",
      "k.cu");
  ASSERT_NE(find(facts, "TILE"), nullptr);
  EXPECT_EQ(find(facts, "TILE")->value, 32);
  EXPECT_TRUE(find(facts, "TILE")->guarded);
  EXPECT_TRUE(find(facts, "ROWS")->guarded);
  EXPECT_FALSE(find(facts, "FIXED")->guarded);
  EXPECT_EQ(find(facts, "FIXED")->line, 7);
  ASSERT_NE(find(facts, "cached"), nullptr) << "what CACHE stands for";
  EXPECT_EQ(find(facts, "cached")->compared_to, (std::set<std::int64_t>{0, 1}));
  EXPECT_EQ(find(facts, "cached")->value, std::nullopt);
  EXPECT_NE(find(facts, "UNROLL"), nullptr);
  for (const char* none : {"SCALE", "CALL", "OTHER", "CACHE"}) EXPECT_EQ(find(facts, none), nullptr) << none;
}

TEST(SourceFacts, NamespacesOfKernels) {
  const SourceFacts facts = read_source_facts(
      "namespace outer { namespace {\n__global__ void one() {} }\n"
      "extern \"C\" { template <class T> __global__ void two() {} } }\n"
      "namespace { __global__ void three() {} }\n",
      "k.cu");
  ASSERT_EQ(facts.kernels.size(), 3U);
  EXPECT_EQ(facts.kernels[0].scope, "outer");
  EXPECT_EQ(facts.kernels[1].scope, "outer");
  EXPECT_EQ(facts.kernels[2].scope, "");
}

TEST(SourceFacts, WhatIsRefused) {
  const auto refusal = [](const std::string& text, const std::string& kernel = "") {
    return error_of([&] { choose_kernel(read_source_facts(text, "k.cu"), kernel, "k.cu"); });
  };
  EXPECT_TRUE(carries(refusal("void host() {}"), {"k.cu", "__global__"}));
  const std::string two = "__global__ void one() {} __global__ void two() {}";
  EXPECT_TRUE(carries(refusal(two), {"k.cu", "2", "one, two", "--kernel one"}));
  EXPECT_TRUE(carries(refusal(two, "tow"), {"'tow'", "'two'"}));
  EXPECT_EQ(refusal(two, "two"), "no error");
  EXPECT_TRUE(carries(refusal("\n__global__ void open(int a"), {"k.cu: line 2", "'open'", "')'"}));
  EXPECT_TRUE(carries(refusal(std::string(300 << 10, ' ')), {"k.cu", "300.0 KiB", "256.0 KiB"}));
  std::string many;
  for (int i = 0; i < 257; ++i) many += "__global__ void k() {";
  EXPECT_TRUE(carries(refusal(many), {"k.cu", "256"}));
}

}  // namespace source_facts_test
}  // namespace tiletune
