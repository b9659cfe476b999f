#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/calibration.h"
#include "compile/binary.h"
#include "inspect/gpu_model.h"
#include "spec/tune_spec.h"
#include "store/database.h"
#include "tune/target.h"
#include "tune/task.h"

namespace tiletune {

struct GpuSlot;

/// What the database knows of a GPU with its driver; none that was taken in another state of the cache.
std::optional<Calibration> known_calibration(const Database& database, const Target& target);
void keep_calibration(Database& database, const Target& target, const Calibration& calibration);

/// A time that a kernel is said to take.
struct ClaimedTime {
  double median_us = 0;
  int launches_per_sample = 1;
  CachePolicy cache = CachePolicy::cold;
};

/// Why no kernel can be that fast, with the arithmetic: its floating-point operations or the bytes that it
/// has to move at the ceilings measured on this GPU need longer, by more than those are uncertain. None where
/// nothing speaks against it, or where the ceilings are not known.
///
/// Operations count where the accumulator is FP32 and the kernel, with the functions that it may call, has
/// FP32 but neither tensor nor half-precision instructions, whose rates are not measured. They are those that
/// the template states: an algorithm that needs fewer, such as Strassen's, cannot be distinguished from a
/// kernel that leaves work out. Of bytes only those count that the L2 cache cannot hold or have kept.
std::optional<std::string> implausibility(const ClaimedTime& time, const Task& task, const Binary& binary,
                                          const GpuModel& gpu, const std::optional<Calibration>& ceilings);

/// A line for the person watching about each GPU whose measured ceilings (arithmetic or copies) are more than
/// 3% below those of the fastest of its model, each once. Its rows count like those of the others.
std::vector<std::string> notes_of_slow_gpus(std::vector<GpuSlot>& slots);

}  // namespace tiletune
