#include "measure/measure_kernel.h"

#include <fmt/format.h>

#include <numeric>

#include "measure/input_checks.h"
#include "measure/loaded_kernel.h"

namespace tiletune {

namespace {

/// One configuration on its way: loaded kernel, and what is known so far.
class Measurement {
 public:
  Measurement(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const MeasureRequest& request)
      : buffers_(buffers),
        timer_(timer),
        request_(request),
        verifier_(gpu, buffers, timer),
        kernel_(gpu, buffers, request) {
    result.ticket = request.ticket;
    result.attributes = kernel_.attributes();
    result.driver_blocks_per_multiprocessor = kernel_.blocks_per_multiprocessor();
  }

  Measured result;

  /// False when something is wrong; the result then says what.
  bool verify(int variant) {
    const Verification verdict =
        verifier_.check({[this] { kernel_.launch(); }, &kernel_}, request_.tolerance_factor, variant);
    if (!estimate_us_) estimate_us_ = verdict.launch_us;
    const bool is_worst = verdict.accuracy && (!result.accuracy || result.accuracy->relative_error <=
                                                                       verdict.accuracy->relative_error);
    if (is_worst) result.accuracy = verdict.accuracy;
    if (!verdict.finding) return true;
    result.outcome = verdict.finding->outcome;
    result.reason = verdict.finding->reason;
    return false;
  }

  /// What a launch leaves in the outputs, by the same inputs for all configurations.
  void store_outputs() {
    if (request_.outputs.empty()) return;
    buffers_.use_first_set();
    buffers_.poison(0);
    kernel_.prepare(kNan);
    kernel_.launch();
    for (const OutputFile& file : request_.outputs) buffers_.store(file);
  }

  /// What its timed launches damaged, if anything.
  void check_surroundings() {
    auto finding = kernel_.check_surroundings();
    if (!finding) return;
    result.outcome = finding->outcome;
    result.reason = std::move(finding->reason);
  }

  void time() {
    Sampled sampled =
        timer_.time(buffers_.request().policy, kernel_.subject(), estimate_us_, request_.leader_us);
    result.timing = summarise(std::move(sampled.samples));
    // Why, the parent says: it knows the leader.
    if (sampled.screened_out) result.outcome = Outcome::screened_out;
    if (result.outcome == Outcome::ok) share_out();
    if (buffers_.request().policy.verify && result.outcome == Outcome::ok && kernel_.can_remember())
      remember();
    buffers_.checks().settle();
    if (kernel_.tally().wrong == 0) return;
    // It was right before: the result changes from launch to launch.
    result.outcome = Outcome::unstable;
    result.reason = kernel_.tally().reason();
  }

 private:
  /// Launches as an application makes them, which find in variables and workspaces what those before them
  /// left: they must be right, too, and take as long.
  void remember() {
    constexpr double kLongestUs = 0.1e6;
    constexpr double kMost = 30;
    constexpr double kFaster = 0.75, kFasterUs = 2;
    const Timing& timing = *result.timing;
    const double alone_us = timing.isolated_us.value_or(timing.median_us);
    const auto count =
        static_cast<int>(std::clamp(kLongestUs / alone_us, alone_us > kLongestUs ? 1.0 : 5.0, kMost));
    std::vector<double> times_us;
    for (const Shot& shot :
         timer_.singles(kernel_.subject(true), buffers_.request().policy.cache, alone_us, count))
      times_us.push_back(shot.time_us);
    const double remembering_us = median(times_us);
    if (remembering_us > kFaster * alone_us - kFasterUs) return;
    result.outcome = Outcome::implausible;
    result.reason = fmt::format(
        "a launch takes {:.3g} us if it finds what earlier launches left in variables or workspaces, and "
        "{:.3g} us if not: it does not do the same work each time",
        remembering_us, alone_us);
  }

  /// What part of the time each of several launches takes.
  void share_out() {
    const std::vector<std::function<void()>> parts = kernel_.parts();
    if (parts.size() < 2) return;
    std::vector<double> times =
        timer_.parts_us(kernel_.subject(), parts, buffers_.request().policy.cache, result.timing->median_us);
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    for (double& time : times) time /= sum;
    result.launch_shares = std::move(times);
  }

