#include "inspect/scheduler.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tiletune {
namespace {

constexpr std::size_t kScoreboards = 6;

/// Outstanding results of one scoreboard, by the time at which they arrive.
class Scoreboard {
 public:
  void hold(double until) { until_.push_back(until); }

  /// When no more than `pending` are outstanding; they arrive in order.
  double free_at(std::size_t pending) const {
    double latest = 0;
    for (std::size_t i = 0; i + pending < until_.size(); ++i) latest = std::max(latest, until_[i]);
    return latest;
  }

  void forget_before(double time) {
    until_.erase(std::remove_if(until_.begin(), until_.end(), [&](double until) { return until <= time; }),
                 until_.end());
  }

 private:
  std::vector<double> until_;
};

struct Warp {
  std::size_t step = 0;
  double ready = 0;    ///< by stall counts, barriers and scoreboards
  double copied = 0;   ///< when its asynchronous copies so far have arrived
  bool waits = false;  ///< at a barrier
  std::array<Scoreboard, kScoreboards> scoreboards;

  Scoreboard* scoreboard(int number) {
    const auto index = static_cast<std::size_t>(number);
    return index < kScoreboards ? &scoreboards[index] : nullptr;
  }
};

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Scheduler {
  std::array<double, kPipes> pipes{};  ///< until when they are busy
  double slot = 0;                     ///< when it may issue again
  std::size_t last = 0;                ///< warp that issued
  std::size_t next = 0;                ///< warp that will issue next, and when at the earliest
  double next_at = 0;

  double& pipe(Pipe which) { return pipes[static_cast<std::size_t>(which)]; }
  double pipe_free(Pipe which) {
    return which == Pipe::fma ? std::min(pipe(Pipe::fma), pipe(Pipe::fma_heavy)) : pipe(which);
  }
  void occupy(const Step& step, double time) {
    const bool other_half = step.pipe == Pipe::fma && pipe(Pipe::fma) > time && pipe(Pipe::fma_heavy) <= time;
    pipe(other_half ? Pipe::fma_heavy : step.pipe) = time + step.pipe_clocks;
  }
};

class Multiprocessor {
 public:
  Multiprocessor(const std::vector<Step>& turn, int blocks, int warps, const PipelineRates& rates)
      : turn_(turn),
        group_(static_cast<std::size_t>(warps)),
        rates_(rates),
        warps_(static_cast<std::size_t>(blocks) * group_) {}

  /// Runs until all warps together have done as many turns as each would do `turns`.
  double clocks_per_turn(std::size_t turns) {
    const std::size_t filling = turns / 3 * warps_.size(), all = turns * warps_.size();
    double filled = 0;
    for (Scheduler& scheduler : schedulers_) plan(scheduler);
    while (turns_done_ < all) {
      Scheduler& scheduler = earliest();
      if (scheduler.next_at == kNever) break;  // all wait at barriers that nobody reaches
      const std::size_t before = turns_done_;
      issue(scheduler);
      if (before < filling && turns_done_ >= filling) filled = time_;
    }
    return (time_ - filled) * static_cast<double>(warps_.size()) / static_cast<double>(all - filling);
  }

 private:
  double can_issue_at(Scheduler& scheduler, const Warp& warp) const {
    const Step& step = turn_[warp.step];
    const double queue = step.memory_clocks > 0 ? memory_ - rates_.memory_queue : 0;
    return std::max({scheduler.slot, warp.ready, scheduler.pipe_free(step.pipe), queue});
  }

  /// Which warp issues next: the first to be able to; of several the one that issued last, else the oldest.
  void plan(Scheduler& scheduler) {
    const auto index = static_cast<std::size_t>(&scheduler - schedulers_.data());
    scheduler.next_at = kNever;
    for (std::size_t i = index; i < warps_.size(); i += kSchedulers) {
      if (warps_[i].waits) continue;
      const double at = can_issue_at(scheduler, warps_[i]);
      if (at < scheduler.next_at || (at == scheduler.next_at && i == scheduler.last)) {
        scheduler.next_at = at;
        scheduler.next = i;
      }
    }
  }

