#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "tune/ceilings.h"
#include "tune/engine.h"
#include "tune/final_rows.h"
#include "tune/row.h"

namespace tiletune {

namespace {

using State = WorkloadFinals::State;
using Json = nlohmann::ordered_json;

constexpr int kMostRepetitions = 4;
/// What the cubins in one request may take, which is one message; those of the fastest go first.
constexpr std::size_t kMostRequestBytes = 2 * kMostCubinBytes;

/// The option of a policy's finals for the longest time that their rounds may take; absent: as long as usual.
constexpr const char* kLongest = "longest_us";

double longest_us(const nlohmann::json& policy) {
  return policy["finals"].value(kLongest, std::numeric_limits<double>::infinity());
}

std::string problem_of(const TaskQueue& queue, std::size_t workload) {
  return queue.task_of(workload).problem.label();
}

FinalsRequest request_of(const WorkloadFinals& finals, const std::vector<Candidate>& kernels,
                         const GpuSlot& slot) {
  FinalsRequest request;
  // The GPU has measured some of the workload's kernels as baselines.
  for (const Candidate& kernel : kernels) {
    const std::string& name = kernel.trial.template_name;
    if (!finals.without_kernel_baselines &&
        std::ranges::find(slot.baselines, name, &Trial::template_name) != slot.baselines.end())
      request.baselines.emplace_back(name, measure_request(*kernel.task, kernel.instance, *kernel.binary));
  }
  std::size_t bytes = 0;
  for (const auto& [name, kernel] : request.baselines) bytes += kernel.cubin.size();
  for (std::size_t i = 0; i < finals.finalists.size(); ++i) {
    const Contender& finalist = finals.finalists[i];
    if (finalist.fault) continue;
    bytes += finalist.binary->cubin.size();
    if (bytes > kMostRequestBytes) break;
    request.finalists.push_back(measure_request(*finalist.task, finalist.instance, *finalist.binary));
    request.finalists.back().ticket = i + 1;
  }
  return request;
}

}  // namespace

Finals::Finals(SweepContext& sweep, Recorder& recorder) : sweep_(sweep), recorder_(recorder) {
  const bool wanted = sweep.spec.measure.finals.configurations > 0;
  for (TaskQueue& queue : sweep_.queues) {
    if (wanted && queue.measures()) continue;
    for (WorkloadState& workload : queue.workloads) workload.finals.state = State::over;
  }
}

void Finals::open_due(TaskQueue& queue) {
  for (std::size_t workload = 0; workload < queue.workloads.size(); ++workload) {
    const bool pending = queue.workloads[workload].finals.state == State::pending;
    if (pending && !queue.is_open(workload, sweep_.stopping)) open(queue, workload);
  }
}

void Finals::open(TaskQueue& queue, std::size_t workload) {
  Selection selection = queue.standings.selection(workload);
  if (selection.contenders.empty() || is_done_before(queue, selection, workload))
    return close(queue, workload);
  if (sweep_.summary.interrupted) return leave_out(queue, workload, "interrupted");
  if (selection.cut)
    sweep_.observer.on_note(fmt::format("the finals of {} take the fastest {} only: more are near the best",
                                        problem_of(queue, workload), selection.contenders.size()));
  WorkloadFinals& finals = queue.workloads[workload].finals;
  finals.finalists = std::move(selection.contenders);
  for (std::size_t place = 0; place < finals.finalists.size(); ++place) {
    Contender& finalist = finals.finalists[place];
    instantiate(*finalist.task, finalist.index, queue.target().model, finalist.instance);
    if (finalist.binary) continue;
    // Reused rows come without their binaries; the kernel cache has them.
    ++finals.compiling;
    sweep_.pool.submit(sweep_.request(queue, *finalist.task, finalist.instance),
                       [this, &queue, workload, place](const Compiled& compiled) {
                         take_compiled(queue, workload, place, compiled);
                       });
  }
  finals.state = finals.compiling == 0 ? State::ready : State::compiling;
}

/// Finals that an earlier sweep held with the same finalists, in the same way, and of whose workload this one
/// has measured nothing. That they timed the best in further ways, which are not asked for now, does no harm.
bool Finals::is_done_before(const TaskQueue& queue, const Selection& selection, std::size_t workload) const {
  const Contender& leader = selection.contenders.front();
  const bool same = std::all_of(selection.contenders.begin(), selection.contenders.end(),
                                [&](const Contender& one) { return one.final_of == leader.final_of; });
  if (leader.final_of == 0 || !same || queue.workloads[workload].is_measured) return false;
  const auto twin = sweep_.database.find(twin_key(leader.key));
  // Whatever the order of their fields.
  auto held = nlohmann::json::parse(twin ? twin->measure_policy : "", nullptr, false);
  const auto wanted = nlohmann::json::parse(policy_text(queue));
  if (!held.is_object() || !held.contains("finals") || longest_us(held) < longest_us(wanted)) return false;
  const FinalsPolicy& finals = sweep_.spec.measure.finals;
  const auto ignore = [&](const char* option) {
    held["finals"].erase(option);
    if (wanted["finals"].contains(option)) held["finals"][option] = wanted["finals"][option];
  };
  ignore(kLongest);
  if (finals.sustained_s <= 0) ignore("sustained_s");
  if (finals.regimes.empty()) ignore("regimes");
  if (!finals.host_copies) ignore("host_copies");
  if (held != wanted) return false;
  sweep_.database.mark_seen(twin->key, sweep_.summary.sweep_id);
  return true;
}

/// How finals of this sweep are held, with the longest time that their rounds may take if it is shorter than
/// usual.
std::string Finals::policy_text(const TaskQueue& queue) const {
  const double limit_us = queue.searches.longest_finals_us();
  if (limit_us >= FinalsRequest().longest_us) return finals_policy_text(sweep_.spec);
  auto policy = Json::parse(finals_policy_text(sweep_.spec));
  policy["finals"][kLongest] = limit_us;
  return policy.dump();
}

void Finals::take_compiled(TaskQueue& queue, std::size_t workload, std::size_t place,
                           const Compiled& compiled) {
  WorkloadFinals& finals = queue.workloads[workload].finals;
  if (finals.state != State::compiling) return;  // They were left out meanwhile.
  finals.finalists[place].binary = compiled.binary;
  if (!compiled.binary)
    sweep_.observer.on_note("a kernel is left out of the finals, it does not compile: " + compiled.reason);
  if (--finals.compiling > 0) return;
  std::erase_if(finals.finalists, [](const Contender& finalist) { return !finalist.binary; });
  finals.state = State::ready;
  if (finals.finalists.empty()) leave_out(queue, workload, "no kernel compiles any more");
}

std::optional<std::size_t> Finals::due(TaskQueue& queue, const GpuSlot& slot) {
  open_due(queue);
  for (std::size_t workload = 0; workload < queue.workloads.size(); ++workload) {
    WorkloadFinals& finals = queue.workloads[workload].finals;
    if (finals.state != State::compiling && finals.state != State::ready) continue;
    if (const auto why = queue.why_unmeasurable(workload)) {
      leave_out(queue, workload, *why);
      continue;
    }
    // A GPU that lost its worker with them leaves them to others.
    const auto can = [&](const GpuSlot& one) { return one.can_measure(workload) && finals.lost_on != &one; };
    if (std::none_of(queue.slots.begin(), queue.slots.end(), can)) finals.lost_on = nullptr;
    const bool holds = slot.workload == workload;
    const bool another_holds = std::any_of(queue.slots.begin(), queue.slots.end(), [&](const GpuSlot& other) {
      return &other != &slot && other.workload == workload && can(other);
    });
    if (!can(slot) || (!holds && another_holds)) continue;
    if (finals.state == State::ready || holds) return workload;
  }
  return std::nullopt;
}

void Finals::start(TaskQueue& queue, GpuSlot& slot) {
  WorkloadState& workload = queue.workloads[*slot.workload];
  WorkloadFinals& finals = workload.finals;
  finals.state = State::running;
  finals.slot = &slot;
  finals.begun = slot.busy_since = Clock::now();
  finals.turns = 0;
  slot.for_finals = true;
  FinalsRequest request = request_of(finals, workload.kit.baselines, slot);
  request.longest_us = std::min(request.longest_us, queue.searches.longest_finals_us());
  if (request.finalists.size() < finals.sound())
    sweep_.observer.on_note(
        fmt::format("the finals of {} take the fastest {} of {} configurations only: their cubins exceed {} "
                    "together",
                    problem_of(queue, *slot.workload), request.finalists.size(), finals.sound(),
                    human_bytes(kMostRequestBytes)));
  slot.evaluator->run_finals(std::move(request));
}

void Finals::finish(TaskQueue& queue, GpuSlot& slot, const FinalsMeasured& measured) {
  const std::size_t workload = *slot.workload;
  WorkloadFinals& finals = queue.workloads[workload].finals;
  free_slot(slot, finals);
  constexpr double kMillisecondsPerSecond = 1e3;
  sweep_.summary.gpu_s += measured.wall_ms / kMillisecondsPerSecond;
  const Contender* const leader = finals.leader();
  for (const Measured& time : measured.times) {
    Contender* finalist = finals.finalist(time.ticket);
    // Without enough memory it has no time here; that is not a fault.
    const bool went_well = time.outcome == Outcome::ok || time.outcome == Outcome::refused;
    if (finalist != nullptr && !went_well)
      finalist->fault = Contender::Fault{time.outcome, time.reason, &slot};
  }
  if (!find_implausible(queue, slot, finals, measured))
    return repeat(queue, workload, "a time contradicts the ceilings of an earlier sweep");
  if (confirm_faults(queue, workload)) return;
  // The twin is a copy of the leader: one that is faulty says nothing of the noise.
  if (leader->fault) return repeat(queue, workload, leader->fault->reason);
  std::vector<Trial> rows = final_rows(sweep_.database, finals, measured, slot, queue.task_of(workload));
  for (Trial& row : rows)
    if (row.kind == "twin") row.measure_policy = policy_text(queue);
  if (!rows.empty()) recorder_.record_rows(std::move(rows));
  ++sweep_.summary.finals;
  close(queue, workload);
}

void Finals::lose(TaskQueue& queue, GpuSlot& slot, const WorkerLost& loss) {
  const std::size_t workload = *slot.workload;
  WorkloadFinals& finals = queue.workloads[workload].finals;
  free_slot(slot, finals);
  finals.lost_on = &slot;
  Contender* finalist = loss.without_fault ? nullptr : finals.finalist(loss.end.ticket);
  finals.without_kernel_baselines |= loss.end.ticket == 0 && !loss.without_fault;
  const bool another_decides = queue.others_can(slot, workload);
  if (finalist != nullptr && (std::exchange(finalist->suspect, true) || !another_decides))
    finalist->fault = Contender::Fault{loss.end.outcome, loss.end.reason, &slot};
  repeat(queue, workload, loss.end.reason);
}

void Finals::free_slot(GpuSlot& slot, WorkloadFinals& finals) {
  slot.for_finals = false;
  finals.slot = nullptr;
  sweep_.summary.finals_s += seconds_since(finals.begun);
}

/// False where the ceilings have to be measured again first.
bool Finals::find_implausible(const TaskQueue& queue, GpuSlot& slot, WorkloadFinals& finals,
                              const FinalsMeasured& measured) const {
  for (const Measured& time : measured.times) {
    Contender* finalist = finals.finalist(time.ticket);
    if (finalist == nullptr || finalist->fault || !time.timing) continue;
    const ClaimedTime claim{time.timing->median_us, time.timing->batch, sweep_.spec.measure.cache,
                            time.timing->isolated_us};
    auto why = batch_fault(claim, *finalist->task->spec);
    if (!why) {
      why = implausibility(claim, *finalist->task, queue.target().model, slot.calibration);
      if (why && slot.drop_old_calibration()) return false;
    }
    if (!why) continue;
    finalist->fault = Contender::Fault{Outcome::implausible, *why, &slot};
  }
  return true;
}

/// Takes the rank from the rows in which a fault was found, for good: not before finals have come to their
/// end or are given up, as a GPU that is retired until then may have been the cause. What was screened out
/// against a leader among them is tried again, and the finals are held after that; false where there is
/// nothing to try.
bool Finals::confirm_faults(TaskQueue& queue, std::size_t workload) {
  WorkloadFinals& finals = queue.workloads[workload].finals;
  std::vector<Screened> again;
  for (Contender& finalist : finals.finalists) {
    if (!finalist.fault || finalist.fault->slot == nullptr || finalist.fault->slot->retired) continue;
    recorder_.disqualify(finalist.key, finalist.fault->outcome, finalist.fault->reason);
    finalist.fault->slot = nullptr;
    for (const Screened& screened :
         queue.standings.disqualify(*finalist.task, finalist.key, sweep_.spec.measure.screening))
      again.push_back(screened);
  }
  if (again.empty() || sweep_.stopping) return false;
  sweep_.observer.on_note(fmt::format("{} of {} tried again: a leader was found to be faulty",
                                      counted(again.size(), "configuration"), problem_of(queue, workload)));
  for (const Screened& screened : again) recorder_.try_again(queue, screened);
  finals = WorkloadFinals{};
  return true;
}

/// Without those in which a fault was found.
void Finals::repeat(TaskQueue& queue, std::size_t workload, const std::string& why) {
  WorkloadFinals& finals = queue.workloads[workload].finals;
  finals.state = State::ready;
  const bool any_left = finals.leader() != nullptr;
  if (any_left && ++finals.repetitions <= kMostRepetitions) return;
  if (confirm_faults(queue, workload)) return;
  leave_out(queue, workload,
            any_left ? fmt::format("started {} times; last error: {}", finals.repetitions, why) : why);
}

void Finals::release(TaskQueue& queue, GpuSlot& slot) {
  slot.for_finals = false;
  for (WorkloadState& workload : queue.workloads) {
    WorkloadFinals& finals = workload.finals;
    if (finals.slot == &slot) {
      finals.slot = nullptr;
      finals.state = State::ready;
    }
    // Finalists of finals that another GPU is running are settled.
    if (finals.state == State::running) continue;
    for (Contender& finalist : finals.finalists)
      if (finalist.fault && finalist.fault->slot == &slot) finalist.fault.reset();
  }
}

void Finals::leave_out(TaskQueue& queue, std::size_t workload, const std::string& why) {
  ++sweep_.summary.finals_left_out;
  sweep_.observer.on_note(fmt::format("the finals of {} on {} are left out, and the first times stand: {}",
                                      problem_of(queue, workload), queue.target().name, why));
  close(queue, workload);
}

void Finals::close(TaskQueue& queue, std::size_t workload) {
  queue.workloads[workload].finals = WorkloadFinals{.state = State::over};
  queue.standings.forget(workload);
}

bool Finals::over(TaskQueue& queue) {
  open_due(queue);
  bool all = true;
  for (std::size_t workload = 0; workload < queue.workloads.size(); ++workload) {
    const State state = queue.workloads[workload].finals.state;
    const bool is_due = state == State::compiling || state == State::ready;
    if (state == State::pending && !queue.alive())
      close(queue, workload);
    else if (is_due && !queue.alive())
      leave_out(queue, workload, "no GPU is left");
    else if (is_due && sweep_.summary.interrupted)
      leave_out(queue, workload, "interrupted");
    all = all && queue.workloads[workload].finals.state == State::over;
  }
  return all;
}

std::optional<ProgressState> Finals::progress() const {
  for (const TaskQueue& queue : sweep_.queues) {
    for (std::size_t workload = 0; workload < queue.workloads.size(); ++workload) {
      const WorkloadFinals& finals = queue.workloads[workload].finals;
      if (finals.state != State::running) continue;
      // The twin takes part too. Those that are given up early make it end before the total.
      const std::size_t kernels = finals.sound() + finals.slot->baselines.size() + 1;
      const auto rounds = static_cast<std::uint64_t>(sweep_.spec.measure.finals.rounds);
      return ProgressState{"finals " + problem_of(queue, workload), finals.turns, kernels * rounds, ""};
    }
  }
  return std::nullopt;
}

}  // namespace tiletune
