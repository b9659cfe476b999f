#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/calibration.h"
#include "base/fields.h"
#include "base/outcome.h"
#include "base/statistics.h"
#include "compile/request.h"
#include "gpu/device.h"
#include "space/instance.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What the parent and a GPU worker say to each other. Every struct goes through a frame as JSON, by its list
/// of fields (base/fields_json.h).

/// The worker's first message: which GPU it holds.
struct GpuOpened {
  DeviceFacts device;
  int devices = 1;             ///< GPUs that the driver shows
  std::string driver_version;  ///< NVML's, or empty

  static constexpr std::string_view kMessage = "opened";
  static constexpr auto fields() {
    return std::tuple{field("device", &GpuOpened::device), field("devices", &GpuOpened::devices),
                      field("driver_version", &GpuOpened::driver_version)};
  }
};

/// A long answer is under way.
struct Alive {
  std::optional<std::uint64_t> ticket;  ///< in finals, whose turn it is; 0: of a baseline or the twin

  static constexpr std::string_view kMessage = "alive";
  static constexpr auto fields() { return std::tuple{field("ticket", &Alive::ticket)}; }
};

/// Everything the configurations of one problem have in common.
struct PrepareRequest {
  Workload workload;
  std::optional<LibraryOperation>
      reference_library;                      ///< computes the outputs in FP64; none: `reference` does
  std::optional<LibraryOperation> baselines;  ///< whose kernels are the baselines
  /// The problem's sizes, then those of its leading dimensions that are not the defaults.
  std::vector<std::pair<std::string, std::int64_t>> dimensions;
  std::vector<std::pair<std::string, double>> scalars;
  ElementType accumulator = ElementType::f32;
  MeasurePolicy policy;
  Baseline baseline = Baseline::lt;
  bool calibrate = false;  ///< nothing is known yet of this GPU with this driver

  /// The reference kernel, compiled for this GPU by the parent's compile library.
  struct ReferenceLaunch {
    std::string cubin;
    std::string symbol;
    LaunchShape shape;
    std::vector<ArgumentValue> arguments;

    static constexpr auto fields() {
      using L = ReferenceLaunch;
      return std::tuple{binary_field("cubin", &L::cubin), field("symbol", &L::symbol),
                        field("shape", &L::shape), field("arguments", &L::arguments)};
    }
  };
  std::optional<ReferenceLaunch> reference;

  static constexpr std::string_view kMessage = "prepare";
  static constexpr auto fields() {
    using R = PrepareRequest;
    return std::tuple{field("workload", &R::workload),   field("reference_library", &R::reference_library),
                      field("baselines", &R::baselines), field("dimensions", &R::dimensions),
                      field("scalars", &R::scalars),     field("accumulator", &R::accumulator),
                      field("policy", &R::policy),       field("baseline", &R::baseline),
                      field("calibrate", &R::calibrate), field("reference", &R::reference)};
  }
};

/// A library's kernel on the same data, with the same policy.
struct MeasuredBaseline {
  std::string name;     ///< "cublas", or "cublaslt"
  std::string library;  ///< "cuBLAS 13.0.2"
  std::string kernel;  ///< names of the kernels it launches, joined by " + "; empty where they cannot be told
  std::string algorithm;      ///< what tells it from the library's other ways: "heuristic 3 of 8"; or empty
  double relative_error = 0;  ///< norm-wise, against the FP64 reference
  Timing timing;

  static constexpr auto fields() {
    using B = MeasuredBaseline;
    return std::tuple{field("name", &B::name),
                      field("library", &B::library),
                      field("kernel", &B::kernel),
                      field("algorithm", &B::algorithm),
                      field("relative_error", &B::relative_error),
                      field("timing", &B::timing)};
  }
};

struct Prepared {
  std::vector<MeasuredBaseline> baselines;
  std::optional<Calibration> calibration;  ///< when asked for
  std::string note;                        ///< why there is no baseline, or not all of them

  static constexpr std::string_view kMessage = "prepared";
  static constexpr auto fields() {
    return std::tuple{field("baselines", &Prepared::baselines), field("calibration", &Prepared::calibration),
                      field("note", &Prepared::note)};
  }
};

struct MeasureRequest {
  std::uint64_t ticket = 0;
  std::string cubin;
  std::string symbol;
  LaunchShape shape;
  std::vector<SizedWorkspace> workspace;
  std::vector<ArgumentValue> arguments;
  double tolerance_factor = 1;
  std::optional<double> leader_us;  ///< upper bound of the leader's time; none: it is not screened

