#include "tune/finals.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "tune/ceilings.h"
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

std::size_t workload_of(const TaskQueue& queue, const WorkloadFinals& finals) {
  return static_cast<std::size_t>(&finals - queue.finals.data());
}

/// The finals that a GPU runs.
WorkloadFinals* finals_on(TaskQueue& queue, const GpuSlot& slot) {
  const auto found = std::find_if(queue.finals.begin(), queue.finals.end(),
                                  [&](const WorkloadFinals& finals) { return finals.slot == &slot; });
  return found == queue.finals.end() ? nullptr : &*found;
}

/// Asks for the workload's kernels that the GPU has measured as baselines.
void add_baselines(FinalsRequest& request, const std::vector<Candidate>& kernels, const GpuSlot& slot) {
  for (const Candidate& kernel : kernels) {
    const std::string& name = kernel.trial.template_name;
    const auto is_it = [&](const Trial& row) { return row.template_name == name; };
    if (std::any_of(slot.baselines.begin(), slot.baselines.end(), is_it))
      request.baselines.push_back({name, measure_request(*kernel.task, kernel.instance, *kernel.binary)});
  }
}

FinalsRequest request_of(const WorkloadFinals& finals, const std::vector<Candidate>& kernels,
                         const GpuSlot& slot) {
  FinalsRequest request;
  if (!finals.without_kernel_baselines) add_baselines(request, kernels, slot);
  std::size_t bytes = 0;
  for (const FinalsRequest::Baseline& baseline : request.baselines) bytes += baseline.kernel.cubin.size();
  for (std::size_t i = 0; i < finals.finalists.size(); ++i) {
    const Finalist& finalist = finals.finalists[i];
    if (finalist.fault) continue;
    bytes += finalist.entry.binary->cubin.size();
    if (bytes > kMostRequestBytes) break;
    request.finalists.push_back(
        measure_request(*finalist.entry.task, finalist.instance, *finalist.entry.binary));
    request.finalists.back().ticket = i + 1;
  }
  return request;
}

void free_slot(GpuSlot& slot, WorkloadFinals& finals) {
  slot.for_finals = false;
  finals.slot = nullptr;
}

/// A GPU that lost its worker with them leaves them to others.
bool can_run(const WorkloadFinals& finals, const GpuSlot& slot, std::size_t workload) {
  return !slot.retired && !slot.failed_workloads.contains(workload) && finals.lost_on != &slot;
}

}  // namespace

Finals::Finals(SweepContext& sweep, Recorder& recorder) : sweep_(sweep), recorder_(recorder) {
  const bool wanted = sweep.spec.measure.finals.configurations > 0;
  for (TaskQueue& queue : sweep_.queues) {
    if (wanted && queue.slots.front().evaluator->measures()) continue;
    for (WorkloadFinals& finals : queue.finals) finals.state = State::over;
  }
}

void Finals::open_due(TaskQueue& queue) {
  for (std::size_t workload = 0; workload < queue.finals.size(); ++workload) {
    const bool pending = queue.finals[workload].state == State::pending;
    if (pending && !queue.is_open(workload, sweep_.stopping)) open(queue, workload);
  }
}

void Finals::open(TaskQueue& queue, std::size_t workload) {
  WorkloadFinals& finals = queue.finals[workload];
  Selection selection = queue.standings.selection(workload);
  if (selection.entries.empty() || is_done_before(queue, selection, workload)) return close(queue, finals);
  if (sweep_.summary.interrupted) return leave_out(queue, finals, "interrupted");
  if (selection.cut) {
    sweep_.observer.on_note(fmt::format("the finals of {} take the fastest {} only: more are near the best",
                                        queue.task_of(workload).problem.label(), selection.entries.size()));
  }
  gather(queue, finals, std::move(selection.entries));
}

/// Finals that an earlier sweep held with the same finalists, in the same way, and of whose workload this one
/// has measured nothing. That they timed the best in further ways, which are not asked for now, does no harm.
bool Finals::is_done_before(const TaskQueue& queue, const Selection& selection, std::size_t workload) const {
  const std::vector<StandingsEntry>& entries = selection.entries;
  const std::int64_t sweep_id = entries.front().finals_of;
  const bool same = std::all_of(entries.begin(), entries.end(),
                                [&](const StandingsEntry& entry) { return entry.finals_of == sweep_id; });
  if (sweep_id == 0 || !same || queue.measured_workloads.contains(workload)) return false;
  const auto twin = sweep_.database.find(twin_key(entries.front().key));
  if (!twin || !held_as_wanted(queue, twin->measure_policy)) return false;
  sweep_.database.mark_seen(twin->key, sweep_.summary.sweep_id);
  return true;
}

