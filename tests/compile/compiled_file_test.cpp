#include <gtest/gtest.h>

#include <optional>

#include "carries.h"
#include "compile/compiler.h"
#include "compile/pool.h"
#include "compile/test_support.h"

namespace tiletune {
namespace compiled_file_test {

namespace fs = std::filesystem;

constexpr const char* kPtx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 x) {
  .reg .u64 %address;
  .reg .u32 %value;
  ld.param.u64 %address, [x];
  mov.u32 %value, VALUE;
  st.global.u32 [%address], %value;
  ret;
}
)";

std::string ptx(const std::string& value) {
  std::string text = kPtx;
  return text.replace(text.find("VALUE"), 5, value);
}

/// With so many bytes in device memory that are not all zero.
std::string with_array(std::size_t bytes) {
  std::string text = ptx("7");
  const std::string array = ".visible .global .align 1 .b8 array[" + std::to_string(bytes) + "] = {1};\n";
  return text.insert(text.find(".visible"), array);
}

class CompiledFileTest : public testing::Test {
 protected:
  CompiledFileTest() { fs::create_directories(home_.path() / "template/kernels"); }

  CompileRequest request(const std::string& name, const std::vector<std::string>& options = {}) const {
    KernelSource source;
    source.name = "kernels/{BM}" + fs::path(name).extension().string();
    source.roots = {{".", std::make_shared<const Folder>(home_.path() / "template")}};
    Instance instance;
    instance.compiled_file = name;
    instance.compile_options = options;
    instance.launches.emplace_back().kernel_expression = "store";
    return make_compile_request({}, source, instance, "sm_90a");
  }

  CompilePoolOptions confined(const CompileRequest& request) const {
    CompilePoolOptions options = pool_options(home_.path() / "cache", 1);
    options.folders = {request.source.roots.front().folder};
    return options;
  }

  /// By a confined worker.
  Compiled load(const CompileRequest& request) const {
    TicketPool pool(confined(request));
    pool.submit(1, request);
    return drain(pool).at(1);
  }

  bool is_known(const CompileRequest& request) const {
    return CompilePool(confined(request)).find(request).has_value();
  }

  TemporaryFolder home_;
};

TEST_F(CompiledFileTest, ACubinIsTakenAsItIs) {
  home_.write("template/kernels/64.cubin", std::string("\x7f"
                                                       "ELF\0 anything",
                                                       14));
  const Compiled compiled = load(request("kernels/64.cubin"));
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(compiled.binary->cubin, std::string("\x7f"
                                                "ELF\0 anything",
                                                14));
  EXPECT_EQ(compiled.binary->kernel_symbols, std::vector<std::string>{"store"});
  EXPECT_EQ(compiled.dependencies.size(), 1U);
  EXPECT_TRUE(compiled.dependencies.contains("kernels/64.cubin"));
}

TEST_F(CompiledFileTest, TheContentOfTheFileDecides) {
  home_.write("template/kernels/64.cubin", "first");
  const CompileRequest wanted = request("kernels/64.cubin");
  load(wanted);
  EXPECT_TRUE(is_known(wanted));
  home_.write("template/kernels/64.cubin", "second");
  EXPECT_FALSE(is_known(wanted));
  EXPECT_EQ(load(wanted).binary->cubin, "second");
}

TEST_F(CompiledFileTest, AFileThatIsMissingIsAFailureUntilItIsThere) {
  const CompileRequest wanted = request("./kernels/32.cubin");
  const Compiled missing = load(wanted);
  EXPECT_EQ(missing.outcome, Outcome::compile_failed);
  EXPECT_TRUE(carries(missing.reason, {"kernels/32.cubin", (home_.path() / "template").string()}));
  DependencyCheck before;
  EXPECT_TRUE(before.holds(wanted.source, missing.dependencies));
  home_.write("template/kernels/32.cubin", "here");
  DependencyCheck after;
  EXPECT_FALSE(after.holds(wanted.source, missing.dependencies));
  EXPECT_EQ(load(wanted).outcome, Outcome::ok);
}

