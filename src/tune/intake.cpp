#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "inspect/kernel_code.h"
#include "tune/ceilings.h"
#include "tune/engine.h"
#include "tune/identity.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// Compiled candidates of a set of GPUs that may wait for its evaluators; bounds memory and how far compiling
/// runs ahead.
constexpr std::size_t kMostReady = 256;
/// For each compile worker, how many configurations may be ready before a problem's share of the time begins.
constexpr std::size_t kAhead = 2;
/// Where nothing is compiled there is nothing to run ahead with. Compile workers, `workers` of them, need not
/// stand still while the GPU is not done with the problem before.
std::size_t most_ready(TaskQueue& queue, std::size_t workers) {
  if (!queue.compiles()) return 1;
  if (!queue.searches.keep_little_under_way()) return kMostReady;
  return std::max(2 * queue.slots.size(), queue.searches.propose_ahead() ? kAhead * workers : 0);
}
/// Proposals between two looks at the workers and at Ctrl-C, when all of them are reused.
constexpr int kMostProposals = 256;

}  // namespace

void name_row(const TuneSpec& spec, const TaskQueue& queue, Candidate& candidate) {
  const Task& task = *candidate.task;
  const IdentityFields measurement =
      measurement_identity(spec, task, queue.target(), candidate.instance, candidate.trial,
                           queue.measures() ? task.operation_hash().value_or("") : "");
  candidate.trial.measurement = measurement.hex();
  candidate.trial.key = row_identity(candidate.trial, measurement).hex();
}

void add_binary(const TuneSpec& spec, const GpuModel& gpu, Candidate& candidate, const Compiled& compiled) {
  Trial& row = candidate.trial;
  if (compiled.outcome != Outcome::ok) {
    row.outcome = compiled.outcome;
    row.reason = compiled.reason;
    return;
  }
  candidate.binary = compiled.binary;
  row.compile_ms = compiled.binary->compile_ms;
  try {
    const std::vector<Resources> resources = read_all_resources(*compiled.binary);
    row.kernel_hash = kernel_hash(*compiled.binary);
    row.pipe = pipe_of(*candidate.task->spec, *compiled.binary);
    const Admission admission = admit_binary(gpu, candidate.instance, resources, spec.limits);
    add_admission(row, resources, admission, candidate.instance);
    candidate.occupancies = admission.occupancies;
  } catch (const UserError& error) {
    row.outcome = Outcome::refused;
    row.reason = unusable_reason(candidate.instance, error);
  }
}

std::size_t Intake::compiling() const {
  std::size_t count = 0;
  for (const TaskQueue& queue : sweep_.queues) count += queue.compiling.size();
  return count;
}

/// The queue with the fewest candidates, among those that need more; null: none does.
TaskQueue* Intake::shortest_queue() {
  TaskQueue* shortest = nullptr;
  const auto workers = static_cast<std::size_t>(sweep_.pool.workers());
  const auto supplies = [](const TaskQueue& queue) { return queue.compiling.size() + queue.ready.size(); };
  for (TaskQueue& queue : sweep_.queues) {
    const Search* next = queue.searches.current();
    const bool wants = queue.alive() && queue.ready.size() < most_ready(queue, workers) && next != nullptr &&
                       !next->is_waiting();
    if (wants && (shortest == nullptr || supplies(queue) < supplies(*shortest))) shortest = &queue;
  }
  return shortest;
}

void Intake::propose() {
  for (TaskQueue& queue : sweep_.queues) queue.end_searches(sweep_.elapsed_s());
  if (sweep_.stopping) return;
  // A few for GPUs that are about to wait for compilers: they are ready after this step.
  for (TaskQueue& queue : sweep_.queues) {
    if (!queue.alive()) continue;
    for (const Proposal& proposal : queue.propose_compiled())
      if (!start(queue, proposal)) queue.searches[proposal.task->workload].forget_compiled(*proposal.task);
  }
  const bool few = sweep_.queues.front().searches.keep_little_under_way();
  const std::size_t most_compiling = (few ? 1 : 4) * static_cast<std::size_t>(sweep_.pool.workers());
  for (int started = 0; started < kMostProposals; ++started) {
    if (compiling() >= most_compiling) return;
    TaskQueue* queue = shortest_queue();
    if (queue == nullptr) return;
    const std::size_t most = !queue->compiles()                ? 1
                             : queue->searches.propose_ahead() ? kAhead * most_compiling
                                                               : most_compiling - compiling();
    if (const auto proposal = queue->searches.propose(most)) start(*queue, *proposal);
  }
}

