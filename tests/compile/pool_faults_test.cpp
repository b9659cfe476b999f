#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <cstdlib>

#include "base/file.h"
#include "carries.h"
#include "compile/pool.h"
#include "compile/test_support.h"

namespace tiletune {
namespace pool_faults_test {

using testing::HasSubstr;

struct Fault {
  std::string word;  ///< in the source text: what the bad worker does instead of answering
  Outcome outcome;
  std::vector<std::string> parts;  ///< of the reason
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.word; }

class EveryFault : public testing::TestWithParam<Fault> {};

TEST_P(EveryFault, CostsOneRequest) {
  const TemporaryFolder cache;
  CompilePoolOptions options = pool_options(cache.path(), 1, {"bad-worker"});
  options.timeout_s = 20;
  if (GetParam().outcome == Outcome::compile_timeout) options.timeout_s = 2;
  TicketPool pool(options);
  pool.submit(1, scale_request(1));
  pool.submit(2, scale_request(2, "// " + GetParam().word));
  pool.submit(3, scale_request(3));
  const auto results = drain(pool);
  EXPECT_EQ(results.at(1).outcome, Outcome::ok) << results.at(1).reason;
  EXPECT_EQ(results.at(2).outcome, GetParam().outcome);
  EXPECT_TRUE(carries(results.at(2).reason, GetParam().parts));
  EXPECT_EQ(results.at(3).outcome, Outcome::ok) << results.at(3).reason;
}

INSTANTIATE_TEST_SUITE_P(
    CompilePool, EveryFault,
    testing::Values(
        Fault{"BE_SEGFAULT", Outcome::compile_crashed, {"signal 11", "4.0 GiB", "--max-compile-memory"}},
        Fault{"BE_KILLED", Outcome::compile_crashed, {"signal 9"}},
        Fault{"BE_EXIT", Outcome::compile_crashed, {"exited with 7"}},
        Fault{"BE_HANG", Outcome::compile_timeout, {"2 s"}},
        Fault{"BE_GARBAGE", Outcome::compile_crashed, {"protocol", "begin"}},
        Fault{"BE_HALF", Outcome::compile_crashed, {"protocol", "the middle"}},
        Fault{"BE_FORGETFUL", Outcome::compile_crashed, {"protocol", "'compiled'", "a binary"}},
        Fault{"BE_WRONG_BINARY", Outcome::compile_crashed, {"protocol", "not asked"}},
        Fault{"BE_WRONG_KEY", Outcome::compile_crashed, {"protocol", "not asked"}}),
    [](const auto& tested) { return tested.param.word; });

TEST(CompilePool, AnAnswerThatArrivedCountsIfItsTimeIsUpAndItsWorkerHasEnded) {
  const TemporaryFolder cache;
  CompilePoolOptions options = pool_options(cache.path(), 1, {"bad-worker"});
  options.timeout_s = 0.001;
  TicketPool pool(options);
  pool.submit(1, scale_request(1, "// BE_LAST"));
  pool.take_finished();  // starts the worker
  pollfd until_ready{pool.fds().at(0), POLLIN, 0};
  ::poll(&until_ready, 1, -1);
  pool.take_finished();  // sends it the request
  siginfo_t ended;
  ::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
  const auto results = drain(pool);
  EXPECT_EQ(results.at(1).outcome, Outcome::ok) << results.at(1).reason;
}

TEST(CompilePool, OnlyWhatWasPrintedForARequestIsInItsReasonCutAndMadePrintable) {
  const TemporaryFolder cache;
  TicketPool pool(pool_options(cache.path(), 1, {"bad-worker"}));
  pool.submit(1, scale_request(1, "// BE_TALKATIVE"));
  pool.submit(2, scale_request(2, "// BE_GARRULOUS"));
  const auto results = drain(pool);
  EXPECT_EQ(results.at(1).outcome, Outcome::ok) << results.at(1).reason;
  EXPECT_EQ(results.at(2).outcome, Outcome::compile_crashed);
  EXPECT_THAT(results.at(2).reason, HasSubstr("exited with 7: ?[2J?xxx"));
  EXPECT_LT(results.at(2).reason.size(), 4400U);
}

/// What takes too much memory in one stage of the compiler.
struct Hungry {
  std::string stage;
  std::string source;
};

std::ostream& operator<<(std::ostream& out, const Hungry& hungry) { return out << hungry.stage; }

class EveryHungryStage : public testing::TestWithParam<Hungry> {};

TEST_P(EveryHungryStage, CostsOneRequestWithTheLimitInItsReason) {
  const TemporaryFolder cache;
  CompilePoolOptions options = pool_options(cache.path(), 1);
  options.max_memory_bytes = std::uint64_t{56} << 20;
  TicketPool pool(options);
  pool.submit(1, scale_request(1, GetParam().source));
  pool.submit(2, scale_request(2));
  const auto results = drain(pool);
  EXPECT_EQ(results.at(1).outcome, Outcome::compile_crashed);

  EXPECT_TRUE(carries(results.at(1).reason, {"56.0 MiB", "--max-compile-memory"}));
  EXPECT_EQ(results.at(2).outcome, Outcome::ok) << results.at(2).reason;
}

INSTANTIATE_TEST_SUITE_P(
    CompilePool, EveryHungryStage,
    testing::Values(
        Hungry{"FrontEnd",
               "template <unsigned A, unsigned B> struct Tree {\n"
               "  static constexpr unsigned v = Tree<A - 1, 2 * B>::v + Tree<A - 1, 2 * B + 1>::v;\n};\n"
               "template <unsigned B> struct Tree<0, B> { static constexpr unsigned v = B; };\n"
               "__device__ unsigned tree = Tree<18, 0>::v;\n"},
        Hungry{"Optimizer", "__device__ int table[50000000] = {1};\n"},
        Hungry{"Assembler",
               "#define A1 \"fma.rn.f32 %0, %0, %0, %0;\"\n"
               "#define A2 A1 A1 A1 A1 A1 A1 A1 A1\n"
               "#define A3 A2 A2 A2 A2 A2 A2 A2 A2\n"
               "#define A4 A3 A3 A3 A3 A3 A3 A3 A3\n"
               "#define A5 A4 A4 A4 A4 A4 A4 A4 A4\n"
               "#define A6 A5 A5 A5 A5 A5 A5 A5 A5\n"
               "extern \"C\" __global__ void long_kernel(float* x) { asm(A6 : \"+f\"(*x)); }\n"}),
    [](const auto& tested) { return tested.param.stage; });

TEST(CompilePool, AWorkerThatMustBeConfinedEndsWhereItCannotBe) {
  const TemporaryFolder folder;
  CompilePoolOptions options = pool_options(folder.path(), 1);
  options.must_be_confined = true;
  // Only the workers are started with it.
  ::setenv("CUDA_INJECTION64_PATH", "/a/profiler.so", 1);
  TicketPool pool(options);
  pool.submit(1, scale_request(3));
  const UserError error = user_error_of([&] { drain(pool); });
  ::unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_THAT(error.message(), HasSubstr("profiler"));
}

TEST(CompilePool, WorkersThatNeverStartAreAUserError) {
  const TemporaryFolder cache;
  TicketPool pool(pool_options(cache.path(), 2, {"stillborn-worker"}));
  pool.submit(1, scale_request(1));
  const UserError error = user_error_of([&] { drain(pool); });
  EXPECT_TRUE(carries(error.message(), {"5 in", "exited with 3"}));
  EXPECT_EQ(error.where().file, executable_path().string());

  CompilePoolOptions options = pool_options(cache.path(), 1);
  options.program = "/nonexistent/tiletune";
  EXPECT_EQ(user_error_of([&] { CompilePool{options}; }).where().file, "/nonexistent/tiletune");
}

}  // namespace pool_faults_test
}  // namespace tiletune