  /// The plans are made again when the memory's queue has grown since.
  Scheduler& earliest() {
    for (;;) {
      Scheduler& first =
          *std::min_element(schedulers_.begin(), schedulers_.end(),
                            [](const Scheduler& a, const Scheduler& b) { return a.next_at < b.next_at; });
      if (first.next_at == kNever) return first;
      const double planned = first.next_at;
      plan(first);
      if (first.next_at <= planned) return first;
    }
  }

  double result_of(const Step& step) {
    double done = time_;
    if (step.memory_clocks > 0) {
      memory_ = std::max(memory_, time_) + step.memory_clocks;
      done = memory_;
    }
    if (step.l2_bytes > 0) {
      l2_ = std::max(l2_, done) + step.l2_bytes / rates_.l2_bytes_per_clock;
      done = l2_;
    }
    return done + step.latency;
  }

  void issue(Scheduler& scheduler) {
    Warp& warp = warps_[scheduler.next];
    const Step& step = turn_[warp.step];
    time_ = scheduler.next_at;
    scheduler.occupy(step, time_);
    const int conflicts = scheduler.last == scheduler.next ? step.conflicts : step.conflicts_alone;
    scheduler.slot = time_ + 1 + rates_.bank_conflict_clocks * conflicts + rates_.burst_clocks * step.bursts;
    scheduler.last = scheduler.next;
    warp.ready = time_ + std::max(1, step.stall);
    const double result = result_of(step);
    if (step.copy) warp.copied = std::max(warp.copied, result);
    if (Scoreboard* written = warp.scoreboard(step.write_scoreboard))
      written->hold(step.commit ? std::max(warp.copied, result) : result);
    if (Scoreboard* read = warp.scoreboard(step.read_scoreboard))
      read->hold((step.memory_clocks > 0 ? memory_ : time_) + rates_.operand_latency);
    advance(warp);
    if (step.barrier) arrive(warp);
    plan(scheduler);
  }

  void advance(Warp& warp) {
    if (++warp.step == turn_.size()) {
      warp.step = 0;
      ++turns_done_;
    }
    const Step& next = turn_[warp.step];
    for (std::size_t i = 0; i < kScoreboards; ++i) {
      if ((next.wait_mask >> i & 1) == 0) continue;
      warp.scoreboards[i].forget_before(time_);
      warp.ready = std::max(warp.ready, warp.scoreboards[i].free_at(0));
    }
    if (Scoreboard* waited = warp.scoreboard(next.waited_scoreboard)) {
      waited->forget_before(time_);
      warp.ready = std::max(warp.ready, waited->free_at(static_cast<std::size_t>(next.pending)));
    }
  }

  /// The last of a block to arrive lets all of them go on.
  void arrive(Warp& warp) {
    warp.waits = true;
    const std::size_t begin = static_cast<std::size_t>(&warp - warps_.data()) / group_ * group_;
    for (std::size_t i = begin; i < begin + group_; ++i) {
      if (!warps_[i].waits) return;
    }
    for (std::size_t i = begin; i < begin + group_; ++i) {
      warps_[i].waits = false;
      warps_[i].ready = std::max(warps_[i].ready, time_ + rates_.barrier_latency);
    }
    for (Scheduler& scheduler : schedulers_) plan(scheduler);
  }

  const std::vector<Step>& turn_;
  std::size_t group_;
  const PipelineRates& rates_;
  std::vector<Warp> warps_;
  std::array<Scheduler, kSchedulers> schedulers_;
  std::size_t turns_done_ = 0;
  double time_ = 0, memory_ = 0, l2_ = 0;
};

}  // namespace

double clocks_per_turn(const std::vector<Step>& turn, int blocks, int warps, const PipelineRates& rates) {
  if (turn.empty() || blocks < 1 || warps < 1) return 0;
  constexpr std::size_t kSteps = 4000, kFewest = 6, kMost = 48;
  const std::size_t turns = std::clamp(kSteps / turn.size(), kFewest, kMost);
  return Multiprocessor(turn, blocks, warps, rates).clocks_per_turn(turns);
}

}  // namespace tiletune
