#pragma once

#include "measure/worker.h"

namespace tiletune {

/// Takes from a GPU worker what it does not need once its context is open: writing anywhere but to the GPU's
/// devices, reading homes and temporary folders, but for what `reach` names, starting programs, making
/// sockets. The driver's own threads, which run already, keep their access to files. Nothing is taken under a
/// profiler or a debugger, which lives in the process and writes what it finds, nor where the system cannot
/// confine; where it `must`, std::runtime_error is thrown instead.
void confine_gpu_worker(bool must, const WorkerReach& reach);

}  // namespace tiletune
