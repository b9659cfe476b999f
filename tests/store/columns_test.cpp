#include "store/columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "carries.h"
#include "sample_trial.h"
#include "temporary_folder.h"

namespace tiletune {
namespace columns_test {

TEST(Columns, EveryColumnKeepsWhatIsWrittenAndTouchesNoOther) {
  const Trial empty;
  int seed = 1;
  for (const Column& column : trial_columns()) {
    Trial trial;
    const Cell cell = sample_cell(column, seed++);
    column.write(trial, cell);
    for (const Column& other : trial_columns()) {
      EXPECT_EQ(other.read(trial), other.name == column.name ? cell : other.read(empty))
          << "writing " << column.name << ", reading " << other.name;
    }
  }
}

TEST(Columns, NamesAreUniqueAndMeaningsAreGiven) {
  std::set<std::string> names;
  for (const Column& column : trial_columns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_FALSE(column.meaning.empty()) << column.name;
    EXPECT_EQ(column.meaning.find('\n'), std::string::npos) << "a meaning is one line of an SQL comment";
  }
}

TEST(Columns, UnitsOfTheNameStandInTheMeaning) {
  for (const Column& column : trial_columns()) {
    const std::string unit = column.name.substr(column.name.rfind('_') + 1);
    if (unit != "us" && unit != "ms" && unit != "bytes") continue;
    EXPECT_NE(column.meaning.find(unit), std::string::npos) << column.name;
  }
}

TEST(Columns, NonFiniteNumbersAreNull) {
  Trial trial;
  trial.median_us = std::numeric_limits<double>::infinity();
  trial.tflops = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(column_by_name("median_us").read(trial), Cell());
  EXPECT_EQ(column_by_name("tflops").read(trial), Cell());
}

TEST(Columns, RealColumnsTakeWholeNumbers) {
  Trial trial;
  column_by_name("median_us").write(trial, std::int64_t{3});
  EXPECT_EQ(trial.median_us, 3.0);
}

TEST(Columns, CellsOfAnotherTypeReadAsAbsent) {
  Trial trial = filled_trial("k", 1);
  column_by_name("registers").write(trial, std::string("many"));
  column_by_name("reason").write(trial, 1.5);
  column_by_name("samples_us").write(trial, std::string("1 2 3"));
  EXPECT_EQ(trial.registers, std::nullopt);
  EXPECT_EQ(trial.reason, "");
  EXPECT_TRUE(trial.samples_us.empty());
}

TEST(Columns, AMisspeltNameGetsTheNearestOne) {
  const std::string text = error_of([] { column_by_name("median_ms"); });
  EXPECT_TRUE(carries(text, {"'median_ms'", "'median_us'"}));
}

TEST(Columns, UnknownOutcomesAreRefusedByName) {
  Trial trial;
  const std::string text = error_of([&] { column_by_name("outcome").write(trial, std::string("exploded")); });
  EXPECT_TRUE(carries(text, {"'exploded'"}));
}

}  // namespace columns_test
}  // namespace tiletune
