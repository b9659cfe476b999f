#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rank/rows.h"

namespace tiletune {

/// A row's place. In order of time, each kernel that cannot be distinguished from the fastest one of the rank
/// so far shares its rank; the first that can opens the next rank, which counts the kernels before it (1, 1,
/// 3). Two kernels are told apart when their 95% intervals, each widened by half of the noise floor (how far
/// two copies of one kernel may differ), do not overlap. A row without an interval stands for its time.
///
/// Kernels of finals, whose samples are interleaved, tie with each other alone, and so do the others: finals
/// take in everything near the leader, so an interval from another hour, however wide, is no reason to share
/// its rank. Of the two kinds the fastest kernel that has no place yet opens the next rank; a kernel of the
/// other kind with a time amidst its tie stands behind the tie.
struct RankedRow {
  std::int64_t id = 0;  ///< of the row in the database
  int rank = 0;  ///< 1 is the fastest kernel; baselines have rank 0 and stand behind the last faster kernel
  bool tied = false;          ///< others share this rank
  bool in_finals = false;     ///< timed in the finals that decide its group
  bool has_discards = false;  ///< samples were thrown away, because the GPU was throttled meanwhile
};

/// One comparable set: same GPU model, problem, source and conditions.
struct RankingGroup : Comparable {
  /// Fastest first; within a tie fewer registers, then higher occupancy first.
  std::vector<RankedRow> rows;
};

/// Ranks rows that ran (outcome ok with a median); others are left out, and so are twins. Groups by GPU,
/// problem, source and conditions, in order of first appearance; of rows with the same template and
/// parameters in one group only the latest counts. Predicted rows rank by their predicted time.
std::vector<RankingGroup> rank_rows(RankingRows& rows);

/// The kernels that share the first rank, the first of which is the best choice; none where only baselines
/// ran.
std::vector<RankedRow> leaders_of(const RankingGroup& group);
/// The same of rows that need no ranks. Those that were given up as slow lead only where all were.
std::vector<const RankingRow*> leaders_of(const ComparableRows& rows);

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
