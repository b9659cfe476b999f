#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/request.h"
#include "compile/test_support.h"

namespace tiletune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> header_names(const SourceBundle& bundle) {
  std::vector<std::string> names;
  for (const auto& header : bundle.headers) names.push_back(header.name);
  return names;
}

TEST(ReadSources, FindsHeadersBesideTheIncluderThenInTheFolders) {
  const TemporaryFolder home;
  home.write("common/load.cuh", "// common\n");
  home.write("common/store.cuh", "// common\n");
  home.write("kernel/load.cuh", "// kernel's own\n");
  home.write("kernel/sub/a.cuh", "#include \"b.cuh\"\n");
  home.write("kernel/sub/b.cuh", "// b\n");
  const fs::path source = home.write("kernel/kernel.cuh",
                                     "#include \"sub/a.cuh\"\n#include \"load.cuh\"\n#include \"store.cuh\"\n"
                                     "#include \"../common/load.cuh\"\n");
  const SourceBundle bundle = read_sources(source, {home.path() / "common", home.path() / "missing"});
  EXPECT_EQ(bundle.main.name, "kernel.cuh");
  EXPECT_THAT(header_names(bundle),
              ElementsAre("sub/a.cuh", "b.cuh", "load.cuh", "store.cuh", "../common/load.cuh"));
  EXPECT_EQ(bundle.headers[2].text, "// kernel's own\n");
  EXPECT_EQ(bundle.headers[4].text, "// common\n");
}

