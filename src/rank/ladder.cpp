#include <algorithm>

#include "rank/groups.h"
#include "rank/ranking.h"

namespace tiletune {

namespace {

/// `speedup_over_previous` compares with the rung above, for baselines too.
void add_rung(Ladder& ladder, const Trial& trial) {
  LadderRung rung{trial, 1, 1};
  if (!ladder.rungs.empty()) {
    const double time = *ranking_time_us(trial);
    rung.speedup_over_first = *ranking_time_us(ladder.rungs.front().trial) / time;
    rung.speedup_over_previous = *ranking_time_us(ladder.rungs.back().trial) / time;
  }
  ladder.rungs.push_back(std::move(rung));
}

}  // namespace

std::vector<Ladder> build_ladders(const std::vector<Trial>& trials,
                                  const std::vector<std::string>& templates) {
  std::vector<Ladder> ladders;
  for (const ComparableRows& rows : comparable_rows(trials)) {
    Ladder ladder{rows.gpu, rows.problem, rows.source, rows.conditions, {}};
    for (const std::string& name : templates) {
      const auto fastest = std::find_if(rows.kernels.begin(), rows.kernels.end(),
                                        [&](const Trial& trial) { return trial.template_name == name; });
      if (fastest != rows.kernels.end()) add_rung(ladder, *fastest);
    }
    if (ladder.rungs.empty()) continue;
    for (const Trial& baseline : rows.baselines) add_rung(ladder, baseline);
    ladders.push_back(std::move(ladder));
  }
  return ladders;
}

}  // namespace tiletune