TEST_F(CompiledFileTest, NamesLeadOutOfTheFolderOnlyWhereThatIsAllowed) {
  home_.write("secret.cubin", "secret");
  EXPECT_TRUE(carries(load(request("../secret.cubin")).reason, {"../secret.cubin", "--allow-outside-paths"}));
  fs::create_symlink("../../secret.cubin", home_.path() / "template/kernels/link.cubin");
  EXPECT_EQ(load(request("kernels/link.cubin")).outcome, Outcome::compile_failed);
  CompileRequest allowed = request("../secret.cubin");
  allowed.source.may_leave = true;
  EXPECT_EQ(compile_here(allowed).outcome, Outcome::ok);
}

TEST_F(CompiledFileTest, PtxThatBecomesMoreThanACubinMayHoldIsRefused) {
  home_.write("template/kernels/1.ptx", with_array(std::size_t{17} << 20));
  const Compiled compiled = load(request("kernels/1.ptx"));
  EXPECT_EQ(compiled.outcome, Outcome::compile_failed);
  EXPECT_TRUE(carries(compiled.reason, {"kernels/1.ptx", "16 MiB"}));
  home_.write("template/kernels/1.ptx", with_array(1000));
  EXPECT_EQ(load(request("kernels/1.ptx")).outcome, Outcome::ok);
}

TEST_F(CompiledFileTest, AFolderIsNoFileOfKernels) {
  fs::create_directory(home_.path() / "template/kernels/64.cubin");
  const Compiled compiled = load(request("kernels/64.cubin"));
  EXPECT_EQ(compiled.outcome, Outcome::compile_failed);
  EXPECT_TRUE(carries(compiled.reason, {"kernels/64.cubin", "16 MiB"}));
}

TEST_F(CompiledFileTest, PtxIsAssembledForTheGpu) {
  home_.write("template/kernels/1.ptx", ptx("7"));
  const Compiled compiled = load(request("kernels/1.ptx"));
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(compiled.binary->cubin.substr(1, 3), "ELF");
  EXPECT_NE(compiled.binary->cubin.find(".text.store"), std::string::npos);
  home_.write("template/kernels/1.ptx", ptx("8"));
  EXPECT_NE(load(request("kernels/1.ptx")).binary->cubin, compiled.binary->cubin);
}

TEST_F(CompiledFileTest, ErrorsOfPtxNameFileAndLine) {
  home_.write("template/kernels/1.ptx", ptx("%nothing"));
  const Compiled compiled = load(request("kernels/1.ptx"));
  EXPECT_EQ(compiled.outcome, Outcome::compile_failed);
  EXPECT_TRUE(carries(compiled.reason, {"kernels/1.ptx", "line 8", "nothing"}));
  for (const char* text : {"\xff\xfe not PTX", "", "// a comment\n"}) {
    home_.write("template/kernels/1.ptx", text);
    const Compiled other = load(request("kernels/1.ptx"));
    EXPECT_EQ(other.outcome, Outcome::compile_failed);
    EXPECT_TRUE(carries(other.reason, {"kernels/1.ptx", "not valid PTX"})) << text;
  }
  home_.write("template/kernels/1.ptx", "// a comment\n/* and another */" + ptx("%nothing"));
  EXPECT_FALSE(carries(load(request("kernels/1.ptx")).reason, {"not valid PTX"}));
}

TEST_F(CompiledFileTest, OptionsOfTheAssemblerReachIt) {
  home_.write("template/kernels/1.ptx", ptx("7"));
  const std::vector<std::string> options{"--maxrregcount=32", "--ptxas-options=--opt-level=1"};
  EXPECT_EQ(load(request("kernels/1.ptx", options)).outcome, Outcome::ok);
  EXPECT_NE(request("kernels/1.ptx", options).key(), request("kernels/1.ptx").key());
  EXPECT_TRUE(carries(load(request("kernels/1.ptx", {"--ptxas-options=--nonsense"})).reason, {"nonsense"}));
  EXPECT_EQ(request("kernels/1.ptx", {"--use_fast_math", "-DX=1"}).key(), request("kernels/1.ptx").key());
  EXPECT_EQ(request("kernels/1.cubin", options).key(), request("kernels/1.cubin").key());
}

}  // namespace compiled_file_test
}  // namespace tiletune
