#include "tune/task_queue.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "search/lesson_error.h"

namespace tiletune {

TaskQueue::TaskQueue(GpuSet& gpu_set, const TuneSpec& spec, MakeStrategy* make, bool learns,
                     const Knowledge* knowledge)
    : standings(spec.measure.finals, spec.view == View::ladder),
      gpu_set_(&gpu_set),
      budget_(spec.budget),
      make_(make),
      seed_(spec.strategy.seed),
      learns_(learns),
      knowledge_(knowledge) {
  for (const auto& evaluator : gpu_set.evaluators) slots.emplace_back().evaluator = evaluator.get();
  const std::size_t workloads = gpu_set.tasks.empty() ? 0 : gpu_set.tasks.back().workload + 1;
  finals.resize(workloads);
  searches_.resize(workloads);
  for (Task& task : gpu_set.tasks) {
    Search& search = searches_[task.workload];
    if (search.first == nullptr) search.first = &task;
    ++search.tasks;
  }
}

std::vector<SearchedSpace> TaskQueue::spaces_of(const Search& search) const {
  std::vector<SearchedSpace> spaces;
  for (const Task* task = search.first; task != search.first + search.tasks; ++task)
    spaces.push_back({&task->space, std::min(task->planned, search.most.value_or(task->planned))});
  return spaces;
}

Task* TaskQueue::current_task() {
  for (; next_task_ < gpu_set_->tasks.size(); ++next_task_) {
    Task& task = gpu_set_->tasks[next_task_];
    if (task.proposed < task.planned || !deferred_[&task].empty()) return &task;
  }
  return nullptr;
}

/// Whether the strategy may have more to choose.
bool TaskQueue::has_undecided(const Search& search) const {
  return std::any_of(search.first, search.first + search.tasks,
                     [](const Task& task) { return task.proposed < task.planned; });
}

void TaskQueue::ask(Search& search, std::size_t most) {
  for (const Choice& choice : search.strategy->ask(most)) search.asked.push_back(choice);
  if (!search.asked.empty()) return;
  search.waits = !search.pending.empty();
  if (search.waits) return;
  close(search, has_undecided(search) ? SearchEnd::strategy : SearchEnd::all_tried);
}

void TaskQueue::close(Search& search, SearchEnd end) {
  constexpr std::size_t kMostTimes = 150;
  if (!search.end) search.end = end;
  search.asked.clear();
  search.strategy.reset();
  if (search.times.size() > kMostTimes) {
    const auto half = search.times.begin() + kMostTimes / 2;
    std::nth_element(search.times.begin(), half, search.times.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    search.times.resize(kMostTimes);
  }
  for (Task* task = search.first; task != search.first + search.tasks; ++task) task->planned = task->proposed;
}

void TaskQueue::take_back(Task& task, std::uint64_t count) {
  task.proposed -= count;
  searches_[task.workload].proposed -= count;
}

/// Forgets candidates that wait to be measured, except the first `kept`, as if they had not been proposed.
void TaskQueue::drop_ready(std::size_t workload, std::size_t kept) {
  std::erase_if(ready, [&](const Candidate& candidate) {
    if (candidate.task->workload != workload || (kept > 0 && kept-- > 0)) return false;
    take_back(*candidate.task, 1);
    return true;
  });
}

/// Forgets all that are being compiled, wait to be measured or were put off.
void TaskQueue::drop_waiting(std::size_t workload) {
  std::erase_if(compiling, [&](const auto& candidate) {
    if (candidate->task->workload != workload) return false;
    take_back(*candidate->task, 1);
    return true;
  });
  drop_ready(workload, 0);
  const Search& search = searches_[workload];
  for (Task* task = search.first; task != search.first + search.tasks; ++task)
    take_back(*task, std::exchange(deferred_[task], {}).size());
}

std::uint64_t TaskQueue::expected() const {
  std::uint64_t planned = 0;
  for (const Task& task : gpu_set_->tasks) planned += task.planned;
  return budget_.evaluations > 0 ? std::min(planned, budget_.evaluations) : planned;
}

/// How many shares of the budget a workload gets. The first of a search that learns has nobody to learn from,
/// and the others learn from it.
std::uint64_t TaskQueue::shares_of(std::size_t workload) const {
  const bool is_first = workload == 0 && searches_.size() > 1;
  return is_first && learns_ && (knowledge_ == nullptr || knowledge_->is_empty()) ? 2 : 1;
}

/// Its shares of what is left for this workload and those after it, where those that are smaller leave
/// theirs to the others.
std::uint64_t TaskQueue::share_of_evaluations(std::size_t workload) const {
  std::uint64_t left = budget_.evaluations;
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    const Search& search = searches_[i];
    if (i < workload) left -= std::min(left, search.proposed);
    if (i >= workload)
      sizes.push_back(
          std::accumulate(search.first, search.first + search.tasks, std::uint64_t{0},
                          [](std::uint64_t sum, const Task& task) { return sum + task.space.size(); }));
  }
  std::sort(sizes.begin(), sizes.end());
  const std::uint64_t own = shares_of(workload);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::uint64_t remaining = sizes.size() - i - 1 + own;
    const std::uint64_t even = left / remaining + (left % remaining != 0 ? 1 : 0);
    if (sizes[i] >= even) return std::min(even * own, left);
    left -= sizes[i];
  }
  return sizes.empty() ? 0 : sizes.back();
}

