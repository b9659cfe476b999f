#include "tune/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "base/error.h"
#include "inspect/argument_fault.h"
#include "inspect/kernel_hash.h"
#include "inspect/resources.h"

namespace tiletune {

namespace {

/// Configurations that are compiled for each one that must agree.
constexpr int kTriedForEach = 4;
/// More than these are not launched.
constexpr std::size_t kLaunchedForEach = 2;

/// Why the reference kernel of a workload cannot be launched.
std::optional<std::string> kernel_fault(TaskQueue& queue, std::size_t workload, const Compiled& compiled) {
  if (compiled.outcome != Outcome::ok) return "the reference kernel does not compile: " + compiled.reason;
  for (const Task& task : queue.tasks()) {
    if (task.workload != workload || !task.instantiator.reference()) continue;
    const auto fault =
        argument_fault(task.instantiator.reference()->arguments, read_resources(*compiled.binary));
    if (fault) return "the reference kernel cannot be launched: " + *fault;
  }
  return std::nullopt;
}

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
      if (!task.reference_source && task.reference.empty()) continue;
      const auto [entry, is_new] = queue.references.try_emplace(task.workload);
      if (is_new) compile_kernel(queue, task, entry->second);
    }
  }
}

/// A reference kernel, or the configuration of a template that takes its place.
void References::compile_kernel(TaskQueue& queue, const Task& task, WorkloadReference& reference) {
  const std::string& architecture = queue.target().architecture;
  reference.ticket = ++sweep_.tickets;
  if (task.reference_source)
    return sweep_.pool.submit(reference.ticket, reference_request(sweep_.spec, task, architecture));
  const Task& other = task.reference.front();
  ReferenceCandidate& candidate =
      reference.candidates.emplace_back(ReferenceCandidate{&other, {}, 0, nullptr});
  const std::string fault = instantiate(other, 0, queue.target().model, candidate.instance);
  if (!fault.empty()) return fail(queue, task.workload, "the reference cannot be launched: " + fault);
  sweep_.pool.submit(reference.ticket, make_compile_request(sweep_.spec.compile, *other.source,
                                                            candidate.instance, architecture));
}

bool References::ready(TaskQueue& queue, const Task& task) {
  const Operation& operation = task.spec->operation;
  if (operation.reference || !task.reference.empty()) {
    const ReferenceKernels& kernels = queue.references.at(task.workload).kernels;
    return kernels.fp64 != nullptr || !kernels.candidates.empty();
  }
  if (!operation.python && operation.consensus == 0) return true;
  const auto [entry, is_new] = queue.references.try_emplace(task.workload);
  WorkloadReference& reference = entry->second;
  if (operation.python) return python_is_done(queue, task, reference);
  if (is_new) begin_consensus(queue, task.workload, reference);
  return reference.waits_for == 0;
}

bool References::python_is_done(TaskQueue& queue, const Task& task, WorkloadReference& reference) {
  if (reference.is_made) return true;
  try {
    if (!reference.python)
      reference.python.emplace(task, sweep_.spec.measure.seed, sweep_.options.compile.must_be_confined,
                               sweep_.options.interrupted);
    const auto done = reference.python->poll();
    if (!done) return false;
    if (!done->reason.empty())
      fail(queue, task.workload,
           fmt::format("the reference {} of {} failed: {} {}", task.spec->operation.python->function,
                       task.spec->operation.python->source.filename().string(), done->reason, done->remedy));
  } catch (const Stopped&) {
    return false;
  } catch (const UserError& error) {
    fail(queue, task.workload, fmt::format("{} {}", error.message(), error.remedy()));
  }
  reference.python.reset();
  reference.is_made = true;
  return true;
}

/// The same configurations in every sweep of a space: templates in turn, evenly drawn.
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
    ReferenceCandidate candidate{&task, {}, 0, nullptr};
    if (!instantiate(task, index, queue.target().model, candidate.instance).empty()) continue;
    if (!admit_launch(queue.target().model, candidate.instance).admitted) continue;
    candidate.ticket = ++sweep_.tickets;
    sweep_.pool.submit(candidate.ticket,
                       make_compile_request(sweep_.spec.compile, *task.source, candidate.instance,
                                            queue.target().architecture));
    ++reference.waits_for;
    reference.candidates.push_back(std::move(candidate));
  }
  if (reference.waits_for == 0) choose_candidates(queue, workload, reference);
}

void References::choose_candidates(TaskQueue& queue, std::size_t workload, WorkloadReference& reference) {
  const int agreeing = reference.kernels.agreeing = queue.task_of(workload).spec->operation.consensus;
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

void References::take_kernel(TaskQueue& queue, std::size_t workload, WorkloadReference& reference,
                             const Compiled& compiled) {
  for (Task& task : queue.tasks())
    if (task.workload == workload && compiled.binary) task.reference_hash = kernel_hash(*compiled.binary);
  if (!reference.candidates.empty()) return take_template(queue, workload, reference, compiled);
  reference.kernels.fp64 = compiled.binary;
  if (const auto fault = kernel_fault(queue, workload, compiled)) fail(queue, workload, *fault);
}

void References::take_template(TaskQueue& queue, std::size_t workload, WorkloadReference& reference,
                               const Compiled& compiled) {
  ReferenceCandidate candidate = std::move(reference.candidates.front());
  reference.candidates.clear();
  candidate.binary = compiled.binary;
  const std::string& name = candidate.task->spec->name;
  if (!candidate.binary)
    return fail(queue, workload,
                fmt::format("the reference, {}, does not compile: {}", name, compiled.reason));
  if (!admitted_kernel(queue.target().model, candidate))
    return fail(queue, workload, fmt::format("the reference, {}, cannot be launched on this GPU", name));
  MeasureRequest request = measure_request(*candidate.task, candidate.instance, *candidate.binary);
  request.ticket = 1;
  reference.kernels.candidates = {std::move(request)};
  reference.kernels.agreeing = 1;
}

bool References::take(std::uint64_t ticket, const Compiled& compiled) {
  for (TaskQueue& queue : sweep_.queues) {
    for (auto& [workload, reference] : queue.references) {
      if (reference.ticket == ticket) {
        take_kernel(queue, workload, reference, compiled);
        return true;
      }
      for (ReferenceCandidate& candidate : reference.candidates) {
        if (candidate.ticket != ticket) continue;
        candidate.binary = compiled.binary;
        if (--reference.waits_for == 0) choose_candidates(queue, workload, reference);
        return true;
      }
    }
  }
  return false;
}

}  // namespace tiletune
