#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "compile/request.h"
#include "gpu/device.h"
#include "measure/statistics.h"
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
  Operation operation = Operation::gemm;
  Workload workload;
  std::vector<std::pair<std::string, std::int64_t>> dimensions;
  std::vector<std::pair<std::string, double>> scalars;
  ElementType accumulator = ElementType::f32;
  MeasurePolicy policy;
  Baseline baseline = Baseline::cublas;

  /// Custom operations: the reference kernel, compiled for this GPU by the parent's compile room.
  struct ReferenceLaunch {
    std::string cubin;
    std::string symbol;
    LaunchShape shape;
    std::vector<ArgumentValue> arguments;
  };
  std::optional<ReferenceLaunch> reference;
};

struct Prepared {
  std::optional<Timing> baseline;  ///< cuBLAS on the same data, with the same policy
  std::string baseline_version;    ///< "cuBLAS 13.0.2"
  double baseline_error = 0;       ///< norm-wise, against the FP64 reference
  std::string note;                ///< why there is no baseline
};

struct MeasureRequest {
  std::uint64_t ticket = 0;
  std::string cubin;
  std::string symbol;
  LaunchShape shape;
  std::vector<ArgumentValue> arguments;
  double tolerance_factor = 1;
};

struct Measured {
  std::uint64_t ticket = 0;
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::optional<Timing> timing;
  std::optional<double> relative_error;
  std::optional<double> error_bound;
  std::optional<double> sm_clock_mhz;
  std::optional<KernelAttributes> attributes;  ///< the driver's, to compare with the cubin's
  std::optional<int> driver_blocks_per_multiprocessor;
  double wall_ms = 0;
};

nlohmann::ordered_json to_json(const GpuOpened& message);
nlohmann::ordered_json to_json(const PrepareRequest& message);
nlohmann::ordered_json to_json(const Prepared& message);
nlohmann::ordered_json to_json(const MeasureRequest& message);
nlohmann::ordered_json to_json(const Measured& message);
GpuOpened gpu_opened_from_json(const nlohmann::ordered_json& json);
PrepareRequest prepare_request_from_json(const nlohmann::ordered_json& json);
Prepared prepared_from_json(const nlohmann::ordered_json& json);
MeasureRequest measure_request_from_json(const nlohmann::ordered_json& json);
Measured measured_from_json(const nlohmann::ordered_json& json);

/// The policy as the database stores it.
nlohmann::ordered_json to_json(const MeasurePolicy& policy);

}  // namespace tiletune
