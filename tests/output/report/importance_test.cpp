#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "output/report/survey.h"

namespace tiletune {
namespace {

using Json = nlohmann::ordered_json;

double share_of(const Importance& importance, const std::string& name) {
  for (const ParameterImportance& share : importance.shares()) {
    if (share.name == name) return share.share;
  }
  return -1;
}

TEST(Importance, WhatDeterminesTheTimeExplainsAllOfItsVariance) {
  Importance importance;
  for (const int bm : {32, 64, 128}) {
    for (const int pad : {0, 1, 2, 4}) importance.add({{"BM", bm}, {"PAD", pad}, {"TN", 8}}, 1000.0 / bm);
  }
  const auto shares = importance.shares();
  ASSERT_EQ(shares.size(), 2U) << "TN has one value";
  EXPECT_EQ(shares[0].name, "BM");
  EXPECT_NEAR(shares[0].share, 1, 1e-12);
  EXPECT_EQ(shares[0].values, 3U);
  EXPECT_EQ(shares[0].best, "128");
  EXPECT_NEAR(shares[0].worst_to_best, 4, 1e-12);
  EXPECT_EQ(shares[1].name, "PAD");
  EXPECT_EQ(shares[1].share, 0);
}

TEST(Importance, IndependentEffectsShareTheVarianceOfLogTime) {
  Importance importance;
  // log time = a * log 4 + b * log 2: variances as 4 to 1.
  for (int copy = 0; copy < 500; ++copy) {
    for (const int a : {0, 1}) {
      for (const int b : {0, 1}) importance.add({{"a", a}, {"b", b}}, std::pow(4, a) * std::pow(2, b));
    }
  }
  EXPECT_NEAR(share_of(importance, "a"), 0.8, 1e-3);
  EXPECT_NEAR(share_of(importance, "b"), 0.2, 1e-3);
}

TEST(Importance, ManyValuesWithoutAnEffectExplainNothing) {
  Importance importance;
  // 40 values, 5 rows each: the plain ratio of sums of squares would be about 0.2.
  for (int i = 0; i < 200; ++i) importance.add({{"id", i % 40}}, 100.0 + (i * 7919 % 101));
  EXPECT_LT(share_of(importance, "id"), 0.05);
}

TEST(Importance, ANameOfEveryRowOrASingleTimeSaysNothing) {
  Importance named;
  for (int i = 0; i < 10; ++i) named.add({{"id", i}}, 10.0 + i);
  EXPECT_TRUE(named.shares().empty());
  Importance constant;
  for (int i = 0; i < 10; ++i) constant.add({{"BM", i % 2}}, 5.0);
  EXPECT_TRUE(constant.shares().empty());
}

TEST(Importance, ValuesOfDifferentKindsAreKeptApart) {
  Importance importance;
  for (const Json& value : {Json(true), Json("cp_async"), Json(4), Json(0.5)}) {
    for (int i = 0; i < 3; ++i) importance.add({{"LOADER", value}}, 1.0 + i);
  }
  ASSERT_EQ(importance.shares().size(), 1U);
  EXPECT_EQ(importance.shares()[0].values, 4U);
}

}  // namespace
}  // namespace tiletune
