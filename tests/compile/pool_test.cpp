#include "compile/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "carries.h"
#include "compile/compiler.h"
#include "compile/test_support.h"

namespace tiletune {
namespace pool_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(CompilePool, CompilesAndFindsEverythingInTheCacheTheSecondTime) {
  const TemporaryFolder cache;
  std::map<std::uint64_t, Compiled> first;
  {
    TicketPool pool(pool_options(cache.path(), 2));
    for (int factor = 0; factor < 6; ++factor) pool.submit(factor, scale_request(factor));
    EXPECT_EQ(pool.pending(), 6U);
    first = drain(pool);
    EXPECT_GT(pool.compile_cpu_seconds(), 0);
  }
  TicketPool pool(pool_options(cache.path(), 2));
  for (int factor = 0; factor < 6; ++factor) EXPECT_TRUE(pool.submit(factor, scale_request(factor)));
  const Clock::time_point due = pool.next_deadline();
  EXPECT_LE(due, Clock::now());
  const auto second = pool.take_finished();
  ASSERT_EQ(second.size(), 6U);
  EXPECT_TRUE(pool.fds().empty()) << "hits need no worker";
  for (const auto& [ticket, compiled] : second) {
    ASSERT_EQ(first.at(ticket).outcome, Outcome::ok) << first.at(ticket).reason;
    EXPECT_FALSE(first.at(ticket).binary->from_cache);
    EXPECT_TRUE(compiled.binary->from_cache);
    EXPECT_EQ(compiled.binary->cubin, first.at(ticket).binary->cubin);
    EXPECT_EQ(compiled.binary->compile_ms, first.at(ticket).binary->compile_ms);
  }
}

TEST(CompilePool, CompilesEqualRequestsInFlightOnce) {
  const TemporaryFolder cache;
  TicketPool pool(pool_options(cache.path(), 4));
  for (std::uint64_t ticket = 0; ticket < 5; ++ticket)
    EXPECT_EQ(pool.submit(ticket, scale_request(1)), ticket > 0) << "the first has to be compiled";
  EXPECT_EQ(pool.pending(), 5U);
  const auto results = drain(pool);
  ASSERT_EQ(results.size(), 5U);
  for (const auto& [ticket, compiled] : results) EXPECT_EQ(compiled.binary, results.at(0).binary);
}

TEST(CompilePool, DoesNotRepeatAFailedCompilation) {
  const TemporaryFolder cache;
  TicketPool pool(pool_options(cache.path(), 1));
  pool.submit(1, scale_request(1, "#error no"));
  EXPECT_THAT(drain(pool).at(1).reason, HasSubstr("#error"));
  pool.submit(2, scale_request(1, "#error no"));
  const auto again = pool.take_finished();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].second.outcome, Outcome::compile_failed);
}

TEST(CompilePool, ReplacesACorruptCacheFile) {
  const TemporaryFolder folder;
  const CubinCache cache(folder.path());
  const std::string key = scale_request(1).key();
  TicketPool first(pool_options(folder.path(), 1));
  first.submit(0, scale_request(1));
  const Compiled original = drain(first).at(0);
  std::string content = read_file(cache.path_of(key));
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  write_file_atomically(cache.path_of(key), content);
  TicketPool pool(pool_options(folder.path(), 1));
  pool.submit(1, scale_request(1));
  const Compiled replaced = drain(pool).at(1);
  ASSERT_EQ(replaced.outcome, Outcome::ok);
  EXPECT_FALSE(replaced.binary->from_cache);
  EXPECT_EQ(replaced.binary->kernel_symbols[0], original.binary->kernel_symbols[0]);
  EXPECT_TRUE(cache.load(key).has_value());
}

