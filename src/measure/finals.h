#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/nvml.h"
#include "measure/baselines.h"
#include "measure/messages.h"
#include "measure/timing.h"
#include "measure/workspace.h"

namespace tiletune {

/// Measures the leaders of a problem again, one sample each per round, in a random order that changes from
/// round to round, in memory that is fresh every few rounds; with the baselines and a twin of the first
/// participant. All are timed alike: in batches if the fastest of them is short. Then, where the policy says
/// so, the best run back to back for seconds.
///
/// `turn` is called with a participant's ticket (0: a baseline or the twin) before it is launched. What is a
/// participant's own fault comes back as its outcome; an error that ruins the context is thrown as CudaError.
FinalsMeasured run_finals(Gpu& gpu, Workspace& workspace, Timer& timer, const Nvml& nvml,
                          const FinalsRequest& request, const std::vector<RunnableBaseline>& baselines,
                          const std::function<void(std::uint64_t ticket)>& turn);

}  // namespace tiletune
