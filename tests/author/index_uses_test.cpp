#include <gtest/gtest.h>

#include "author/source_facts.h"

namespace tiletune {
namespace index_uses_test {

IndexFacts facts_of(const std::string& body) {
  static const std::vector<std::string> pointers{"x", "y", "idx", "rows", "cols"};
  const std::string text = "{" + body + "}";
  const TokenizedSource source = tokenize_source(text);
  return read_index_uses(TokenRange(source.code), pointers);
}

/// "idx>x scaled n"
std::string uses_in(const std::string& body) {
  std::string text;
  const IndexFacts facts = facts_of(body);
  for (const IndexUse& use : facts.uses) {
    const char* const form = use.form == IndexForm::whole    ? ""
                             : use.form == IndexForm::sum    ? " sum"
                             : use.form == IndexForm::scaled ? " scaled "
                                                             : " other";
    text += (text.empty() ? "" : ", ") + use.array + ">" + use.indexed + form + use.factor;
  }
  return text;
}

TEST(IndexUses, AnElementIsTheIndex) {
  for (const char* body : {"y[i] = x[idx[i]];", "y[i] = x[(size_t)idx[i]];", "int k = idx[i]; y[i] = x[k];",
                           "y[i] = __ldg(&x[idx[i]]);", "y[i] = LDG(x + idx[i]);", "y[i] = *(x + idx[i]);",
                           "const int k = __ldg(&idx[i]); int l = k; y[i] += x[l];",
                           "y[i] = x[static_cast<unsigned>(idx[i * 2 + 1])];", "y[i] = x[*idx];",
                           "__shared__ int s[64]; s[t] = idx[i]; y[i] = x[s[u]];"})
    EXPECT_EQ(uses_in(body).substr(0, 5), "idx>x") << body;
  EXPECT_EQ(uses_in("y[i] = x[idx[i]];"), "idx>x");
  EXPECT_EQ(uses_in("int k = idx[i]; y[i] = x[k];"), "idx>x");
  EXPECT_EQ(uses_in("y[i] = LDG(x + idx[i]);"), "idx>x");
  EXPECT_EQ(uses_in("y[idx[i]] = x[i];"), "idx>y");
  EXPECT_EQ(uses_in("y[i] = x[cols[idx[i]]];"), "cols>x, idx>cols");
}

TEST(IndexUses, AnElementIsAPartOfTheIndex) {
  EXPECT_EQ(uses_in("y[i] = x[idx[i] * n + c];"), "idx>x scaled n");
  EXPECT_EQ(uses_in("y[i] = x[c + n * idx[i]];"), "idx>x scaled n");
  EXPECT_EQ(uses_in("int row = idx[i]; y[i] = x[row * n + c];"), "idx>x scaled n");
  EXPECT_EQ(uses_in("const float* row = x + (size_t)idx[i] * n; y[i] = row[c];"), "idx>x scaled n");
  EXPECT_EQ(uses_in("const float* row = x + idx[i]; y[i] = row[c];"), "idx>x sum");
  EXPECT_EQ(uses_in("const float* row = &x[idx[i]]; y[i] = row[c];"), "idx>x sum");
  EXPECT_EQ(uses_in("y[i] = x[idx[i] + c];"), "idx>x sum");
  EXPECT_EQ(uses_in("int k = idx[i] + 1; y[i] = x[k];"), "idx>x sum");
  for (const char* index : {"idx[i] % n", "idx[i] / 2", "idx[i] - 1", "idx[i] << 2", "idx[i] & 255",
                            "min(idx[i], n)", "idx[i] * n * m + c", "idx[i] * idx[j]", "-idx[i]"})
    EXPECT_EQ(uses_in("y[i] = x[" + std::string(index) + "];"), "idx>x other") << index;
}

TEST(IndexUses, OtherUsesOfElementsAreNone) {
  for (const char* body :
       {"y[i] = x[i] * idx[i];", "if (idx[i] < n) y[i] = x[i];", "int k = idx[i]; y[i] = k;",
        "y[i] = f(idx, i);", "s.x[idx[i]] = 1;", "int k = i; y[k] = x[k] + idx[k];"})
    EXPECT_EQ(uses_in(body), "") << body;
}

TEST(IndexUses, StartsOfRowsAreNeighbours) {
  const IndexFacts facts = facts_of(
      "int row = blockIdx.x; if (row < n) { int start = rows[row] + lane; int end = rows[row + 1];"
      "for (int j = start; j < end; j += 32) sum += y[j] * LDG(x + cols[j]); }");
  EXPECT_EQ(facts.neighbours, (std::map<std::string, std::string>{{"rows", "n"}}));
  ASSERT_EQ(facts.uses.size(), 3U);
  EXPECT_EQ(facts.uses[0].array + facts.uses[0].indexed, "rowsy");
  EXPECT_EQ(facts.uses[0].form, IndexForm::sum);
  EXPECT_EQ(facts_of("for (int j = rows[1 + i]; j > rows[i]; --j) y[j] = 1;").neighbours.count("rows"), 1U);
  EXPECT_TRUE(facts_of("y[i] = x[idx[i + 2]] + idx[i];").neighbours.empty());
}

TEST(IndexUses, AnyTextIsTaken) {
  for (const std::string body : {"x[", "x[idx[", "int k = idx[", "x + ", "k = ", "x[[[[", "]]] x[idx[i]] )"})
    facts_of(body);
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "x[idx[";
  EXPECT_LE(facts_of(deep).uses.size(), 4U);
}

}  // namespace index_uses_test
}  // namespace tiletune
