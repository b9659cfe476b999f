#include "measure/input_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fields_json.h"
#include "measure/loaded_kernel.h"

namespace tiletune {

namespace {

void raise(Figures& figures, const char* name, double value) {
  std::optional<double>& figure = figures[name];
  figure = std::max(figure.value_or(0), value);
}

}  // namespace

InputChecks::InputChecks(Gpu& gpu, DeviceKernels& kernels, Timer& timer, const Libraries& libraries,
                         std::vector<PrepareRequest> problems, InputChecks* before)
    : gpu_(gpu), kernels_(kernels), timer_(timer), libraries_(libraries) {
  for (PrepareRequest& request : problems) {
    timer_.heartbeat();
    const auto is_made = [&, json = to_json(request)](const Problem& problem) {
      return problem.buffers && to_json(problem.request) == json;
    };
    Problem& problem = problems_.emplace_back();
    if (before != nullptr) {
      const auto made = std::ranges::find_if(before->problems_, is_made);
      if (made != before->problems_.end()) problem = std::move(*made);
    }
    if (problem.buffers) continue;
    problem.request = std::move(request);
    try {
      make(problem);
    } catch (const CudaError& error) {
      if (!error.launch_refused()) throw error.with("the reference failed in check " + problem.request.name);
      leave_out(problem, error.what());
    } catch (const GpuError& error) {
      leave_out(problem, error.what());
    }
  }
}

void InputChecks::leave_out(Problem& problem, const std::string& why) {
  problem.buffers.reset();
  note_ += fmt::format("{}left out: check {}: {}", note_.empty() ? "" : "; ", problem.request.name, why);
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
    if (check.check >= problems_.size()) throw ProtocolError("asked for a check that was not prepared");
    Problem& problem = problems_[check.check];
    if (!problem.buffers) continue;
    const std::string where = "in check " + problem.request.name;
    timer_.heartbeat();
    try {
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
      judge(problem, *verdict.accuracy, result);
      if (result.outcome != Outcome::ok) return;
      result.figures["checks"] = result.figures["checks"].value_or(0) + 1;
    } catch (const CudaError& error) {
      // What memory does not suffice for, or the driver refuses, is not launched there.
      if (!error.launch_refused()) throw error.with(where);
    } catch (const Unlaunchable&) {
      continue;
    }
  }
}

void InputChecks::judge(const Problem& problem, const Accuracy& accuracy, Measured& result) {
  // A library's result may happen to be exact.
  constexpr double kMost = 2, kExact = 0.05;
  const double error = accuracy.relative_error;
  raise(result.figures, "check_error", error);
  if (!problem.library_error) return;
  raise(result.figures, "library_check_error", *problem.library_error);
  if (error <= std::max(kMost * *problem.library_error, kExact * accuracy.error_bound.value_or(0))) return;
  const std::string found = fmt::format("in check {}: relative error {:.3g}; the library's is {:.3g}",
                                        problem.request.name, error, *problem.library_error);
  if (problem.request.policy.strict_error) {
    result.outcome = Outcome::wrong_result;
    result.reason = found;
  } else if (result.warning.empty()) {
    result.warning = found;
  }
}

}  // namespace tiletune