bool Finals::held_as_wanted(const TaskQueue& queue, const std::string& policy) const {
  // Whatever the order of their fields.
  auto held = nlohmann::json::parse(policy, nullptr, false);
  const auto wanted = nlohmann::json::parse(policy_text(queue));
  if (!held.is_object() || !held.contains("finals") || longest_us(held) < longest_us(wanted)) return false;
  const FinalsPolicy& finals = sweep_.spec.measure.finals;
  const auto ignore = [&](const char* option) {
    held["finals"].erase(option);
    if (wanted["finals"].contains(option)) held["finals"][option] = wanted["finals"][option];
  };
  ignore(kLongest);
  if (finals.sustained_s <= 0) ignore("sustained_s");
  if (!finals.host_copies) ignore("host_copies");
  return held == wanted;
}

/// How finals of this sweep are held, with the longest time that their rounds may take if it is shorter than
/// usual.
std::string Finals::policy_text(const TaskQueue& queue) const {
  const double limit_us = queue.longest_finals_us();
  if (limit_us >= FinalsRequest().longest_us) return finals_policy_text(sweep_.spec);
  auto policy = Json::parse(finals_policy_text(sweep_.spec));
  policy["finals"][kLongest] = limit_us;
  return policy.dump();
}

/// Reused rows come without their binaries; the kernel cache has them.
void Finals::gather(TaskQueue& queue, WorkloadFinals& finals, std::vector<StandingsEntry> entries) {
  for (StandingsEntry& entry : entries) {
    Finalist finalist;
    finalist.entry = std::move(entry);
    const Task& task = *finalist.entry.task;
    instantiate(task, finalist.entry.index, queue.target().model, finalist.instance);
    if (!finalist.entry.binary) {
      ++finals.compiling;
      sweep_.pool.submit(make_compile_request(sweep_.spec.compile, *task.source, finalist.instance,
                                              queue.target().architecture),
                         [this, &queue, &finals, place = finals.finalists.size()](const Compiled& compiled) {
                           take_compiled(queue, finals, place, compiled);
                         });
    }
    finals.finalists.push_back(std::move(finalist));
  }
  finals.state = finals.compiling == 0 ? State::ready : State::compiling;
}

void Finals::take_compiled(TaskQueue& queue, WorkloadFinals& finals, std::size_t place,
                           const Compiled& compiled) {
  if (finals.state != State::compiling) return;  // They were left out meanwhile.
  finals.finalists[place].entry.binary = compiled.binary;
  if (!compiled.binary)
    sweep_.observer.on_note("a kernel is left out of the finals, it does not compile: " + compiled.reason);
  if (--finals.compiling > 0) return;
  std::erase_if(finals.finalists, [](const Finalist& finalist) { return !finalist.entry.binary; });
  finals.state = State::ready;
  if (finals.finalists.empty()) leave_out(queue, finals, "no kernel compiles any more");
}

Finals::Call Finals::call(TaskQueue& queue, const GpuSlot& slot) {
  open_due(queue);
  for (WorkloadFinals& finals : queue.finals) {
    if (finals.state != State::compiling && finals.state != State::ready) continue;
    const std::size_t workload = workload_of(queue, finals);
    if (const auto why = queue.why_unmeasurable(workload)) {
      leave_out(queue, finals, *why);
      continue;
    }
    const auto can = [&](const GpuSlot& other) { return can_run(finals, other, workload); };
    if (std::none_of(queue.slots.begin(), queue.slots.end(), can)) finals.lost_on = nullptr;
    const bool holds = slot.workload == workload;
    const bool another_holds = std::any_of(queue.slots.begin(), queue.slots.end(), [&](const GpuSlot& other) {
      return &other != &slot && other.workload == workload && can(other);
    });
    if (!can(slot) || (!holds && another_holds)) continue;
    if (finals.state == State::ready) return {Call::What::run, workload};
    if (holds) return {Call::What::wait, workload};
  }
  return {};
}

