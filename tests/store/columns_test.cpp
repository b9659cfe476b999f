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

TEST(Columns, FiguresAreStoredTogetherAndNoneIsNull) {
  const Column& figures = stored_column(column_by_name("isolated_us"));
  EXPECT_EQ(figures.name, "figures");
  EXPECT_EQ(&stored_column(column_by_name("power_w")), &figures);
  EXPECT_EQ(stored_column(column_by_name("median_us")).name, "median_us");
  EXPECT_EQ(find_column("figures"), nullptr) << "people name figures, not their column";
  Trial trial;
  EXPECT_EQ(figures.read(trial), Cell());
  trial.power_w = std::numeric_limits<double>::infinity();
  EXPECT_EQ(figures.read(trial), Cell());
  trial.isolated_us = 0.1 + 0.2;
  trial.power_w = 690;
  EXPECT_EQ(figures.read(trial), Cell(R"({"isolated_us":0.30000000000000004,"power_w":690.0})"));
}

TEST(Columns, WhatIsNoFigureIsLetBe) {
  const Column& figures = stored_column(column_by_name("power_w"));
  for (const std::string text :
       {R"({"power_w":1,"of_a_later_build":2,"energy_mj":"3","isolated_us":null})", "{\"power_w\":1}", "",
        "[1]", "1", "{", R"({"power_w":{"power_w":1}})", R"({"power_w":1e999})"}) {
    Trial trial;
    trial.power_w = trial.energy_mj = 5;
    figures.write(trial, text);
    const bool has_power = text.find("\"power_w\":1") != text.npos && text.find(":{") == text.npos &&
                           text.find("999") == text.npos;
    EXPECT_EQ(trial.power_w, has_power ? std::optional(1.0) : std::nullopt) << text;
    EXPECT_EQ(trial.energy_mj, std::nullopt) << text;
  }
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
