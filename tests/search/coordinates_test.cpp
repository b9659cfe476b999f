#include <gtest/gtest.h>

#include "search/gaussian_process.h"
#include "space/spec_builder.h"

namespace tiletune {
namespace coordinates_test {

using search::Coordinates;

double distance(const Coordinates& coordinates, const Choice& a, const Choice& b) {
  return (coordinates.point(a) - coordinates.point(b)).array().square().min(1.0F).sum();
}

Space one_parameter(const std::vector<Value>& values, const std::string& name = "p") {
  SpecBuilder builder;
  builder.parameter(name, values);
  return {builder, problem()};
}

std::vector<Value> integers(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

TEST(Coordinates, NumbersLieByTheirLogarithms) {
  const Space space = one_parameter(integers({8, 16, 64}));
  const Coordinates coordinates({{&space, 3}});
  EXPECT_NEAR(distance(coordinates, {0, 0}, {0, 1}), 1.0 / 9, 1e-6);
  EXPECT_NEAR(distance(coordinates, {0, 0}, {0, 2}), 1, 1e-6);
}

TEST(Coordinates, WordsAreAllAsFarFromEachOther) {
  const Space space = one_parameter({std::string("a"), std::string("b"), std::string("c")});
  const Coordinates coordinates({{&space, 3}});
  EXPECT_NEAR(distance(coordinates, {0, 0}, {0, 1}), 1, 1e-6);
  EXPECT_NEAR(distance(coordinates, {0, 0}, {0, 2}), 1, 1e-6);
}

TEST(Coordinates, DivisibilityCountsBesideTheSize) {
  const Space space = one_parameter(integers({30, 31, 32}));
  const Coordinates coordinates({{&space, 3}});
  const double even = distance(coordinates, {0, 0}, {0, 2});
  EXPECT_GT(distance(coordinates, {0, 1}, {0, 2}), 0.9) << "0 and 5 twos";
  EXPECT_GT(even, 0.5);
}

TEST(Coordinates, ParametersThatOneSpaceLacksAreFar) {
  const Space first = one_parameter(integers({1, 2}));
  const Space second = one_parameter(integers({1, 2}), "q");
  const Coordinates coordinates({{&first, 2}, {&second, 2}});
  EXPECT_NEAR(distance(coordinates, {0, 0}, {1, 0}), 3, 1e-6) << "p, q and the space";
}

TEST(Coordinates, OtherProblemsAreApart) {
  const Space space = one_parameter(integers({1, 2}));
  const Coordinates coordinates({{&space, 2}});
  const auto own = coordinates.point({0, 1});
  const auto other = coordinates.point(0, space.positions(1), 0.5);
  EXPECT_NEAR((own - other).squaredNorm(), 0.25, 1e-6);
}

TEST(Coordinates, OfManyValuesAreFound) {
  std::vector<std::int64_t> many(50000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i + 1);
  const Space space = one_parameter(integers(many));
  const Coordinates coordinates({{&space, space.size()}});
  EXPECT_LT(distance(coordinates, {0, 40000}, {0, 49999}), distance(coordinates, {0, 0}, {0, 49999}));
}

}  // namespace coordinates_test
}  // namespace tiletune
