#include "tune/task_queue.h"

#include <algorithm>

namespace tiletune {

TaskQueue::TaskQueue(GpuSet& gpu_set, const TuneSpec& spec, MakeStrategy* make)
    : standings(spec.measure.finals, spec.view == View::ladder), gpu_set_(&gpu_set) {
  for (const auto& evaluator : gpu_set.evaluators) slots.emplace_back().evaluator = evaluator.get();
  const std::size_t workloads = gpu_set.tasks.empty() ? 0 : gpu_set.tasks.back().workload + 1;
  finals.resize(workloads);
  searches_.resize(workloads);
  std::vector<std::vector<SearchedSpace>> spaces(workloads);
  for (Task& task : gpu_set.tasks) {
    Search& search = searches_[task.workload];
    if (search.first == nullptr) search.first = &task;
    ++search.tasks;
    spaces[task.workload].push_back({&task.space, task.planned});
  }
  for (std::size_t workload = 0; workload < workloads; ++workload)
    searches_[workload].strategy = make(spaces[workload], spec.strategy.seed);
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

void TaskQueue::ask(Search& search, std::size_t room) {
  for (const Choice& choice : search.strategy->ask(room)) search.asked.push_back(choice);
  if (!search.asked.empty()) return;
  search.waits = !search.untold.empty();
  if (search.waits) return;
  for (Task* task = search.first; task != search.first + search.tasks; ++task) task->planned = task->proposed;
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
  search.untold.erase(choice);
  search.waits = false;
  search.strategy->tell(choice, median_us);
}

bool GpuSlot::drop_old_calibration() {
  if (measures_ceilings) return false;
  measures_ceilings = true;
  calibration.reset();
  workload.reset();
  return true;
}

std::optional<Proposal> TaskQueue::propose(std::size_t room) {
  while (Task* task = current_task()) {
    Search& search = searches_[task->workload];
    if (has_undecided(search)) {
      if (search.asked.empty()) ask(search, room);
      if (!search.asked.empty()) {
        const Choice choice = search.asked.front();
        search.asked.pop_front();
        search.untold.insert(choice);
        Task& chosen = search.first[choice.space];
        ++chosen.proposed;
        return Proposal{&chosen, choice.index, false};
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
  for (const auto& entry : compiling) lowest = std::min(lowest, entry.second.task->workload);
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
                     [&](const auto& entry) { return is_of_workload(entry.second); });
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