/// What this sweep found on earlier problems with the same templates.
std::vector<Lesson> TaskQueue::earlier_lessons(const Search& search) const {
  std::vector<Lesson> lessons;
  constexpr std::size_t kMostProblems = 16;  // the most similar ones
  std::vector<std::pair<double, const Search*>> known;
  for (const Search& earlier : searches_)
    if (&earlier != &search && !earlier.times.empty())
      known.emplace_back(problem_distance(earlier.first->problem, search.first->problem), &earlier);
  const std::size_t count = std::min(kMostProblems, known.size());
  std::partial_sort(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(count), known.end());
  for (std::size_t i = 0; i < count; ++i) {
    const double far = known[i].first;
    const Search& earlier = *known[i].second;
    const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
    const double best = std::min_element(earlier.times.begin(), earlier.times.end(), faster)->second;
    for (const auto& [choice, time_us] : earlier.times) {
      const Task& task = earlier.first[choice.space];
      const auto* const same = std::find_if(search.first, search.first + search.tasks,
                                            [&](const Task& own) { return own.spec == task.spec; });
      if (same == search.first + search.tasks) continue;
      lessons.push_back({static_cast<std::size_t>(same - search.first), task.space.positions(choice.index),
                         time_us / best, far});
    }
  }
  return lessons;
}

/// Takes of what a database says and of what this sweep found as much as the strategy learns from.
std::vector<Lesson> TaskQueue::lessons_for(const Search& search) const {
  const std::size_t most = search.strategy->most_lessons();
  if (most == 0) return {};
  std::vector<Knowledge::Known> known;
  if (knowledge_ != nullptr) known = knowledge_->known_for(search.first, search.tasks, target().name);
  const std::vector<Lesson> earlier = earlier_lessons(search);
  std::vector<double> weights;
  for (const Knowledge::Known& one : known)
    weights.push_back(search::lesson_weight(knowledge_->relative_time(one), one.distance));
  for (const Lesson& lesson : earlier)
    weights.push_back(search::lesson_weight(lesson.relative_time, lesson.distance));
  search::RandomSource random(seed_);
  std::vector<Lesson> lessons;
  for (const std::size_t place : search::kept_lessons(weights, most, random))
    lessons.push_back(place < known.size() ? knowledge_->lesson(known[place])
                                           : earlier[place - known.size()]);
  return lessons;
}

void TaskQueue::begin(std::size_t workload) {
  Search& search = searches_[workload];
  search.has_begun = true;
  if (budget_.evaluations > 0) search.most = share_of_evaluations(workload);
  search.strategy = make_(spaces_of(search), seed_);
  if (learns_) search.strategy->learn(lessons_for(search));
}

