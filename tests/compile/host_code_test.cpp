#include "compile/host_code.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile/test_support.h"

namespace tiletune {
namespace host_code_test {

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

/// What device code of a source has in use.
std::set<std::string> used_in(HostCode& host) {
  std::set<std::string> used;
  host.add_used(used);
  return used;
}

TEST(HostCode, IsWhatTheCompilerRefusesAndNoKernelNeeds) {
  HostCode host(kSource);
  const std::set<std::string> used = used_in(host);
  EXPECT_FALSE(host.leave_out({4}, used)) << "the kernel calls it";
  EXPECT_FALSE(host.leave_out({5, 20}, used));
  EXPECT_FALSE(host.leave_out({3}, used)) << "it is no function";
  EXPECT_EQ(host.lines(), "");
  EXPECT_TRUE(host.leave_out({1}, used));
  EXPECT_TRUE(host.leave_out({9, 12}, used));
  EXPECT_FALSE(host.leave_out({9}, used)) << "it is left out already";
  EXPECT_EQ(host.lines(), "1, 7-10, 12");
  EXPECT_TRUE(host.leave_out({3}, used, true));
  EXPECT_EQ(host.lines(), "1, 3, 7-10, 12");
  EXPECT_FALSE(HostCode("int call() { return 1; }").leave_out({1}, {"call("}))
      << "a kernel elsewhere calls it";
}

/// What stays, and what may go, in a source with a kernel that has `body`.
TEST(HostCode, StaysWhereDeviceCodeMayMeanIt) {
  const auto may_go = [](const std::string& declaration, const std::string& body, bool is_function = false) {
    HostCode host(declaration + "\n__global__ void k(float* a) { " + body + " }\n");
    const std::set<std::string> used = used_in(host);
    return host.leave_out({1}, used, !is_function);
  };
  EXPECT_TRUE(may_go("std::vector<float> all;", "a[0] = 1;"));
  EXPECT_TRUE(may_go("std::map<int, float> q, all = {}, b(3);", "int n = 1;"));
  EXPECT_FALSE(may_go("std::map<int, float> x, all = {}, b(3);", "all;"));
  EXPECT_FALSE(may_go("float (*pointer)(std::string);", "pointer(a);"));
  EXPECT_FALSE(may_go("template <class T> struct Tile<T*> { std::string s; };", "Tile<float*>::n;"));
  EXPECT_FALSE(may_go("template <> struct Of<int> { std::string s; };", "Of<int>();"));
  EXPECT_TRUE(may_go("struct Timer : Base { std::string a; } timer;", "a[0] = 1;"));
  EXPECT_FALSE(may_go("struct Timer : Base { std::string a; } timer;", "timer;"));
  EXPECT_FALSE(may_go("enum Kind { one = std::size(x), two };", "two;"));
  EXPECT_TRUE(may_go("using namespace std;", "std;"));
  EXPECT_FALSE(may_go("using real = std::real;", "real x;"));
  EXPECT_FALSE(may_go("typedef std::real real;", "real x;"));
  EXPECT_FALSE(may_go("static_assert(N < 128); static_assert(std::size(x) == 2);", "a[0] = 1;"));
  EXPECT_TRUE(may_go("float sum(std::vector<float> x);", "float sum1 = 0; sum1 += a[0];"));
  EXPECT_TRUE(
      may_go("float sum(std::vector<float> x) { return x[0]; }", "float sum = a[0]; a[1] = sum;", true));
  EXPECT_FALSE(may_go("float sum(std::vector<float> x) { return x[0]; }", "a[0] = sum(a);", true));
  EXPECT_TRUE(may_go("std::ostream& operator<<(std::ostream& o, float4 x) { return o; }", "1 << 2;", true));
  EXPECT_FALSE(may_go("float4 operator+(float4 x, std::f4 y) { return x; }", "a[0] = 1;", true));
  EXPECT_FALSE(
      may_go("constexpr int SCALE = std::size(x);", "a[SIZE]; }\n#define SIZE (2 * SCALE)\nvoid f() {"));
  EXPECT_FALSE(may_go("int tile(int x) { return std::x; }",
                      "a[SCALE]; }\nconstexpr int SCALE = tile(6);\nvoid f() {", true));
}

TEST(HostCode, DirectivesStay) {
  HostCode host(
      "int main() {\n#define SCALE 3 \\\n  + 1\n#if 1 /* a\n # b */\n#include <vector>\n#endif\n}\nint x;\n");
  EXPECT_TRUE(host.leave_out({1}, {}));
  EXPECT_EQ(
      host.blanked(),
      "            \n#define SCALE 3 \\\n  + 1\n#if 1 /* a\n # b */\n#include <vector>\n#endif\n \nint x;\n");
  HostCode comment("/* the\n end */ #include <vector> // and\n");
  EXPECT_TRUE(comment.leave_out({2}, {}));
  EXPECT_EQ(comment.blanked(), "/* the\n end */ #                 // and\n");
}

TEST(HostCode, HeadersThatMayBeMissing) {
  for (const char* header :
       {"<vector>", "<unistd.h>", "<torch/extension.h>", "<cublas_v2.h>", "<sys/time.h>"})
    EXPECT_TRUE(is_for_hosts(header)) << header;
  for (const char* header :
       {"<project/config.h>", "<config.h>", "\"vector\"", "<>", "<../vector>", "</vector>"})
    EXPECT_FALSE(is_for_hosts(header)) << header;
}

TEST(HostCode, HeadersAreLeftOutByName) {
  HostCode host("#include <vector>\n  #include \"own.h\"\n#define include <x>\n#include <cub/cub.cuh>\n");
  std::vector<std::string> asked;
  EXPECT_TRUE(host.leave_out_headers([&](const std::string& header) {
    asked.push_back(header);
    return header == "<vector>";
  }));
  EXPECT_EQ(asked, (std::vector<std::string>{"<vector>", "\"own.h\"", "<cub/cub.cuh>"}));
  EXPECT_EQ(host.lines(), "1");
}

TEST(HostCode, StaysWhereItIs) {
  HostCode host(kSource);
  host.leave_out({1, 9}, {});
  const std::string blanked = host.blanked();
  EXPECT_EQ(blanked.size(), std::string(kSource).size());
  EXPECT_EQ(std::count(blanked.begin(), blanked.end(), '\n'), 13);
  EXPECT_EQ(blanked.find("<<<"), std::string::npos);
}

TEST(HostCode, TakesAnyText) {
  for (const char* text : {"", "}", "{", "template <", "void f() {", "namespace a { namespace { }}}", "= {",
                           "extern \"C\" { int a; }", "#include <", "#include \"", "#include",
                           "struct __align__(8) S { int a; } s;"}) {
    HostCode host(text);
    host.leave_out({1}, {}, true);
    EXPECT_EQ(host.blanked().size(), std::string(text).size());
  }
}

TEST(HostCode, LinesOfErrorsAreThoseOfTheirFiles) {
  const ErrorLines lines = error_lines(
      "k.cu(4): error: no\nk.cu(5): warning: no\n../common/a (b).h(7): catastrophic error: cannot open\n"
      "k.cu(9): error: no (declared at line 3)\nk.cu(x): error: no\n): error\n");
  EXPECT_EQ(lines, (ErrorLines{{"k.cu", {4, 9}}, {"../common/a (b).h", {7}}}));
}

/// What NVRTC makes of a source of one kernel, `k`.
Compiled compiled(const std::string& text) {
  CompileRequest request;
  request.source.name = "k.cu";
  request.source.text = text;
  request.options = {"--gpu-architecture=sm_90a", "--std=c++17", "--device-as-default-execution-space"};
  request.kernel_expressions = {"k"};
  return compile_here(request);
}
const std::string kKernel = "__global__ void k(float* a, int n) { a[n] = 1; }\n";

TEST(HostCode, IsLeftOutWhereASourceDoesNotCompileWithIt) {
  for (const char* text : {"#include <vector>\n#include <iostream>\n#include <torch/extension.h>\n",
                           "#include <nvrtc.h>\n#include <cublas_v2.h>\n#include <cuda_gl_interop.h>\n"}) {
    const Compiled done = compiled(text + kKernel +
                                   "std::vector<float> all;\n"
                                   "int main() { cublasHandle_t h; k<<<1, 1>>>(nullptr, 1); }\n");
    EXPECT_EQ(done.outcome, Outcome::ok) << done.reason;
  }
}

TEST(HostCode, WhatRefusesAConfigurationStays) {
  EXPECT_EQ(compiled("undeclared one;\n" + kKernel).outcome, Outcome::compile_failed);
  for (const char* text : {"static_assert(false, \"only 64\");\n", "constexpr int table[1 - 2] = {};\n",
                           "template <int N> struct Of { static_assert(N > 1); };\nconstexpr Of<1> one;\n",
                           "void check() { static_assert(sizeof(int) == 1); }\n", "#error no\n"}) {
    EXPECT_EQ(compiled(text + kKernel).outcome, Outcome::compile_failed) << text;
    EXPECT_EQ(compiled("#include <vector>\nstd::vector<int> all;\n" + (text + kKernel)).outcome,
              Outcome::compile_failed)
        << text;
  }
}

TEST(HostCode, OfWhatAKernelNeedsTheErrorStays) {
  const Compiled typo = compiled(
      "#include <vector>\nfloat one() { return onne; }\n"
      "__global__ void k(float* a, int n) { a[n] = one(); }\n");
  EXPECT_EQ(typo.outcome, Outcome::compile_failed);
  EXPECT_TRUE(typo.reason.starts_with("k.cu(2): error: identifier \"onne\"")) << typo.reason;
  EXPECT_NE(typo.reason.find("host code: k.cu(1)"), std::string::npos) << typo.reason;
  EXPECT_EQ(compiled("#include <project/config.h>\n" + kKernel).outcome, Outcome::compile_failed);
  EXPECT_EQ(compiled("#include <cublas_v2.h>\n#include <project/config.h>\n" + kKernel).outcome,
            Outcome::compile_failed);
  const Compiled lacking = compiled("#include <cublas_v2.h>\n#include \"twice.h\"\n" + kKernel);
  EXPECT_EQ(lacking.outcome, Outcome::compile_failed) << "what it defines may choose between kernels";
  EXPECT_NE(lacking.reason.find("\"twice.h\""), std::string::npos) << lacking.reason;
}

TEST(HostCode, HeadersForDevicesStayBesideThoseForHosts) {
  const Compiled done = compiled(
      "#include <cub/block/block_reduce.cuh>\n#include <cuda_fp16.h>\n#include <cublas_v2.h>\n"
      "__global__ void k(float* a, int n) {\n  using Reduce = cub::BlockReduce<float, 64>;\n"
      "  __shared__ Reduce::TempStorage storage;\n  const float sum = Reduce(storage).Sum(a[n]);\n"
      "  a[0] = __half2float(__float2half(sum)); }\n"
      "int main() { cublasCreate(nullptr); }\n");
  EXPECT_EQ(done.outcome, Outcome::ok) << done.reason;
}

TEST(Ptx, IsTheResultForAVirtualArchitecture) {
  CompileRequest request;
  request.source.name = "k.cu";
  request.source.text = kKernel;
  request.options = {"--gpu-architecture=compute_90a"};
  request.kernel_expressions = {"k"};
  const Compiled done = compile_here(request);
  ASSERT_EQ(done.outcome, Outcome::ok) << done.reason;
  EXPECT_NE(done.binary->cubin.find(".entry " + done.binary->kernel_symbols.front() + "("),
            std::string::npos);
}

}  // namespace host_code_test
}  // namespace tiletune
