#include "measure/consensus.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "measure/loaded_kernel.h"
#include "measure/unlaunchable.h"

namespace tiletune {

namespace {

using Outputs = std::map<std::string, DeviceBuffer>;

/// A result, and how many candidates had it.
struct Opinion {
  Outputs outputs;
  int count = 0;
};

/// Launches a candidate once. Why its outputs are of no use; empty when they may be.
std::string run_candidate(Gpu& gpu, ProblemBuffers& buffers, const MeasureRequest& candidate) {
  try {
    LoadedKernel kernel(gpu, buffers, candidate);
    // What two leave unwritten is not what they agree on.
    const int variant = static_cast<int>(candidate.ticket % 2);
    buffers.poison(variant);
    kernel.own_workspace().poison(variant);
    kernel.launch();
    gpu.synchronize();
    const auto finding = kernel.check_surroundings();
    return finding ? finding->reason : "";
  } catch (const CudaError& error) {
    if (!error.launch_refused()) throw;
    return error.what();
  } catch (const Unlaunchable& error) {
    return error.what();
  }
}

}  // namespace

std::map<std::string, DeviceBuffer> reach_consensus(Gpu& gpu, ProblemBuffers& buffers,
                                                    const std::function<void(std::uint64_t ticket)>& turn) {
  const PrepareRequest& request = buffers.request();
  std::vector<Opinion> opinions;
  std::string last_fault;
  for (const MeasureRequest& candidate : request.candidates) {
    turn(candidate.ticket);
    const std::string fault = run_candidate(gpu, buffers, candidate);
    if (!fault.empty()) {
      last_fault = fault;
      buffers.refill();
      continue;
    }
    const auto same = std::find_if(opinions.begin(), opinions.end(), [&](const Opinion& opinion) {
      return buffers.agree_with(opinion.outputs);
    });
    Opinion& opinion =
        same == opinions.end() ? opinions.emplace_back(Opinion{buffers.widened_outputs(), 0}) : *same;
    if (same == opinions.end() && !buffers.agree_with(opinion.outputs)) {
      last_fault = "elements of its outputs were not written or are not a number";
      opinions.pop_back();
    } else if (++opinion.count == request.agreeing) {
      return std::move(opinion.outputs);
    }
  }
  if (request.agreeing == 1) throw GpuError("the reference has no result: " + last_fault);
  throw GpuError(fmt::format("no {} of the {} configurations that were tried agree on the result{}",
                             request.agreeing, request.candidates.size(),
                             last_fault.empty() ? "" : "; one of them: " + last_fault));
}

}  // namespace tiletune
