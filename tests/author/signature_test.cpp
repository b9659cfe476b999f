#include "author/signature.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tiletune {
namespace signature_test {

constexpr const char* kSource =
    "#include <vector>\n"                                      // 1
    "#include <cuda_fp16.h>\n"                                 // 2
    "struct Options { std::string name; };\n"                  // 3
    "float half_of(float x) { return x * SCALE; }\n"           // 4
    "__global__ void k(float* a) { a[0] = half_of(a[1]); }\n"  // 5
    "namespace host {\n"                                       // 6
    "template <class T>\n"                                     // 7
    "void launch(float* a) {\n"                                // 8
    "  k<<<1, 1>>>(a);\n"                                      // 9
    "}  // launches\n"                                         // 10
    "\n"                                                       // 11
    "int twice(int a) { return launch<int>(nullptr), a; }\n"   // 12
    "}\n";                                                     // 13

TEST(HostCode, IsWhatTheCompilerRefusesAndNoKernelNeeds) {
  HostCode host(kSource);
  EXPECT_FALSE(host.leave_out("k.cu(4): error: identifier \"SCALE\" is undefined", "k.cu"))
      << "the kernel calls it";
  EXPECT_FALSE(host.leave_out("k.cu(5): error: no\nother.cu(9): error: no\nk.cu(9): warning: no", "k.cu"));
  EXPECT_FALSE(host.leave_out("k.cu(3): error: no", "k.cu")) << "a kernel may take it";
  EXPECT_EQ(host.guarded(), kSource);
  EXPECT_TRUE(host.leave_out("k.cu(1): catastrophic error: cannot open", "k.cu"));
  EXPECT_TRUE(host.leave_out("k.cu(9): error: no\nk.cu(12): error: no", "k.cu"));
  EXPECT_FALSE(host.leave_out("k.cu(9): error: no", "k.cu")) << "it is left out already";
  EXPECT_EQ(lines_text(host.lines()), "lines 1, 7-10, 12");
  EXPECT_TRUE(host.leave_out("k.cu(3): error: no", "k.cu", true));
  EXPECT_EQ(lines_text(host.lines()), "lines 1, 3, 7-10, 12");
}

TEST(HostCode, StaysWhereItIsWhenItIsBlankedOrGuarded) {
  HostCode host(kSource);
  host.leave_out("k.cu(1): error: no\nk.cu(9): error: no", "k.cu");
  const std::string blanked = host.blanked();
  EXPECT_EQ(blanked.size(), std::string(kSource).size());
  EXPECT_EQ(std::count(blanked.begin(), blanked.end(), '\n'), 13);
  EXPECT_EQ(blanked.find("<<<"), std::string::npos);
  const std::string guarded = host.guarded();
  EXPECT_TRUE(
      guarded.starts_with("#ifndef __CUDACC_RTC__\n#include <vector>\n#endif\n#include <cuda_fp16.h>\n"));
  EXPECT_NE(guarded.find("namespace host {\n#ifndef __CUDACC_RTC__\ntemplate"), std::string::npos);
  EXPECT_NE(guarded.find("}  // launches\n#endif\n\nint twice"), std::string::npos);
}

TEST(HostCode, OnTheSameLineAsOtherCodeGetsLinesOfItsOwn) {
  HostCode host("__global__ void k() {} void run() { k<<<1, 1>>>(); } int last;");
  EXPECT_TRUE(host.leave_out("k.cu(1): error: no", "k.cu", true));
  HostCode function("__global__ void k() {} void run() { k<<<1, 1>>>(); } int last;");
  EXPECT_TRUE(function.leave_out("k.cu(1): error: no", "k.cu"));
  EXPECT_EQ(
      function.guarded(),
      "__global__ void k() {}\n#ifndef __CUDACC_RTC__\n void run() { k<<<1, 1>>>(); }\n#endif\n int last;");
}

TEST(HostCode, TakesAnyText) {
  for (const char* text : {"", "}", "{", "template <", "void f() {", "namespace a { namespace { }}}", "= {",
                           "extern \"C\" { int a; }", "#include <", "struct __align__(8) S { int a; } s;"}) {
    HostCode host(text);
    host.leave_out("k.cu(1): error: no", "k.cu", true);
    EXPECT_EQ(host.blanked().size(), std::string(text).size());
  }
}

}  // namespace signature_test
}  // namespace tiletune
