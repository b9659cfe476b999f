#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

#include "space/operators.h"
#include "space/program.h"
#include "space/space.h"
#include "space/spec_builder.h"

namespace tiletune {
namespace space_property_test {

using Random = std::mt19937_64;

int draw(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

/// A random expression over names and numbers of both kinds, some as large as 64 bits hold.
std::string random_expression(Random& random, const std::vector<std::string>& names, int depth) {
  const auto inner = [&] { return random_expression(random, names, depth - 1); };
  const auto name = [&] {
    return names[static_cast<std::size_t>(draw(random, 0, static_cast<int>(names.size()) - 1))];
  };
  const auto among = [&](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + draw(random, 0, static_cast<int>(texts.size()) - 1)));
  };
  switch (depth == 0 ? 0 : draw(random, 0, 9)) {
    case 0:
      return draw(random, 0, 2) > 0 ? name()
                                    : among({"2", "3", "0.5", "-1", "-0.25", "3037000500 * 3037000500"});
    case 1:
      return fmt::format("{}({}, {})", among({"min", "max", "ceil_div", "round_up", "gcd"}), inner(),
                         inner());
    case 2:
      return fmt::format("({} if {} else {})", inner(), inner(), inner());
    case 3:
      return fmt::format("({} {} {})", inner(), among({"and", "or", "&&", "||"}), inner());
    case 4:
      return fmt::format("({}({}))", among({"not ", "-", "abs", "bool", "float"}), inner());
    case 5:
      return fmt::format("({} < {} <= {})", inner(), inner(), inner());
    case 6:
      return fmt::format("({} in ({}, {}))", inner(), inner(), inner());
    default:
      return fmt::format("({} {} {})", inner(), among({"+", "-", "*", "*", "//", "/", "%", "<<", "**"}),
                         inner());
  }
}

std::string random_comparison(Random& random, const std::vector<std::string>& names) {
  constexpr std::array kOperators{"<", "<=", "==", "!=", ">=", ">"};
  return fmt::format("{} {} {}", random_expression(random, names, 3),
                     kOperators[static_cast<std::size_t>(draw(random, 0, 5))],
                     random_expression(random, names, 1));
}

/// A condition over random names; some divide by what may be zero.
std::string random_condition(Random& random, const std::vector<std::string>& names) {
  const auto name = [&] {
    return names[static_cast<std::size_t>(draw(random, 0, static_cast<int>(names.size()) - 1))];
  };
  const auto number = [&] { return std::to_string(draw(random, 0, 6)); };
  switch (draw(random, 0, 14)) {
    case 0:
      return name() + " + " + name() + " <= " + number();
    case 1:
      return name() + " != " + name();
    case 2:
      return name() + " % " + name() + " == 0";
    case 3:
      return name() + " != 0";
    case 4:
      return name() + " > 0 and " + name() + " > 0 and " + name() + " + " + number() + " > 2";
    case 5:
      return name() + " in (0, 2, " + number() + ") or " + name() + " < " + name();
    case 6:
      return number() + " <= " + name() + " * " + name() + " < 9";
    case 7:
      return "M >= 4 or " + name() + " == " + number();
    case 8:
      return "6 // " + name() + " > " + number() + " or " + name() + " < 3";
    case 9:
      return name() + " + " + name() + " + " + name() + " != " + number();
    default:
      return random_comparison(random, names);
  }
}

SpecBuilder random_spec(Random& random) {
  SpecBuilder builder;
  std::vector<std::string> names;
  for (int i = 0, count = draw(random, 1, 6); i < count; ++i) {
    std::vector<int> values{0, 1, 2, 3, 4, 5};
    if (draw(random, 0, 2) > 0) std::shuffle(values.begin(), values.end(), random);
    values.resize(static_cast<std::size_t>(draw(random, 1, count < 4 ? 6 : 4)));
    names.push_back(std::string(1, static_cast<char>('A' + i)));
    builder.integers(names.back(), values);
  }
  for (int i = 0, count = draw(random, 0, 2); i < count; ++i) {
    const std::string& first =
        names[static_cast<std::size_t>(draw(random, 0, static_cast<int>(names.size()) - 1))];
    const std::string& second =
        names[static_cast<std::size_t>(draw(random, 0, static_cast<int>(names.size()) - 1))];
    builder.derived(numbered('D', i),
                    draw(random, 0, 1) == 0 ? first + " * " + second + " - 1" : first + " // " + second);
    names.push_back(numbered('D', i));
  }
  for (int i = 0, count = draw(random, 0, 5); i < count; ++i)
    builder.require(random_condition(random, names));
  return builder;
}

enum class Verdict { valid, removed };

/// Whether an error is of types: arithmetic that values explain excludes a combination.
bool is_of_types(const UserError& error) {
  const std::string& text = error.message();
  return text.find("needed") != std::string::npos || text.find("compared") != std::string::npos;
}

/// Tests configurations one by one, each constraint in the order of the list, with nothing of the space's own
/// but the expressions. Derived values are written out in the constraints.
class BruteForce {
 public:
  explicit BruteForce(const TemplateSpec& spec) : spec_(spec) {
    for (const char* dimension : {"M", "N", "K"}) symbols_.declare(dimension, {});
    for (const auto& [name, value] : spec.operation.scalars) symbols_.declare(name, {});
    for (const Parameter& parameter : spec.parameters) symbols_.declare(parameter.name, {});
    for (const Constraint& constraint : spec.constraints)
      constraints_.emplace_back(ExprText{written_out(constraint.require.text), {}}, symbols_);
    walk({});
  }

