#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/trial.h"

namespace tiletune {

/// The time by which a row ranks, us: predicted_us of a predicted row (median_us where it has none),
/// otherwise median_us. None when it did not run.
std::optional<double> ranking_time_us(const Trial& trial);

/// A row with its place. In order of time, each kernel whose 95% interval overlaps that of the fastest one of
/// the rank so far shares its rank; the first that does not opens the next rank, which counts the kernels
/// before it (1, 1, 3). A row without an interval stands for its time alone.
struct RankedTrial {
  Trial trial;
  int rank = 0;  ///< 1 is the fastest kernel; baselines have rank 0 and stand behind the last faster kernel
  bool tied = false;  ///< others share this rank
};

/// One comparable set: same GPU model, problem, source and conditions.
struct RankingGroup {
  std::string gpu;
  std::string problem;
  Source source = Source::measured;
  std::string conditions;  ///< operation, element types, scalars, state of the L2 cache
  /// Fastest first; within a tie fewer registers, then higher occupancy first.
  std::vector<RankedTrial> rows;
};

/// Ranks rows that ran (outcome ok with a median); others are left out. Groups by GPU, problem, source and
/// conditions, in order of first appearance; of rows with the same template and parameters in one group only
/// the latest counts. Predicted rows rank by their predicted time.
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
  std::string conditions;         ///< as in RankingGroup
  std::vector<LadderRung> rungs;  ///< in the order of `templates`; baselines last
};

/// The fastest row of each template, in the given order of templates, per GPU, problem and source; templates
/// without one are left out.
std::vector<Ladder> build_ladders(const std::vector<Trial>& trials,
                                  const std::vector<std::string>& templates);

}  // namespace tiletune