/// All before it are measured, and their finals held, during which another GPU would have time for this one.
/// The one just before it may be through earlier than others: nothing is measured where all rows are reused.
bool TaskQueue::has_turn(std::size_t workload) {
  for (std::size_t earlier = 0; earlier < workload; ++earlier) {
    if (is_open(earlier, false)) return false;
    if (slots.size() == 1 && finals[earlier].state != WorkloadFinals::State::over) return false;
  }
  return true;
}

/// A GPU has made its buffers and its reference, or none can or has to, and it has its turn. One of several
/// GPUs need not wait for that: another may hold what is left of the problem before for long.
bool TaskQueue::is_under_way(std::size_t workload) {
  const bool is_prepared = std::any_of(slots.begin(), slots.end(), [&](const GpuSlot& slot) {
    return holds(slot, workload) && (slot.measuring == workload || slot.evaluator->idle());
  });
  if (is_prepared && slots.size() > 1) return true;
  return has_turn(workload) && (is_prepared || why_unmeasurable(workload) || needs_no_gpu(workload));
}

/// Whether a GPU has a workload's buffers, or makes them.
bool TaskQueue::holds(const GpuSlot& slot, std::size_t workload) {
  return slot.workload == workload && !slot.retired && !slot.failed_workloads.contains(workload);
}

/// Whether many results came without a GPU, because rows are reused or kernels do not compile, and nothing is
/// ready to be measured.
bool TaskQueue::needs_no_gpu(std::size_t workload) const {
  constexpr std::uint64_t kManyResults = 64;
  const Search& search = searches_[workload];
  return search.proposed - search.pending.size() >= kManyResults &&
         std::none_of(slots.begin(), slots.end(),
                      [&](const GpuSlot& slot) { return holds(slot, workload); }) &&
         std::none_of(ready.begin(), ready.end(),
                      [&](const Candidate& candidate) { return candidate.task->workload == workload; });
}

bool TaskQueue::proposes_ahead() {
  const Task* task = current_task();
  return task != nullptr && budget_.seconds > 0 && !searches_[task->workload].ends_at_s;
}

/// Each problem takes its share and, as long as earlier ones did on average, what comes after it: finals, and
/// the buffers of the next. At least half of it is for the search.
void TaskQueue::begin_time(std::size_t workload, double now_s) {
  // Where the one before had no share, what it took is not what came after a share.
  if (const auto ended_s = workload > 0 ? searches_[workload - 1].ends_at_s : std::nullopt) {
    after_shares_s_ += std::max(0.0, now_s - *ended_s);
    ++shares_;
  }
  const double after_s = shares_ == 0 ? 0 : after_shares_s_ / shares_;
  const auto own = static_cast<double>(shares_of(workload));
  const double left = static_cast<double>(searches_.size() - workload) - 1 + own;
  const double share_s = std::max(0.0, budget_.seconds - now_s) * own / left;
  searches_[workload].ends_at_s = now_s + std::max(share_s / 2, share_s - after_s);
}

double TaskQueue::longest_finals_us() const {
  if (!(budget_.seconds > 0) || searches_.size() == 1) return std::numeric_limits<double>::infinity();
  constexpr double kPart = 0.25, kMicroseconds = 1e6;
  return kPart * budget_.seconds / static_cast<double>(searches_.size()) * kMicroseconds;
}

std::optional<SearchEnd> TaskQueue::end_of(const Search& search, double now_s) const {
  if (search.has_spent_evaluations()) return SearchEnd::evaluations;
  if (search.ends_at_s && now_s >= *search.ends_at_s) return SearchEnd::time;
  if (budget_.until_percent <= 0) return std::nullopt;
  const std::optional<double> gain = search.strategy->remaining_gain_percent();
  return gain && *gain <= budget_.until_percent ? std::optional(SearchEnd::gain) : std::nullopt;
}

