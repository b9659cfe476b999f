#include "fixture.h"
#include "spec/operation.h"

namespace tiletune {
namespace buffer_values_test {

/// "distribution: argument; argument"
std::string read(const std::string& text, ElementType type = ElementType::i32) {
  const Json json = text;
  const BufferValues values = read_buffer_values({json, {"f.json", "/values"}}, type, "/", false);
  std::string found = std::string(name(values.distribution)) + ":";
  for (const ExprText& argument : values.arguments) found += " " + argument.text + ";";
  return found;
}

UserError error_in(const std::string& text, ElementType type = ElementType::i32) {
  const UserError error = user_error_of([&] { read(text, type); });
  EXPECT_EQ(error.where().text(), "f.json: /values") << text;
  return error;
}

TEST(BufferValues, HaveExpressionsForArguments) {
  EXPECT_EQ(read("randint(0, columns)"), "randint: 0; columns;");
  EXPECT_EQ(read("randint(-2, ceil_div(rows, 2))"), "randint: -2; ceil_div(rows, 2);");
  EXPECT_EQ(read(" offsets ( total ) "), "offsets: total;");
  EXPECT_EQ(read("constant(0.5)", ElementType::f16), "constant: 0.5;");
}

TEST(BufferValues, HaveDefaultsWhereOneIsUsual) {
  EXPECT_EQ(read("uniform", ElementType::f32), "uniform: -1; 1;");
  EXPECT_EQ(read("normal()", ElementType::bf16), "normal: 0; 1;");
  EXPECT_EQ(read("iota"), "iota: 0; 1;");
  EXPECT_EQ(read("permutation"), "permutation:");
}

TEST(BufferValues, SuggestADistribution) {
  EXPECT_NE(error_in("uniforn(0, 1)").remedy().find("'uniform'"), std::string::npos);
  EXPECT_NE(error_in("").remedy(), "");
}

TEST(BufferValues, OfTheWrongFormAreRefusedWithTheRightOne) {
  for (const char* text : {"randint", "randint(1)", "randint(1, 2, 3)", "randint(1, 2", "randint(1, 2)3"})
    EXPECT_NE(error_in(text).remedy().find("randint(a, b)"), std::string::npos) << text;
  EXPECT_NE(error_in("permutation(3)").remedy().find("permutation"), std::string::npos);
}

TEST(BufferValues, FitTheTypeOfTheBuffer) {
  EXPECT_NE(error_in("uniform(0, 1)", ElementType::u8).remedy().find("randint"), std::string::npos);
  EXPECT_NE(error_in("normal", ElementType::boolean).message().find("bool"), std::string::npos);
  EXPECT_NE(error_in("permutation", ElementType::f32).message().find("f32"), std::string::npos);
  EXPECT_NE(error_in("offsets(4)", ElementType::e4m3).message().find("e4m3"), std::string::npos);
}

}  // namespace buffer_values_test
}  // namespace tiletune
