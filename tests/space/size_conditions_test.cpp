// What a configuration's constraints ask of other sizes than those it was instantiated for.

#include <gtest/gtest.h>

#include "space/instance.h"
#include "space/spec_builder.h"

namespace tiletune {
namespace size_conditions_test {

using Conditions = std::vector<std::optional<std::string>>;

ExprText text(const std::string& expression) { return {expression, {"template.json", ""}}; }

Conditions conditions(const TemplateSpec& spec, std::vector<Value> values) {
  return Instantiator(spec, problem()).instantiate({std::move(values)}, 132).size_conditions;
}

SpecBuilder builder() {
  SpecBuilder builder;
  builder.integers("VEC", {1, 4}).parameter("LOADER", {std::string("plain"), std::string("async")});
  builder.spec().launches[0].grid = {text("1"), {}, {}};
  builder.spec().launches[0].block = {text("32 * VEC"), {}, {}};
  return builder;
}

const std::vector<Value> kVectors{std::int64_t{4}, std::string("async")};
const std::vector<Value> kScalars{std::int64_t{1}, std::string("plain")};

TEST(SizeConditions, ParametersArePutIn) {
  const TemplateSpec spec =
      builder().require("N % VEC == 0").require("VEC <= 4").require("K >= 8 * VEC + alpha");
  EXPECT_EQ(conditions(spec, kVectors), (Conditions{"(N % 4) == 0", "K >= 33.5"}));
}

TEST(SizeConditions, WhatIsDecidedByParametersIsLeftOut) {
  const TemplateSpec spec =
      builder().require("LOADER == 'plain' or N % VEC == 0").require("N % 2 == 0 if VEC == 4 else true");
  EXPECT_EQ(conditions(spec, kScalars), Conditions{});
  EXPECT_EQ(conditions(spec, kVectors), (Conditions{"(N % 4) == 0", "(N % 2) == 0"}));
}

TEST(SizeConditions, DerivedValuesAreWrittenOut) {
  const TemplateSpec spec =
      builder().derived("WIDEST", "4 if N % 4 == 0 and K % 4 == 0 else 1").require("VEC <= WIDEST");
  EXPECT_EQ(conditions(spec, kVectors),
            (Conditions{"4 <= (4 if (((N % 4) == 0) and ((K % 4) == 0)) else 1)"}));
}

TEST(SizeConditions, ALeadingDimensionIsThatOfADenseMatrix) {
  SpecBuilder dense = builder().require("lda % VEC == 0");
  dense.spec().operation.leading_dimensions = {{"lda", "A", "K"}};
  EXPECT_EQ(conditions(dense, kVectors), (Conditions{"(K % 4) == 0"}));
}

TEST(SizeConditions, WhatIsCompiledIntoTheKernelMustNotChange) {
  SpecBuilder kernel = builder().derived("EDGES", "M % 128 != 0").derived("ROWS", "VEC * 2");
  kernel.spec().launches[0].template_arguments = {text("ROWS"), text("EDGES")};
  kernel.spec().launches[0].dynamic_shared_bytes = text("min(K, 64) * VEC");
  EXPECT_EQ(conditions(kernel, kVectors),
            (Conditions{"((M % 128) != 0) == false", "(min(K, 64) * 4) == 256"}));
}

TEST(SizeConditions, CudaTakesTheGrid) {
  SpecBuilder kernel = builder();
  kernel.spec().launches[0].grid = {text("ceil_div(N, 32)"), text("M"), text("VEC")};
  EXPECT_EQ(conditions(kernel, kVectors), (Conditions{"1 <= ceil_div(N, 32) <= 2147483647", "M <= 65535"}));
}

TEST(SizeConditions, ScalarArgumentsFitInTheirTypes) {
  SpecBuilder kernel = builder();
  using enum ElementType;
  const auto add = [&](const std::string& name, ElementType type, const std::string& value) {
    kernel.spec().launches[0].arguments.push_back({Argument::Kind::scalar, name, type, text(value)});
  };
  add("M", i32, "");
  add("rows", i32, "M");
  add("difference", i16, "M - N");
  add("unsigned", u8, "K // 4");
  add("product", i64, "M * N * K");
  add("half", f16, "K");
  add("constant", i32, "VEC");
  EXPECT_EQ(conditions(kernel, kVectors), (Conditions{"M <= 2147483647", "(-32768) <= (M - N) <= 32767",
                                                      "0 <= (K // 4) <= 255", "K <= 65504"}));
}

TEST(SizeConditions, ALaunchThatIsLeftOutHasNoLimits) {
  SpecBuilder kernel = builder();
  kernel.spec().launches.push_back(kernel.spec().launches[0]);
  kernel.spec().launches[0].grid = {text("1"), {}, {}};
  kernel.spec().launches[1].grid = {text("1"), text("M"), {}};
  kernel.spec().launches[1].when = text("LOADER == 'async'");
  EXPECT_EQ(conditions(kernel, kScalars), Conditions{});
  EXPECT_EQ(conditions(kernel, kVectors), Conditions{"M <= 65535"});
  kernel.spec().launches[1].when = text("M > 128");
  EXPECT_EQ(conditions(kernel, kVectors),
            (Conditions{"(M <= 65535) if (M > 128) else true", "(M > 128) == true"}))
      << "the same launches take place";
}

TEST(SizeConditions, NoneStandsForWhatIsTooLong) {
  SpecBuilder doubling = builder().derived("D0", "N % 64");
  for (int i = 0; i < 20; ++i) doubling.derived(numbered('D', i + 1), fmt::format("max(D{0}, D{0} % 7)", i));
  doubling.require("D20 >= 0");
  EXPECT_EQ(conditions(doubling, kVectors), (Conditions{std::nullopt}));
}

/// Of the first launch on a GPU of 132 multiprocessors; "?" where they are not known.
std::string tiles(const TemplateSpec& spec, std::vector<Value> values) {
  const TileCount count = Instantiator(spec, problem()).instantiate({std::move(values)}, 132).tiles.at(0);
  return count.expression.value_or("?") +
         (count.most_blocks > 0 ? fmt::format(" in {} blocks", count.most_blocks) : "");
}

SpecBuilder with_grid(const std::string& x, const std::string& y = "") {
  SpecBuilder kernel = builder().derived("TILES", "ceil_div(M, VEC) * N");
  kernel.spec().launches[0].grid = {text(x), y.empty() ? ExprText() : text(y), {}};
  return kernel;
}

TEST(SizeConditions, TilesAreTheBlocksOfAGrid) {
  EXPECT_EQ(tiles(with_grid("ceil_div(M, 32 * VEC)", "N"), kVectors), "ceil_div(M, 128) * N");
  EXPECT_EQ(tiles(with_grid("M * (VEC - 3)"), kVectors), "M");
  EXPECT_EQ(tiles(with_grid("ceil_div(M, VEC - 3)", "M // (VEC - 3)"), kVectors), "M * M");
  EXPECT_EQ(tiles(with_grid("1"), kVectors), "1");
}

TEST(SizeConditions, TilesThatBlocksShareAreNotLimitedByMultiprocessors) {
  EXPECT_EQ(tiles(with_grid("min(TILES, multiprocessors)"), kVectors), "ceil_div(M, 4) * N in 132 blocks");
  EXPECT_EQ(tiles(with_grid("min(TILES, multiprocessors // 2) * 2"), kVectors),
            "(ceil_div(M, 4) * N) * 2 in 132 blocks");
}

/// Such as parts of K for the multiprocessors that tiles leave idle.
TEST(SizeConditions, WhatIsUnlimitedByASizeIsUnlimited) {
  EXPECT_EQ(tiles(with_grid("TILES * max(1, min(VEC, multiprocessors // N))"), kVectors),
            "(ceil_div(M, 4) * N) * 4");
}

/// Such as a loop over a vector by as many threads as there are.
TEST(SizeConditions, TilesOfAGridThatDependsOnMultiprocessorsAloneAreNotKnown) {
  EXPECT_EQ(tiles(with_grid("multiprocessors * VEC"), kVectors), "? in 528 blocks");
}

TEST(SizeConditions, TilesThatAreTooLongAreNotKnown) {
  SpecBuilder doubling = builder().derived("D0", "N % 64");
  for (int i = 0; i < 20; ++i) doubling.derived(numbered('D', i + 1), fmt::format("max(D{0}, D{0} % 7)", i));
  doubling.spec().launches[0].grid = {text("D20 + 1"), {}, {}};
  EXPECT_EQ(tiles(doubling, kVectors), "?");
}

}  // namespace size_conditions_test
}  // namespace tiletune