void Finals::start(TaskQueue& queue, GpuSlot& slot, std::size_t workload) {
  WorkloadFinals& finals = queue.finals[workload];
  finals.state = State::running;
  finals.slot = &slot;
  finals.begun = slot.busy_since = Clock::now();
  finals.turns = 0;
  slot.for_finals = true;
  FinalsRequest request = request_of(finals, queue.baselines[workload].ready, slot);
  request.longest_us = std::min(request.longest_us, queue.longest_finals_us());
  const auto wanted =
      static_cast<std::size_t>(std::count_if(finals.finalists.begin(), finals.finalists.end(),
                                             [](const Finalist& finalist) { return !finalist.fault; }));
  if (request.finalists.size() < wanted) {
    sweep_.observer.on_note(
        fmt::format("the finals of {} take the fastest {} of {} configurations only: their cubins exceed {} "
                    "together",
                    queue.task_of(workload).problem.label(), request.finalists.size(), wanted,
                    human_bytes(kMostRequestBytes)));
  }
  slot.evaluator->run_finals(std::move(request));
}

void Finals::take_turn(TaskQueue& queue, const GpuSlot& slot) {
  if (WorkloadFinals* finals = finals_on(queue, slot)) ++finals->turns;
}

void Finals::finish(TaskQueue& queue, GpuSlot& slot, const FinalsMeasured& measured) {
  WorkloadFinals& finals = *finals_on(queue, slot);
  free_slot(slot, finals);
  sweep_.summary.finals_s += seconds_since(finals.begun);
  constexpr double kMillisecondsPerSecond = 1e3;
  sweep_.summary.gpu_s += measured.wall_ms / kMillisecondsPerSecond;
  const Finalist* const leader = finals.leader();
  for (const Measured& time : measured.times) {
    Finalist* finalist = finals.finalist(time.ticket);
    // Without enough memory it has no time here; that is not a fault.
    const bool went_well = time.outcome == Outcome::ok || time.outcome == Outcome::refused;
    if (finalist != nullptr && !went_well)
      finalist->fault = Finalist::Fault{time.outcome, time.reason, &slot};
  }
  if (!find_implausible(queue, slot, finals, measured))
    return repeat(queue, finals, "a time contradicts the ceilings of an earlier sweep");
  if (confirm_faults(queue, finals)) return;
  // The twin is a copy of the leader: one that is faulty says nothing of the noise.
  if (leader->fault) return repeat(queue, finals, leader->fault->reason);
  record(queue, slot, finals, measured);
  ++sweep_.summary.finals;
  close(queue, finals);
}

void Finals::lose(TaskQueue& queue, GpuSlot& slot, const WorkerLost& loss) {
  WorkloadFinals& finals = *finals_on(queue, slot);
  free_slot(slot, finals);
  sweep_.summary.finals_s += seconds_since(finals.begun);
  finals.lost_on = &slot;
  Finalist* finalist = loss.without_fault ? nullptr : finals.finalist(loss.end.ticket);
  finals.without_kernel_baselines |= loss.end.ticket == 0 && !loss.without_fault;
  const bool another_decides = queue.others_can(slot, workload_of(queue, finals));
  if (finalist != nullptr && (std::exchange(finalist->suspect, true) || !another_decides))
    finalist->fault = Finalist::Fault{loss.end.outcome, loss.end.reason, &slot};
  repeat(queue, finals, loss.end.reason);
}

/// False where the ceilings have to be measured again first.
bool Finals::find_implausible(const TaskQueue& queue, GpuSlot& slot, WorkloadFinals& finals,
                              const FinalsMeasured& measured) const {
  for (const Measured& time : measured.times) {
    Finalist* finalist = finals.finalist(time.ticket);
    if (finalist == nullptr || finalist->fault || !time.timing) continue;
    const StandingsEntry& entry = finalist->entry;
    const ClaimedTime claim{time.timing->median_us, time.timing->batch, sweep_.spec.measure.cache};
    const auto why =
        implausibility(claim, *entry.task, *entry.binary, queue.target().model, slot.calibration);
    if (!why) continue;
    if (slot.drop_old_calibration()) return false;
    finalist->fault = Finalist::Fault{Outcome::implausible, *why, &slot};
  }
  return true;
}

