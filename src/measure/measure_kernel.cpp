#include "measure/measure_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace tiletune {

namespace {

constexpr int kFewestBaselineSamples = 15;

/// One configuration on its way: loaded kernel, packed arguments, and what is known so far.
class Measurement {
 public:
  Measurement(Gpu& gpu, Workspace& workspace, Timer& timer, const MeasureRequest& request)
      : gpu_(gpu),
        workspace_(workspace),
        timer_(timer),
        request_(request),
        kernel_(request.cubin, request.symbol),
        arguments_(request.arguments, workspace.addresses()) {
    result.ticket = request.ticket;
  }

  Measured result;

  void inspect() {
    result.attributes = kernel_.attributes();
    if (request_.shape.dynamic_shared_bytes > 0) {
      kernel_.allow_dynamic_shared(static_cast<int>(request_.shape.dynamic_shared_bytes));
    }
    result.driver_blocks_per_multiprocessor = kernel_.blocks_per_multiprocessor(
        static_cast<int>(request_.shape.threads()), request_.shape.dynamic_shared_bytes);
  }

  /// One launch on poisoned outputs, compared with the reference. False when something is wrong.
  bool verify(int variant) {
    launch_on_poison(variant);
    if (const auto finding = workspace_.check_surroundings()) return blame(*finding);
    const Verification verification = workspace_.verify(request_.tolerance_factor);
    if (!result.accuracy || result.accuracy->relative_error <= verification.accuracy.relative_error)
      result.accuracy = verification.accuracy;
    return !verification.finding || blame(with_stability(*verification.finding, variant));
  }

  void time() {
    result.timing = timer_.time(workspace_.request().policy, [this] { launch(); });
  }

 private:
  void launch_on_poison(int variant) {
    workspace_.poison(variant);
    launch();
    gpu_.synchronize();
    timer_.beat();
  }

  /// A wrong result that another launch from the same start does not repeat, bit by bit, comes from a race.
  Finding with_stability(Finding finding, int variant) {
    const std::vector<std::uint64_t> before = workspace_.output_checksums();
    launch_on_poison(variant);
    if (workspace_.output_checksums() == before) return finding;
    finding.outcome = Outcome::unstable;
    finding.reason = "the result changes from launch to launch: " + finding.reason;
    return finding;
  }

  void launch() { gpu_.launch(kernel_, request_.shape, arguments_.pointers()); }

  bool blame(const Finding& finding) {
    result.outcome = finding.outcome;
    result.reason = finding.reason;
    return false;
  }

  Gpu& gpu_;
  Workspace& workspace_;
  Timer& timer_;
  const MeasureRequest& request_;
  Kernel kernel_;
  ArgumentPack arguments_;
};

/// `doing` says for errors how far it came.
void run(Measurement& measurement, const MeasurePolicy& policy, const char*& doing) {
  measurement.inspect();
  doing = "in its first launch";
  if (policy.verify && !measurement.verify(0)) return;
  doing = "while it was timed";
  measurement.time();
  doing = "in a launch after it was timed";
  if (policy.verify && !measurement.verify(1)) {
    // Right before the timing and wrong after it: the result changes from launch to launch.
    if (measurement.result.outcome == Outcome::wrong_result) measurement.result.outcome = Outcome::unstable;
    measurement.result.reason = "correct at first, but later: " + measurement.result.reason;
  }
}

Measured launch_failed(const MeasureRequest& request, const CudaError& error) {
  Measured result;
  result.ticket = request.ticket;
  // Memory may be there again the next time.
  result.outcome = error.out_of_memory() ? Outcome::refused : Outcome::launch_failed;
  result.reason = error.what();
  return result;
}

}  // namespace

Measured measure_kernel(Gpu& gpu, Workspace& workspace, Timer& timer, const MeasureRequest& request) {
  const auto started = std::chrono::steady_clock::now();
  const char* doing = "while it was loaded";
  Measured result;
  try {
    Measurement measurement(gpu, workspace, timer, request);
    run(measurement, workspace.request().policy, doing);
    result = std::move(measurement.result);
  } catch (const CudaError& error) {
    if (!error.launch_refused()) throw error.with(fmt::format("the kernel failed {}", doing));
    result = launch_failed(request, error);
  }
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - started;
  result.wall_ms = wall.count();
  return result;
}

MeasuredBaseline measure_baseline(Gpu& gpu, Workspace& workspace, Timer& timer, Blas& blas) {
  const BlasGemm gemm = blas_gemm(workspace.request(), workspace.addresses());
  MeasuredBaseline baseline;
  baseline.name = "cublas";
  baseline.library = "cuBLAS " + blas.version();
  workspace.poison(0);
  blas.gemm(gemm);
  gpu.synchronize();
  baseline.relative_error = workspace.verify(1).accuracy.relative_error;
  MeasurePolicy policy = workspace.request().policy;
  policy.samples = std::max(policy.samples, kFewestBaselineSamples);
  baseline.timing = timer.time(policy, [&] { blas.gemm(gemm); });
  return baseline;
}

}  // namespace tiletune
