#include "compile/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/frame.h"
#include "carries.h"
#include "compile/pool.h"
#include "compile/test_support.h"

namespace tiletune {
namespace request_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CompileRequest, KeyDependsOnEveryPart) {
  CompileRequest original = scale_request(2);
  std::set<std::string> keys{original.key()};
  const auto changed = [&](auto change) {
    CompileRequest request = original;
    change(request);
    return keys.insert(request.key()).second;
  };
  EXPECT_TRUE(changed([](CompileRequest& r) { r.source.text += " "; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.source.name = "other.cuh"; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.options.emplace_back("-DX"); }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.options[0] = "--gpu-architecture=sm_90a"; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.kernel_expressions = {"scale<3>"}; }));
}

TEST(CompileRequest, NamesItsFoldersByNumber) {
  const TemporaryFolder home;
  fs::create_directory(home.path() / "own");
  fs::create_directory(home.path() / "common");
  const Folders folders{std::make_shared<const Folder>(home.path() / "common"),
                        std::make_shared<const Folder>(home.path() / "own")};
  CompileRequest original = scale_request(2);
  original.source.roots = {{".", folders[1]}, {"../common", folders[0]}};
  original.source.search_before = {".", ".."};
  original.source.search_behind = {"../configs"};
  original.source.may_leave = true;
  auto json = compile_job(original, folders);
  const CompileRequest copy = request_of_job(json, folders);
  EXPECT_EQ(copy.key(), original.key());
  ASSERT_EQ(copy.source.roots.size(), 2U);
  EXPECT_EQ(copy.source.roots[1].name, "../common");
  EXPECT_EQ(copy.source.roots[1].folder, folders[0]);
  EXPECT_EQ(copy.source.search_before, original.source.search_before);
  EXPECT_EQ(copy.source.search_behind, original.source.search_behind);
  EXPECT_TRUE(copy.source.may_leave);
  EXPECT_THROW(request_of_job(json, {folders[0]}), ProtocolError);
  EXPECT_THROW(compile_job(original, {folders[0]}), std::logic_error);
}

TEST(CompileRequest, RefusesJsonThatIsNoRequest) {
  const auto good = compile_job(scale_request(2), {});
  for (const char* member : {"source", "options", "kernel_expressions"}) {
    auto without = good;
    without["request"].erase(member);
    EXPECT_THROW(request_of_job(without, {}), ProtocolError) << member;
    auto wrong = good;
    wrong["request"][member] = 7;
    EXPECT_THROW(request_of_job(wrong, {}), ProtocolError) << member;
  }
  EXPECT_THROW(request_of_job(nlohmann::ordered_json::array(), {}), ProtocolError);
}

TEST(ArchitectureFor, UsesArchitectureSpecificCodeFromHopperOn) {
  EXPECT_EQ(architecture_for(7, 5), "sm_75");
  EXPECT_EQ(architecture_for(8, 9), "sm_89");
  EXPECT_EQ(architecture_for(9, 0), "sm_90a");
  const UserError error = user_error_of([] { architecture_for(6, 1); });
  EXPECT_TRUE(carries(error.message(), {"NVRTC", nvrtc_version(), "code", "6.1"}));
  EXPECT_THAT(error.remedy(), HasSubstr("8.0, "));
}

TEST(MakeCompileRequest, OrdersOptionsAndLetsTheConfigOverride) {
  CompilePolicy policy;
  policy.options = {"--maxrregcount=64", "--std=c++14"};
  Instance instance;
  instance.launches.emplace_back();
  instance.launches[0].kernel_expression = "gemm";
  instance.compile_options = {"--use_fast_math", "--std=c++20", "-DWIDTH=1"};
  instance.defines = {"-DBM=128", "-DWIDTH=4"};
  const CompileRequest request = make_compile_request(policy, {}, instance, "sm_90a");
  EXPECT_THAT(request.kernel_expressions, ElementsAre("gemm"));
  EXPECT_THAT(request.options, ElementsAre("--gpu-architecture=sm_90a", "--device-as-default-execution-space",
                                           "--modify-stack-limit=false", "--use_fast_math", "-DWIDTH=1",
                                           "--maxrregcount=64", "--std=c++14", "-DBM=128", "-DWIDTH=4"));
}

}  // namespace request_test
}  // namespace tiletune
