#include "foreign/row_writer.h"

#include <gtest/gtest.h>

#include <array>

#include "temporary_folder.h"

namespace tiletune {
namespace row_writer_test {

constexpr std::array kColumns{"key", "gpu", "outcome", "source"};

Trial row_of(const std::string& key) {
  Trial row;
  row.key = key;
  row.gpu = "G";
  return row;
}

void add(RowWriter& writer, const std::string& key) {
  Trial row = row_of(key);
  writer.add(row);
}

class RowWriterTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  Database database_{folder_ / "rows.db", Database::Mode::read_write};
};

TEST_F(RowWriterTest, KeepsTheOrderAndCountsWhatIsNew) {
  constexpr int kRows = 2000;  // more than may wait
  {
    RowBatch batch(database_, kColumns);
    RowWriter writer(batch);
    for (int i = 0; i < kRows; ++i) add(writer, std::to_string(i / 2));
    EXPECT_EQ(writer.finish(), kRows / 2);
    batch.commit();
  }
  int expected = 0;
  for (const Trial& row : database_.trials({})) ASSERT_EQ(row.key, std::to_string(expected++));
  EXPECT_EQ(expected, kRows / 2);
}

TEST_F(RowWriterTest, WhatCannotBeInsertedIsSaidToWhoeverAdds) {
  RowBatch batch(database_, kColumns);
  RowWriter writer(batch);
  EXPECT_ANY_THROW({
    add(writer, "");
    // However many may wait: nobody takes them any more.
    for (int i = 0; i < 100000; ++i) add(writer, std::to_string(i));
  });
  EXPECT_ANY_THROW(writer.finish());
}

TEST_F(RowWriterTest, GivenUpItLeavesNothing) {
  {
    RowBatch batch(database_, kColumns);
    RowWriter writer(batch);
    for (int i = 0; i < 1000; ++i) add(writer, std::to_string(i));
  }
  EXPECT_TRUE(database_.trials({}).empty());
}

}  // namespace row_writer_test
}  // namespace tiletune