  std::vector<Configuration> valid;
  std::vector<double> falls_to;  ///< by constraint: combinations for which it is false
  double combinations = 0;
  bool undefined = false;  ///< for some combination the types of a constraint are wrong

 private:
  std::string written_out(std::string text) const {
    for (std::size_t i = spec_.derived.size(); i-- > 0;) {
      const std::string& name = spec_.derived[i].name;
      const std::string value = fmt::format("({})", spec_.derived[i].value.text);
      for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
        text.replace(at, name.size(), value);
    }
    return text;
  }

  void walk(std::vector<Value> values) {
    if (values.size() < spec_.parameters.size()) {
      for (const Value& value : spec_.parameters[values.size()].values) {
        values.push_back(value);
        walk(values);
        values.pop_back();
      }
      return;
    }
    ++combinations;
    falls_to.resize(constraints_.size(), 0);
    const Verdict verdict = judge(values);
    if (verdict == Verdict::valid) valid.push_back({values});
  }

  Verdict judge(const std::vector<Value>& values) {
    std::vector<Value> slots{std::int64_t{1024}, std::int64_t{512}, std::int64_t{256}, 1.5, 0.0};
    slots.insert(slots.end(), values.begin(), values.end());
    Verdict verdict = Verdict::valid;
    for (std::size_t i = 0; i < constraints_.size(); ++i) {
      try {
        if (space::is_true(space::to_scalar(space::evaluate(constraints_[i], slots)))) continue;
        ++falls_to[i];
        if (verdict == Verdict::valid) verdict = Verdict::removed;
      } catch (const UserError& error) {
        ++falls_to[i];
        if (is_of_types(error)) undefined = true;
        if (verdict == Verdict::valid) verdict = Verdict::removed;
      }
    }
    return verdict;
  }

