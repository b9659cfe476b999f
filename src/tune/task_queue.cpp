#include "tune/task_queue.h"

#include <fmt/format.h>

namespace tiletune {

namespace {

/// Their binaries are held in memory, and travel to the worker in one message.
constexpr std::size_t kMostContenders = 100;

bool before(const Contender& a, const Contender& b) {
  return std::tie(a.first_us, a.key) < std::tie(b.first_us, b.key);
}

auto is_of(std::size_t workload) {
  return [workload](const Candidate& candidate) { return candidate.task->workload == workload; };
}

}  // namespace

std::string GpuSlot::label() const {
  return fmt::format("{} ({})", evaluator->target().name, evaluator->target().uuid);
}

bool GpuSlot::drop_old_calibration() {
  if (measures_ceilings) return false;
  measures_ceilings = true;
  calibration.reset();
  workload.reset();
  return true;
}

TaskQueue::TaskQueue(GpuSet& gpu_set, const TuneSpec& spec, MakeStrategy* make, bool learns,
                     const Knowledge* known)
    : searches(gpu_set.tasks, spec, gpu_set.target().name, make, learns, known),
      workloads(searches.size()),
      standings(spec.measure.finals, spec.view == View::ladder) {
  for (const auto& evaluator : gpu_set.evaluators) slots.emplace_back().evaluator = evaluator.get();
}

/// Forgets candidates that wait to be measured, except the first `kept`, as if they had not been proposed.
void TaskQueue::drop_ready(std::size_t workload, std::size_t kept) {
  searches[workload].take_back(std::erase_if(ready, [&](const Candidate& candidate) {
    return candidate.task->workload == workload && (kept == 0 || kept-- == 0);
  }));
}

/// All before it are measured, and their finals held, during which another GPU would have time for this one.
/// The one just before it may be through earlier than others: nothing is measured where all rows are reused.
bool TaskQueue::has_turn(std::size_t workload) {
  for (std::size_t earlier = 0; earlier < workload; ++earlier) {
    if (is_open(earlier, false)) return false;
    if (slots.size() == 1 && workloads[earlier].finals.state != WorkloadFinals::State::over) return false;
  }
  return true;
}

/// A GPU has made its buffers and its reference, or none can or has to, and it has its turn. One of several
/// GPUs need not wait for that: another may hold what is left of the problem before for long.
bool TaskQueue::is_under_way(std::size_t workload) {
  const bool is_prepared = std::any_of(slots.begin(), slots.end(), [&](const GpuSlot& slot) {
    return slot.holds(workload) && (slot.measuring == workload || slot.evaluator->idle());
  });
  if (is_prepared && slots.size() > 1) return true;
  // Many results may come without a GPU, because rows are reused or kernels do not compile.
  constexpr std::uint64_t kManyResults = 64;
  const bool needs_no_gpu =
      searches[workload].known() >= kManyResults &&
      std::none_of(slots.begin(), slots.end(), [&](const GpuSlot& slot) { return slot.holds(workload); }) &&
      std::none_of(ready.begin(), ready.end(), is_of(workload));
  return has_turn(workload) && (is_prepared || why_unmeasurable(workload) || needs_no_gpu);
}

void TaskQueue::end_searches(double now_s) {
  while (Search* search = searches.begun()) {
    const std::size_t workload = search->workload();
    if (!search->is_undecided()) return;  // only those that were put off are left
    if (searches.has_time_to_begin(*search) && is_under_way(workload)) searches.begin_time(*search, now_s);
    const std::optional<SearchEnd> end = searches.end_of(*search, now_s);
    if (!end) return;
    // What was compiled before its turn may be more than could be measured in it.
    if (*end == SearchEnd::time) drop_ready(workload, 2 * slots.size());
    search->close(*end);
  }
}

std::vector<Proposal> TaskQueue::propose_compiled() {
  const Search* search = searches.current();
  const bool waits = search != nullptr && compiles() && ready.empty();
  if (!waits || !searches.use_compiled() || !has_turn(search->workload())) return {};
  return searches.propose_compiled();
}

void TaskQueue::stop(bool is_out_of_time) {
  for (const auto& candidate : compiling) searches[candidate->task->workload].take_back(1);
  compiling.clear();
  for (std::size_t workload = 0; workload < searches.size(); ++workload) {
    drop_ready(workload, 0);
    searches[workload].drop_deferred();
    searches[workload].close(is_out_of_time ? std::optional(SearchEnd::time) : std::nullopt);
  }
}

bool TaskQueue::others_can(const GpuSlot& slot, std::size_t workload) const {
  return std::any_of(slots.begin(), slots.end(),
                     [&](const GpuSlot& other) { return &other != &slot && other.can_measure(workload); });
}

std::deque<Candidate>::iterator TaskQueue::next_ready(const GpuSlot& slot) {
  const Search* search = searches.current();
  std::size_t lowest = search != nullptr ? search->workload() : SIZE_MAX;
  for (const auto& candidate : compiling) lowest = std::min(lowest, candidate->task->workload);
  for (const Candidate& candidate : ready) lowest = std::min(lowest, candidate.task->workload);
  const bool others = others_can(slot, lowest);
  return std::find_if(ready.begin(), ready.end(), [&](const Candidate& candidate) {
    return candidate.task->workload == lowest && !(others && candidate.lost_on == slot.evaluator);
  });
}

bool TaskQueue::is_open(std::size_t workload, bool stopping) {
  const auto is_measuring = [&](const GpuSlot& slot) { return slot.measuring == workload; };
  if (std::any_of(slots.begin(), slots.end(), is_measuring)) return true;
  if (stopping) return false;
  const Search* search = searches.current();
  return (search != nullptr && search->workload() <= workload) ||
         std::any_of(ready.begin(), ready.end(), is_of(workload)) ||
         std::any_of(compiling.begin(), compiling.end(),
                     [&](const auto& candidate) { return is_of(workload)(*candidate); });
}

std::optional<std::string> TaskQueue::why_unmeasurable(std::size_t workload) const {
  if (const std::string& failure = workloads[workload].failure; !failure.empty()) return failure;
  std::optional<std::string> why;
  for (const GpuSlot& slot : slots) {
    if (slot.retired) continue;
    if (slot.can_measure(workload)) return std::nullopt;
    why = slot.failed_workloads.at(workload);
  }
  return why;
}

bool TaskQueue::alive() const {
  return std::any_of(slots.begin(), slots.end(), [](const GpuSlot& slot) { return !slot.retired; });
}

bool TaskQueue::idle() const {
  return std::all_of(slots.begin(), slots.end(),
                     [](const GpuSlot& slot) { return slot.retired || slot.evaluator->idle(); });
}

void Standings::add(Task& task, std::uint64_t index, const Trial& row, std::shared_ptr<const Binary> binary) {
  if (row.source != Source::measured || !row.median_us) return;
  Contender contender{{&task, index, *row.median_us, row.sweep_id}};
  const bool finals_to_come = policy_.configurations > 0;
  if (finals_to_come && row.outcome == Outcome::screened_out)
    screened_[leader_key(task)].push_back(contender);
  contender.ranks = row.outcome == Outcome::ok;
  const bool was_in_finals = row.timed_in == "final";
  if (!contender.ranks && !was_in_finals) return;
  contender.final_of = was_in_finals ? row.sweep_id : 0;
  contender.key = row.key;
  contender.first_us = row.first_median_us.value_or(*row.median_us);
  contender.upper_us = row.ci_high_us.value_or(*row.median_us);
  contender.lowest_upper_us = std::min(contender.upper_us, row.first_median_us.value_or(contender.upper_us));
  if (contender.ranks) lead(contender);
  contender.binary = std::move(binary);
  std::vector<Contender>& contenders = contenders_[task.workload];
  if (contenders.size() > kMostContenders && before(contenders.back(), contender)) return;
  std::erase_if(contenders, [&](const Contender& other) { return other.key == contender.key; });
  contenders.insert(std::upper_bound(contenders.begin(), contenders.end(), contender, before),
                    std::move(contender));
  // One more than may take part shows that there are more. Those that may not take part now may when
  // a leader is disqualified.
  contenders.resize(std::min(kMostContenders + 1, contenders.size()));
}

void Standings::lead(Contender candidate) {
  candidate.binary.reset();
  const auto [place, is_new] = leaders_.try_emplace(leader_key(*candidate.task), candidate);
  if (!is_new && candidate.median_us < place->second.median_us) place->second = std::move(candidate);
}

std::vector<Screened> Standings::disqualify(const Task& task, const std::string& key, double screening) {
  std::vector<Contender>& contenders = contenders_[task.workload];
  for (Contender& contender : contenders) contender.ranks = contender.ranks && contender.key != key;
  const auto led = leaders_.find(leader_key(task));
  if (led == leaders_.end() || led->second.key != key) return {};
  leaders_.erase(led);
  for (const Contender& contender : contenders)
    if (contender.ranks && leader_key(*contender.task) == leader_key(task)) lead(contender);
  const Contender* const now = leader(task);
  std::vector<Screened>& screened = screened_[leader_key(task)];
  const auto again = std::stable_partition(screened.begin(), screened.end(), [&](const Screened& row) {
    return now != nullptr && row.median_us > screening * now->lowest_upper_us;
  });
  std::vector<Screened> released(again, screened.end());
  screened.erase(again, screened.end());
  return released;
}

void Standings::forget(std::size_t workload) {
  contenders_.erase(workload);
  std::erase_if(screened_, [&](const auto& entry) { return entry.first.first == workload; });
}

const Contender* Standings::leader(const Task& task) const {
  const auto found = leaders_.find(leader_key(task));
  return found == leaders_.end() ? nullptr : &found->second;
}

Selection Standings::selection(std::size_t workload) const {
  Selection selection;
  const auto known = contenders_.find(workload);
  if (known == contenders_.end()) return selection;
  const std::vector<Contender>& contenders = known->second;
  const auto fastest = std::ranges::find(contenders, true, &Contender::ranks);
  if (fastest == contenders.end()) return selection;
  const double limit_us = fastest->first_us * (1 + policy_.within_percent / 100);
  const auto beyond =
      std::ranges::find_if(contenders, [&](const Contender& one) { return one.first_us > limit_us; });
  // How many of the fastest the policy lets take part, those that do not rank included.
  const std::size_t entitled =
      std::min(contenders.size(), std::max(static_cast<std::size_t>(beyond - contenders.begin()),
                                           static_cast<std::size_t>(policy_.configurations)));
  selection.cut = entitled > kMostContenders;
  for (std::size_t i = 0; i < std::min(entitled, kMostContenders); ++i)
    if (contenders[i].ranks) selection.contenders.push_back(contenders[i]);
  return selection;
}

const Contender* WorkloadFinals::leader() const {
  const auto found = std::find_if(finalists.begin(), finalists.end(),
                                  [](const Contender& finalist) { return !finalist.fault; });
  return found == finalists.end() ? nullptr : &*found;
}

std::size_t WorkloadFinals::sound() const {
  return static_cast<std::size_t>(std::count_if(finalists.begin(), finalists.end(),
                                                [](const Contender& finalist) { return !finalist.fault; }));
}

}  // namespace tiletune
