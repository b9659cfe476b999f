#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "rank/rows.h"
#include "rank/sides.h"

namespace tiletune {

/// What a side knows of a configuration.
enum class Known {
  unmeasured,  ///< it has no row, or one that does not prove that it cannot run
  failed,      ///< it does not run there: the efficiency is 0
  screened,    ///< given up as slow: the time is of few samples
  timed,
};

/// A configuration on one side.
struct Standing {
  Known known = Known::unmeasured;
  std::int64_t id = 0;  ///< of the row, unless it is unmeasured
  double time_us = 0;   ///< as ranking compares it; 0: it did not run
  double low_us = 0;    ///< 95% interval, widened by half the noise floor
  double high_us = 0;
  double efficiency = 0;      ///< the time of the side's best by this one, at most 1
  bool is_with_best = false;  ///< the ranking cannot tell it from the side's best
  /// Whether its results were compared with a reference; none of what no GPU here has timed.
  std::optional<bool> verified;
};

/// A configuration on all sides.
struct Portability {
  std::vector<Standing> on;             ///< by side
  std::optional<double> harmonic_mean;  ///< of the efficiencies on sides where it ran
  std::optional<double> minimum;        ///< least of those efficiencies; 0 where it fails on a side
  /// Over the sides that have the problem: 0 where it fails on one, none where one has not measured it.
  std::optional<double> pennycook;
};

/// How far medians of one kernel in two sweeps differ beyond their intervals and noise floors, which are of
/// one process: clock, temperature and placement vary. Up to 0.5 to 1% on the GPUs measured so far; the
/// finals of results/h200 change the times of sgemm's winners at 4096 by 0.2 to 0.8%. Taken as a 95% limit.
inline constexpr double kNoiseBetweenSweepsPercent = 0.75;
/// Where no finals measured the noise floor: the upper end of that range.
inline constexpr double kAssumedNoisePercent = 1;
/// An interval that includes the noise between sweeps seldom fits into less.
inline constexpr double kSamePercent = 2 * kNoiseBetweenSweepsPercent;

enum class Verdict { same, faster, slower, unclear };

/// The fastest configuration of a later side against that of the first side where the problem ran.
struct Difference {
  double percent = 0;  ///< how much longer it takes; infinite where nothing runs any more
  /// 95% interval of what two sweeps show: the intervals of both medians and the noise are independent, so
  /// their squares add up. -100 and infinite where the noise is not known.
  double low_percent = 0;
  double high_percent = 0;
  /// The largest of kNoiseBetweenSweepsPercent and both noise floors; infinite with predictions.
  double noise_percent = 0;
  /// Faster or slower: the whole interval is beyond the noise; same: it is within kSamePercent.
  Verdict verdict = Verdict::unclear;
};

/// What a side has of a problem.
struct SideOfProblem {
  bool has_rows = false;     ///< the rest has no meaning otherwise
  bool has_kernels = false;  ///< one at least ran
  Source source = Source::measured;
  std::string gpu;
  std::size_t ran = 0;        ///< configurations; those given up as slow count
  std::size_t screened = 0;   ///< configurations of `ran` that were given up as slow
  std::size_t failed = 0;     ///< cannot run there
  std::size_t undecided = 0;  ///< did not run, which proves nothing
  std::size_t tied = 0;       ///< others that the ranking cannot tell from the best
  /// The fastest configuration, which need not be the best; not one that was given up as slow, unless all
  /// were.
  Standing fastest;
  std::optional<double> noise_floor_percent;  ///< of the fastest; of predictions, infinite
  std::optional<Difference> difference;       ///< of a side after the first where the problem ran
  /// Rows of other sources, which are left out: a problem has one source on a side, the one that can be
  /// trusted most of measured, replayed, imported and predicted.
  std::set<Source> left_out;
};

/// Two sides, by the configurations that ran on both.
struct PairOfSides {
  std::size_t first = 0;
  std::size_t second = 0;
  std::size_t common = 0;
  std::optional<double> spearman;  ///< of their times
  std::size_t top = 0;             ///< how many are 1% of them, rounded up
  double top_shared = 0;           ///< how many are among the fastest 1% on both (shared_of_smallest())
};

/// One problem under one set of conditions.
struct ComparedProblem {
  std::string problem;
  std::string conditions;  ///< a side's own may lack the state of the cache, when nothing was timed there
  std::string cache;       ///< the last of the conditions
  std::string gpu;         ///< empty when sides are GPUs
  std::vector<SideOfProblem> sides;
  std::size_t first_side = 0;  ///< the first where it ran
  /// By side, its best configuration on all sides; without standings where the side has none.
  std::vector<Portability> best_of;
  std::vector<PairOfSides> pairs;
  std::size_t common = 0;                 ///< configurations that ran on every side that has the problem
  std::optional<Portability> compromise;  ///< the one of these with the largest Pennycook's metric
  std::optional<Portability> safest;      ///< the one of these with the largest minimum

