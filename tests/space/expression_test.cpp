#include "space/expression.h"

#include <gtest/gtest.h>

#include <limits>

#include "space/program.h"
#include "space/scalar.h"

namespace tiletune {
namespace {

using std::int64_t;

/// Names with their values, and expressions over them.
class ExpressionTest : public testing::Test {
 protected:
  ExpressionTest() {
    add("BM", int64_t{64});
    add("BN", int64_t{32});
    add("M", int64_t{1000});
    add("zero", int64_t{0});
    add("flag", true);
    add("half", 0.5);
    add("T", std::string("float"));
    add("big", std::numeric_limits<int64_t>::max());
    add("block_size_x", int64_t{16});
  }

  void add(const std::string& name, Value value) {
    symbols_.declare(name, {});
    values_.push_back(std::move(value));
  }

  Expression parse(const std::string& text) const { return {{text, {"t.json", "/x"}}, symbols_}; }
  Value value(const std::string& text) const { return parse(text).evaluate(values_); }

  /// The message of the UserError that parsing or evaluating throws; its place must be the expression's.
  std::string error(const std::string& text) const {
    try {
      value(text);
    } catch (const UserError& caught) {
      EXPECT_EQ(caught.where().text(), "t.json: /x");
      return caught.message();
    }
    return "no error";
  }

  std::string remedy(const std::string& text) const {
    try {
      value(text);
    } catch (const UserError& caught) {
      return caught.remedy();
    }
    return "no error";
  }

