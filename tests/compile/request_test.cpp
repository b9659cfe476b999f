#include "compile/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/frame.h"
#include "compile/test_support.h"

namespace tiletune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CompileRequest, KeyDependsOnEveryPart) {
  CompileRequest original = scale_request(2);
  original.sources.headers = {{"a.cuh", "1"}, {"b.cuh", "2"}};
  std::set<std::string> keys{original.key()};
  const auto changed = [&](auto change) {
    CompileRequest request = original;
    change(request);
    return keys.insert(request.key()).second;
  };
  EXPECT_TRUE(changed([](CompileRequest& r) { r.sources.main.text += " "; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.sources.main.name = "other.cuh"; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.sources.headers[1].text = "3"; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.sources.headers[1].name = "c.cuh"; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.sources.headers.pop_back(); }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.options.emplace_back("-DX"); }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.options[0] = "--gpu-architecture=sm_90a"; }));
  EXPECT_TRUE(changed([](CompileRequest& r) { r.kernel_expression = "scale<3>"; }));
  EXPECT_EQ(compile_request_from_json(to_json(original)).key(), original.key());
}

TEST(CompileRequest, RefusesJsonThatIsNoRequest) {
  const auto good = to_json(scale_request(2));
  for (const char* member : {"main", "headers", "options", "kernel_expression"}) {
    auto without = good;
    without.erase(member);
    EXPECT_THROW(compile_request_from_json(without), ProtocolError) << member;
    auto wrong = good;
    wrong[member] = 7;
    EXPECT_THROW(compile_request_from_json(wrong), ProtocolError) << member;
  }
  EXPECT_THROW(compile_request_from_json(nlohmann::ordered_json::array()), ProtocolError);
}

TEST(ArchitectureFor, UsesArchitectureSpecificCodeFromHopperOn) {
  EXPECT_EQ(architecture_for(7, 5), "sm_75");
  EXPECT_EQ(architecture_for(8, 9), "sm_89");
  EXPECT_EQ(architecture_for(9, 0), "sm_90a");
  const UserError error = user_error_of([] { architecture_for(6, 1); });
  EXPECT_EQ(error.message(), "NVRTC " + nvrtc_version() + " makes no code for compute capability 6.1");
  EXPECT_THAT(error.remedy(), HasSubstr("8.0, "));
}

TEST(MakeCompileRequest, OrdersOptionsAndLetsTheConfigOverride) {
  CompilePolicy policy;
  policy.options = {"--maxrregcount=64", "--std=c++14"};
  Instance instance;
  instance.kernel_expression = "gemm";
  instance.compile_options = {"--use_fast_math", "--std=c++20", "-DWIDTH=1"};
  instance.defines = {"-DBM=128", "-DWIDTH=4"};
  const CompileRequest request = make_compile_request(policy, {}, instance, "sm_90a");
  EXPECT_EQ(request.kernel_expression, "gemm");
  EXPECT_THAT(request.options,
              ElementsAre("--gpu-architecture=sm_90a", "--device-as-default-execution-space",
                          "--modify-stack-limit=false", "--ptxas-options=-v", "--use_fast_math", "-DWIDTH=1",
                          "--maxrregcount=64", "--std=c++14", "-DBM=128", "-DWIDTH=4"));
}

}  // namespace
}  // namespace tiletune
