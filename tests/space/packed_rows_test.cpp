#include "space/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tiletune::space {
namespace packed_rows_test {

using Row = std::vector<std::uint32_t>;

/// Sorts, unpacks and finds random rows, against a sorted vector of vectors.
void check(const std::vector<std::size_t>& counts, std::size_t rows) {
  std::mt19937_64 random(counts.size());
  PackedRows packed(counts);
  std::vector<Row> expected;
  for (std::size_t i = 0; i < rows; ++i) {
    Row row;
    for (const std::size_t count : counts) row.push_back(static_cast<std::uint32_t>(random() % count));
    if (std::find(expected.begin(), expected.end(), row) != expected.end()) continue;
    packed.push_back(row);
    expected.push_back(row);
  }
  packed.sort();
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(packed.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Row row(counts.size());
    packed.unpack(i, row);
    ASSERT_EQ(row, expected[i]);
    ASSERT_EQ(packed.find(row), i);
    row.back() = static_cast<std::uint32_t>((std::size_t{row.back()} + 1) % counts.back());
    ASSERT_EQ(packed.find(row).has_value(), std::binary_search(expected.begin(), expected.end(), row));
  }
}

TEST(PackedRowsTest, FindsWhereAValueBeginsAmongRowsThatAreEqualBeforeIt) {
  const std::vector<std::size_t> counts{3, std::size_t{1} << 40, std::size_t{1} << 30};
  PackedRows rows(counts);
  for (const Row& row : {Row{0, 5, 1}, Row{1, 2, 7}, Row{1, 2, 9}, Row{1, 4, 0}, Row{2, 0, 0}})
    rows.push_back(row);
  EXPECT_EQ(rows.first_at_least(0, 5, 0, 1), 1U);
  EXPECT_EQ(rows.first_at_least(1, 4, 1, 0), 1U);
  EXPECT_EQ(rows.first_at_least(1, 4, 1, 3), 3U);
  EXPECT_EQ(rows.first_at_least(1, 4, 1, 5), 4U);
  EXPECT_EQ(rows.first_at_least(1, 3, 2, 8), 2U);
  EXPECT_EQ(rows.value(2, 2), 9U);
}

TEST(PackedRowsTest, SortsAndFindsRows) {
  check({1}, 1);
  check({1, 1, 2}, 10);
  check({3, 5, 2, 7}, 100);
  check({std::size_t{1} << 32, std::size_t{1} << 32}, 200);     // exactly one word
  check({std::size_t{1} << 32, std::size_t{1} << 31, 4}, 200);  // one bit more than a word
  check(std::vector<std::size_t>(60, 10), 200);                 // four words
  check({1, std::size_t{1} << 32, std::size_t{1} << 32, 1, 1}, 50);
}

}  // namespace packed_rows_test
}  // namespace tiletune::space