  static constexpr std::string_view kMessage = "measure";
  static constexpr auto fields() {
    using R = MeasureRequest;
    return std::tuple{field("ticket", &R::ticket),
                      binary_field("cubin", &R::cubin),
                      field("symbol", &R::symbol),
                      field("shape", &R::shape),
                      field("workspace", &R::workspace),
                      field("arguments", &R::arguments),
                      field("tolerance_factor", &R::tolerance_factor),
                      field("leader_us", &R::leader_us)};
  }
};

/// How an output compared with the FP64 reference.
struct Accuracy {
  double relative_error = 0;     ///< the worst output's, norm-wise
  double error_bound = 0;        ///< the largest that passes
  double largest_error = 0;      ///< of a single element, absolute
  std::string largest_error_at;  ///< "C[12,77]"

  static constexpr auto fields() {
    using A = Accuracy;
    return std::tuple{field("relative_error", &A::relative_error), field("error_bound", &A::error_bound),
                      field("largest_error", &A::largest_error),
                      field("largest_error_at", &A::largest_error_at)};
  }
};

/// What NVML said of the GPU right after the samples.
struct GpuCondition {
  std::optional<double> power_w;
  std::string throttle_reasons;  ///< "sw_power_cap, hw_slowdown"; empty: none
  std::string neighbours;        ///< other programs on the GPU: "python3 (pid 7)"; empty: none are seen
  bool waits_for_host = false;   ///< samples hold the host's launch latency

  static constexpr auto fields() {
    using C = GpuCondition;
    return std::tuple{field("power_w", &C::power_w), field("throttle_reasons", &C::throttle_reasons),
                      field("neighbours", &C::neighbours), field("waits_for_host", &C::waits_for_host)};
  }
};

struct Measured {
  std::uint64_t ticket = 0;
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::optional<Timing> timing;  ///< also of what was screened out
  std::optional<Accuracy> accuracy;
  GpuCondition condition;
  std::optional<KernelAttributes> attributes;  ///< the driver's, to compare with the cubin's
  std::optional<int> driver_blocks_per_multiprocessor;
  double measure_ms = 0;  ///< wall time
  std::string
      printed;  ///< to standard output and error, as it is; the parent has taken it, it is in no message

  static constexpr std::string_view kMessage = "measured";
  static constexpr auto fields() {
    using M = Measured;
    return std::tuple{field("ticket", &M::ticket),
                      field("outcome", &M::outcome),
                      field("reason", &M::reason),
                      field("timing", &M::timing),
                      field("accuracy", &M::accuracy),
                      field("condition", &M::condition),
                      field("attributes", &M::attributes),
                      field("driver_blocks_per_multiprocessor", &M::driver_blocks_per_multiprocessor),
                      field("measure_ms", &M::measure_ms)};
  }
};

/// The leaders of a prepared problem, to be re-measured, interleaved. The worker adds the problem's baselines
/// and a twin of the first finalist: the same cubin, loaded a second time.
struct FinalsRequest {
  std::vector<MeasureRequest> finalists;  ///< the leader first; tickets tell them apart

  static constexpr std::string_view kMessage = "finals";
  static constexpr auto fields() { return std::tuple{field("finalists", &FinalsRequest::finalists)}; }
};

/// One kernel run back to back for seconds.
struct Sustained {
  double launch_us = 0;  ///< wall time per launch
  std::optional<double> sm_clock_mhz;
  std::optional<double> power_w;  ///< mean, from the energy counter where there is one

  static constexpr auto fields() {
    using S = Sustained;
    return std::tuple{field("launch_us", &S::launch_us), field("sm_clock_mhz", &S::sm_clock_mhz),
                      field("power_w", &S::power_w)};
  }
};

/// What the finals gave for one finalist, baseline or twin.
struct FinalTime {
  std::uint64_t ticket = 0;  ///< of a finalist; 0 for a baseline and the twin
  std::string name;          ///< "cublas", "cublaslt", "twin"; empty for a finalist
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::optional<Timing> timing;  ///< sample i is of round i; those that were dropped have fewer
  std::optional<Accuracy> accuracy;
  std::optional<Sustained> sustained;

  static constexpr auto fields() {
    using F = FinalTime;
    return std::tuple{field("ticket", &F::ticket),      field("name", &F::name),
                      field("outcome", &F::outcome),    field("reason", &F::reason),
                      field("timing", &F::timing),      field("accuracy", &F::accuracy),
                      field("sustained", &F::sustained)};
  }
};

struct FinalsMeasured {
  std::vector<FinalTime> times;
  GpuCondition condition;
  double wall_ms = 0;

  static constexpr std::string_view kMessage = "finals_measured";
  static constexpr auto fields() {
    using F = FinalsMeasured;
    return std::tuple{field("times", &F::times), field("condition", &F::condition),
                      field("wall_ms", &F::wall_ms)};
  }
};

}  // namespace tiletune
