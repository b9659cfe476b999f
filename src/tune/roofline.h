#pragma once

#include "measure/messages.h"
#include "store/trial.h"
#include "tune/task.h"

namespace tiletune {

/// Operations per byte of compulsory traffic, and, where the GPU's ceilings were measured, what share of the
/// copy's rate the row reaches, which ceiling bounds it and what share of that it reaches (Williams, Waterman
/// and Patterson, Roofline, 2009). The ceiling of arithmetic is that of FP32 multiply-adds: with another
/// accumulator, and for a library's product of narrower inputs, only a row without arithmetic is known to be
/// bound by memory. An operation whose `bound` is copy is bound by memory on every GPU.
void add_roofline(Trial& trial, const Task& task, const std::optional<Calibration>& ceilings);

}  // namespace tiletune
