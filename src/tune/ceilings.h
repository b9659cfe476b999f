#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/device_properties.h"
#include "compile/binary.h"
#include "inspect/gpu_model.h"
#include "measure/messages.h"
#include "spec/tune_spec.h"
#include "store/database.h"
#include "store/trial.h"
#include "tune/task.h"

namespace tiletune {

struct GpuSlot;

/// The column `pipe` of a kernel: the template's, if it has one; "tensor_f16" where the machine code has
/// matrix instructions, after the operation's first input of a type that they take, else "fp32" for sums in
/// that; empty: no ceiling is known.
std::string pipe_of(const TemplateSpec& kernel, const Binary& binary);
/// That of a library's kernel: tensor cores for whatever they take, else FP32.
std::string library_pipe(const Operation& operation);

/// What a pipe reached on a GPU, 10^12 operations per second; 0: that is not known.
double ceiling_of(std::string_view pipe, const Calibration& ceilings);

/// "multiply-adds in FP32", "tensor cores in f16"
std::string pipe_text(std::string_view pipe);

/// Operations per byte of compulsory traffic, and, where the GPU's ceilings were measured, what share of the
/// copy's rate the row reaches, which ceiling bounds it and what share of that it reaches (Williams, Waterman
/// and Patterson, Roofline, 2009). The ceiling of arithmetic is that of the row's pipe; without it only a row
/// without arithmetic is known to be bound by memory. An operation whose `bound` is copy is bound by memory
/// on every GPU. Ceilings are those of all GPUs together.
void add_roofline(Trial& trial, const Task& task, const std::optional<Calibration>& ceilings);

/// What the database knows of a GPU with its driver; none that was taken in another state of the cache.
std::optional<Calibration> known_calibration(const Database& database, const Target& target);

/// A time that a kernel is said to take.
struct ClaimedTime {
  double median_us = 0;
  int launches_per_sample = 1;
  CachePolicy cache = CachePolicy::cold;
  std::optional<double> isolated_us = {};  ///< in batches: of single launches
};

/// Why a kernel cannot be that much faster in batches than alone: there launches follow each other without
/// the latency of one alone, and without anything else that takes time. None where it can.
std::optional<std::string> batch_fault(const ClaimedTime& time, const TemplateSpec& kernel);

/// Why no kernel can be that fast, with the arithmetic: its floating-point operations or the bytes that it
/// has to move at the ceilings measured on this GPU need longer, by more than those are uncertain. None where
/// nothing speaks against it, or where the ceilings are not known.
///
/// The ceiling of operations is that of the fastest pipe for the declared types, whatever the machine code
/// holds: tensor cores where the inputs are of their types, FP32 multiply-adds where sums are FP32, or the
/// emulation that the template declares. Operations are those that the operation states: an algorithm that
/// needs fewer, such as Strassen's, cannot be distinguished from a kernel that leaves work out. Of bytes only
/// those count that the L2 cache cannot hold or have kept.
std::optional<std::string> implausibility(const ClaimedTime& time, const Task& task, const GpuModel& gpu,
                                          const std::optional<Calibration>& ceilings);

/// A line for the person watching about each GPU whose measured ceilings (arithmetic or copies) are more than
/// 3% below those of the fastest of its model, each once. Its rows count like those of the others.
std::vector<std::string> notes_of_slow_gpus(std::vector<GpuSlot>& slots);

}  // namespace tiletune
