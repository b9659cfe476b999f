#include "compile/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <optional>
#include <set>

#include "carries.h"
#include "compile/included_files.h"
#include "compile/pool.h"
#include "compile/test_support.h"

namespace tiletune {
namespace source_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kKernel = "extern \"C\" __global__ void k(int* x) { *x = VALUE; }\n";

using Names = std::set<std::string>;

/// A template's folder `kernel` beside `common`, a config's folder `configs`, and a secret outside of all.
class IncludesTest : public testing::Test {
 protected:
  IncludesTest() {
    home_.write("secret.txt", "#error THE SECRET\n");
    for (const char* folder : {"tree/kernel", "tree/common", "configs"})
      fs::create_directories(home_.path() / folder);
  }

  KernelSource source(const std::string& text, bool may_leave = false) const {
    const fs::path file = home_.write("tree/kernel/kernel.cuh", text + "\n" + kKernel);
    std::vector<fs::path> include_folders;
    for (const char* name : {"library/include", "other"}) {
      if (fs::exists(home_.path() / name)) include_folders.push_back(home_.path() / name);
    }
    return read_kernel_source(file, home_.path() / "tree/kernel", include_folders, home_.path() / "configs",
                              may_leave);
  }

  static CompileRequest request_for(const KernelSource& source) {
    CompileRequest request;
    request.source = source;
    request.options = {"--gpu-architecture=sm_80"};
    request.kernel_expressions = {"k"};
    return request;
  }

  /// By a confined worker.
  Compiled compile(const KernelSource& source) const {
    CompilePoolOptions options = pool_options(home_.path() / "cache", 1);
    for (const KernelSource::Root& root : source.roots) options.folders.push_back(root.folder);
    options.may_leave = source.may_leave;
    TicketPool pool(options);
    pool.submit(1, request_for(source));
    return drain(pool).at(1);
  }
  Compiled compile(const std::string& text) const { return compile(source(text)); }

  static Names names(const Dependencies& dependencies) {
    Names all;
    for (const auto& [name, hash] : dependencies) all.insert((hash.empty() ? "!" : "") + name);
    return all;
  }