  SymbolTable symbols_;
  std::vector<Value> values_;
};

TEST_F(ExpressionTest, HasPythonsPrecedence) {
  EXPECT_EQ(value("2 + 3 * 4"), Value(int64_t{14}));
  EXPECT_EQ(value("-2 ** 2"), Value(int64_t{-4}));
  EXPECT_EQ(value("2 ** 3 ** 2"), Value(int64_t{512}));
  EXPECT_EQ(value("2 ** -1"), Value(0.5));
  EXPECT_EQ(value("10 - 3 - 2"), Value(int64_t{5}));
  EXPECT_EQ(value("100 // 7 % 5 * 2"), Value(int64_t{8}));
  EXPECT_EQ(value("1 | 6 ^ 3 & 5 << 1 + 1"), Value(int64_t{7}));
  EXPECT_EQ(value("BM & 1 == 0"), Value(true));
  EXPECT_EQ(value("not 1 == 2"), Value(true));
  EXPECT_EQ(value("not flag or flag"), Value(true));
  EXPECT_EQ(value("True or False and False"), Value(true));
  EXPECT_EQ(value("~5 + -+-1"), Value(int64_t{-5}));
  EXPECT_EQ(value("1 if zero else 2 if flag else 3"), Value(int64_t{2}));
}

TEST_F(ExpressionTest, AcceptsTheSpellingsOfC) {
  EXPECT_EQ(value("BM > 1 && !(BN > 1) || flag"), Value(true));
  EXPECT_EQ(value("!zero == 1"), Value(true));  // (!zero) == 1
  EXPECT_EQ(value("!BM == BM"), Value(false));
  EXPECT_EQ(value("zero ? 1 : flag ? 2 : 3"), Value(int64_t{2}));
  EXPECT_EQ(value("0x1F + 0XA"), Value(int64_t{41}));
}

TEST_F(ExpressionTest, RoundsDivisionAsPython) {
  EXPECT_EQ(value("7 // 2"), Value(int64_t{3}));
  EXPECT_EQ(value("-7 // 2"), Value(int64_t{-4}));
  EXPECT_EQ(value("7 // -2"), Value(int64_t{-4}));
  EXPECT_EQ(value("-7 // -2"), Value(int64_t{3}));
  EXPECT_EQ(value("-7 % 2"), Value(int64_t{1}));
  EXPECT_EQ(value("7 % -2"), Value(int64_t{-1}));
  EXPECT_EQ(value("-6 % 3"), Value(int64_t{0}));
  EXPECT_EQ(value("7 / 2"), Value(3.5));
  EXPECT_EQ(value("6 / 2"), Value(3.0));
  EXPECT_EQ(value("7.5 // 2"), Value(3.0));
  EXPECT_EQ(value("-7.5 // 2"), Value(-4.0));
  EXPECT_EQ(value("-7.5 % 2"), Value(0.5));
  EXPECT_EQ(value("7.5 % -2"), Value(-0.5));
  EXPECT_EQ(value("(-big - 1) % -1"), Value(int64_t{0}));
}

TEST_F(ExpressionTest, ChainsComparisons) {
  EXPECT_EQ(value("32 <= BM <= 64"), Value(true));
  EXPECT_EQ(value("32 <= BM < 64"), Value(false));
  EXPECT_EQ(value("3 > 2 == 2"), Value(true));  // 3 > 2 and 2 == 2; in C it would be false
  EXPECT_EQ(value("1 < 2 > 1 != 3"), Value(true));
  EXPECT_EQ(value("2 < 1 < 1 // zero"), Value(false));  // what follows a false one is not evaluated
  EXPECT_EQ(error("1 < 2 < 1 // zero"), "division by zero in '1 < 2 < 1 // zero' at column 14 (zero = 0)");
}

TEST_F(ExpressionTest, TestsMembership) {
  EXPECT_EQ(value("BM in (16, BN * 2)"), Value(true));
  EXPECT_EQ(value("BM not in (16, 32)"), Value(true));
  EXPECT_EQ(value("BM in [64]"), Value(true));
  EXPECT_EQ(value("BM in (1, 2,)"), Value(false));
  EXPECT_EQ(value("T in ('half', 'float')"), Value(true));
  EXPECT_EQ(value("T in (1, 2)"), Value(false));
  EXPECT_EQ(value("not BM in (64,) or zero in (0,)"), Value(true));
  EXPECT_EQ(error("1 < BM in (64, 2)"), "'in' after another comparison in '1 < BM in (64, 2)' at column 8");
  EXPECT_EQ(error("BM in (64) == 1"), "a comparison after 'in' in 'BM in (64) == 1' at column 15");
  EXPECT_EQ(error("BM in ()"), "unexpected ')' in 'BM in ()' at column 8");
  EXPECT_EQ(error("BM in BN"), "unexpected 'BN' in 'BM in BN' at column 7");
}

TEST_F(ExpressionTest, CountsBoolsAsNumbersAsPython) {
  EXPECT_EQ(value("flag + 1"), Value(int64_t{2}));
  EXPECT_EQ(value("-flag"), Value(int64_t{-1}));
  EXPECT_EQ(value("+flag"), Value(int64_t{1}));
  EXPECT_EQ(value("flag == 1"), Value(true));
  EXPECT_EQ(value("flag == 1.0"), Value(true));
  EXPECT_EQ(value("flag < 2"), Value(true));
  EXPECT_EQ(value("flag & (BM == 64)"), Value(true));
  EXPECT_EQ(value("flag ^ 3"), Value(int64_t{2}));
  EXPECT_EQ(value("flag * half"), Value(0.5));
  EXPECT_EQ(value("(BM > 32) * 16 + 16"), Value(int64_t{32}));
}

TEST_F(ExpressionTest, ShortCircuitsToTheOperandThatDecides) {
  EXPECT_EQ(value("BM and BN"), Value(int64_t{32}));
  EXPECT_EQ(value("zero or ''"), Value(std::string()));
  EXPECT_EQ(value("zero and 1 // zero"), Value(int64_t{0}));
  EXPECT_EQ(value("BM or 1 // zero"), Value(int64_t{64}));
  EXPECT_EQ(value("(flag and 16) * BN"), Value(int64_t{512}));
  EXPECT_EQ(value("zero or flag and BM or 1 // zero"), Value(int64_t{64}));
  EXPECT_EQ(value("(flag && 16) * BN"), Value(int64_t{32}));
  EXPECT_EQ(value("(zero || BM) + 0"), Value(int64_t{1}));
  EXPECT_EQ(value("zero != 0 and 8 % zero == 0 or T == 'float'"), Value(true));
  EXPECT_EQ(value("1 // zero if zero else 5"), Value(int64_t{5}));
  EXPECT_EQ(value("flag and zero and 1 // zero"), Value(int64_t{0}));
}

TEST_F(ExpressionTest, HasFunctions) {
  EXPECT_EQ(value("ceil_div(M, BM)"), Value(int64_t{16}));
  EXPECT_EQ(value("ceil_div(-7, 2)"), Value(int64_t{-3}));
  EXPECT_EQ(value("ceil_div(7, -2)"), Value(int64_t{-3}));
  EXPECT_EQ(value("round_up(M, BM)"), Value(int64_t{1024}));
  EXPECT_EQ(value("min(3, 2.0, 5)"), Value(2.0));
  EXPECT_EQ(value("max(BM, BN, 3)"), Value(int64_t{64}));
  EXPECT_EQ(value("min(1, 1.0)"), Value(int64_t{1}));
  EXPECT_EQ(value("abs(-2.5)"), Value(2.5));
  EXPECT_EQ(value("is_pow2(BM) and not is_pow2(0) and not is_pow2(12)"), Value(true));
  EXPECT_EQ(value("log2(BM)"), Value(int64_t{6}));
  EXPECT_EQ(value("gcd(48, -36)"), Value(int64_t{12}));
  EXPECT_EQ(value("lcm(4, 6, 10)"), Value(int64_t{60}));
  EXPECT_EQ(value("lcm(0, 0)"), Value(int64_t{0}));
  EXPECT_EQ(value("block_size_x * 2"), Value(int64_t{32}));
}

TEST_F(ExpressionTest, ConvertsAsPython) {
  EXPECT_EQ(value("int(BM / 3)"), Value(int64_t{21}));
  EXPECT_EQ(value("int(-2.5) + int(flag)"), Value(int64_t{-1}));
  EXPECT_EQ(value("float(BM) / 2 == 32.0 and bool(BM) == True"), Value(true));
  EXPECT_EQ(value("float(3)"), Value(3.0));
  EXPECT_EQ(value("bool('')"), Value(false));
  EXPECT_EQ(value("pow(2, 10)"), Value(int64_t{1024}));
  EXPECT_EQ(value("0b101 + 0o17 + 0B1 + 0O7"), Value(int64_t{28}));
  EXPECT_EQ(value("max([BM, BN, 3]) - min([BN])"), Value(int64_t{32}));
  EXPECT_EQ(error("int(2.0 ** 63)").substr(0, 32), "integer overflow beyond 64 bits ");
  EXPECT_EQ(error("int(T)"), "a string where a number is needed in 'int(T)' at column 1 (T = 'float')");
  EXPECT_EQ(error("0b12"), "malformed number '12' in '0b12' at column 1");
}

TEST_F(ExpressionTest, NamesTheFunctionsThatAreMissing) {
  EXPECT_EQ(error("len([BM, 2]) == 2"), "no function 'len' in 'len([BM, 2]) == 2' at column 1");
  EXPECT_EQ(error("BM == math.ceil(M / 2)"),
            "no function 'math.ceil' in 'BM == math.ceil(M / 2)' at column 7");
  EXPECT_EQ(error("BM(2)"), "no function 'BM' in 'BM(2)' at column 1");
  EXPECT_EQ(remedy("len([BM])"),
            "the functions are min, max, abs, ceil_div, round_up, is_pow2, log2, gcd, lcm, int, float, bool, "
            "pow, size");
  EXPECT_EQ(error("BM is 64"), "'is' compares objects, not values in 'BM is 64' at column 4");
  EXPECT_EQ(remedy("BM is not 64"), "compare values with == or !=");
  EXPECT_EQ(error("1 + and (BM)"), "unexpected 'and' in '1 + and (BM)' at column 5");
}

TEST_F(ExpressionTest, ChecksIntegersForOverflow) {
  EXPECT_EQ(error("big + 1"),
            "integer overflow beyond 64 bits in 'big + 1' at column 5 (big = 9223372036854775807)");
  EXPECT_EQ(error("2 ** 63"), "integer overflow beyond 64 bits in '2 ** 63' at column 3");
  EXPECT_EQ(value("(-2) ** 63 + big"), Value(int64_t{-1}));
  EXPECT_EQ(value("-1 << 63 < 0"), Value(true));
  EXPECT_EQ(value("0 << 100"), Value(int64_t{0}));
  EXPECT_EQ(value("-1 >> 100"), Value(int64_t{-1}));
  EXPECT_EQ(error("1 << 63"), "integer overflow beyond 64 bits in '1 << 63' at column 3");
  EXPECT_EQ(error("(-big - 1) // -1").substr(0, 32), "integer overflow beyond 64 bits ");
  EXPECT_EQ(error("-(-big - 1)").substr(0, 32), "integer overflow beyond 64 bits ");
  EXPECT_EQ(error("abs(-big - 1)").substr(0, 32), "integer overflow beyond 64 bits ");
  EXPECT_EQ(error("round_up(big, 2)").substr(0, 32), "integer overflow beyond 64 bits ");
  EXPECT_EQ(error("lcm(big, big - 1)").substr(0, 32), "integer overflow beyond 64 bits ");
  EXPECT_EQ(error("1e308 * 10"), "floating-point overflow in '1e308 * 10' at column 7");
  EXPECT_EQ(value("big == big * 1.0"), Value(false));  // 2^63 - 1 is no double
  EXPECT_EQ(value("big < big * 1.0"), Value(true));
}

TEST_F(ExpressionTest, NamesPlaceAndValuesWhenItCannotBeEvaluated) {
  EXPECT_EQ(error("M % (BM - 64)"), "division by zero in 'M % (BM - 64)' at column 5 (BM = 64)");
  EXPECT_EQ(error("M / (half - 0.5)"), "division by zero in 'M / (half - 0.5)' at column 5 (half = 0.5)");
  EXPECT_EQ(error("ceil_div(M, zero)"), "division by zero in 'ceil_div(M, zero)' at column 13 (zero = 0)");
  EXPECT_EQ(error("0 ** -1"), "division by zero in '0 ** -1' at column 3");
  EXPECT_EQ(error("T + 1"), "a string where a number is needed in 'T + 1' at column 3 (T = 'float')");
  EXPECT_EQ(error("BM < T"),
            "a string compared with a number in 'BM < T' at column 4 (BM = 64, T = 'float')");
  EXPECT_EQ(error("half & 1"),
            "a value that is not an integer where one is needed in 'half & 1' at column 6 (half = 0.5)");
  EXPECT_EQ(error("1 << (BN - BM)"),
            "shift by a negative count in '1 << (BN - BM)' at column 6 (BN = 32, BM = 64)");
  EXPECT_EQ(error("log2(M)"),
            "log2 of a number that is not a power of two in 'log2(M)' at column 1 (M = 1000)");
  EXPECT_EQ(error("(-8) ** half"),
            "negative number raised to a fractional power in '(-8) ** half' at column 6 (half = 0.5)");
  EXPECT_EQ(error("(BM) // (zero)*(BM)"), "division by zero in '(BM) // (zero)*(BM)' at column 9 (zero = 0)");
}

TEST_F(ExpressionTest, NamesThePlaceOfWhatCannotBeParsed) {
  EXPECT_EQ(error("BM % WMM"), "unknown name 'WMM' in 'BM % WMM' at column 6");
  EXPECT_EQ(error("block_size_y"), "unknown name 'block_size_y' in 'block_size_y' at column 1");
  EXPECT_EQ(remedy("block_size_y"), "Did you mean 'block_size_x'?");
  EXPECT_EQ(error("(BM"), "unexpected end in '(BM' at column 4");
  EXPECT_EQ(remedy("(BM"), "expected ')' here");
  EXPECT_EQ(error("BM BN"), "unexpected 'BN' in 'BM BN' at column 4");
  EXPECT_EQ(error("BM = 64"), "unexpected '=' in 'BM = 64' at column 4");
  EXPECT_EQ(remedy("BM = 64"), "use == to compare");
  EXPECT_EQ(error(""), "nothing in '' at column 1");
  EXPECT_EQ(error("  "), "nothing in '  ' at column 3");
  EXPECT_EQ(error("1 +"), "unexpected end in '1 +' at column 4");
  EXPECT_EQ(error("128u"), "malformed number '128u' in '128u' at column 1");
  EXPECT_EQ(error("1.2.3"), "malformed number '1.2.3' in '1.2.3' at column 1");
  EXPECT_EQ(error("0x"), "malformed number '' in '0x' at column 1");
  EXPECT_EQ(error("010"), "number '010' with a leading zero in '010' at column 1");
  EXPECT_EQ(error("9223372036854775808"),
            "number '9223372036854775808' does not fit 64 bits in '9223372036854775808' at column 1");
  EXPECT_EQ(error("'float"), "string without an end in ''float' at column 1");
  EXPECT_EQ(error("BM @ 2"), "unexpected character in 'BM @ 2' at column 4");
  EXPECT_EQ(error("min(BM)"), "min with 1 arguments in 'min(BM)' at column 1");
  EXPECT_EQ(error("ceil_div(1, 2, 3)"), "ceil_div with 3 arguments in 'ceil_div(1, 2, 3)' at column 1");
  EXPECT_EQ(error("min + 1"), "unexpected '+' in 'min + 1' at column 5");
  EXPECT_EQ(error("and 1"), "unexpected 'and' in 'and 1' at column 1");
  EXPECT_EQ(error("1 == not 2"), "unexpected 'not' in '1 == not 2' at column 6");
  EXPECT_EQ(error("'\xc3\xa4\xc3\xb6' + x"), "unknown name 'x' in ''\xc3\xa4\xc3\xb6' + x' at column 8");
}

TEST_F(ExpressionTest, BoundsNestingAndLength) {
  const auto repeated = [](const std::string& part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  EXPECT_EQ(value(repeated("(", 60) + "1" + repeated(")", 60)), Value(int64_t{1}));
  EXPECT_NE(error(repeated("(", 4000)).find("nested deeper than 64 levels"), std::string::npos);
  EXPECT_NE(error(repeated("-", 4000) + "1").find("nested deeper"), std::string::npos);
  EXPECT_NE(error(repeated("not ", 2000) + "1").find("nested deeper"), std::string::npos);
  EXPECT_NE(error(repeated("2**", 2000) + "1").find("nested deeper"), std::string::npos);
  EXPECT_NE(error(repeated("1?1:", 2000) + "1").find("nested deeper"), std::string::npos);
  EXPECT_EQ(value(repeated("1+", 4000) + "1"), Value(int64_t{4001}));
  EXPECT_EQ(error(repeated("1+", 5000) + "1"), "an expression of 10001 bytes");
}

TEST_F(ExpressionTest, ConvertsResults) {
  std::vector<space::Scalar> slots;
  for (const Value& value : values_) slots.push_back(space::to_scalar(value));
  const auto program = [&](const std::string& text) {
    return space::Program({text, {"t.json", "/x"}}, symbols_);
  };
  const auto integer = [&](const std::string& text) {
    return space::evaluate_integer(program(text), {slots, {}});
  };
  const auto number = [&](const std::string& text) {
    return space::evaluate_number(program(text), {slots, {}});
  };
  EXPECT_EQ(integer("BM / 2"), 32);
  EXPECT_EQ(integer("flag"), 1);
  EXPECT_EQ(number("BM // 3"), 21.0);
  EXPECT_EQ(program("M % BM + BM if flag else 1").slots(), (std::vector<int>{0, 2, 4}));
  EXPECT_FALSE(space::is_true(space::to_scalar(parse("''").evaluate(values_))));
  EXPECT_TRUE(space::is_true(space::to_scalar(parse("half").evaluate(values_))));
  EXPECT_FALSE(space::is_true(space::to_scalar(parse("0.0").evaluate(values_))));
  const auto message = [&](const std::string& text) -> std::string {
    try {
      integer(text);
    } catch (const UserError& caught) {
      return caught.message() + "; " + caught.remedy();
    }
    return "no error";
  };
  EXPECT_EQ(message("BM / 128"), "'BM / 128' is 0.5, not an integer (BM = 64); use // for integer division");
  EXPECT_EQ(message("T"), "'T' is 'float', not an integer; ");
  EXPECT_EQ(message("2.0 ** 63").substr(0, 15), "'2.0 ** 63' is ");
  EXPECT_THROW(number("T"), UserError);
}

TEST_F(ExpressionTest, MovesAndNeedsAllValues) {
  Expression moved = parse("T == 'float' and BM == 64");
  Expression target = parse("1");
  target = std::move(moved);
  EXPECT_EQ(target.evaluate(values_), Value(true));
  const std::vector<Value> too_few{int64_t{64}};
  EXPECT_THROW(target.evaluate(too_few), UserError);
}

TEST(SymbolTableTest, RefusesWhatIsNoFreeName) {
  SymbolTable symbols;
  EXPECT_EQ(symbols.declare("BM", {}), 0);
  EXPECT_EQ(symbols.declare("_b2", {}), 1);
  for (const char* name : {"BM", "else", "or", "and", "in", "True", "false", "if", "", "2x", "a-b", "a b"})
    EXPECT_THROW(symbols.declare(name, {}), UserError) << name;
  EXPECT_EQ(symbols.size(), 2);
}

}  // namespace
}  // namespace tiletune