TEST(ReadSources, EndsWithIncludeCyclesAndCompilesOneFileOfTwoNames) {
  const TemporaryFolder home;
  home.write("sub/a.cuh", "#pragma once\n#include \"b.cuh\"\n#include \"../kernel.cuh\"\n");
  home.write("sub/b.cuh", "#pragma once\n#include \"a.cuh\"\n__device__ int b = 1;\n");
  const fs::path source = home.write("kernel.cuh",
                                     "#ifndef KERNEL\n#define KERNEL\n#include \"sub/a.cuh\"\n"
                                     "#include \"sub/b.cuh\"\n"
                                     "extern \"C\" __global__ void k(int* x) { *x = b; }\n#endif\n");
  CompileRequest request;
  request.sources = read_sources(source, {});
  EXPECT_THAT(header_names(request.sources),
              ElementsAre("sub/a.cuh", "b.cuh", "a.cuh", "../kernel.cuh", "sub/b.cuh"));
  request.options = {"--gpu-architecture=sm_80"};
  request.kernel_expression = "k";
  const Compiled compiled = compile_here(request);
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(ReadSources, MissingHeaderNamesFileLineAndFolders) {
  const TemporaryFolder home;
  home.write("kernel/part.cuh", "\n\n#include \"lost.cuh\"\n");
  const fs::path source = home.write("kernel/kernel.cuh", "#include \"part.cuh\"\n");
  const UserError error = user_error_of([&] { read_sources(source, {home.path() / "common"}); });
  EXPECT_EQ(error.where().text(), (home.path() / "kernel/part.cuh").string() + ": line 3");
  EXPECT_EQ(error.message(), "#include \"lost.cuh\" is not found");
  EXPECT_EQ(error.remedy(), "Looked for in: " + (home.path() / "kernel").string() + ", " +
                                (home.path() / "common").string() + ". Add the file or correct the name.");
}

TEST(ReadSources, RefusesPathsThatLeaveTheFolders) {
  const TemporaryFolder home;
  home.write("secret.txt", "");
  fs::create_directories(home.path() / "kernel");
  fs::create_symlink(home.path() / "secret.txt", home.path() / "kernel/link.cuh");
  for (const std::string name : {"../secret.txt", "link.cuh", "/etc/passwd"}) {
    const fs::path source = home.write("kernel/kernel.cuh", "#include \"" + name + "\"\n");
    const UserError error = user_error_of([&] { read_sources(source, {}); });
    EXPECT_THAT(error.message(), HasSubstr("outside the kernel's folders")) << name;
    EXPECT_EQ(error.where().pointer, "line 1");
  }
  // A folder whose name merely begins like an allowed one is outside.
  home.write("kernel_two/x.cuh", "");
  const fs::path source = home.write("kernel/kernel.cuh", "#include \"../kernel_two/x.cuh\"\n");
  EXPECT_THROW(read_sources(source, {}), UserError);
}

TEST(ReadSources, AngledIncludesNeverReachOtherFiles) {
  const TemporaryFolder home;
  home.write("secret.txt", "");
  for (const std::string name :
       {"/etc/passwd", "/dev/zero", "/absent", "../../../../../../etc/passwd", "../secret.txt"}) {
    for (const std::string& text : {"#include <" + name + ">\n", "#if __has_include(<" + name + ">)\n#endif\n",
                                   "#if __has_include(\"" + name + "\")\n#endif\n"}) {
      const fs::path source = home.write("kernel/kernel.cuh", "\n" + text);
      const UserError error = user_error_of([&] { read_sources(source, {home.path() / "kernel"}); });
      EXPECT_THAT(error.message(),
                  testing::AnyOf(HasSubstr("outside the kernel's folders"), HasSubstr("is not found")))
          << text;
      EXPECT_EQ(error.where().text(), source.string() + ": line 2") << text;
    }
  }
}

TEST(ReadSources, AngledIncludesOfOwnFilesArePartOfTheBundle) {
  const TemporaryFolder home;
  home.write("kernel/part.cuh", "#if !__has_include(\"no.cuh\")\n__device__ int part = 1;\n#endif\n");
  home.write("common/shared.cuh", "#include <part.cuh>\n");
  home.write("common/asked.cuh", "");
  const fs::path source = home.write("kernel/kernel.cuh",
                                     "#include <../common/shared.cuh>\n#include <cuda_fp16.h>\n"
                                     "#if 0\n#include <cstdio>\n#endif\n"
                                     "#if __has_include(<asked.cuh>) && !__has_include(<never.cuh>)\n"
                                     "extern \"C\" __global__ void k(int* x) { *x = part; }\n#endif\n");
  CompileRequest request;
  request.sources = read_sources(source, {home.path() / "kernel", home.path() / "common"});
  EXPECT_THAT(header_names(request.sources), ElementsAre("../common/shared.cuh", "part.cuh", "asked.cuh"));
  request.options = {"--gpu-architecture=sm_80"};
  request.kernel_expression = "k";
  const Compiled compiled = compile_here(request);
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;

  const std::string before = request.sources.hash();
  home.write("kernel/part.cuh", "__device__ int part = 2;\n");
  EXPECT_NE(read_sources(source, {home.path() / "kernel", home.path() / "common"}).hash(), before);
}

TEST(ReadSources, FilesOutsideAreBundledWhenTheyAreAllowed) {
  const TemporaryFolder home;
  const std::string outside = home.write("outside/x.cuh", "__device__ int x = 1;\n").string();
  const fs::path source =
      home.write("kernel/kernel.cuh", "#include <" + outside + ">\n#include \"../outside/x.cuh\"\n");
  EXPECT_THAT(header_names(read_sources(source, {}, true)), ElementsAre(outside, "../outside/x.cuh"));
  EXPECT_THAT(user_error_of([&] { read_sources(source, {}); }).remedy(), HasSubstr("--allow-outside-paths"));
  const fs::path missing = home.write("kernel/kernel.cuh", "#include </absent.cuh>\n");
  EXPECT_THROW(read_sources(missing, {}, true), UserError);
}

TEST(ReadSources, RefusesAToolkitNameForAnOwnFile) {
  const TemporaryFolder home;
  home.write("sub/a.cuh", "#include \"cuda_fp16.h\"\n");
  home.write("sub/cuda_fp16.h", "// own\n");
  const fs::path source = home.write("kernel.cuh", "#include <cuda_fp16.h>\n#include \"sub/a.cuh\"\n");
  EXPECT_THAT(user_error_of([&] { read_sources(source, {}); }).message(),
              HasSubstr("and the CUDA toolkit's elsewhere"));
}

TEST(ReadSources, RefusesOneNameForTwoFiles) {
  const TemporaryFolder home;
  home.write("a/x.cuh", "// one\n");
  home.write("a/y.cuh", "#include \"x.cuh\"\n");
  home.write("x.cuh", "// two\n");
  const fs::path source = home.write("kernel.cuh", "#include \"x.cuh\"\n#include \"a/y.cuh\"\n");
  const UserError error = user_error_of([&] { read_sources(source, {}); });
  EXPECT_THAT(error.message(), HasSubstr("#include \"x.cuh\" means " + (home.path() / "a/x.cuh").string()));
  EXPECT_EQ(error.where().text(), (home.path() / "a/y.cuh").string() + ": line 1");
}

TEST(ReadSources, LeavesHeadersOfTheToolkitToTheCompiler) {
  const TemporaryFolder home;
  const fs::path source = home.write("kernel.cuh", "#include \"cuda_fp16.h\"\n#include <mma.h>\n");
  EXPECT_TRUE(read_sources(source, {}).headers.empty());
}

TEST(ReadSources, LimitsFilesBytesAndContent) {
  const TemporaryFolder home;
  std::string all;
  for (int i = 0; i < 256; ++i) {
    const std::string name = std::to_string(i) + ".cuh";
    home.write(name, "");
    all += "#include \"" + name + "\"\n";
  }
  const UserError many = user_error_of([&] { read_sources(home.write("many.cuh", all), {}); });
  EXPECT_EQ(many.message(), "a kernel's sources are limited to 256 files and 16.0 MiB in total");
  EXPECT_EQ(many.where().pointer, "line 256");

  home.write("half.cuh", std::string(std::size_t{9} << 20, ' '));
  const fs::path large = home.write("large.cuh", "#include \"half.cuh\"\n" + std::string(8 << 20, ' '));
  EXPECT_THAT(user_error_of([&] { read_sources(large, {}); }).message(), HasSubstr("16.0 MiB in total"));

  const fs::path binary = home.write("binary.cuh", std::string("a\0b", 3));
  EXPECT_THAT(user_error_of([&] { read_sources(binary, {}); }).message(), HasSubstr("zero byte"));
  EXPECT_THROW(read_sources(home.path() / "nowhere.cuh", {}), UserError);
}

}  // namespace
}  // namespace tiletune
