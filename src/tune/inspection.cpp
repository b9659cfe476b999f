#include "tune/inspection.h"

#include "search/strategies.h"

namespace tiletune {

namespace {

/// Rows that wait for one before them: refusing takes no time, compiling may take a minute.
constexpr std::size_t kMostRows = 10000;

class Inspection {
 public:
  Inspection(const TuneSpec& spec, const std::vector<Task>& tasks, const std::vector<Target>& targets,
             const CompilePoolOptions& compile, bool sass, const InspectionObserver& observer)
      : spec_(spec),
        tasks_(tasks),
        targets_(targets),
        pool_(with_folders(compile, spec, tasks)),
        sass_(sass),
        observer_(observer) {
    if (spec.budget.evaluations > 0)
      share_ = std::max<std::uint64_t>(1, spec.budget.evaluations / tasks.size());
    for (const Task& task : tasks_) total_ += planned(task) * targets_.size();
  }

  void run() {
    const std::size_t most_pending = 4 * static_cast<std::size_t>(pool_.workers());
    while (true) {
      while (pool_.pending() < most_pending && rows_.size() < kMostRows && !observer_.interrupted() &&
             propose())
        hand_over();
      const bool is_idle = pool_.deliver() == 0;
      hand_over();
      observer_.progress(done_, total_);
      if ((exhausted_ && pool_.pending() == 0) || observer_.interrupted()) break;
      // What comes from the cache comes without a worker that could be waited for.
      if (is_idle) wait_for_work(pool_);
    }
    // Rows may be left behind one that is not complete.
    for (const Row& row : rows_)
      if (row.open == 0) observer_.row(row.result);
  }

 private:
  struct Row {
    InspectedConfiguration result;
    std::size_t open;  ///< GPUs whose part is not known yet
  };
  struct Job {
    std::size_t row;  ///< counted from the first that was ever proposed
    std::size_t gpu;
    const Task* task;
  };

  void hand_over() {
    for (; !rows_.empty() && rows_.front().open == 0; rows_.pop_front(), ++handed_over_)
      observer_.row(rows_.front().result);
  }

  Row& row_of(const Job& job) { return rows_[job.row - handed_over_]; }

  std::uint64_t planned(const Task& task) const { return std::min(share_, task.space.size()); }

  bool propose() {
    for (; next_task_ < tasks_.size() && proposed_ >= planned(tasks_[next_task_]); ++next_task_)
      proposed_ = 0;
    exhausted_ = next_task_ >= tasks_.size();
    if (exhausted_) return false;
    const Task& task = tasks_[next_task_];
    // All are shown in the space's order, and of some those that a sweep would try.
    const bool shows_all = share_ >= task.space.size();
    const auto index = shows_all ? std::optional(proposed_) : chosen_of(task);
    if (!index) {
      ++next_task_;
      proposed_ = 0;
      return true;
    }
    ++proposed_;
    InspectedConfiguration result{task.spec->name, task.spec->variant, task.problem.label(),
                                  task.space.at(*index).named(*task.spec),
                                  std::vector<InspectedOnGpu>(targets_.size())};
    rows_.push_back({std::move(result), targets_.size()});
    for (std::size_t gpu = 0; gpu < targets_.size(); ++gpu)
      submit({handed_over_ + rows_.size() - 1, gpu, &task}, *index);
    return true;
  }

  /// What a sweep of this task alone would try next, as far as that does not depend on times.
  std::optional<std::uint64_t> chosen_of(const Task& task) {
    if (proposed_ == 0)
      strategy_ = find_strategy(spec_.strategy).make({{&task.space, planned(task)}}, spec_.strategy.seed);
    const std::vector<Choice> choices = strategy_->ask(1);
    if (choices.empty()) return std::nullopt;
    strategy_->tell(choices.front(), std::nullopt);
    return choices.front().index;
  }

  void submit(const Job& job, std::uint64_t index) {
    Instance& instance = row_of(job).result.gpus[job.gpu].instance;
    const Target& target = targets_[job.gpu];
    const std::string impossible = launch_fault(*job.task, index, target.model, instance);
    if (!impossible.empty()) return complete(job, refused(row_of(job).result.gpus[job.gpu], impossible));
    pool_.submit(make_compile_request(spec_.compile, *job.task->source, instance, target.architecture),
                 [this, job](const Compiled& compiled) { complete(job, inspected(job, compiled)); });
  }

  static InspectedOnGpu refused(InspectedOnGpu result, const std::string& reason) {
    result.outcome = Outcome::refused;
    result.reason = reason;
    return result;
  }

  void complete(const Job& job, InspectedOnGpu result) {
    Row& row = row_of(job);
    row.result.gpus[job.gpu] = std::move(result);
    --row.open;
    ++done_;
  }

  InspectedOnGpu inspected(const Job& job, const Compiled& compiled) {
    InspectedOnGpu result = row_of(job).result.gpus[job.gpu];
    result.outcome = compiled.outcome;
    result.reason = compiled.reason;
    if (compiled.outcome != Outcome::ok) return result;
    try {
      result.resources = read_all_resources(*compiled.binary);
    } catch (const UserError& error) {
      const std::string reason = unusable_reason(result.instance, error);
      return refused(std::move(result), reason);
    }
    const Admission admission =
        admit_binary(targets_[job.gpu].model, result.instance, result.resources, spec_.limits);
    result.occupancies = admission.occupancies;
    result.warnings = admission.warnings;
    if (!admission.admitted) return refused(std::move(result), admission.reason);
    if (!sass_) return result;
    const Target& target = targets_[job.gpu];
    const Binary& binary = *compiled.binary;
    try {
      const KernelCode code = read_kernel_code(binary, narrowest(result.occupancies));
      result.code = MachineCode{mix_of_loop(code), mix_of_kernel(code),
                                predict(target.model, target.static_model, job.task->instantiator.workload(),
                                        result.instance, binary, result.occupancies)};
    } catch (const UserError& error) {
      return refused(std::move(result), error.what());
    }
    return result;
  }

  const TuneSpec& spec_;
  const std::vector<Task>& tasks_;
  const std::vector<Target>& targets_;
  CompilePool pool_;
  bool sass_;
  const InspectionObserver& observer_;
  std::deque<Row> rows_;
  std::size_t handed_over_ = 0;       ///< rows before the first of them
  std::uint64_t share_ = UINT64_MAX;  ///< of each task's configurations, at most
  std::size_t next_task_ = 0;
  std::uint64_t proposed_ = 0;          ///< configurations of that task
  std::unique_ptr<Strategy> strategy_;  ///< strategy of the task at hand
  bool exhausted_ = false;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

void inspect_tasks(const TuneSpec& spec, const std::vector<Task>& tasks, const std::vector<Target>& targets,
                   const CompilePoolOptions& compile, bool sass, const InspectionObserver& observer) {
  Inspection(spec, tasks, targets, compile, sass, observer).run();
}

}  // namespace tiletune