/// Takes the rank from the rows in which a fault was found, for good: not before finals have come to their
/// end or are given up, as a GPU that is retired until then may have been the cause. What was screened out
/// against a leader among them is tried again, and the finals are held after that; false where there is
/// nothing to try.
bool Finals::confirm_faults(TaskQueue& queue, WorkloadFinals& finals) {
  std::vector<Screened> again;
  for (Finalist& finalist : finals.finalists) {
    if (!finalist.fault || finalist.fault->slot == nullptr || finalist.fault->slot->retired) continue;
    const StandingsEntry& entry = finalist.entry;
    recorder_.disqualify(entry.key, finalist.fault->outcome, finalist.fault->reason);
    finalist.fault->slot = nullptr;
    for (const Screened& screened :
         queue.standings.disqualify(*entry.task, entry.key, sweep_.spec.measure.screening))
      again.push_back(screened);
  }
  if (again.empty() || sweep_.stopping) return false;
  sweep_.observer.on_note(fmt::format("{} of {} tried again: a leader was found to be faulty",
                                      counted(again.size(), "configuration"),
                                      queue.task_of(workload_of(queue, finals)).problem.label()));
  for (const Screened& screened : again) recorder_.try_again(queue, screened);
  finals = WorkloadFinals{};
  return true;
}

/// Without those in which a fault was found.
void Finals::repeat(TaskQueue& queue, WorkloadFinals& finals, const std::string& why) {
  finals.state = State::ready;
  const bool any_left = finals.leader() != nullptr;
  if (any_left && ++finals.repetitions <= kMostRepetitions) return;
  if (confirm_faults(queue, finals)) return;
  leave_out(queue, finals,
            any_left ? fmt::format("started {} times; last error: {}", finals.repetitions, why) : why);
}

void Finals::release(TaskQueue& queue, GpuSlot& slot) {
  slot.for_finals = false;
  if (WorkloadFinals* finals = finals_on(queue, slot)) {
    finals->slot = nullptr;
    finals->state = State::ready;
  }
  for (WorkloadFinals& finals : queue.finals) {
    // Finalists of finals that another GPU is running are settled.
    if (finals.state == State::running) continue;
    for (Finalist& finalist : finals.finalists) {
      if (finalist.fault && finalist.fault->slot == &slot) finalist.fault.reset();
    }
  }
}

void Finals::record(TaskQueue& queue, const GpuSlot& slot, WorkloadFinals& finals,
                    const FinalsMeasured& measured) {
  FinalRows rows = collect_final_rows(sweep_.database, finals, measured, slot.baselines);
  if (rows.finalists.empty()) return;
  const Task& task = queue.task_of(workload_of(queue, finals));
  std::vector<Trial> final_rows = rows_with_final_times(std::move(rows), measured.condition, slot, task);
  for (Trial& row : final_rows) {
    if (row.kind == "twin") row.measure_policy = policy_text(queue);
  }
  recorder_.record_finals(std::move(final_rows));
}

void Finals::leave_out(TaskQueue& queue, WorkloadFinals& finals, const std::string& why) {
  ++sweep_.summary.finals_left_out;
  sweep_.observer.on_note(fmt::format("the finals of {} on {} are left out, and the first times stand: {}",
                                      queue.task_of(workload_of(queue, finals)).problem.label(),
                                      queue.target().name, why));
  close(queue, finals);
}

void Finals::close(TaskQueue& queue, WorkloadFinals& finals) {
  finals = WorkloadFinals{};
  finals.state = State::over;
  queue.standings.forget(workload_of(queue, finals));
}

bool Finals::over(TaskQueue& queue) {
  open_due(queue);
  for (WorkloadFinals& finals : queue.finals) {
    if (finals.state == State::over || finals.state == State::running) continue;
    if (finals.state == State::pending && queue.alive()) continue;
    if (finals.state == State::pending)
      close(queue, finals);
    else if (!queue.alive())
      leave_out(queue, finals, "no GPU is left");
    else if (sweep_.summary.interrupted)
      leave_out(queue, finals, "interrupted");
  }
  return std::all_of(queue.finals.begin(), queue.finals.end(),
                     [](const WorkloadFinals& finals) { return finals.state == State::over; });
}

std::optional<ProgressState> Finals::progress() const {
  for (TaskQueue& queue : sweep_.queues) {
    for (const WorkloadFinals& finals : queue.finals) {
      if (finals.state != State::running) continue;
      const auto finalists = std::count_if(finals.finalists.begin(), finals.finalists.end(),
                                           [](const Finalist& finalist) { return !finalist.fault; });
      ProgressState state;
      state.task = "finals " + queue.task_of(workload_of(queue, finals)).problem.label();
      state.done = finals.turns;
      // The twin takes part too. Those that are given up early make it end before the total.
      const std::size_t others = finals.slot->baselines.size() + 1;
      state.total = (static_cast<std::size_t>(finalists) + others) *
                    static_cast<std::uint64_t>(sweep_.spec.measure.finals.rounds);
      return state;
    }
  }
  return std::nullopt;
}

}  // namespace tiletune