void TaskQueue::end_searches(double now_s) {
  while (const Task* task = current_task()) {
    const std::size_t workload = task->workload;
    Search& search = searches_[workload];
    if (!search.has_begun) begin(workload);
    if (search.end || !has_undecided(search)) return;  // only those that were put off are left
    if (budget_.seconds > 0 && !search.ends_at_s && is_under_way(workload)) begin_time(workload, now_s);
    const std::optional<SearchEnd> end = end_of(search, now_s);
    if (!end) return;
    // What was compiled before its turn may be more than could be measured in it.
    if (*end == SearchEnd::time) drop_ready(workload, 2 * slots.size());
    close(search, *end);
  }
}

void TaskQueue::stop(bool is_out_of_time) {
  for (std::size_t workload = 0; workload < searches_.size(); ++workload) {
    Search& search = searches_[workload];
    const bool was_open = !search.end;
    drop_waiting(workload);
    close(search, SearchEnd::time);
    if (was_open && !is_out_of_time) search.end.reset();
  }
}

std::vector<SearchedWorkload> TaskQueue::searched() const {
  std::vector<SearchedWorkload> searched;
  for (const Search& search : searches_) {
    SearchedWorkload& one = searched.emplace_back(
        SearchedWorkload{search.first->problem.label(), target().name, 0, 0, search.end});
    for (const Task* task = search.first; task != search.first + search.tasks; ++task) {
      one.tried += task->proposed;
      one.valid += task->space.size();
    }
    if (one.is_whole()) one.end = SearchEnd::all_tried;
  }
  return searched;
}

/// A task of a search with configurations that were put off; null: there is none.
Task* TaskQueue::put_off(const Search& search) {
  Task* const end = search.first + search.tasks;
  Task* const task = std::find_if(search.first, end, [&](Task& one) { return !deferred_[&one].empty(); });
  return task == end ? nullptr : task;
}

bool TaskQueue::is_waiting() {
  const Task* task = current_task();
  if (task == nullptr) return false;
  const Search& search = searches_[task->workload];
  return search.waits && put_off(search) == nullptr;
}

void TaskQueue::tell(const Task& task, std::uint64_t index, std::optional<double> median_us) {
  Search& search = searches_[task.workload];
  const Choice choice{static_cast<std::size_t>(&task - search.first), index};
  search.pending.erase(choice);
  search.waits = false;
  if (learns_ && median_us && *median_us > 0) search.times.emplace_back(choice, *median_us);
  if (search.strategy) search.strategy->tell(choice, median_us);
}

bool GpuSlot::drop_old_calibration() {
  if (measures_ceilings) return false;
  measures_ceilings = true;
  calibration.reset();
  workload.reset();
  return true;
}

std::optional<Proposal> TaskQueue::propose(std::size_t most) {
  while (Task* task = current_task()) {
    Search& search = searches_[task->workload];
    if (!search.has_begun) begin(task->workload);
    if (has_undecided(search) && !search.has_spent_evaluations()) {
      if (search.asked.empty())
        ask(search, search.most ? std::min<std::size_t>(most, *search.most - search.proposed) : most);
      if (!search.asked.empty()) {
        const Choice choice = search.asked.front();
        search.asked.pop_front();
        return proposal_of(search, choice);
      }
      if (!search.waits) continue;
    }
    Task* const late = put_off(search);
    if (late == nullptr) return std::nullopt;
    std::vector<std::uint64_t>& deferred = deferred_[late];
    const Proposal proposal{late, deferred.back(), true};
    deferred.pop_back();
    return proposal;
  }
  return std::nullopt;
}

Proposal TaskQueue::proposal_of(Search& search, const Choice& choice) {
  search.pending.insert(choice);
  Task& chosen = search.first[choice.space];
  ++chosen.proposed;
  ++search.proposed;
  return {&chosen, choice.index, false};
}

