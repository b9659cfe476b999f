#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "base/error.h"
#include "inspect/kernel_code.h"
#include "inspect/resources.h"
#include "tune/engine.h"
#include "tune/identity.h"
#include "tune/row.h"

namespace tiletune {

namespace {

/// Configurations that are compiled for each one that must agree.
constexpr int kTriedForEach = 4;
/// More than these are not launched.
constexpr std::size_t kLaunchedForEach = 2;

/// Hash of a candidate's kernel, when the GPU takes it.
std::optional<std::string> admitted_kernel(const GpuModel& gpu, const Candidate& candidate) {
  if (!candidate.binary) return std::nullopt;
  try {
    const Admission admission =
        admit_binary(gpu, candidate.instance, read_all_resources(*candidate.binary), AdmissionLimits{});
    if (admission.admitted) return kernel_hash(*candidate.binary);
  } catch (const UserError&) {
    // What is wrong with it, its own row will say.
  }
  return std::nullopt;
}

/// Asks for a configuration whose results are the reference.
void add_candidate(WorkloadKernels& kernels, const Candidate& candidate) {
  MeasureRequest request = measure_request(*candidate.task, candidate.instance, *candidate.binary);
  request.ticket = kernels.candidates.size() + 1;
  kernels.candidates.push_back(std::move(request));
}

}  // namespace

void References::fail(TaskQueue& queue, std::size_t workload, const std::string& why) {
  queue.workloads[workload].failure = why;
  sweep_.observer.on_note(why);
}

void References::compile_kernels() {
  for (TaskQueue& queue : sweep_.queues) {
    for (std::size_t workload = 0; queue.measures() && workload < queue.workloads.size(); ++workload) {
      const Search& search = queue.searches[workload];
      // Templates that share a workload have the same reference.
      if (const auto fault = consensus_fault(queue.task_of(workload), search.valid()))
        fail(queue, workload, fault->message());
      compile_kernels(queue, queue.task_of(workload));
    }
  }
}

void References::compile_kernels(TaskQueue& queue, Task& task) {
  WorkloadKit& kit = queue.workloads[task.workload].kit;
  for (const TaskKernel& kernel : task.kernels) {
    ++kit.compiling;
    const std::size_t place = kit.kernels.operation.size();
    kit.kernels.operation.emplace_back();
    sweep_.pool.submit(kernel_request(sweep_.spec, task, kernel, queue.target().architecture),
                       [this, &queue, &kit, workload = task.workload, place](const Compiled& compiled) {
                         --kit.compiling;
                         for (Task& sharing : queue.searches[workload].tasks())
                           if (compiled.binary) sharing.kernels[place].hash = kernel_hash(*compiled.binary);
                         kit.kernels.operation[place] = compiled.binary;
                         const auto fault = kernel_fault(queue.task_of(workload).kernels[place], compiled);
                         if (fault) fail(queue, workload, *fault);
                       });
  }
  if (task.reference.empty()) return;
  Candidate candidate{.task = &task.reference.front()};
  const std::string fault = instantiate(*candidate.task, 0, queue.target().model, candidate.instance);
  if (!fault.empty()) return fail(queue, task.workload, "the reference cannot be launched: " + fault);
  compile_candidate(queue, task.workload, std::move(candidate));
}

void References::compile_candidate(TaskQueue& queue, std::size_t workload, Candidate candidate) {
  WorkloadKit& kit = queue.workloads[workload].kit;
  ++kit.waits_for;
  const std::size_t place = kit.candidates.size();
  sweep_.pool.submit(sweep_.request(queue, *candidate.task, candidate.instance),
                     [this, &queue, &kit, workload, place](const Compiled& compiled) {
                       kit.candidates.at(place).binary = compiled.binary;
                       if (--kit.waits_for > 0) return;
                       if (queue.task_of(workload).reference.empty())
                         choose_candidates(queue, workload);
                       else
                         take_template(queue, workload, compiled);
                     });
  kit.candidates.push_back(std::move(candidate));
}

bool References::ready(TaskQueue& queue, std::size_t workload) {
  WorkloadKit& kit = queue.workloads[workload].kit;
  Task& task = queue.task_of(workload);
  const Operation& operation = task.spec->operation;
  // The reference first: it is part of a baseline's key.
  if (kit.compiling > 0) return false;
  if (operation.python && !kit.python && !kit.is_made) {
    try {
      kit.python.emplace(task, sweep_.spec.input_seed());
    } catch (const UserError& error) {
      fail(queue, workload, fmt::format("{} {}", error.message(), error.remedy()));
      kit.is_made = true;
    }
  }
  const bool agrees = !operation.python && operation.consensus > 0;
  if (agrees && !kit.is_made && kit.candidates.empty()) begin_consensus(queue, workload);
  if (!kit.is_made && (operation.python || agrees || !task.reference.empty())) return false;
  if (!std::exchange(kit.has_baselines, true))
    for (Task& baseline : task.baselines) begin_baseline(queue, workload, baseline);
  return kit.compiling_baselines == 0;
}

void References::attend() {
  for (TaskQueue& queue : sweep_.queues) {
    for (std::size_t workload = 0; workload < queue.workloads.size(); ++workload) {
      WorkloadKit& kit = queue.workloads[workload].kit;
      const auto done = kit.python ? kit.python->poll() : std::nullopt;
      if (!done) continue;
      kit.python.reset();
      kit.is_made = true;
      if (done->reason.empty()) continue;
      const PythonReference& python = *queue.task_of(workload).spec->operation.python;
      fail(queue, workload,
           fmt::format("the reference {} of {} failed: {} {}", python.function,
                       python.source.filename().string(), done->reason, done->remedy));
    }
  }
}

/// Tries the same configurations in every sweep of a space: templates in turn, evenly drawn.
void References::begin_consensus(TaskQueue& queue, std::size_t workload) {
  std::vector<Task*> tasks;
  for (Task& task : queue.searches[workload].tasks())
    if (task.space.size() > 0) tasks.push_back(&task);
  std::mt19937_64 random(1);
  std::set<std::pair<const Task*, std::uint64_t>> chosen;
  const int tries = kTriedForEach * tasks.front()->spec->operation.consensus;
  for (int i = 0; i < tries; ++i) {
    Task& task = *tasks[static_cast<std::size_t>(i) % tasks.size()];
    const std::uint64_t index = random() % task.space.size();
    if (!chosen.emplace(&task, index).second) continue;
    Candidate candidate{.task = &task};
    if (launch_fault(task, index, queue.target().model, candidate.instance).empty())
      compile_candidate(queue, workload, std::move(candidate));
  }
  if (queue.workloads[workload].kit.waits_for == 0) choose_candidates(queue, workload);
}

void References::choose_candidates(TaskQueue& queue, std::size_t workload) {
  WorkloadKit& kit = queue.workloads[workload].kit;
  const int agreeing = kit.kernels.agreeing = queue.task_of(workload).spec->operation.consensus;
  kit.is_made = true;
  const auto most = kLaunchedForEach * static_cast<std::size_t>(agreeing);
  std::set<std::string> kernels;
  for (const Candidate& candidate : std::exchange(kit.candidates, {})) {
    const auto kernel = admitted_kernel(queue.target().model, candidate);
    if (kernel && kernels.size() < most && kernels.insert(*kernel).second)
      add_candidate(kit.kernels, candidate);
  }
  if (static_cast<int>(kernels.size()) >= agreeing) return;
  fail(queue, workload,
       fmt::format(
           "the reference is what {} configurations agree on, and only {} of those that were tried can "
           "be launched",
           agreeing, kernels.size()));
}

void References::take_template(TaskQueue& queue, std::size_t workload, const Compiled& compiled) {
  WorkloadKit& kit = queue.workloads[workload].kit;
  const Candidate candidate = std::exchange(kit.candidates, {}).front();
  const std::string& name = candidate.task->spec->name;
  if (!candidate.binary)
    return fail(queue, workload,
                fmt::format("the reference, {}, does not compile: {}", name, compiled.reason));
  const auto kernel = admitted_kernel(queue.target().model, candidate);
  if (!kernel)
    return fail(queue, workload, fmt::format("the reference, {}, cannot be launched on this GPU", name));
  const std::string hash = result_identity(*kernel, candidate.instance).hex();
  for (Task& task : queue.searches[workload].tasks()) task.reference_hash = hash;
  add_candidate(kit.kernels, candidate);
  kit.kernels.agreeing = 1;
  kit.is_made = true;
}

void References::begin_baseline(TaskQueue& queue, std::size_t workload, Task& task) {
  const Target& target = queue.target();
  Candidate candidate{.task = &task};
  const std::string fault = launch_fault(task, 0, target.model, candidate.instance);
  CompileRequest request = sweep_.request(queue, task, candidate.instance);
  candidate.trial = make_trial(sweep_.spec, task, target, candidate.instance, request);
  make_baseline(candidate.trial, queue.task_of(workload));
  if (!fault.empty()) {
    candidate.trial.outcome = Outcome::refused;
    candidate.trial.reason = fault;
    return sweep_.observer.on_note(left_out_as_baseline(candidate.trial));
  }
  ++queue.workloads[workload].kit.compiling_baselines;
  sweep_.pool.submit(std::move(request),
                     [this, &queue, workload, candidate = std::move(candidate)](const Compiled& compiled) {
                       take_baseline(queue, workload, candidate, compiled);
                     });
}

void References::take_baseline(TaskQueue& queue, std::size_t workload, Candidate candidate,
                               const Compiled& compiled) {
  WorkloadKit& kit = queue.workloads[workload].kit;
  --kit.compiling_baselines;
  Trial& row = candidate.trial;
  add_binary(sweep_.spec, queue.target().model, candidate, compiled);
  if (row.outcome != Outcome::dispatched) return sweep_.observer.on_note(left_out_as_baseline(row));
  const IdentityFields measurement =
      measurement_identity(sweep_.spec, *candidate.task, queue.target(), candidate.instance, row,
                           queue.task_of(workload).operation_hash().value_or(""));
  row.measurement = measurement.hex();
  row.key = baseline_identity(row, measurement).hex();
  // In the operation's order, in whichever they were compiled.
  const auto place = std::upper_bound(kit.baselines.begin(), kit.baselines.end(), candidate,
                                      [](const auto& a, const auto& b) { return a.task < b.task; });
  kit.baselines.insert(place, std::move(candidate));
}

}  // namespace tiletune
