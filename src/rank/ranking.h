#pragma once

#include <string>
#include <vector>

#include "store/trial.h"

namespace tiletune {

/// A row with its place. Rows whose intervals overlap the group leader's share its rank.
struct RankedTrial {
  Trial trial;
  int rank = 0;       ///< 1 is the fastest kernel; baselines have rank 0 and stand where their time puts them
  bool tied = false;  ///< others share this rank
};

/// One comparable set: same GPU model, problem and source.
struct RankingGroup {
  std::string gpu;
  std::string problem;
  Source source = Source::measured;
  std::vector<RankedTrial>
      rows;  ///< fastest first; within a tie fewer registers, then higher occupancy first
};

/// Ranks rows that ran (outcome ok with a median); others are left out. Groups by GPU, problem and source, in
/// order of first appearance. Predicted rows rank by their predicted time.
std::vector<RankingGroup> rank_trials(const std::vector<Trial>& trials);

/// One rung: the fastest row of one template.
struct LadderRung {
  Trial trial;
  double speedup_over_first = 1;
  double speedup_over_previous = 1;
};

struct Ladder {
  std::string gpu;
  std::string problem;
  Source source = Source::measured;
  std::vector<LadderRung> rungs;  ///< in the order of `templates`; baselines last
};

/// The best of each template, in the given order of templates, per GPU, problem and source.
std::vector<Ladder> build_ladders(const std::vector<Trial>& trials,
                                  const std::vector<std::string>& templates);

}  // namespace tiletune
