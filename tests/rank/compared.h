#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rank/compare.h"

namespace tiletune {

/// Some rows dealt out to sides and compared; ids are places in the list of rows.
struct Compared {
  std::vector<Trial> trials;
  std::vector<Side> sides;
  Comparison comparison;

  Compared(
      CompareBy by, std::vector<Trial> rows, const std::vector<std::string>& names = {},
      const GpuAlias& alias = [](const std::string& gpu) { return gpu; })
      : trials(std::move(rows)) {
    SideRows dealt(by, {"a.db", "b.db"}, alias);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      Trial row = trials[i];
      dealt.add(row.host == "b.db" ? 1 : 0, static_cast<std::int64_t>(i), row);
    }
    sides = dealt.take(names);
    comparison = compare_sides(by, sides, alias);
  }

  const ComparedProblem& only_problem() const {
    EXPECT_EQ(comparison.problems.size(), 1U);
    return comparison.problems.at(0);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const ComparedSide& side : comparison.sides) all.push_back(side.name);
    return all;
  }
};

/// A configuration X=`x` of one problem on a GPU.
inline Trial on(const std::string& gpu, int x, double median_us) {
  Trial trial;
  trial.gpu = gpu;
  trial.key = gpu + " " + std::to_string(x);
  trial.template_name = "sgemm";
  trial.parameters = "{\"X\":" + std::to_string(x) + "}";
  trial.operation = "gemm";
  trial.problem = "64x64x64";
  trial.cache = "cold";
  trial.outcome = Outcome::ok;
  trial.median_us = median_us;
  return trial;
}

inline Trial with_outcome(Trial trial, Outcome outcome) {
  trial.outcome = outcome;
  return trial;
}

/// Other GPUs are as the model foresees them.
inline Trial predicted_on(const std::string& gpu, int x, double predicted_us) {
  Trial trial = on(gpu, x, predicted_us);
  trial.source = Source::predicted;
  trial.predicted_us = predicted_us;
  trial.cache.clear();
  return trial;
}

}  // namespace tiletune
