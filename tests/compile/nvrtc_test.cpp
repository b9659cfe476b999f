#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "carries.h"
#include "compile/compiler.h"
#include "compile/included_files.h"
#include "compile/test_support.h"

namespace tiletune {
namespace nvrtc_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class EveryArchitecture : public testing::TestWithParam<std::string> {};

TEST_P(EveryArchitecture, CompilesATemplateToACubinWithoutAGpu) {
  const Compiled compiled = compile_here(scale_request(3, "", GetParam()));
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_THAT(compiled.binary->cubin, StartsWith("\x7f"
                                                 "ELF"));
  EXPECT_EQ(compiled.binary->kernel_symbols[0], "_Z5scaleILi3EEvPf");
  EXPECT_EQ(compiled.binary->key, scale_request(3, "", GetParam()).key());
  EXPECT_GT(compiled.binary->compile_ms, 0);
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, EveryArchitecture, testing::Values("sm_75", "sm_80", "sm_90a"),
                         [](const auto& tested) { return tested.param; });

TEST(CompileHere, FilesThatNvrtcIncludesAreNoticed) { EXPECT_TRUE(notices_includes()); }

TEST(CompileHere, NothingIsOpenedForWritingMeanwhile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("kept", "kept").string();
  const KernelSource source;
  for (const char* mode : {"w", "a", "r+", "w+"}) {
    const IncludedFiles included(source, folder.path());
    errno = 0;
    EXPECT_EQ(std::fopen(file.c_str(), mode), nullptr) << mode;
    EXPECT_EQ(errno, EACCES) << mode;
  }
  EXPECT_EQ(read_file(file), "kept");
}

CompileRequest macro_request(const std::string& text, const std::string& kernel) {
  CompileRequest request;
  request.source.name = "macros.cu";
  request.source.text = text;
  request.options = {"--gpu-architecture=sm_80", "-DBM=8"};
  request.kernel_expressions = {kernel};
  return request;
}

TEST(CompileHere, CompilesMacroKernelsAndToolkitHeaders) {
  const Compiled compiled = compile_here(
      macro_request("#include <cuda_fp16.h>\n#include <mma.h>\n"
                    "extern \"C\" __global__ void copy(__half* x) { x[threadIdx.x] = x[threadIdx.x + BM]; }",
                    "copy"));
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(compiled.binary->kernel_symbols[0], "copy");
}

TEST(CompileHere, ErrorsCarryTheCompilersLog) {
  const Compiled wrong = compile_here(scale_request(3, "#error tile too small\nint x = ;"));
  EXPECT_EQ(wrong.outcome, Outcome::compile_failed);
  EXPECT_EQ(wrong.binary, nullptr);
  EXPECT_THAT(wrong.reason, HasSubstr("scale.cuh(1): catastrophic error: #error directive: tile too small"));

  CompileRequest no_such_kernel = scale_request(3);
  no_such_kernel.kernel_expressions = {"scail<3>"};
  EXPECT_THAT(compile_here(no_such_kernel).reason,
              AllOf(StartsWith("scale.cuh"), HasSubstr("no kernel scail<3>"),
                    HasSubstr("identifier \"scail\" is undefined")));
  EXPECT_THAT(compile_here(macro_request("extern \"C\" __global__ void copy() {}", "cpy")).reason,
              AllOf(StartsWith("macros.cu"), HasSubstr("no kernel cpy"),
                    HasSubstr("identifier \"cpy\" is undefined")));
  // The source's own error is why the kernel is missing.
  EXPECT_THAT(compile_here(macro_request("extern \"C\" __global__ void copy(flaot* x) {}", "cpy")).reason,
              StartsWith("macros.cu(1): error: "));

  const std::string unclosed =
      compile_here(macro_request("extern \"C\" __global__ void copy(int* x) {\n  x[0] = 1\n}\n", "cpy"))
          .reason;
  EXPECT_THAT(unclosed, StartsWith("macros.cu(3): error: ")) << "whatever is said of the name";

  CompileRequest bad_option = scale_request(3);
  bad_option.options.emplace_back("--bogus");
  EXPECT_THAT(compile_here(bad_option).reason, HasSubstr("unrecognized option --bogus"));

  const Compiled too_large =
      compile_here(macro_request("extern \"C\" __global__ void k(float* x) { __shared__ float s[99999]; "
                                 "s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[threadIdx.x ^ 1]; }",
                                 "k"));
  EXPECT_EQ(too_large.outcome, Outcome::compile_failed);
  EXPECT_THAT(too_large.reason, HasSubstr("uses too much shared data"));
}

TEST(CompileHere, ASourceInUtf16HasNoKernel) {
  const Compiled compiled =
      compile_here(macro_request("\xff\xfe extern \"C\" __global__ void copy() {}", "copy"));
  EXPECT_EQ(compiled.outcome, Outcome::compile_failed);
  EXPECT_TRUE(carries(compiled.reason, {"no kernel", "macros.cu", "UTF-16", "UTF-8"}));
}

TEST(CompileHere, WhatFitsIntoNoMessageIsAFailedCompilation) {
  const auto table_of = [](int mebibytes) {
    return compile_here(macro_request("__device__ int table[" + std::to_string(mebibytes) +
                                          " << 18] = {1};\n"
                                          "extern \"C\" __global__ void read(int* x) { *x = table[*x]; }",
                                      "read"));
  };
  EXPECT_EQ(table_of(20).outcome, Outcome::ok);
  const Compiled large = table_of(30);
  EXPECT_EQ(large.outcome, Outcome::compile_failed);
  EXPECT_EQ(large.binary, nullptr);
  EXPECT_TRUE(carries(large.reason, {"30 MiB", "24 MiB"}));
}

TEST(CompileHere, ReasonsAreBoundedUtf8) {
  std::string many_errors = "__device__ int caf\xe9 = ;\n";
  for (int i = 0; i < 90; ++i)
    many_errors += "__device__ undefined_" + std::string(400, 'a') + std::to_string(i) + " x;\n";
  const Compiled compiled = compile_here(scale_request(3, many_errors));
  ASSERT_EQ(compiled.outcome, Outcome::compile_failed);
  EXPECT_LT(compiled.reason.size(), 17000U);
  EXPECT_THAT(compiled.reason, HasSubstr("left out]"));
  EXPECT_EQ(compiled.reason.find('\xe9'), std::string::npos);
}

TEST(CudaIncludeFolder, TheEnvironmentDecidesAndMustBeRight) {
  const TemporaryFolder folder;
  ::setenv("TILETUNE_CUDA_INCLUDE", folder.path().c_str(), 1);
  EXPECT_EQ(cuda_include_folder(), folder.path());
  ::setenv("TILETUNE_CUDA_INCLUDE", (folder.path().string() + "/").c_str(), 1);
  EXPECT_EQ(cuda_include_folder(), folder.path());
  ::setenv("TILETUNE_CUDA_INCLUDE", "../../../..//..", 1);
  EXPECT_TRUE(cuda_include_folder()->is_absolute());
  ::setenv("TILETUNE_CUDA_INCLUDE", "/nonexistent/include", 1);
  const UserError error = user_error_of([] { cuda_include_folder(); });
  ::unsetenv("TILETUNE_CUDA_INCLUDE");
  EXPECT_EQ(error.where().file, "/nonexistent/include");
  ASSERT_TRUE(cuda_include_folder().has_value());
  EXPECT_TRUE(std::filesystem::exists(*cuda_include_folder() / "cuda_fp16.h"));
}

}  // namespace nvrtc_test
}  // namespace tiletune
