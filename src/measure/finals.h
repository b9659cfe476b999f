#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/nvml.h"
#include "measure/baselines.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// Measures the leaders of a problem again, one sample each per round, in a random order that changes from
/// round to round, in memory that is fresh every few rounds; with the baselines and a twin of the first
/// finalist. All are timed alike: in batches if the fastest of them is short. Then, where the policy says
/// so, the best run back to back for seconds, and are timed with copies from and to the host (HostCopies).
/// Where the host's memory does not suffice for that, they have a warning.
///
/// `turn` is called with a finalist's ticket (0: a baseline or the twin) before it is launched. What is a
/// finalist's own fault comes back as its outcome; an error that ruins the context is thrown as CudaError.
FinalsMeasured run_finals(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Nvml& nvml,
                          const FinalsRequest& request, const std::vector<RunnableBaseline>& baselines,
                          const std::function<void(std::uint64_t ticket)>& turn);

}  // namespace tiletune