TEST(CompilePool, TwoPoolsShareOneCacheFolder) {
  const TemporaryFolder cache;
  TicketPool one(pool_options(cache.path(), 1));
  TicketPool two(pool_options(cache.path(), 1));
  for (int factor = 0; factor < 8; ++factor) {
    one.submit(factor, scale_request(factor));
    two.submit(factor, scale_request(factor));
  }
  std::map<std::uint64_t, Compiled> from_one;
  std::map<std::uint64_t, Compiled> from_two;
  while (one.pending() + two.pending() > 0) {
    for (auto& [ticket, compiled] : one.take_finished()) from_one[ticket] = compiled;
    for (auto& [ticket, compiled] : two.take_finished()) from_two[ticket] = compiled;
  }
  for (int factor = 0; factor < 8; ++factor) {
    ASSERT_EQ(from_one.at(factor).outcome, Outcome::ok) << from_one.at(factor).reason;
    ASSERT_EQ(from_two.at(factor).outcome, Outcome::ok) << from_two.at(factor).reason;
    EXPECT_EQ(from_one.at(factor).binary->kernel_symbols[0], from_two.at(factor).binary->kernel_symbols[0]);
  }
}

TEST(CompilePool, BinariesArriveWhenTheCacheCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string key = scale_request(1).key();
  TicketPool pool(pool_options(folder.path(), 1));
  folder.write(key.substr(0, 2), "a file where the cache needs a folder");
  pool.submit(0, scale_request(1));
  const Compiled compiled = drain(pool).at(0);
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  EXPECT_EQ(compiled.binary->key, key);
}

TEST(CompilePool, WhatDoesNotEndIsATimeoutAndTheNextRequestSucceeds) {
  const TemporaryFolder cache;
  CompilePoolOptions options = pool_options(cache.path(), 1);
  options.timeout_s = 6;
  TicketPool pool(options);
  const std::string endless =
      "template <unsigned A, unsigned B> struct Tree {\n"
      "  static constexpr unsigned v = Tree<A - 1, 2 * B>::v + Tree<A - 1, 2 * B + 1>::v;\n};\n"
      "template <unsigned B> struct Tree<0, B> { static constexpr unsigned v = B; };\n"
      "__device__ unsigned tree = Tree<22, 0>::v;\n";
  pool.submit(1, scale_request(1, endless));
  pool.submit(2, scale_request(2));
  const auto results = drain(pool);
  EXPECT_EQ(results.at(1).outcome, Outcome::compile_timeout);
  EXPECT_TRUE(carries(results.at(1).reason, {"6 s"}));
  EXPECT_EQ(results.at(2).outcome, Outcome::ok) << results.at(2).reason;
}

TEST(CompilePool, HeadersOfAToolkitThatIsMadeOfLinksAreRead) {
  namespace fs = std::filesystem;
  const auto real = cuda_include_folder();
  if (!real) GTEST_SKIP() << "needs the headers of a CUDA toolkit";
  const TemporaryFolder folder;
  folder.write("elsewhere/own.h", "constexpr int kOwn = 1;");
  fs::create_directory(folder.path() / "toolkit");
  for (const auto& entry : fs::directory_iterator(*real))
    fs::create_symlink(fs::canonical(entry.path()), folder.path() / "toolkit" / entry.path().filename());
  fs::create_directory_symlink(folder.path() / "elsewhere", folder.path() / "toolkit/extra");
  ::setenv("TILETUNE_CUDA_INCLUDE", (folder.path() / "toolkit").c_str(), 1);
  TicketPool pool(pool_options(folder.path() / "cache", 1));
  pool.submit(1, scale_request(3, "#include <cuda_fp16.h>\n#include <extra/own.h>\nstatic_assert(kOwn);\n"));
  const Compiled compiled = drain(pool)[1];
  ::unsetenv("TILETUNE_CUDA_INCLUDE");
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
}

TEST(CompilePool, WorkersDoNotSeeFilesOfTheWorkingFolder) {
  const TemporaryFolder cache;
  const TemporaryFolder working;
  working.write("stray.cuh", "");
  const fs::path before = fs::current_path();
  fs::current_path(working.path());
  TicketPool pool(pool_options(cache.path(), 1));
  pool.submit(0, scale_request(1, "#include \"stray.cuh\""));
  const Compiled compiled = drain(pool).at(0);
  fs::current_path(before);
  EXPECT_THAT(compiled.reason, HasSubstr("cannot open source file \"stray.cuh\""));
}

}  // namespace pool_test
}  // namespace tiletune