/// False when it has to be compiled.
bool Intake::start(TaskQueue& queue, const Proposal& proposal) {
  Candidate candidate{.task = proposal.task, .index = proposal.index, .deferred = proposal.deferred};
  candidate.trial.sweep_id = candidate.trial.seen_in_sweep = sweep_.summary.sweep_id;
  if (!queue.compiles()) {
    queue.ready.push_back(std::move(candidate));
    return true;
  }
  const Target& target = queue.target();
  const std::string impossible =
      launch_fault(*proposal.task, proposal.index, target.model, candidate.instance);
  CompileRequest request = sweep_.request(queue, *proposal.task, candidate.instance);
  candidate.trial = make_trial(sweep_.spec, *proposal.task, target, candidate.instance, request);
  candidate.trial.sweep_id = candidate.trial.seen_in_sweep = sweep_.summary.sweep_id;
  name_row(sweep_.spec, queue, candidate);
  if (!impossible.empty()) {
    recorder_.refuse(queue, std::move(candidate), impossible);
    return true;
  }
  if (recognise(request, candidate.trial)) {
    name_row(sweep_.spec, queue, candidate);
    if (recorder_.is_known(queue, candidate)) return true;
  }
  const auto compiling = queue.compiling.emplace_back(std::make_shared<Candidate>(std::move(candidate)));
  // A database may know what the kernel cache of this machine lacks.
  return sweep_.pool.submit(std::move(request),
                            [this, &queue, wanted = std::weak_ptr(compiling)](const Compiled& compiled) {
                              const std::shared_ptr<Candidate> held = wanted.lock();
                              if (!held) return;
                              std::erase(queue.compiling, held);
                              if (!sweep_.stopping) admit(queue, std::move(*held), compiled);
                            });
}

/// Fills in what a source was compiled into, if that is known; false when only compiling shows it.
bool Intake::recognise(const CompileRequest& request, Trial& row) {
  for (const Trial& known : sweep_.database.find_source(row.source_key)) {
    const auto files = lists_.read(known.included_files);
    if (!files || !files_.holds(request.source, *files)) continue;
    row.kernel_hash = known.kernel_hash;
    row.included_files = known.included_files;
    return true;
  }
  const auto compiled = sweep_.pool.find(request);
  if (!compiled) return false;
  row.included_files = lists_.text_of(compiled->dependencies);
  try {
    if (compiled->binary) row.kernel_hash = kernel_hash(*compiled->binary);
  } catch (const UserError&) {
    return false;  // it becomes a row with the reason
  }
  return true;
}

void Intake::admit(TaskQueue& queue, Candidate candidate, const Compiled& compiled) {
  Trial& row = candidate.trial;
  row.included_files = lists_.text_of(compiled.dependencies);
  row.kernel_hash.clear();
  name_row(sweep_.spec, queue, candidate);  // as which it stays if it will not run
  if (!compiled.binary && recorder_.is_known(queue, candidate)) return;
  add_binary(sweep_.spec, queue.target().model, candidate, compiled);
  if (row.outcome != Outcome::dispatched) return recorder_.record(queue, std::move(candidate));
  name_row(sweep_.spec, queue, candidate);
  // A kernel that is measured has no complete key before its operation's kernels are compiled.
  const bool is_complete = !queue.measures() || row.kernel_hash.empty() || candidate.task->operation_hash();
  if (is_complete && recorder_.is_known(queue, candidate)) return;
  queue.ready.push_back(std::move(candidate));
}

}  // namespace tiletune
