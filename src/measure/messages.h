#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/calibration.h"
#include "base/outcome.h"
#include "base/statistics.h"
#include "compile/request.h"
#include "gpu/device.h"
#include "space/instance.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What the parent and a GPU worker say to each other. Every struct goes through a frame as JSON; reading one
/// back throws ProtocolError when a member is missing or of the wrong type.

/// The worker's first message: which GPU it holds.
struct GpuOpened {
  DeviceFacts device;
  int devices = 1;             ///< GPUs that the driver shows
  std::string driver_version;  ///< NVML's, or empty
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
  };
  std::optional<ReferenceLaunch> reference;
};

/// A library's kernel on the same data, with the same policy.
struct MeasuredBaseline {
  std::string name;     ///< "cublas", or "cublaslt"
  std::string library;  ///< "cuBLAS 13.0.2"
  std::string kernel;  ///< names of the kernels it launches, joined by " + "; empty where they cannot be told
  std::string algorithm;      ///< what tells it from the library's other ways: "heuristic 3 of 8"; or empty
  double relative_error = 0;  ///< norm-wise, against the FP64 reference
  Timing timing;
};

struct Prepared {
  std::vector<MeasuredBaseline> baselines;
  std::optional<Calibration> calibration;  ///< when asked for
  std::string note;                        ///< why there is no baseline, or not all of them
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
};

/// How an output compared with the FP64 reference.
struct Accuracy {
  double relative_error = 0;     ///< the worst output's, norm-wise
  double error_bound = 0;        ///< the largest that passes
  double largest_error = 0;      ///< of a single element, absolute
  std::string largest_error_at;  ///< "C[12,77]"
};

/// What NVML said of the GPU right after the samples.
struct GpuCondition {
  std::optional<double> power_w;
  std::string throttle_reasons;  ///< "sw_power_cap, hw_slowdown"; empty: none
  std::string neighbours;        ///< other programs on the GPU: "python3 (pid 7)"; empty: none are seen
  bool waits_for_host = false;   ///< samples hold the host's launch latency
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
  double wall_ms = 0;
  std::string
      printed;  ///< to standard output and error, as it is; the parent has taken it, it is in no message
};

/// The leaders of a prepared problem, to be re-measured, interleaved. The worker adds the problem's baselines
/// and a twin of the first finalist: the same cubin, loaded a second time.
struct FinalsRequest {
  std::vector<MeasureRequest> finalists;  ///< the leader first; tickets tell them apart
};

/// One kernel run back to back for seconds.
struct Sustained {
  double launch_us = 0;  ///< wall time per launch
  std::optional<double> sm_clock_mhz;
  std::optional<double> power_w;  ///< mean, from the energy counter where there is one
};

/// What the finals gave for one finalist, baseline or twin.
struct FinalTime {
  std::uint64_t ticket = 0;  ///< of a finalist; 0 for a baseline and the twin
  std::string name;          ///< "cublas", "cublaslt", "twin"; empty for a finalist
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::optional<Timing> timing;  ///< sample i is of round i; those out of the race have fewer
  std::optional<Accuracy> accuracy;
  std::optional<Sustained> sustained;
};

struct FinalsMeasured {
  std::vector<FinalTime> times;
  GpuCondition condition;
  double wall_ms = 0;
};

nlohmann::ordered_json to_json(const GpuOpened& message);
nlohmann::ordered_json to_json(const PrepareRequest& message);
nlohmann::ordered_json to_json(const Prepared& message);
nlohmann::ordered_json to_json(const MeasureRequest& message);
nlohmann::ordered_json to_json(const Measured& message);
nlohmann::ordered_json to_json(const FinalsRequest& message);
nlohmann::ordered_json to_json(const FinalsMeasured& message);
GpuOpened gpu_opened_from_json(const nlohmann::ordered_json& json);
PrepareRequest prepare_request_from_json(const nlohmann::ordered_json& json);
Prepared prepared_from_json(const nlohmann::ordered_json& json);
MeasureRequest measure_request_from_json(const nlohmann::ordered_json& json);
Measured measured_from_json(const nlohmann::ordered_json& json);
FinalsRequest finals_request_from_json(const nlohmann::ordered_json& json);
FinalsMeasured finals_measured_from_json(const nlohmann::ordered_json& json);

/// The policy as the database stores it: all that a row's first measurement depends on, so without the
/// finals.
nlohmann::ordered_json to_json(const MeasurePolicy& policy);
nlohmann::ordered_json to_json(const FinalsPolicy& finals);

}  // namespace tiletune
