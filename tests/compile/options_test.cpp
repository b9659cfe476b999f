#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "carries.h"
#include "compile/request.h"
#include "compile/test_support.h"

namespace tiletune {
namespace options_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const Where kWhere{"configs/a.json", "/compile/options"};

UserError refusal(const std::string& option) {
  return user_error_of([&] { check_compile_options({"--use_fast_math", option}, kWhere); });
}

TEST(CheckCompileOptions, AcceptsWhatIsHarmlessAndNvrtcKnowsIt) {
  const std::vector<std::string> options{"--use_fast_math",
                                         "-fmad=false",
                                         "--ftz=true",
                                         "--prec-div=false",
                                         "--prec-sqrt=true",
                                         "--maxrregcount=128",
                                         "--extra-device-vectorization",
                                         "--restrict",
                                         "-lineinfo",
                                         "--std=c++20",
                                         "--split-compile=0",
                                         "--dopt=on",
                                         "--diag-suppress=177,186",
                                         "-w",
                                         "-DTILE=16",
                                         "-DFLAG",
                                         "--define-macro=TEXT=a=b",
                                         "-UFLAG",
                                         "--ptxas-options=-O2",
                                         "--ptxas-options=--opt-level=3",
                                         "-Xptxas=-dlcm=cg",
                                         "--ptxas-options=--register-usage-level=5",
                                         "--ptxas-options=--warn-on-spills",
                                         "--ptxas-options=--allow-expensive-optimizations=true",
                                         "--ptxas-options=--disable-optimizer-constants"};
  EXPECT_NO_THROW(check_compile_options(options, kWhere));
  CompileRequest request = scale_request(2);
  append_options(request.options, options);
  const Compiled compiled = compile_here(request);
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(CheckCompileOptions, RefusesTheRestAndSaysWhereAndWhatInstead) {
  const UserError misspelt = refusal("--use_fast_mth");
  EXPECT_TRUE(carries(misspelt.message(), {"'--use_fast_mth'"}));
  EXPECT_EQ(misspelt.where().text(), "configs/a.json: /compile/options/1");
  EXPECT_THAT(misspelt.remedy(), HasSubstr("'--use_fast_math'"));
  for (const char* forbidden :
       {"--gpu-architecture=sm_80", "-dlto", "", "-", "--relocatable-device-code=true", "--fmad false",
        "--modify-stack-limit=true", "--minimal", "--std=c++11 -I/etc"}) {
    EXPECT_THAT(refusal(forbidden).message(), HasSubstr("option")) << forbidden;
  }
  EXPECT_THAT(refusal("-o").remedy(), HasSubstr("--use_fast_math"));
  EXPECT_THAT(refusal("--ptxas-options=-o=/tmp/x").message(), HasSubstr("ptxas option"));
  EXPECT_THAT(refusal("--ptxas-options=-dlmc=cg").remedy(), HasSubstr("'-dlcm'"));
}

TEST(CheckCompileOptions, RefusesWhateverReadsOrWritesFiles) {
  for (const char* forbidden : {"-I/etc",
                                "-I=/etc",
                                "-I",
                                "--include-path=/etc",
                                "--pre-include=x.h",
                                "-include=x.h",
                                "--no-source-include",
                                "--create-pch=/tmp/x",
                                "--use-pch=/tmp/x",
                                "--pch",
                                "-pch",
                                "--pch-dir=/tmp",
                                "--pch-verbose=true",
                                "--time=/tmp/x",
                                "-time=-",
                                "--fdevice-time-trace=/tmp/x",
                                "-fdevice-time-trace=x",
                                "--optimization-info=inline",
                                "-opt-info=inline",
                                "--gen-opt-lto",
                                "--dlink-time-opt",
                                "-rdc=true",
                                "--options-file=x",
                                "-optf=x",
                                "@x",
                                "--orig_src_file_name=x",
                                "--version-ident=true",
                                "-o=x",
                                "--output-file=x",
                                "-Xnvvm=x",
                                "-Xcicc=x"}) {
    EXPECT_THAT(refusal(forbidden).message(), HasSubstr("'" + std::string(forbidden) + "'")) << forbidden;
  }
  for (const char* forbidden :
       {"-o=/tmp/x", "-o", "--output-file=/tmp/x", "-v,-o=/tmp/x", "--options-file=/tmp/x", "-optf=x", "@x",
        "/etc/passwd", "--link", "-c", "--gpu-name=sm_80", "-v -o /tmp/x"}) {
    EXPECT_THAT(refusal("--ptxas-options=" + std::string(forbidden)).message(), HasSubstr("ptxas option"))
        << forbidden;
  }
  for (const char* forbidden :
       {"-O3,-o=/tmp/x", "-O3 -o=/tmp/x", "--opt-level=3,-o=/tmp/x", "-dlcm=ca,-o=/tmp/x"}) {
    EXPECT_THAT(refusal("--ptxas-options=" + std::string(forbidden)).message(), HasSubstr("missing value"))
        << forbidden;
  }
}

TEST(CheckCompileOptions, RefusesWrongValues) {
  EXPECT_TRUE(carries(refusal("--fmad=yes").remedy(), {"--fmad", "true or false"}));
  EXPECT_TRUE(carries(refusal("--fmad").remedy(), {"--fmad", "true or false"}));
  EXPECT_TRUE(carries(refusal("--use_fast_math=true").remedy(), {"--use_fast_math", "no value"}));
  EXPECT_TRUE(carries(refusal("--maxrregcount=300").remedy(), {"--maxrregcount", "1", "255"}));
  EXPECT_TRUE(carries(refusal("--std=c++23").remedy(), {"--std", "c++14, c++17, c++20"}));
  EXPECT_TRUE(carries(refusal("--ptxas-options=-O5").remedy(), {"--opt-level", "0", "3"}));
  for (const char* wrong : {"--maxrregcount=6 4", "--maxrregcount=", "--diag-suppress=1,,2", "-D1A=2", "-D",
                            "-DA=1\n#include \"x\"", "-UA=1", "--ptxas-options", "--ptxas-options="}) {
    EXPECT_THAT(refusal(wrong).message(), HasSubstr("missing value")) << wrong;
  }
}

TEST(AppendOptions, TheLastOfOneSubjectWinsAndMacrosPileUp) {
  std::vector<std::string> options{"--std=c++17", "--ptxas-options=-O3", "-DA=1"};
  append_options(options, {"-std=c++20", "--ptxas-options=-O2", "-DB=1", "--fmad=true"});
  append_options(options, {"-fmad=false", "--ptxas-options=-v", "-Xptxas=--verbose"});
  EXPECT_THAT(options, ElementsAre("--ptxas-options=-O3", "-DA=1", "-std=c++20", "--ptxas-options=-O2",
                                   "-DB=1", "-fmad=false"));
}

}  // namespace options_test
}  // namespace tiletune
