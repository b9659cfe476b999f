#include "compile/recent_results.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace {

Compiled failed(std::size_t bytes) { return {Outcome::compile_failed, std::string(bytes, 'x'), nullptr}; }

TEST(RecentResults, ForgetsTheOldestOnceTheyFillTheirSpace) {
  RecentResults results(10000);
  for (int i = 0; i < 100; ++i) results.add(std::to_string(i), failed(2000));
  EXPECT_LE(results.bytes(), 10000U);
  EXPECT_TRUE(results.find("99").has_value());
  EXPECT_TRUE(results.find("97").has_value());
  EXPECT_FALSE(results.find("90").has_value());
  EXPECT_FALSE(results.find("0").has_value());
}

TEST(RecentResults, CountsWhatABinaryHolds) {
  RecentResults results(10000);
  auto binary = std::make_shared<Binary>();
  binary->cubin.assign(20000, 'x');
  results.add("small", failed(10));
  results.add("large", {Outcome::ok, "", binary});
  EXPECT_FALSE(results.find("large").has_value());
  EXPECT_EQ(results.bytes(), 0U) << "what made room for it is gone, too";
}

TEST(RecentResults, AKeyAddedAgainKeepsItsFirstResult) {
  RecentResults results(10000);
  results.add("a", failed(10));
  const std::size_t bytes = results.bytes();
  results.add("a", failed(500));
  EXPECT_EQ(results.find("a")->reason.size(), 10U);
  EXPECT_EQ(results.bytes(), bytes);
}

}  // namespace
}  // namespace tiletune
