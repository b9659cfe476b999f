#include <gtest/gtest.h>

#include <limits>

#include "carries.h"
#include "space/operators.h"
#include "space/parser.h"
#include "space/program.h"

namespace tiletune {
namespace expression_test {

using space::Program;
using space::SymbolTable;

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

  Program parse(const std::string& text) const { return {{text, {"t.json", "/x"}}, symbols_}; }
  Value value(const std::string& text) const { return space::evaluate(parse(text), values_); }

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
  EXPECT_TRUE(
      carries(error("1 < 2 < 1 // zero"), {"by zero", "'1 < 2 < 1 // zero'", "column 14", "zero = 0"}));
}

TEST_F(ExpressionTest, TestsMembership) {
  EXPECT_EQ(value("BM in (16, BN * 2)"), Value(true));
  EXPECT_EQ(value("BM not in (16, 32)"), Value(true));
  EXPECT_EQ(value("BM in [64]"), Value(true));
  EXPECT_EQ(value("BM in (1, 2,)"), Value(false));
  EXPECT_EQ(value("T in ('half', 'float')"), Value(true));
  EXPECT_EQ(value("T in (1, 2)"), Value(false));
  EXPECT_EQ(value("not BM in (64,) or zero in (0,)"), Value(true));
  EXPECT_TRUE(carries(error("1 < BM in (64, 2)"), {"'in'", "'1 < BM in (64, 2)'", "column 8"}));
  EXPECT_TRUE(carries(error("BM in (64) == 1"), {"'in'", "'BM in (64) == 1'", "column 15"}));
  EXPECT_TRUE(carries(error("BM in ()"), {"unexpected", "')'", "'BM in ()'", "column 8"}));
  EXPECT_TRUE(carries(error("BM in BN"), {"unexpected", "'BN'", "'BM in BN'", "column 7"}));
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
  EXPECT_TRUE(carries(error("int(2.0 ** 63)"), {"overflow", "64 bits"}));
  EXPECT_TRUE(carries(error("int(T)"), {"'int(T)'", "column 1", "T = 'float'"}));
  EXPECT_TRUE(carries(error("0b12"), {"malformed", "'12'", "'0b12'", "column 1"}));
}

TEST_F(ExpressionTest, NamesTheFunctionsThatAreMissing) {
  EXPECT_TRUE(carries(error("len([BM, 2]) == 2"), {"'len'", "'len([BM, 2]) == 2'", "column 1"}));
  EXPECT_TRUE(
      carries(error("BM == math.ceil(M / 2)"), {"'math.ceil'", "'BM == math.ceil(M / 2)'", "column 7"}));
  EXPECT_TRUE(carries(error("BM(2)"), {"'BM'", "'BM(2)'", "column 1"}));
  EXPECT_TRUE(
      carries(remedy("len([BM])"),
              {"min, max, abs, ceil_div, round_up, is_pow2, log2, gcd, lcm, int, float, bool, pow, size"}));
  EXPECT_TRUE(carries(error("BM is 64"), {"'is'", "'BM is 64'", "column 4"}));
  EXPECT_TRUE(carries(remedy("BM is not 64"), {"==", "!="}));
  EXPECT_TRUE(carries(error("1 + and (BM)"), {"unexpected", "'and'", "'1 + and (BM)'", "column 5"}));
}

TEST_F(ExpressionTest, ChecksIntegersForOverflow) {
  EXPECT_TRUE(carries(error("big + 1"),
                      {"overflow", "64 bits", "'big + 1'", "column 5", "big = 9223372036854775807"}));
  EXPECT_TRUE(carries(error("2 ** 63"), {"overflow", "64 bits", "'2 ** 63'", "column 3"}));
  EXPECT_EQ(value("(-2) ** 63 + big"), Value(int64_t{-1}));
  EXPECT_EQ(value("-1 << 63 < 0"), Value(true));
  EXPECT_EQ(value("0 << 100"), Value(int64_t{0}));
  EXPECT_EQ(value("-1 >> 100"), Value(int64_t{-1}));
  EXPECT_TRUE(carries(error("1 << 63"), {"overflow", "64 bits", "'1 << 63'", "column 3"}));
  EXPECT_TRUE(carries(error("(-big - 1) // -1"), {"overflow", "64 bits"}));
  EXPECT_TRUE(carries(error("-(-big - 1)"), {"overflow", "64 bits"}));
  EXPECT_TRUE(carries(error("abs(-big - 1)"), {"overflow", "64 bits"}));
  EXPECT_TRUE(carries(error("round_up(big, 2)"), {"overflow", "64 bits"}));
  EXPECT_TRUE(carries(error("lcm(big, big - 1)"), {"overflow", "64 bits"}));
  EXPECT_TRUE(carries(error("1e308 * 10"), {"overflow", "'1e308 * 10'", "column 7"}));
  EXPECT_EQ(value("big == big * 1.0"), Value(false));  // 2^63 - 1 is no double
  EXPECT_EQ(value("big < big * 1.0"), Value(true));
}

TEST_F(ExpressionTest, NamesPlaceAndValuesWhenItCannotBeEvaluated) {
  EXPECT_TRUE(carries(error("M % (BM - 64)"), {"by zero", "'M % (BM - 64)'", "column 5", "BM = 64"}));
  EXPECT_TRUE(
      carries(error("M / (half - 0.5)"), {"by zero", "'M / (half - 0.5)'", "column 5", "half = 0.5"}));
  EXPECT_TRUE(
      carries(error("ceil_div(M, zero)"), {"by zero", "'ceil_div(M, zero)'", "column 13", "zero = 0"}));
  EXPECT_TRUE(carries(error("0 ** -1"), {"by zero", "'0 ** -1'", "column 3"}));
  EXPECT_TRUE(carries(error("T + 1"), {"'T + 1'", "column 3", "T = 'float'"}));
  EXPECT_TRUE(carries(error("BM < T"), {"'BM < T'", "column 4", "BM = 64", "T = 'float'"}));
  EXPECT_TRUE(carries(error("half & 1"), {"not an integer", "'half & 1'", "column 6", "half = 0.5"}));
  EXPECT_TRUE(carries(error("1 << (BN - BM)"),
                      {"negative count", "'1 << (BN - BM)'", "column 6", "BN = 32", "BM = 64"}));
  EXPECT_TRUE(carries(error("log2(M)"), {"power of two", "'log2(M)'", "column 1", "M = 1000"}));
  EXPECT_TRUE(
      carries(error("(-8) ** half"), {"fractional power", "'(-8) ** half'", "column 6", "half = 0.5"}));
  EXPECT_TRUE(
      carries(error("(BM) // (zero)*(BM)"), {"by zero", "'(BM) // (zero)*(BM)'", "column 9", "zero = 0"}));
}

TEST_F(ExpressionTest, NamesThePlaceOfWhatCannotBeParsed) {
  EXPECT_TRUE(carries(error("BM % WMM"), {"unknown name", "'WMM'", "'BM % WMM'", "column 6"}));
  EXPECT_TRUE(carries(error("block_size_y"), {"unknown name", "'block_size_y'", "column 1"}));
  EXPECT_TRUE(carries(remedy("block_size_y"), {"'block_size_x'"}));
  EXPECT_TRUE(carries(error("(BM"), {"unexpected end", "'(BM'", "column 4"}));
  EXPECT_TRUE(carries(remedy("(BM"), {"')'"}));
  EXPECT_TRUE(carries(error("BM BN"), {"unexpected", "'BN'", "'BM BN'", "column 4"}));
  EXPECT_TRUE(carries(error("BM = 64"), {"unexpected", "'='", "'BM = 64'", "column 4"}));
  EXPECT_TRUE(carries(remedy("BM = 64"), {"=="}));
  EXPECT_TRUE(carries(error(""), {"nothing", "column 1"}));
  EXPECT_TRUE(carries(error("  "), {"nothing", "'  '", "column 3"}));
  EXPECT_TRUE(carries(error("1 +"), {"unexpected end", "'1 +'", "column 4"}));
  EXPECT_TRUE(carries(error("128u"), {"malformed", "'128u'", "column 1"}));
  EXPECT_TRUE(carries(error("1.2.3"), {"malformed", "'1.2.3'", "column 1"}));
  EXPECT_TRUE(carries(error("0x"), {"malformed", "'0x'", "column 1"}));
  EXPECT_TRUE(carries(error("010"), {"'010'", "leading zero", "column 1"}));
  EXPECT_TRUE(carries(error("9223372036854775808"), {"'9223372036854775808'", "64 bits", "column 1"}));
  EXPECT_TRUE(carries(error("'float"), {"without an end", "''float'", "column 1"}));
  EXPECT_TRUE(carries(error("BM @ 2"), {"unexpected", "'BM @ 2'", "column 4"}));
  EXPECT_TRUE(carries(error("min(BM)"), {"1", "'min(BM)'", "column 1"}));
  EXPECT_TRUE(carries(error("ceil_div(1, 2, 3)"), {"ceil_div", "3", "'ceil_div(1, 2, 3)'", "column 1"}));
  EXPECT_TRUE(carries(error("min + 1"), {"unexpected", "'+'", "'min + 1'", "column 5"}));
  EXPECT_TRUE(carries(error("and 1"), {"unexpected", "'and'", "'and 1'", "column 1"}));
  EXPECT_TRUE(carries(error("1 == not 2"), {"unexpected", "'not'", "'1 == not 2'", "column 6"}));
  EXPECT_TRUE(
      carries(error("'\xc3\xa4\xc3\xb6' + x"), {"unknown name", "'x'", "''\xc3\xa4\xc3\xb6'", "column 8"}));
}

TEST_F(ExpressionTest, BoundsNestingAndLength) {
  const auto repeated = [](const std::string& part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  EXPECT_EQ(value(repeated("(", 60) + "1" + repeated(")", 60)), Value(int64_t{1}));
  EXPECT_TRUE(carries(error(repeated("(", 4000)), {"nested", "64"}));
  EXPECT_TRUE(carries(error(repeated("-", 4000) + "1"), {"nested"}));
  EXPECT_TRUE(carries(error(repeated("not ", 2000) + "1"), {"nested"}));
  EXPECT_TRUE(carries(error(repeated("2**", 2000) + "1"), {"nested"}));
  EXPECT_TRUE(carries(error(repeated("1?1:", 2000) + "1"), {"nested"}));
  EXPECT_EQ(value(repeated("1+", 4000) + "1"), Value(int64_t{4001}));
  EXPECT_TRUE(carries(error(repeated("1+", 5000) + "1"), {"10001 bytes"}));
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
  EXPECT_FALSE(space::is_true(space::to_scalar(space::evaluate(parse("''"), values_))));
  EXPECT_TRUE(space::is_true(space::to_scalar(space::evaluate(parse("half"), values_))));
  EXPECT_FALSE(space::is_true(space::to_scalar(space::evaluate(parse("0.0"), values_))));
  const auto message = [&](const std::string& text) -> std::string {
    try {
      integer(text);
    } catch (const UserError& caught) {
      return caught.message() + "; " + caught.remedy();
    }
    return "no error";
  };
  EXPECT_TRUE(carries(message("BM / 128"), {"'BM / 128'", "0.5", "not an integer", "BM = 64"}));
  EXPECT_TRUE(carries(message("T"), {"'T'", "'float'", "not an integer"}));
  EXPECT_TRUE(carries(message("2.0 ** 63"), {"'2.0 ** 63'"}));
  EXPECT_THROW(number("T"), UserError);
}

TEST_F(ExpressionTest, MovesAndNeedsAllValues) {
  Program moved = parse("T == 'float' and BM == 64");
  Program target = parse("1");
  target = std::move(moved);
  EXPECT_EQ(space::evaluate(target, values_), Value(true));
  const std::vector<Value> too_few{int64_t{64}};
  EXPECT_THROW(space::evaluate(target, too_few), UserError);
}

TEST(SymbolTableTest, RefusesWhatIsNoFreeName) {
  SymbolTable symbols;
  EXPECT_EQ(symbols.declare("BM", {}), 0);
  EXPECT_EQ(symbols.declare("_b2", {}), 1);
  for (const char* name : {"BM", "else", "or", "and", "in", "True", "false", "if", "", "2x", "a-b", "a b"})
    EXPECT_THROW(symbols.declare(name, {}), UserError) << name;
  EXPECT_EQ(symbols.size(), 2);
}

}  // namespace expression_test
}  // namespace tiletune
