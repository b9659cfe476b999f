#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "search/strategies.h"
#include "tune/knowledge.h"
#include "tune/sweep.h"
#include "tune/task.h"

namespace tiletune {

/// One configuration to try.
struct Proposal {
  Task* task = nullptr;
  std::uint64_t index = 0;
  bool deferred = false;  ///< it was deferred before
};

/// The search of one problem: the choices and results of its strategy, and when it ends.
class Search {
 public:
  /// `tasks` are the adjacent tasks of one problem. If it `learns`, it keeps times for other searches.
  Search(std::span<Task> tasks, bool learns);

  std::span<Task> tasks() const { return tasks_; }
  std::size_t workload() const { return tasks_.front().workload; }
  const Problem& problem() const { return tasks_.front().problem; }
  std::uint64_t valid() const { return valid_; }        ///< configurations in its spaces
  std::uint64_t proposed() const { return proposed_; }  ///< how many of these were proposed
  std::uint64_t planned() const { return is_over_ ? proposed_ : valid_; }
  std::uint64_t known() const { return proposed_ - pending_.size(); }  ///< whose result is known
  const std::vector<std::pair<Choice, double>>& times() const { return times_; }
  SearchedWorkload summary(const std::string& gpu) const;

  bool has_begun() const { return has_begun_; }
  /// Starts the strategy, which may choose `most` configurations (none: no limit).
  void begin(std::unique_ptr<Strategy> strategy, std::optional<std::uint64_t> most);
  /// Whether the strategy may have more to choose.
  bool is_undecided() const { return planned() > proposed_; }
  bool is_through() const { return !is_undecided() && deferred_.empty(); }
  /// Whether propose() gives nothing before tell() is called.
  bool is_waiting() const { return waits_ && deferred_.empty(); }
  /// The next configuration. The strategy is asked for `most` at a time. Deferred configurations follow once
  /// it has nothing more to choose, or waits for results, which may be theirs.
  std::optional<Proposal> propose(std::size_t most);
  void tell(const Task& task, std::uint64_t index, std::optional<double> median_us);
  /// Defers a configuration to the end.
  void defer(const Task& task, std::uint64_t index) { deferred_[place_of(task)].push_back(index); }
  /// Reduces the number of proposed configurations by `count`.
  void take_back(std::uint64_t count) { proposed_ -= count; }
  /// Drops the deferred configurations.
  void drop_deferred();

  /// A few configurations that the strategy would try early, from those that `compiled` lists. `compiled` is
  /// called once.
  std::vector<Proposal> propose_compiled(const std::function<std::vector<Choice>()>& compiled);
  void forget_compiled(const Task& task);

  /// When its share of the time ends, by the sweep's clock; none: the share has not begun.
  std::optional<double> ends_at_s;
  /// The reason why the search ends at `now_s`; none: it goes on.
  std::optional<SearchEnd> end(double now_s, double until_percent) const;
  /// Ends the search, unless it has ended already. `end` is the reason; none: the sweep ends first.
  void close(std::optional<SearchEnd> end);

 private:
  std::size_t place_of(const Task& task) const { return static_cast<std::size_t>(&task - tasks_.data()); }
  bool has_spent_evaluations() const { return most_ && proposed_ >= *most_; }
  Proposal proposal_of(const Choice& choice);

  std::span<Task> tasks_;
  std::uint64_t valid_ = 0;
  bool learns_;
  std::unique_ptr<Strategy> strategy_;  ///< from its begin to its end
  std::deque<Choice> asked_;            ///< and not yet proposed
  std::set<Choice> pending_;            ///< proposed, and what became of them is not known
  bool waits_ = false;                  ///< it gave nothing, and there are results to come
  std::map<std::size_t, std::vector<std::uint64_t>> deferred_;  ///< by place of the task
  std::vector<std::pair<Choice, double>>
      times_;  ///< of what ran, us; after its end the fastest and some others
  std::uint64_t proposed_ = 0;
  std::optional<std::uint64_t> most_;
  bool has_begun_ = false;
  bool is_over_ = false;
  std::optional<SearchEnd> end_;
  std::optional<std::vector<Choice>> compiled_;  ///< for earlier problems; none: not listed yet
  std::size_t asks_compiled_at_ = 0;             ///< the least size of times_ to ask again
};

/// The searches of all problems on one GPU set. They run one after another, share the budget, and learn from
/// each other and from earlier results.
class Searches {
 public:
  /// `make` creates their strategies. `known`, the earlier results (null: none), must outlive this object.
  Searches(std::span<Task> tasks, const TuneSpec& spec, std::string gpu, MakeStrategy* make, bool learns,
           const Knowledge* known);

  std::size_t size() const { return searches_.size(); }
  Search& operator[](std::size_t workload) { return searches_[workload]; }
  const Search& operator[](std::size_t workload) const { return searches_[workload]; }
  /// The first search that is not finished; null: all are.
  Search* current();
  /// current(), after its strategy was started.
  Search* begun();

  /// Whether little should be under way: what is proposed follows from earlier results, or problems share a
  /// budget of time, and what one of them has begun to compile is measured in the time of the next.
  bool keep_little_under_way() const { return learns_ || (budget_.seconds > 0 && size() > 1); }
  /// Whether what is proposed is for a problem whose share of the time has not begun: the GPU is not done
  /// with the one before, or not ready for this one.
  bool propose_ahead();
  /// What the rounds of finals may take: a quarter of an average share of the time; infinite where it is not
  /// shared.
  double longest_finals_us() const;
  /// How many configurations will be tried, at most.
  std::uint64_t expected() const;
  std::vector<SearchedWorkload> summary() const;

  /// The next configuration of the first unfinished problem; none also while that waits for results.
  std::optional<Proposal> propose(std::size_t most);
  /// Whether to propose kernels that were compiled for other problems: not if the budget limits evaluations.
  bool use_compiled() const { return learns_ && budget_.evaluations == 0; }
  /// A few configurations whose kernels were compiled for other problems of this sweep.
  std::vector<Proposal> propose_compiled();
  /// Takes the result of a configuration: its median time, or none if it did not run.
  void tell(const Task& task, std::uint64_t index, std::optional<double> median_us) {
    searches_[task.workload].tell(task, index, median_us);
  }
  /// Defers a configuration to the end of its problem.
  void defer(const Task& task, std::uint64_t index);

  /// Begins a search's share of the time, if the time is limited and the share has not begun.
  void begin_time(Search& search, double now_s);
  bool has_time_to_begin(const Search& search) const { return budget_.seconds > 0 && !search.ends_at_s; }
  std::optional<SearchEnd> end_of(const Search& search, double now_s) const {
    return search.end(now_s, budget_.until_percent);
  }

 private:
  std::uint64_t shares_of(std::size_t workload) const;
  std::uint64_t share_of_evaluations(std::size_t workload) const;
  std::vector<Lesson> earlier_lessons(const Search& search) const;
  std::vector<Lesson> lessons_for(const Search& search, std::size_t most) const;

  Budget budget_;
  std::uint64_t seed_;
  std::string gpu_;
  MakeStrategy* make_;
  bool learns_;
  const Knowledge* knowledge_;
  std::vector<Search> searches_;  ///< by workload
  std::size_t next_ = 0;          ///< no search before it has anything left
  double after_shares_s_ = 0;     ///< what the ends of problems took after their shares, together
  int shares_ = 0;                ///< problems of which after_shares_s_ is known
};

}  // namespace tiletune