  ProblemBuffers& buffers_;
  Timer& timer_;
  const MeasureRequest& request_;
  Verifier verifier_;
  LoadedKernel kernel_;
  std::optional<double> estimate_us_;
};

/// `doing` says for errors how far it came.
void run(Measurement& measurement, const MeasurePolicy& policy, const Timer& timer, const Nvml& nvml,
         const char*& doing) {
  Measured& result = measurement.result;
  doing = "in its first launch";
  if (policy.verify && !measurement.verify(0)) return;
  measurement.store_outputs();
  doing = "while it was timed";
  measurement.time();
  result.condition = read_condition(nvml, timer);
  if (!policy.verify) return;
  const Outcome timed = result.outcome;
  // Before another launch gets other inputs. The next configuration must not be blamed for its damage.
  if (has_run(timed)) measurement.check_surroundings();
  if (result.outcome == Outcome::ok) {
    doing = "in a launch after it was timed";
    measurement.verify(1);
  }
  if (result.outcome == timed) return;
  // Right before the timing and wrong after it: the result changes from launch to launch.
  if (result.outcome == Outcome::wrong_result) result.outcome = Outcome::unstable;
  result.reason = "correct at first, but later: " + result.reason;
}

Measured not_launched(const MeasureRequest& request, Outcome outcome, const std::string& reason) {
  Measured result;
  result.ticket = request.ticket;
  result.outcome = outcome;
  result.reason = reason;
  return result;
}

using Outputs = std::map<std::string, DeviceBuffer>;

/// A result, and how many candidates had it.
struct DistinctResult {
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
    kernel.prepare(buffers.filled_with());
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

double Verifier::launch_on_poison(const Launch& launch, int variant) {
  buffers_.poison(variant);
  if (launch.kernel != nullptr) launch.kernel->prepare(buffers_.filled_with());
  gpu_.synchronize();
  return timer_.estimate_us(launch.run);
}

Verification Verifier::check(const Launch& launch, double tolerance_factor, int variant) {
  Verification verdict;
  buffers_.draw();
  verdict.launch_us = launch_on_poison(launch, variant);
  verdict.finding = buffers_.check_surroundings();
  if (!verdict.finding && launch.kernel != nullptr) verdict.finding = launch.kernel->check_own();
  if (verdict.finding) return verdict;
  const double launch_us = verdict.launch_us;
  verdict = buffers_.verify(tolerance_factor, launch.on_first_gpu);
  verdict.launch_us = launch_us;
  // The checksums that tell whether a result changes are of what the slices hold.
  if (verdict.finding && !launch.on_first_gpu)
    verdict.finding = with_stability(std::move(*verdict.finding), launch, variant);
  return verdict;
}

/// A wrong result that further launches from the same start do not repeat, bit by bit, comes from a race. A
/// race may give the same bits several times in a row.
Finding Verifier::with_stability(Finding finding, const Launch& launch, int variant) {
  constexpr int kLaunches = 5;
  const std::vector<std::uint64_t> before = buffers_.output_checksums();
  for (int i = 0; i < kLaunches; ++i) {
    launch_on_poison(launch, variant);
    if (buffers_.output_checksums() == before) continue;
    finding.outcome = Outcome::unstable;
    finding.reason = "the result changes from launch to launch: " + finding.reason;
    break;
  }
  return finding;
}

GpuCondition read_condition(const Nvml& nvml, const Timer& timer) {
  GpuCondition condition;
  condition.waits_for_host = !timer.blocks();
  condition.power_w = nvml.power_w();
  if (const auto reasons = nvml.throttle_reasons()) condition.throttle_reasons = throttle_text(*reasons);
  for (const GpuProcess& other : other_processes(nvml, std::array{::getpid()})) {
    if (!condition.neighbours.empty()) condition.neighbours += ", ";
    condition.neighbours +=
        fmt::format("{} (pid {})", other.name.empty() ? "a program" : other.name, other.pid);
  }
  return condition;
}

Measured measure_kernel(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Nvml& nvml,
                        const MeasureRequest& request, InputChecks* checks) {
  const auto started = std::chrono::steady_clock::now();
  const char* doing = "while it was loaded";
  Measured result;
  try {
    Measurement measurement(gpu, buffers, timer, request);
    run(measurement, buffers.request().policy, timer, nvml, doing);
    result = std::move(measurement.result);
    doing = "after it was timed";
    if (buffers.request().policy.verify && result.outcome == Outcome::ok && checks != nullptr)
      checks->run(request, result);
  } catch (const CudaError& error) {
    if (!error.launch_refused()) throw error.with(fmt::format("the kernel failed {}", doing));
    // Memory may be there again the next time.
    const Outcome outcome = error.out_of_memory() ? Outcome::refused : Outcome::launch_failed;
    result = not_launched(request, outcome, error.what());
  } catch (const Unlaunchable& error) {
    result = not_launched(request, error.outcome(), error.what());
  }
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - started;
  result.measure_ms = wall.count();
  if (buffers.request().policy.verify) {
    result.figures["input_sets"] = static_cast<double>(buffers.sets());
    result.figures["input_seed"] = static_cast<double>(buffers.request().policy.seed);
  }
  return result;
}

std::map<std::string, DeviceBuffer> reach_consensus(Gpu& gpu, ProblemBuffers& buffers,
                                                    const std::function<void(std::uint64_t ticket)>& turn) {
  const PrepareRequest& request = buffers.request();
  std::vector<DistinctResult> results;
  std::string last_fault;
  for (const MeasureRequest& candidate : request.candidates) {
    turn(candidate.ticket);
    const std::string fault = run_candidate(gpu, buffers, candidate);
    if (!fault.empty()) {
      last_fault = fault;
      buffers.refill();
      continue;
    }
    const auto same = std::find_if(results.begin(), results.end(), [&](const DistinctResult& result) {
      return buffers.agree_with(result.outputs);
    });
    DistinctResult& result =
        same == results.end() ? results.emplace_back(DistinctResult{buffers.widened_outputs(), 0}) : *same;
    if (same == results.end() && !buffers.agree_with(result.outputs)) {
      last_fault = "elements of its outputs were not written or are not a number";
      results.pop_back();
    } else if (++result.count == request.agreeing) {
      return std::move(result.outputs);
    }
  }
  if (request.agreeing == 1) throw GpuError("the reference has no result: " + last_fault);
  throw GpuError(fmt::format("no {} of the {} configurations that were tried agree on the result{}",
                             request.agreeing, request.candidates.size(),
                             last_fault.empty() ? "" : "; one of them: " + last_fault));
}

}  // namespace tiletune
