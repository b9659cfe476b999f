#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rank/rows.h"

// The rule by which rows rank. rank/rows.h (1 to 5) prepares them, this file ranks them.
// The views `ranking` and `best` of a database state the rule in SQL (store/schema.cpp): all of it but the
// ranks behind the first. They agree with it row by row (tests/rank/views_test.cpp), as far as a mean of
// doubles does not depend on the order in which they are added.
//
// 1. Rows are compared that agree in GPU, problem, source, operation, options, element types, scalars and
//    state of the L2 cache.
// 2. Kernels rank. Baselines stand among them without a rank. Second copies of leaders do not count, nor do
//    rows that are only dispatched yet or that a recording lacked.
// 3. Of rows of one configuration, which is a template and the values of its parameters, the latest counts,
//    because source, compiler or policy may have changed since: that of the sweep that began last, then that
//    recorded last, then that of the highest id. A failure counts, too: it takes the earlier time along.
// 4. What ran (outcome ok) ranks by its median; a predicted row by its prediction. Times that are not
//    positive and finite are none.
// 5. Finals decide a group: those that timed the kernel that was fastest before any finals, if possible among
//    others. Times of other finals, and of kernels that were in none, were taken under other circumstances,
//    so they are compared as they were before any finals, at the pace of those that decide: multiplied by the
//    mean of what the finalists' times have changed by.
// 6. Two kernels cannot be distinguished when their 95% intervals, each widened by half of the noise floor
//    (how far two copies of one kernel may differ), overlap. A row without an interval stands for its time,
//    and so does a prediction, which is an exact number of a model.
// 7. The fastest kernel and all that cannot be distinguished from it share a rank, also those behind a kernel
//    that can. The fastest of the rest opens the next rank, which counts the kernels before it (1, 1, 3).
//    Kernels of the deciding finals, whose samples are interleaved, tie with each other alone, and so do the
//    others: finals take in everything near the leader, so an interval from another hour, however wide, is no
//    reason to share its rank. Of the two kinds the fastest kernel that has no place yet opens the next rank;
//    a kernel of the other kind with a time amidst its tie stands behind the tie.
// 8. Of kernels that tie the one that a sweep chose last stays the better choice, then that with fewer
//    registers, then that with the higher occupancy, then the faster one. Those that are slower than a kernel
//    that can be distinguished from the fastest follow in order of time: a wide interval is no merit. The
//    best of a group is the best choice of its first rank.

namespace tiletune {

/// A row's place.
struct RankedRow {
  std::int64_t id = 0;  ///< of the row in the database
  int rank = 0;  ///< 1 is the fastest kernel; baselines have rank 0 and stand behind the last faster kernel
  bool tied = false;          ///< others share this rank
  bool in_finals = false;     ///< timed in the finals that decide its group
  bool has_discards = false;  ///< samples were thrown away, because the GPU was throttled meanwhile
};

/// One comparable set: same GPU model, problem, source and conditions.
struct RankingGroup : Comparable {
  /// By rank; within a tie as point 8 says.
  std::vector<RankedRow> rows;
  DatedRow newest = {};  ///< newest row of a kernel that ran
};

/// Groups with a kernel that ran, in order of first appearance.
std::vector<RankingGroup> rank_rows(RankingRows& rows);

/// The kernels that share the first rank, the first of which is the best choice; none where only baselines
/// ran.
std::vector<RankedRow> leaders_of(const RankingGroup& group);
/// The leaders of rows that need no ranks. Rows that were dropped as slow lead only where all were.
std::vector<const RankingRow*> leaders_of(const ComparableRows& rows);

/// What a rung shows the fastest row of: a template, or those of its rows that `takes` lets pass.
struct LadderStep {
  std::string template_name;
  std::string name;                             ///< empty: the template's
  std::function<bool(std::int64_t row)> takes;  ///< empty: all rows
};

/// One rung: the fastest row of one step.
struct LadderRung {
  std::int64_t id = 0;  ///< of the row in the database
  std::string step;     ///< its name; empty: the template's
  double speedup_over_first = 1;
  double speedup_over_previous = 1;
};

struct Ladder : Comparable {
  std::vector<LadderRung> rungs;  ///< in the order of the steps; baselines last
};

/// The fastest row of each step, in the given order, per GPU, problem and source; steps without one are left
/// out, and so are repeated ones of a whole template.
std::vector<Ladder> build_ladders(RankingRows& rows, const std::vector<LadderStep>& steps);

}  // namespace tiletune
