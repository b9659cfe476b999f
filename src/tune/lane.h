#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/strategy.h"
#include "tune/fleet.h"
#include "tune/group_finals.h"
#include "tune/standings.h"

namespace tiletune {

/// A GPU at work.
struct Post {
  Evaluator* evaluator = nullptr;
  std::optional<std::size_t> group;                  ///< whose buffers it holds
  std::vector<Trial> baselines;                      ///< of that group
  std::map<std::size_t, std::string> failed_groups;  ///< which it cannot measure, and why
  std::optional<std::size_t> measuring;              ///< the group of the candidate that it holds
  bool for_finals = false;                           ///< it runs finals, or prepares for them
  std::optional<Calibration> calibration;            ///< once known
  Clock::time_point busy_since = Clock::now();
  bool measures_ceilings = false;  ///< the calibration is this sweep's, or is to be
  int disproved = 0;               ///< losses of its worker with candidates that ran elsewhere
  bool retired = false;

  /// Called when a time contradicts the calibration. One of an earlier sweep may have been taken at a lower
  /// clock: it is dropped, and the next preparation, of whatever group, measures the ceilings again. False,
  /// and nothing is changed, when this sweep has measured them.
  bool drop_old_calibration();
};

/// One configuration to try.
struct Proposal {
  Stage* stage = nullptr;
  std::uint64_t index = 0;
  bool deferred = false;  ///< it was put off before
};

/// The reference kernel of a group on its way.
struct GroupReference {
  std::uint64_t ticket = 0;
  std::shared_ptr<const Binary> binary;  ///< once it is compiled
};

/// One fleet's way through its stages: what is proposed, compiled, ready, and where it is measured.
class Lane {
 public:
  /// Throws UserError when there is no such strategy.
  Lane(Fleet& fleet, const TuneSpec& spec);
  Lane(Lane&&) = default;

  const Target& target() const { return fleet_->target(); }
  std::vector<Stage>& stages() { return fleet_->stages; }

  std::vector<Post> posts;
  std::unordered_map<std::uint64_t, Candidate> compiling;  ///< by ticket
  std::deque<Candidate> ready;
  std::set<std::size_t> groups_with_baseline_seen;
  std::map<std::size_t, GroupReference> references;  ///< by group
  std::map<std::size_t, std::string> failed_groups;  ///< for want of a reference
  std::string last_retired;                          ///< the GPU given up last, and why
  Standings standings;
  std::set<std::size_t> measured_groups;  ///< groups with rows of this sweep
  std::vector<GroupFinals> finals;        ///< by group

  /// The next configuration of the first group that has any left, as its strategy chooses, which is asked for
  /// `room` at a time; those put off come last. None also while the strategy waits for results.
  std::optional<Proposal> propose(std::size_t room);
  /// What became of a configuration, for the strategy: its median time, or none when it did not run.
  void tell(const Stage& stage, std::uint64_t index, std::optional<double> median_us);
  /// Puts a configuration off to the end of its group.
  void defer(const Stage* stage, std::uint64_t index);

  /// A ready candidate of the lowest group that has anything left to begin, if one is ready: changing groups
  /// rebuilds buffers and reference, so the next group waits until this one is done. Proposals come group by
  /// group, so a lowest group without a ready candidate is being compiled, and compiling has a deadline. A
  /// candidate that `post` has lost its worker with is left to other posts while they can take it.
  std::deque<Candidate>::iterator next_ready(const Post& post);
  /// Whether a living post other than this one can measure a group.
  bool others_can(const Post& post, std::size_t group) const;

  /// Whether a group has a candidate that may still be measured: proposed, compiled and ready ones only count
  /// unless the sweep is `stopping`.
  bool is_open(std::size_t group, bool stopping);
  /// The group's first stage.
  Stage& stage_of(std::size_t group);

  /// Why no GPU that is left can measure a group; none while one may.
  std::optional<std::string> why_unmeasurable(std::size_t group) const;

  bool alive() const;
  /// Whether its candidates are compiled; all its evaluators are of one kind.
  bool compiles() const { return posts.front().evaluator->needs_binaries(); }
  /// Whether a candidate is being evaluated.
  bool is_measuring() const;
  bool idle() const;
  bool has_proposals() { return current_stage() != nullptr; }
  /// Whether propose() gives nothing before tell() is called.
  bool is_waiting();
  /// Nothing is left that is not yet being measured.
  bool exhausted() { return !has_proposals() && compiling.empty() && ready.empty(); }

 private:
  /// How a group is searched.
  struct Search {
    std::unique_ptr<Strategy> strategy;
    Stage* first = nullptr;  ///< stages of a group follow each other
    std::size_t stages = 0;
    std::deque<Choice> asked;  ///< and not yet proposed
    std::set<Choice> untold;   ///< proposed, and what became of them is not known
    bool waits = false;        ///< it gave nothing, and there are results to come
  };

  Stage* current_stage();
  bool has_undecided(const Search& search) const;
  void ask(Search& search, std::size_t room);

  Fleet* fleet_;
  std::vector<Search> searches_;  ///< by group
  std::size_t next_stage_ = 0;
  std::unordered_map<const Stage*, std::vector<std::uint64_t>> deferred_;
};

}  // namespace tiletune
