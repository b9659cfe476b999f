#include <gtest/gtest.h>

#include "compile/cache.h"

namespace tiletune {
namespace recent_results_test {

Compiled failed(std::size_t bytes) { return {Outcome::compile_failed, std::string(bytes, 'x'), nullptr}; }

TEST(RecentResults, ForgetsTheOldestOnceTheyFillTheirSpace) {
  RecentResults results(10000);
  for (int i = 0; i < 100; ++i) results.add(std::to_string(i), failed(2000));
  EXPECT_TRUE(results.find("99").has_value());
  EXPECT_TRUE(results.find("96").has_value());
  EXPECT_FALSE(results.find("95").has_value()) << "five do not fit";
  EXPECT_FALSE(results.find("0").has_value());
}

TEST(RecentResults, CountsWhatABinaryHolds) {
  RecentResults results(10000);
  auto binary = std::make_shared<Binary>();
  binary->cubin.assign(20000, 'x');
  results.add("small", failed(10));
  results.add("large", {Outcome::ok, "", binary});
  EXPECT_FALSE(results.find("large").has_value());
  EXPECT_FALSE(results.find("small").has_value()) << "what made room for it is gone, too";
  results.add("next", failed(9000));
  EXPECT_TRUE(results.find("next").has_value()) << "and all the space is free again";
}

TEST(RecentResults, AKeyAddedAgainHasItsLastResult) {
  RecentResults results(10000);
  for (int i = 0; i < 10; ++i) results.add("a", failed(5000));
  results.add("a", failed(10));
  results.add("b", failed(5000));
  ASSERT_TRUE(results.find("a").has_value()) << "what was replaced takes no space";
  EXPECT_EQ(results.find("a")->reason.size(), 10U);
}

}  // namespace recent_results_test
}  // namespace tiletune