std::vector<Choice> TaskQueue::compiled_for(const Search& search) const {
  std::vector<Choice> compiled;
  for (const Lesson& lesson : earlier_lessons(search))
    if (const auto choice = search::choice_of(lesson, search.first[lesson.space].space))
      compiled.push_back(*choice);
  std::sort(compiled.begin(), compiled.end());
  compiled.erase(std::unique(compiled.begin(), compiled.end()), compiled.end());
  return compiled;
}

std::vector<Proposal> TaskQueue::propose_compiled() {
  constexpr std::size_t kAtOnce = 4, kResultsBetween = 8;
  const Task* task = current_task();
  if (task == nullptr || !learns_ || budget_.evaluations > 0 || !compiles() || !ready.empty()) return {};
  Search& search = searches_[task->workload];
  const bool has_strategy = search.strategy != nullptr && has_undecided(search);
  if (!has_strategy || search.times.size() < search.asks_compiled_at || !has_turn(task->workload)) return {};
  if (!search.compiled) search.compiled = compiled_for(search);
  if (search.compiled->empty()) return {};
  std::vector<Proposal> proposals;
  for (const Choice& choice : search.strategy->ask_among(*search.compiled, kAtOnce)) {
    std::erase(*search.compiled, choice);
    proposals.push_back(proposal_of(search, choice));
  }
  if (proposals.empty()) search.asks_compiled_at = search.times.size() + kResultsBetween;
  return proposals;
}

void TaskQueue::forget_compiled(const Task& task) {
  Search& search = searches_[task.workload];
  const auto place = static_cast<std::size_t>(&task - search.first);
  if (search.compiled)
    std::erase_if(*search.compiled, [&](const Choice& choice) { return choice.space == place; });
}

void TaskQueue::defer(const Task* task, std::uint64_t index) {
  deferred_[task].push_back(index);
  next_task_ = std::min(next_task_, static_cast<std::size_t>(task - gpu_set_->tasks.data()));
}

bool TaskQueue::others_can(const GpuSlot& slot, std::size_t workload) const {
  return std::any_of(slots.begin(), slots.end(), [&](const GpuSlot& other) {
    return &other != &slot && !other.retired && !other.failed_workloads.contains(workload);
  });
}

std::deque<Candidate>::iterator TaskQueue::next_ready(const GpuSlot& slot) {
  const Task* task = current_task();
  std::size_t lowest = task != nullptr ? task->workload : SIZE_MAX;
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
  const Task* task = current_task();
  const auto is_of_workload = [&](const Candidate& candidate) {
    return candidate.task->workload == workload;
  };
  return (task != nullptr && task->workload <= workload) ||
         std::any_of(ready.begin(), ready.end(), is_of_workload) ||
         std::any_of(compiling.begin(), compiling.end(),
                     [&](const auto& candidate) { return is_of_workload(*candidate); });
}

Task& TaskQueue::task_of(std::size_t workload) {
  return *std::find_if(gpu_set_->tasks.begin(), gpu_set_->tasks.end(),
                       [&](const Task& task) { return task.workload == workload; });
}

std::optional<std::string> TaskQueue::why_unmeasurable(std::size_t workload) const {
  if (const auto failed = failed_workloads.find(workload); failed != failed_workloads.end())
    return failed->second;
  std::optional<std::string> why;
  for (const GpuSlot& slot : slots) {
    if (slot.retired) continue;
    const auto failed = slot.failed_workloads.find(workload);
    if (failed == slot.failed_workloads.end()) return std::nullopt;
    why = failed->second;
  }
  return why;
}

bool TaskQueue::alive() const {
  return std::any_of(slots.begin(), slots.end(), [](const GpuSlot& slot) { return !slot.retired; });
}

bool TaskQueue::is_measuring() const {
  return std::any_of(slots.begin(), slots.end(),
                     [](const GpuSlot& slot) { return slot.measuring.has_value(); });
}

bool TaskQueue::idle() const {
  return std::all_of(slots.begin(), slots.end(),
                     [](const GpuSlot& slot) { return slot.retired || slot.evaluator->idle(); });
}

}  // namespace tiletune
