#include "measure/input_checks.h"

#include <fmt/format.h>

#include "measure/loaded_kernel.h"

namespace tiletune {

namespace {

void raise(Figures& figures, const char* name, double value) {
  std::optional<double>& figure = figures[name];
  figure = std::max(figure.value_or(0), value);
}

}  // namespace

InputChecks::InputChecks(Gpu& gpu, DeviceKernels& kernels, Timer& timer, const Libraries& libraries,
                         std::vector<PrepareRequest> problems)
    : gpu_(gpu), kernels_(kernels), timer_(timer), libraries_(libraries) {
  for (PrepareRequest& problem : problems) problems_.push_back({std::move(problem), nullptr, {}});
}

void InputChecks::make(Problem& problem) {
  problem.buffers = std::make_unique<ProblemBuffers>(gpu_, kernels_, libraries_.reference_of(problem.request),
                                                     problem.request, nullptr);
  for (const auto& [known, library, why_not] : libraries_.opened()) {
    if (!library || problem.library_error || !known->is_baseline_of(problem.request)) continue;
    try {
      const std::vector<LibraryWay> ways = library->ways(*problem.buffers);
      if (ways.empty()) continue;
      const auto launch = [&] { ways.front().subject.launch(0); };
      const Verification verdict = Verifier(gpu_, *problem.buffers, timer_).check({launch}, 1, 1);
      if (!verdict.finding) problem.library_error = verdict.accuracy->relative_error;
    } catch (const CudaError&) {
      throw;
    } catch (const GpuError&) {
      // The library does not compute it: there is nothing to compare with.
    }
  }
}

void InputChecks::run(const MeasureRequest& request, Measured& result) {
  for (const CheckLaunches& check : request.checks) {
    Problem& problem = problems_.at(check.check);
    const std::string where = "on the inputs " + problem.request.name;
    timer_.heartbeat();
    try {
      if (!problem.buffers) make(problem);
      MeasureRequest there;
      there.cubin = request.cubin;
      there.variables = request.variables;
      there.launches = check.launches;
      there.constants = check.constants;
      there.workspace = check.workspace;
      LoadedKernel kernel(gpu_, *problem.buffers, there);
      const Verification verdict =
          Verifier(gpu_, *problem.buffers, timer_)
              .check({[&] { kernel.launch(); }, &kernel}, request.tolerance_factor, 1);
      if (verdict.finding) {
        result.outcome = verdict.finding->outcome;
        result.reason = where + ": " + verdict.finding->reason;
        return problem.buffers->rebuild();
      }
      raise(result.figures, "checks", result.figures["checks"].value_or(0) + 1);
      judge(problem, verdict.accuracy->relative_error, result);
      if (result.outcome != Outcome::ok) return;
    } catch (const CudaError& error) {
      // What memory does not suffice for, or the driver refuses, is not launched there.
      if (!error.launch_refused()) throw error.with(where);
    } catch (const Unlaunchable&) {
      continue;
    } catch (const GpuError&) {
      continue;  // memory does not suffice for the problem
    }
  }
}

void InputChecks::judge(const Problem& problem, double error, Measured& result) const {
  constexpr double kMost = 2;
  raise(result.figures, "check_error", error);
  if (!problem.library_error) return;
  raise(result.figures, "library_check_error", *problem.library_error);
  if (error <= kMost * *problem.library_error) return;
  const std::string found =
      fmt::format("on the inputs {}: relative error {:.3g}, the library's own is {:.3g}",
                  problem.request.name, error, *problem.library_error);
  if (problem.request.policy.strict_error) {
    result.outcome = Outcome::wrong_result;
    result.reason = found;
  } else if (result.warning.empty()) {
    result.warning = found;
  }
}

}  // namespace tiletune