  std::size_t sides_with_kernels() const;
};

/// Fills in what follows from the rows that sides have of one problem; a side without it has a null.
void compare_rows(const std::vector<const ComparableRows*>& sides, ComparedProblem& problem);

/// Pennycook's metric of performance portability over a set of platforms: their number by the sum of the
/// reciprocal efficiencies, which is the harmonic mean; 0 when the configuration does not run on one of them.
/// An efficiency is the best known time on a platform by the configuration's own (S. J. Pennycook, J. D.
/// Sewall, V. W. Lee: Implications of a metric for performance portability, Future Generation Computer
/// Systems 92 (2019), 947-958). None without platforms.
std::optional<double> pennycook(std::span<const double> efficiencies);

/// How many of the first 1%: at least one of any.
std::size_t top_percent(std::size_t count);
/// How many places are among the `top` smallest of both lists. Where several values are equal to the last of
/// them, each counts as the fraction of these that there is room for.
double shared_of_smallest(std::span<const double> a, std::span<const double> b, std::size_t top);

struct ComparedSide {
  std::string name;
  std::set<std::string> gpus;
  std::set<std::string> drivers;
  std::set<Source> sources;  ///< of what is compared
  std::size_t problems = 0;
};

struct Comparison {
  CompareBy by = CompareBy::gpu;
  Statistic statistic = Statistic::median;
  std::size_t other_statistic = 0;  ///< rows that lack it, and are compared by the time they have
  std::vector<ComparedSide> sides;
  std::vector<std::string> recorded;      ///< names of all sides that there are rows of
  std::vector<ComparedProblem> problems;  ///< in order of first appearance

  /// Sides, or problems within one, have times from different sources.
  bool mixes_sources() const;
};

/// What is written of a comparison grows with the square of its sides.
inline constexpr std::size_t kMostSides = 256;

/// Compares sides problem by problem. Predictions, for which there is no state of the cache, stand beside
/// measurements in each. What is said of two sides follows from their rows alone. Differences are left out.
/// Throws UserError when there are more than kMostSides.
Comparison compare_sides(CompareBy by, std::vector<Side>& sides, const GpuAlias& alias);

/// What is to be compared.
struct ComparedRows {
  CompareBy by = CompareBy::gpu;
  TrialFilter filter;                       ///< of rows; baselines do not count whatever it says
  std::vector<std::string> names;           ///< of sides (SideRows::take); none: all
  std::vector<std::string> database_names;  ///< in the order of the databases
  Statistic statistic = Statistic::median;  ///< of their samples
};

/// Reads the rows and compares them. With fewer than two sides nothing is compared, and the comparison says
/// which sides there are. Throws UserError for the name of a side that no row has.
Comparison compare_databases(const Databases& databases, const ComparedRows& rows, const GpuAlias& alias);

/// The best configuration of one side that another has no row of.
struct UnmeasuredTransfer {
  std::size_t problem = 0;  ///< place in the comparison
  std::size_t from = 0;     ///< sides
  std::size_t to = 0;
  std::int64_t id = 0;  ///< the row on `from`
};
std::vector<UnmeasuredTransfer> unmeasured_transfers(const Comparison& comparison);

/// A difference above a number of percent.
struct Slowdown {
  std::size_t problem = 0;
  std::size_t side = 0;
  bool is_certain = false;  ///< its verdict is slower, and its whole interval is above that number
};
std::vector<Slowdown> slowdowns(const Comparison& comparison, double above_percent);

/// A problem that ran on a side before and of which this one has no row.
struct Unchecked {
  std::size_t problem = 0;
  std::size_t side = 0;
};
std::vector<Unchecked> unchecked(const Comparison& comparison);

}  // namespace tiletune
