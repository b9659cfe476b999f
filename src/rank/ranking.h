#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rank/rows.h"

namespace tiletune {

/// A row's place. In order of time, each kernel whose 95% interval overlaps that of the fastest one of
/// the rank so far shares its rank; the first that does not opens the next rank, which counts the kernels
/// before it (1, 1, 3). A row without an interval stands for its time alone.
struct RankedRow {
  std::int64_t id = 0;  ///< of the row in the database
  int rank = 0;  ///< 1 is the fastest kernel; baselines have rank 0 and stand behind the last faster kernel
  bool tied = false;  ///< others share this rank
};

/// One comparable set: same GPU model, problem, source and conditions.
struct RankingGroup : Comparable {
  /// Fastest first; within a tie fewer registers, then higher occupancy first.
  std::vector<RankedRow> rows;
};

/// Ranks rows that ran (outcome ok with a median); others are left out. Groups by GPU, problem, source and
/// conditions, in order of first appearance; of rows with the same template and parameters in one group only
/// the latest counts. Predicted rows rank by their predicted time.
std::vector<RankingGroup> rank_rows(RankingRows& rows);

/// One rung: the fastest row of one template.
struct LadderRung {
  std::int64_t id = 0;  ///< of the row in the database
  double speedup_over_first = 1;
  double speedup_over_previous = 1;
};

struct Ladder : Comparable {
  std::vector<LadderRung> rungs;  ///< in the order of `templates`; baselines last
};

/// The fastest row of each template, in the given order of templates, per GPU, problem and source; templates
/// without one are left out.
std::vector<Ladder> build_ladders(RankingRows& rows, const std::vector<std::string>& templates);

}  // namespace tiletune