  const TemplateSpec& spec_;
  space::SymbolTable symbols_;
  std::vector<space::Program> constraints_;
};

int differences(const Configuration& left, const Configuration& right) {
  int count = 0;
  for (std::size_t i = 0; i < left.values.size(); ++i) count += left.values[i] == right.values[i] ? 0 : 1;
  return count;
}

void check_neighbours(const Space& space, std::uint64_t index) {
  std::set<std::uint64_t> expected;
  for (std::uint64_t other = 0; other < space.size(); ++other)
    if (differences(space.at(index), space.at(other)) == 1) expected.insert(other);
  const std::vector<std::uint64_t> found = space.neighbours(index);
  EXPECT_EQ(std::set<std::uint64_t>(found.begin(), found.end()), expected);
  EXPECT_EQ(found.size(), expected.size());
}

double distance(const Space& space, std::uint64_t index, const std::vector<double>& point) {
  const std::vector<std::size_t> counts = space.value_counts();
  const std::vector<std::uint32_t> positions = space.positions(index);
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 1) sum += std::abs(point[i] - positions[i]) / static_cast<double>(counts[i] - 1);
  return sum;
}

/// These spaces are small enough to find the nearest one.
void check_nearest(const Space& space, Random& random) {
  std::vector<double> point;
  for (const std::size_t count : space.value_counts())
    point.push_back(std::uniform_real_distribution<double>(0, static_cast<double>(count - 1))(random));
  double least = distance(space, 0, point);
  for (std::uint64_t index = 1; index < space.size(); ++index)
    least = std::min(least, distance(space, index, point));
  const std::uint64_t found = space.nearest(point);
  ASSERT_LT(found, space.size());
  EXPECT_NEAR(distance(space, found, point), least, 1e-9);
}

void check_positions(const Space& space, std::uint64_t index) {
  const std::vector<std::uint32_t> positions = space.positions(index);
  EXPECT_EQ(space.index_at(positions), index);
  EXPECT_EQ(space.nearest(std::vector<double>(positions.begin(), positions.end())), index);
}

void compare(const Space& space, const BruteForce& brute) {
  EXPECT_EQ(space.raw_size(), brute.combinations);
  ASSERT_EQ(space.size(), brute.valid.size());
  std::set<std::uint64_t> indices;
  for (const Configuration& configuration : brute.valid) {
    const std::uint64_t index = space.index_of(configuration);
    ASSERT_LT(index, space.size());
    EXPECT_EQ(space.at(index), configuration);
    indices.insert(index);
  }
  EXPECT_EQ(indices.size(), space.size());
  double removed = 0;
  for (std::size_t i = 0; i < space.constraints().size(); ++i) {
    removed += space.constraints()[i].removed_first;
    EXPECT_LE(space.constraints()[i].removed_first, brute.falls_to[i]);
    EXPECT_LE(space.constraints()[i].without_value, space.constraints()[i].removed_first);
  }
  EXPECT_EQ(removed, space.raw_size() - static_cast<double>(space.size()));
  for (std::uint64_t index = 0; index < space.size(); index += space.size() / 5 + 1)
    check_neighbours(space, index);
  for (std::uint64_t index = 0; index < space.size(); index += space.size() / 5 + 1)
    check_positions(space, index);
  Random random(space.size());
  for (int i = 0; i < 5 && space.size() > 0; ++i) check_nearest(space, random);
}

std::string described(const TemplateSpec& spec) {
  std::string text;
  for (const Parameter& parameter : spec.parameters) {
    text += parameter.name + ":";
    for (const Value& value : parameter.values) text.append(" ").append(to_text(value));
    text += "\n";
  }
  for (const Derived& derived : spec.derived) text += derived.name + " = " + derived.value.text + "\n";
  for (const Constraint& constraint : spec.constraints) text += constraint.require.text + "\n";
  return text;
}

TEST(SpacePropertyTest, AgreesWithBruteForceOnRandomSpaces) {
  Random random(7);
  int built = 0;
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    const SpecBuilder builder = random_spec(random);
    const TemplateSpec& spec = builder;
    SCOPED_TRACE(described(spec));
    const BruteForce brute(spec);
    try {
      const Space space(spec, problem());
      compare(space, brute);
      ++built;
    } catch (const UserError&) {
      // A derived value without parameters may have no value: then every combination is excluded.
      EXPECT_TRUE(brute.undefined || brute.valid.empty());
      ++refused;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(built, 300);
  EXPECT_GT(refused, 5);
}

}  // namespace space_property_test
}  // namespace tiletune