  TemporaryFolder home_;
};

TEST_F(IncludesTest, FilesAreFoundBesideTheIncluderInCommonAndBesideTheConfig) {
  home_.write("tree/kernel/sub/a.cuh", "#pragma once\n#include \"b.cuh\"\n");
  home_.write("tree/kernel/sub/b.cuh", "#define B 1\n");
  home_.write("tree/common/c.cuh", "#pragma once\n#include \"d.cuh\"\n");
  home_.write("tree/common/d.cuh", "#define D 2\n");
  home_.write("configs/e.cuh", "#define E 4\n");
  const Compiled compiled = compile(
      "#include \"sub/a.cuh\"\n#include \"common/c.cuh\"\n#include <../common/c.cuh>\n#include \"e.cuh\"\n"
      "#include <cuda_fp16.h>\n#define VALUE B + D + E");
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(names(compiled.dependencies),
            (Names{"sub/a.cuh", "sub/b.cuh", "../common/c.cuh", "../common/d.cuh", "../../configs/e.cuh",
                   "!common", "!e.cuh", "!cuda_fp16.h", kSearchedBehind}));
}

TEST_F(IncludesTest, FoldersThatANamePassesThroughShowNowhere) {
  fs::create_directory(home_.path() / "there");
  home_.write("tree/kernel/part.cuh", "#define VALUE 1\n");
  const auto asks = [&](const std::string& name) {
    return compile("#if __has_include(\"" + name + "\")\n#define VALUE 1\n#else\n#define VALUE 2\n#endif")
        .binary->cubin;
  };
  const std::string home = home_.path().string();
  EXPECT_EQ(asks(home + "/there/../tree/kernel/part.cuh"), asks(home + "/not_there/../tree/kernel/part.cuh"));
  EXPECT_EQ(asks("/proc/1/../../" + home + "/tree/kernel/part.cuh"),
            asks("/proc/0/../../" + home + "/tree/kernel/part.cuh"));
}

TEST_F(IncludesTest, AFileOfTwoNamesIsADependencyUnderBoth) {
  home_.write("tree/kernel/a.cuh", "#pragma once\n#define VALUE 1\n");
  fs::create_symlink("a.cuh", home_.path() / "tree/kernel/b.cuh");
  const Compiled compiled = compile("#include \"a.cuh\"\n#include \"b.cuh\"");
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(names(compiled.dependencies), (Names{"a.cuh", "b.cuh"}));
}

TEST_F(IncludesTest, NamesOfMacrosAreFollowed) {
  home_.write("tree/kernel/part.cuh", "#define VALUE 1\n");
  const Compiled compiled =
      compile("#define QUOTED(x) #x\n#define FILE(x) QUOTED(x.cuh)\n#include FILE(part)");
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(names(compiled.dependencies), (Names{"part.cuh"}));
}

TEST_F(IncludesTest, WhatLiesOutsideIsNeitherReadNorThere) {
  fs::create_symlink(home_.path() / "secret.txt", home_.path() / "tree/kernel/link.cuh");
  home_.write("tree/kernel_two/x.cuh", "#error THE SECRET\n");
  home_.write("tree/other.cuh", "#error THE SECRET\n");
  const std::string secret = (home_.path() / "secret.txt").string();
  const std::vector<std::string> outside{"../../secret.txt", "link.cuh",         secret,
                                         "/etc/passwd",      "../other.cuh",     "../kernel_two/x.cuh",
                                         "/dev/zero",        "/dev/../etc/group"};
  for (const std::string& name : outside) {
    for (const std::string& form : {"\"" + name + "\"", "<" + name + ">"}) {
      const Compiled compiled = compile("#include " + form);
      EXPECT_EQ(compiled.outcome, Outcome::compile_failed) << form;
      EXPECT_THAT(compiled.reason, AllOf(HasSubstr("cannot open source file"), Not(HasSubstr("SECRET")),
                                         Not(HasSubstr("denied")), Not(HasSubstr("root:"))))
          << form;
      EXPECT_THAT(
          compile("#if __has_include(" + form + ")\n#error IT IS THERE\n#endif\n#define VALUE 1").reason, "")
          << form;
    }
  }
}

TEST_F(IncludesTest, AMissingFileAndOneOutsideAreDistinguishedByNameAlone) {
  const std::string folders = (home_.path() / "tree/kernel").string() + ", " +
                              (home_.path() / "tree/common").string() + ", " +
                              (home_.path() / "configs").string();
  EXPECT_THAT(compile("#include \"lost.cuh\"").reason, HasSubstr(folders));
  for (const std::string name : {"../../secret.txt", "../../no_such_secret.txt"}) {
    EXPECT_TRUE(carries(compile("#include \"" + name + "\"").reason,
                        {name, "leads out", folders, "--allow-outside-paths"}));
  }
}

TEST_F(IncludesTest, PipesAndFoldersAreNoFiles) {
  ASSERT_EQ(::mkfifo((home_.path() / "tree/kernel/pipe.cuh").c_str(), 0600), 0);
  fs::create_directory(home_.path() / "tree/kernel/folder.cuh");
  for (const std::string name : {"pipe.cuh", "folder.cuh"})
    EXPECT_THAT(compile("#include \"" + name + "\"").reason, HasSubstr("cannot open source file")) << name;
}

TEST_F(IncludesTest, FilesOutsideAreReadWhereThatIsAllowed) {
  home_.write("secret.txt", "#define VALUE 1\n");
  const Compiled compiled = compile(source("#include \"../../secret.txt\"", true));
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(names(compiled.dependencies), (Names{"../../secret.txt"}));
}

TEST_F(IncludesTest, AResultHoldsAsLongAsItsFilesDo) {
  home_.write("tree/kernel/part.cuh", "#define VALUE 1\n");
  const KernelSource kernel = source(
      "#include \"part.cuh\"\n#if __has_include(\"extra/option.cuh\")\n#include "
      "\"extra/option.cuh\"\n#endif");
  const Compiled compiled = compile(kernel);
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  const auto is_known = [&] {
    TicketPool pool(pool_options(home_.path() / "cache", 1));
    return pool.find(request_for(kernel)).has_value();
  };
  EXPECT_TRUE(is_known());
  home_.write("tree/kernel/part.cuh", "#define VALUE 2\n");
  EXPECT_FALSE(is_known());
  home_.write("tree/kernel/part.cuh", "#define VALUE 1\n");
  EXPECT_TRUE(is_known());
  home_.write("tree/kernel/extra/option.cuh", "");
  EXPECT_FALSE(is_known());
  fs::remove_all(home_.path() / "tree/kernel/extra");
  EXPECT_TRUE(is_known());
  fs::remove(home_.path() / "tree/kernel/part.cuh");
  EXPECT_FALSE(is_known());
}

TEST_F(IncludesTest, OneConfigsFilesSayNothingAboutAnothers) {
  const std::string text =
      "#if __has_include(\"option.cuh\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif";
  ASSERT_EQ(compile(text).outcome, Outcome::ok);
  home_.write("others/option.cuh", "");
  source(text);
  const KernelSource elsewhere =
      read_kernel_source(home_.path() / "tree/kernel/kernel.cuh", home_.path() / "tree/kernel", {},
                         home_.path() / "others", false);
  TicketPool pool(pool_options(home_.path() / "cache", 1));
  EXPECT_FALSE(pool.find(request_for(elsewhere)));
}

constexpr const char* kIncludesLibrary = "#include <shape/shape.hpp>";

/// A small library: its headers include each other by their names within it, and beside themselves.
void write_library(const TemporaryFolder& home, const std::string& value) {
  home.write("library/include/shape/shape.hpp", "#pragma once\n#include <shape/detail/size.hpp>\n");
  home.write("library/include/shape/detail/size.hpp", "#include \"value.hpp\"\n");
  home.write("library/include/shape/detail/value.hpp", "#define VALUE " + value + "\n");
}

TEST_F(IncludesTest, LibrariesLieInIncludeFolders) {
  EXPECT_EQ(compile(kIncludesLibrary).outcome, Outcome::compile_failed);
  write_library(home_, "7");
  const Compiled compiled = compile(kIncludesLibrary);
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  for (const char* name : {"shape.hpp", "detail/size.hpp", "detail/value.hpp"})
    EXPECT_TRUE(compiled.dependencies.contains(fs::path("../../library/include/shape") / name)) << name;
}

TEST_F(IncludesTest, FilesOfIncludeFoldersAreWatched) {
  write_library(home_, "7");
  const CompileRequest request = request_for(source(kIncludesLibrary));
  ASSERT_EQ(compile(kIncludesLibrary).outcome, Outcome::ok);
  const auto is_known = [&] { return CompilePool(pool_options(home_.path() / "cache", 1)).find(request); };
  EXPECT_TRUE(is_known());
  home_.write("library/include/shape/detail/value.hpp", "#define VALUE 8\n");
  EXPECT_FALSE(is_known());
  write_library(home_, "7");
  home_.write("tree/kernel/shape/shape.hpp", "#define VALUE 9\n");
  EXPECT_FALSE(is_known()) << "the template's own folder is searched first";
}

TEST_F(IncludesTest, AnotherListOfFoldersIsAnotherKernel) {
  write_library(home_, "7");
  const std::string key = request_for(source(kIncludesLibrary)).key();
  EXPECT_EQ(request_for(source(kIncludesLibrary)).key(), key);
  fs::create_directory(home_.path() / "other");
  EXPECT_NE(request_for(source(kIncludesLibrary)).key(), key);
}

TEST_F(IncludesTest, IncludeFoldersStandBeforeTheToolkit) {
  home_.write("other/cuda_fp16.h", "#define VALUE 1\n");
  EXPECT_EQ(compile("#include <cuda_fp16.h>").outcome, Outcome::ok);
}

TEST_F(IncludesTest, AnotherCubIsReadWithoutItsHostCode) {
  home_.write("other/cub/cub.cuh", "#error host code\n");
  home_.write("other/cub/block/block_reduce.cuh", "");
  const Compiled compiled = compile("#include <cub/cub.cuh>\n#define VALUE 1");
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_TRUE(compiled.dependencies.contains("../../other/cub/block/block_reduce.cuh"));
}

TEST_F(IncludesTest, LinksThatLeaveAnIncludeFolderLeadNowhere) {
  fs::create_directories(home_.path() / "other");
  fs::create_symlink("../secret.txt", home_.path() / "other/secret.hpp");
  const Compiled compiled = compile("#include <secret.hpp>");
  EXPECT_EQ(compiled.outcome, Outcome::compile_failed);
  EXPECT_THAT(compiled.reason, Not(HasSubstr("THE SECRET")));
}

TEST_F(IncludesTest, ACycleOfIncludesIsAnError) {
  home_.write("other/first.hpp", "#include \"second.hpp\"\n");
  home_.write("other/second.hpp", "#include \"first.hpp\"\n");
  const Compiled compiled = compile("#include <first.hpp>");
  EXPECT_EQ(compiled.outcome, Outcome::compile_failed);
  EXPECT_THAT(compiled.reason, AllOf(HasSubstr("second.hpp"), HasSubstr("includes itself")));
  home_.write("other/first.hpp", "#pragma once\n#include \"second.hpp\"\n#define VALUE 1\n");
  EXPECT_EQ(compile("#include <first.hpp>").outcome, Outcome::ok) << "with guards it ends";
}

TEST_F(IncludesTest, AFileNamedLikeABuiltInHeaderIsAnotherKernel) {
  const auto key = [&] { return request_for(source("#include <cfloat>")).key(); };
  const std::string before = key();
  home_.write("configs/notes.txt", "");
  EXPECT_EQ(key(), before);
  home_.write("tree/common/cfloat", "#define VALUE 5\n");
  EXPECT_NE(key(), before);
}

TEST_F(IncludesTest, EqualTextsInTwoFoldersAreTwoKernels) {
  const auto in_folder = [&](const std::string& folder, const std::string& value) {
    home_.write(folder + "/part.cuh", "#define VALUE " + value + "\n");
    const fs::path file =
        home_.write(folder + "/kernel.cuh", std::string("#include \"part.cuh\"\n") + kKernel);
    return read_kernel_source(file, home_.path() / folder, {}, home_.path() / "configs", false);
  };
  const std::vector<KernelSource> sources{in_folder("one", "1"), in_folder("two", "2")};
  CompilePoolOptions options = pool_options(home_.path() / "cache", 1);
  for (const KernelSource& kernel : sources)
    for (const KernelSource::Root& root : kernel.roots) options.folders.push_back(root.folder);
  TicketPool pool(options);
  for (std::size_t i = 0; i < sources.size(); ++i) pool.submit(i, request_for(sources[i]));
  auto results = drain(pool);
  ASSERT_EQ(results.at(0).outcome, Outcome::ok) << results.at(0).reason;
  ASSERT_EQ(results.at(1).outcome, Outcome::ok) << results.at(1).reason;
  EXPECT_NE(results.at(0).binary->cubin, results.at(1).binary->cubin);
  EXPECT_NE(results.at(0).dependencies, results.at(1).dependencies);
}

TEST_F(IncludesTest, AHeaderThatIsReadTwiceWithDifferentContentIsNotReliedOn) {
  home_.write("tree/kernel/part.cuh", "#define VALUE 1\n");
  const KernelSource kernel = source("#include \"part.cuh\"");
  IncludedFiles files(kernel, std::nullopt);
  std::fclose(files.open("part.cuh"));
  const Dependencies before = files.dependencies();
  home_.write("tree/kernel/part.cuh", "#define VALUE 2\n");
  std::fclose(files.open("part.cuh"));
  EXPECT_EQ(files.dependencies(), (Dependencies{{"part.cuh", kUnreadable}}));
  EXPECT_NE(before.at("part.cuh"), kUnreadable);
}

TEST_F(IncludesTest, ACommonFolderThatIsALinkIsLeftOut) {
  fs::remove(home_.path() / "tree/common");
  fs::create_directory_symlink(home_.path() / "configs", home_.path() / "tree/common");
  home_.write("configs/x.cuh", "#define VALUE 1\n");
  EXPECT_THAT(compile("#include \"common/x.cuh\"").reason, HasSubstr("cannot open source file"));
  EXPECT_EQ(compile("#define VALUE 1").outcome, Outcome::ok);
}

TEST_F(IncludesTest, SourcesAreReadBeneathTheirFolder) {
  const fs::path kernel = home_.path() / "tree/kernel";
  const auto read = [&](const fs::path& file, bool may_leave = false) {
    return read_kernel_source(file, kernel, {}, home_.path() / "configs", may_leave);
  };
  EXPECT_THAT(user_error_of([&] { read(home_.path() / "secret.txt"); }).remedy(),
              HasSubstr("--allow-outside-paths"));
  EXPECT_THAT(read(home_.path() / "secret.txt", true).text, HasSubstr("SECRET"));
  EXPECT_EQ(read(home_.write("tree/kernel/sub/k.cuh", "text")).text, "text");
  EXPECT_THAT(user_error_of([&] { read(kernel / "missing.cuh"); }).message(), HasSubstr("no such"));
  fs::create_symlink(home_.path() / "secret.txt", kernel / "link.cuh");
  EXPECT_THAT(user_error_of([&] { read(kernel / "link.cuh"); }).message(), HasSubstr("leads out"));
  EXPECT_THAT(
      user_error_of([&] { read(home_.write("tree/kernel/b.cuh", std::string("a\0b", 3))); }).message(),
      HasSubstr("zero byte"));
  const fs::path large = home_.write("tree/kernel/large.cuh", std::string(kLargestSource + 1, ' '));
  EXPECT_THAT(user_error_of([&] { read(large); }).message(), HasSubstr("larger than"));
  fs::rename(kernel, home_.path() / "tree/moved");
  fs::create_directory_symlink(home_.path() / "tree/moved", kernel);
  EXPECT_THROW(read(kernel / "sub/k.cuh"), UserError) << "a folder that became a link";
}

}  // namespace source_test
}  // namespace tiletune
