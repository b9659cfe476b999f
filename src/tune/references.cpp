#include "tune/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "base/error.h"
#include "inspect/kernel_code.h"
#include "inspect/resources.h"
#include "tune/identity.h"

namespace tiletune {

namespace {

/// Configurations that are compiled for each one that must agree.
constexpr int kTriedForEach = 4;
/// More than these are not launched.
constexpr std::size_t kLaunchedForEach = 2;

/// Hash of a candidate's kernel, when the GPU takes it.
std::optional<std::string> admitted_kernel(const GpuModel& gpu, const ReferenceCandidate& candidate) {
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

}  // namespace

void References::fail(TaskQueue& queue, std::size_t workload, const std::string& why) {
  queue.failed_workloads[workload] = why;
  sweep_.observer.on_note(why);
}

void References::compile_kernels() {
  for (TaskQueue& queue : sweep_.queues) {
    if (!queue.slots.front().evaluator->measures()) continue;
    for (const Task& task : queue.tasks()) {
      refuse_small_consensus(queue, task);
      if (task.kernels.empty() && task.reference.empty()) continue;
      const auto [entry, is_new] = queue.references.try_emplace(task.workload);
      if (is_new) compile_kernels(queue, task, entry->second);
    }
  }
}

void References::refuse_small_consensus(TaskQueue& queue, const Task& task) {
  std::uint64_t configurations = 0;
  if (!consensus_fault(task, task.space.size())) return;
  for (const Task& other : queue.tasks())
    if (other.workload == task.workload) configurations += other.space.size();
  const auto fault = consensus_fault(task, configurations);
  if (fault && !queue.failed_workloads.contains(task.workload)) fail(queue, task.workload, fault->message());
}

void References::compile_kernels(TaskQueue& queue, const Task& task, WorkloadReference& reference) {
  for (const TaskKernel& kernel : task.kernels) {
    ++reference.compiling;
    const std::size_t place = reference.kernels.operation.size();
    reference.kernels.operation.emplace_back();
    sweep_.pool.submit(kernel_request(sweep_.spec, task, kernel, queue.target().architecture),
                       [this, &queue, workload = task.workload, place](const Compiled& compiled) {
                         take_kernel(queue, workload, place, compiled);
                       });
  }
  if (task.reference.empty()) return;
  ReferenceCandidate candidate{&task.reference.front(), {}};
  const std::string fault = instantiate(*candidate.task, 0, queue.target().model, candidate.instance);
  if (!fault.empty()) return fail(queue, task.workload, "the reference cannot be launched: " + fault);
  compile_candidate(queue, task.workload, std::move(candidate));
}

void References::compile_candidate(TaskQueue& queue, std::size_t workload, ReferenceCandidate candidate) {
  WorkloadReference& reference = queue.references[workload];
  ++reference.waits_for;
  const std::size_t place = reference.candidates.size();
  sweep_.pool.submit(make_compile_request(sweep_.spec.compile, *candidate.task->source, candidate.instance,
                                          queue.target().architecture),
                     [this, &queue, workload, place](const Compiled& compiled) {
                       take_candidate(queue, workload, place, compiled);
                     });
  reference.candidates.push_back(std::move(candidate));
}

void References::take_candidate(TaskQueue& queue, std::size_t workload, std::size_t place,
                                const Compiled& compiled) {
  WorkloadReference& reference = queue.references.at(workload);
  reference.candidates.at(place).binary = compiled.binary;
  if (--reference.waits_for > 0) return;
  if (queue.task_of(workload).reference.empty())
    choose_candidates(queue, workload, reference);
  else
    take_template(queue, workload, reference, compiled);
}

bool References::ready(TaskQueue& queue, const Task& task) {
  WorkloadReference& reference = queue.references[task.workload];
  if (reference.compiling > 0) return false;
  const Operation& operation = task.spec->operation;
  if (operation.python) {
    if (!reference.python && !reference.is_made) start_python(queue, task, reference);
    return reference.is_made;
  }
  if (operation.consensus > 0 && !reference.is_made && reference.candidates.empty())
    begin_consensus(queue, task.workload, reference);
  return reference.is_made || (operation.consensus == 0 && task.reference.empty());
}

void References::attend() {
  for (TaskQueue& queue : sweep_.queues) {
    for (auto& [workload, reference] : queue.references)
      if (reference.python) attend_python(queue, workload, reference);
  }
}

void References::start_python(TaskQueue& queue, const Task& task, WorkloadReference& reference) {
  try {
    reference.python.emplace(task, sweep_.spec.measure.seed);
  } catch (const UserError& error) {
    fail(queue, task.workload, fmt::format("{} {}", error.message(), error.remedy()));
    reference.is_made = true;
  }
}

void References::attend_python(TaskQueue& queue, std::size_t workload, WorkloadReference& reference) {
  const auto done = reference.python->poll();
  if (!done) return;
  reference.python.reset();
  reference.is_made = true;
  if (done->reason.empty()) return;
  const PythonReference& python = *queue.task_of(workload).spec->operation.python;
  fail(queue, workload,
       fmt::format("the reference {} of {} failed: {} {}", python.function, python.source.filename().string(),
                   done->reason, done->remedy));
}

/// Tries the same configurations in every sweep of a space: templates in turn, evenly drawn.
void References::begin_consensus(TaskQueue& queue, std::size_t workload, WorkloadReference& reference) {
  std::vector<Task*> tasks;
  for (Task& task : queue.tasks())
    if (task.workload == workload && task.space.size() > 0) tasks.push_back(&task);
  std::mt19937_64 random(1);
  std::set<std::pair<const Task*, std::uint64_t>> chosen;
  const int tries = kTriedForEach * tasks.front()->spec->operation.consensus;
  for (int i = 0; i < tries; ++i) {
    const Task& task = *tasks[static_cast<std::size_t>(i) % tasks.size()];
    const std::uint64_t index = random() % task.space.size();
    if (!chosen.emplace(&task, index).second) continue;
    ReferenceCandidate candidate{&task, {}};
    if (!instantiate(task, index, queue.target().model, candidate.instance).empty()) continue;
    if (!admit_launch(queue.target().model, candidate.instance).admitted) continue;
    compile_candidate(queue, workload, std::move(candidate));
  }
  if (reference.waits_for == 0) choose_candidates(queue, workload, reference);
}

void References::choose_candidates(TaskQueue& queue, std::size_t workload, WorkloadReference& reference) {
  const int agreeing = reference.kernels.agreeing = queue.task_of(workload).spec->operation.consensus;
  reference.is_made = true;
  const auto most = kLaunchedForEach * static_cast<std::size_t>(agreeing);
  std::set<std::string> kernels;
  for (const ReferenceCandidate& candidate : std::exchange(reference.candidates, {})) {
    const auto kernel = admitted_kernel(queue.target().model, candidate);
    if (!kernel || kernels.size() == most || !kernels.insert(*kernel).second) continue;
    MeasureRequest request = measure_request(*candidate.task, candidate.instance, *candidate.binary);
    request.ticket = kernels.size();
    reference.kernels.candidates.push_back(std::move(request));
  }
  if (static_cast<int>(kernels.size()) >= agreeing) return;
  fail(queue, workload,
       fmt::format(
           "the reference is what {} configurations agree on, and only {} of those that were tried can "
           "be launched",
           agreeing, kernels.size()));
}

void References::take_kernel(TaskQueue& queue, std::size_t workload, std::size_t place,
                             const Compiled& compiled) {
  WorkloadReference& reference = queue.references.at(workload);
  --reference.compiling;
  for (Task& task : queue.tasks())
    if (task.workload == workload && compiled.binary)
      task.kernels[place].hash = kernel_hash(*compiled.binary);
  reference.kernels.operation[place] = compiled.binary;
  const auto fault = kernel_fault(queue.task_of(workload).kernels[place], compiled);
  if (fault) fail(queue, workload, *fault);
}

void References::take_template(TaskQueue& queue, std::size_t workload, WorkloadReference& reference,
                               const Compiled& compiled) {
  ReferenceCandidate candidate = std::move(reference.candidates.front());
  reference.candidates.clear();
  const std::string& name = candidate.task->spec->name;
  if (!candidate.binary)
    return fail(queue, workload,
                fmt::format("the reference, {}, does not compile: {}", name, compiled.reason));
  const auto kernel = admitted_kernel(queue.target().model, candidate);
  if (!kernel)
    return fail(queue, workload, fmt::format("the reference, {}, cannot be launched on this GPU", name));
  const std::string hash = result_identity(*kernel, candidate.instance).hex();
  for (Task& task : queue.tasks())
    if (task.workload == workload) task.reference_hash = hash;
  MeasureRequest request = measure_request(*candidate.task, candidate.instance, *candidate.binary);
  request.ticket = 1;
  reference.kernels.candidates = {std::move(request)};
  reference.kernels.agreeing = 1;
  reference.is_made = true;
}

}  // namespace tiletune
