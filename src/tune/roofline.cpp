#include "tune/roofline.h"

#include <algorithm>

namespace tiletune {

namespace {

/// Kernels that were compiled here multiply in the accumulator's type; libraries give narrower inputs to the
/// tensor cores.
bool multiplies_in_fp32(const Trial& trial, const Task& task) {
  if (task.spec->operation.accumulator != ElementType::f32) return false;
  const auto& buffers = task.spec->operation.buffers;
  const bool is_library = trial.kind == "baseline" && trial.source_key.empty();
  return !is_library || std::all_of(buffers.begin(), buffers.end(),
                                    [](const Buffer& buffer) { return buffer.type == ElementType::f32; });
}

}  // namespace

void add_roofline(Trial& trial, const Task& task, const std::optional<Calibration>& ceilings) {
  const Workload& workload = task.instantiator.workload();
  if (workload.flops > 0 && workload.bytes > 0) trial.arithmetic_intensity = workload.flops / workload.bytes;
  const bool counts_flops = workload.flops > 0 && task.spec->operation.bound == Ceiling::ffma;
  if (!counts_flops && workload.bytes > 0) trial.bound = "memory";
  if (!ceilings || !trial.median_us) return;
  if (trial.gbs && ceilings->copy_gbs > 0) trial.percent_of_copy = 100 * *trial.gbs / ceilings->copy_gbs;
  if (counts_flops && !multiplies_in_fp32(trial, task)) return;
  constexpr double kTeraPerMicrosecond = 1e6;
  constexpr double kGigaPerMicrosecond = 1e3;
  const auto time_us = [](double amount, double per_us) { return per_us > 0 ? amount / per_us : 0; };
  const double compute_us =
      time_us(counts_flops ? workload.flops : 0, ceilings->ffma_tflops * kTeraPerMicrosecond);
  const double memory_us = time_us(workload.bytes, ceilings->copy_gbs * kGigaPerMicrosecond);
  if (compute_us == 0 && memory_us == 0) return;
  trial.bound = compute_us > memory_us ? "compute" : "memory";
  trial.percent_of_ceiling = 100 * std::max(compute_us, memory_us) / *trial.median_us;
}

}  // namespace tiletune
