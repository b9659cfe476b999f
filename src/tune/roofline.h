#pragma once

#include <string>
#include <string_view>

#include "compile/binary.h"
#include "measure/messages.h"
#include "store/trial.h"
#include "tune/task.h"

namespace tiletune {

/// The column `pipe` of a kernel: "tensor_f16" where its machine code has matrix instructions, after the
/// operation's first input of a type that they take, else "fp32" for sums in that; empty: no ceiling is
/// known.
std::string pipe_of(const Operation& operation, const Binary& binary);
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

}  // namespace tiletune
